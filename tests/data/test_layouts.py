"""Contract: every layout has the splits, the rows and the values that `load_dataset` finds in it."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import zipfile
from pathlib import Path

import fsspec
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, IterableDataset, Value, load_dataset
from datasets.exceptions import DatasetGenerationError

from hf_paraphrase import filter, prepare_bitext, prepare_pairs
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.rows import open_rows
from hf_paraphrase.errors import InputError, UsageError

CONFIGS = """---
configs:
- config_name: small
  default: true
  data_files:
  - {split: train, path: b.parquet}
  - {split: held_out, path: "more/*.parquet"}
- config_name: large
  data_files: a.parquet
---
"""
LAYOUTS = {
    "train and val": ["train.parquet", "val.parquet"],
    "train and valid": ["train.parquet", "valid.parquet"],
    "train and validation": ["train.parquet", "validation.parquet"],
    "train and dev": ["train.parquet", "dev.parquet"],
    "train and test": ["train.parquet", "test.parquet"],
    "train and testing": ["train.parquet", "testing.parquet"],
    "train and eval": ["train.parquet", "eval.parquet"],
    "train and evaluation": ["train.parquet", "evaluation.parquet"],
    "training": ["training.parquet"],
    "all three": ["train.parquet", "dev.parquet", "test.parquet"],
    "language first": ["en-train.parquet", "en-test.parquet"],
    "name first": ["x_train.parquet", "x_test.parquet"],
    "number last": ["train-0.parquet", "train-1.parquet", "test-0.parquet"],
    "year last": ["train2020.parquet", "test2020.parquet"],
    "dots": ["my.train.parquet", "my.test.parquet"],
    "capitals": ["Train.parquet", "Test.parquet"],
    "word within a word": ["trainer.parquet", "latest.parquet"],
    "no split named": ["a.parquet", "b.parquet"],
    "only test": ["test.parquet"],
    "only dev": ["x-dev.parquet"],
    "folders": ["train/0.parquet", "val/0.parquet"],
    "folders of three": ["train/0.parquet", "dev/0.parquet", "test/0.parquet"],
    "folders before names": ["train/test.parquet", "test/train.parquet"],
    "nested folders": ["en/train/0.parquet", "en/test/0.parquet", "fr/train/0.parquet"],
    "folder names with words": ["my_train/0.parquet", "my_test/0.parquet"],
    "data folder": ["data/train.parquet", "data/test.parquet"],
    "shards": ["data/train-00000-of-00002.parquet", "data/train-00001-of-00002.parquet"],
    "shards of any split": ["data/train-00000-of-00001.parquet", "data/held_out-00000-of-00001.parquet"],
    "shards with a hash": ["data/train-00000-of-00001-0f3a.parquet", "data/test-00000-of-00001-1b2c.parquet"],
    "shards beside others": ["data/train-00000-of-00001.parquet", "data/other.parquet", "test.parquet"],
    "shards at the top": ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"],
    "hidden": ["train.parquet", ".test.parquet", "__pycache__/test.parquet"],
    "csv": ["train.csv", "dev.csv"],
    "csv and a log": ["train.csv", "test.csv", "train.log"],
    "tsv": ["train.tsv", "test.tsv"],
    "compressed csv": ["train.csv.gz", "test.csv.gz"],
    "json lines": ["train.jsonl", "val.jsonl"],
    "json": ["train.json", "test.json"],
    "compressed json lines": ["train.jsonl.bz2", "test.jsonl.xz"],
    "text": ["train.txt", "test.txt"],
    "arrow": ["train.arrow", "test.arrow"],
    "mostly parquet": ["a.parquet", "b.parquet", "c.csv"],
    "mostly csv": ["a.csv", "b.csv", "c.parquet"],
    "a draw": ["a.csv", "b.parquet"],
    "digits behind and within a split": ["train1.parquet", "train_2.parquet", "test2.parquet"],
    "shards of splits with digits": ["data/v1-00000-of-00001.parquet", "data/v2_b-00000-of-00001.parquet"],
    "nested data folders": ["a/data/train-00000-of-00001.parquet", "a/data/test-00000-of-00001.parquet"],
    "mixed case": ["TRAIN.parquet", "Val.parquet"],
    "mixed case folders": ["TRAIN/0.parquet", "Test/0.parquet"],
    "spaces": ["my train.parquet", "my test.parquet"],
    "brackets": ["[train].parquet", "[test].parquet"],
    "partitions": ["split=train/0.parquet", "split=test/0.parquet"],
    "letters of other languages": ["été-train.parquet", "été-test.parquet"],
    "characters of URLs": ["a#train.parquet", "a%20test.parquet"],
    "two splits in one name": ["train_test.parquet"],
    "a split and words behind it": ["train.parquet", "validation_matched.parquet", "validation_mismatched.parquet"],
    "a split beside no split": ["test.parquet", "data.parquet"],
    "deep folders": ["a/b/c/train/x.parquet", "a/b/c/test/x.parquet"],
    "folders of splits below data": ["data/train/x.parquet", "data/validation/x.parquet"],
    "folders with underscores": ["_x/train.parquet", "__y/test.parquet", "a.parquet"],
    "ndjson": ["train.ndjson", "test.ndjson"],
    "zipped": ["train.csv.zip", "test.csv.zip"],
    "a table with the index of pandas": [("train.csv", ",a\n0,x\n1,y\n")],
    "text with blank lines": [("train.txt", "a\n\nb\r\n c \n")],
    "marks of byte order": [("train.csv", "\ufeffa,b\n1,2")],
    "objects with other keys": [("train.jsonl", '{"a": "x"}\n{"b": "y"}\n')],
    "nested values": [("train.jsonl", '{"a": {"b": [1, 2]}, "c": "x"}\n{"a": {"b": []}, "c": null}\n')],
    "a hidden description": [
        "a.parquet",
        "b.parquet",
        (".huggingface.yaml", "configs:\n- config_name: x\n  data_files: b.parquet\n"),
    ],
    "a card": ["a.parquet", "b.parquet", "more/c.parquet", "more/d.parquet", ("README.md", CONFIGS)],
    "a card without configs": ["train.parquet", "val.parquet", ("README.md", "---\nlicense: mit\n---\n")],
    "a card with a folder": [
        "one/train.parquet",
        "one/test.parquet",
        "two/train.parquet",
        ("README.md", "---\nconfigs:\n- config_name: one\n  data_dir: one\n---\n"),
    ],
    **{
        f"a card: {config}": [*files, ("README.md", f"---\nconfigs: [{{config_name: x, {config}}}]\n---\n")]
        for config, *files in (
            ("data_dir: sub", "sub/train.parquet", "sub/test.parquet", "train.parquet"),
            ("data_files: [{split: train, path: 'x/a-*'}]", "x/a-1.parquet", "x/a-2.parquet", "x/b-1.parquet"),
            ("data_files: [{split: fold_1, path: '**/a-*'}]", "x/y/a-1.parquet", "z/a-2.parquet", "z/b.parquet"),
            ("data_files: [{split: v2020, path: [a.csv, c.csv]}, {split: x, path: b.csv}]", "a.csv", "b.csv", "c.csv"),
            ("data_files: '*.csv'", "a.csv", "b.csv", "c.parquet"),
            ("data_files: data/train-00000-of-00002.parquet", "data/train-00000-of-00002.parquet"),
            ("data_files: z.csv.zip", "z.csv.zip", "a.csv"),
            ("description: nothing else", "a.parquet", "test/b.parquet"),
            ("data_files: r.csv, skiprows: 1", ("r.csv", "junk\na,b\n1,2\n")),
            ("data_files: r.csv, sep: ';', encoding: latin-1", ("r.csv", "a;b\n1,5;2\n")),
            ("data_files: r.json, field: data", ("r.json", '{"v": 1, "data": [{"a": "x"}, {"a": "y"}]}')),
            ("data_files: r.txt, sample_by: paragraph", ("r.txt", "a\nb\n\nc\n")),
            ("data_files: r.parquet, columns: [sentence1]", "r.parquet"),
        )
    },
    "a card of tab-separated text": [
        ("rows.csv", "sentence1\tsentence2\na, b\tc\n"),
        ("README.md", '---\nconfigs:\n- config_name: x\n  data_files: rows.csv\n  sep: "\\t"\n---\n'),
    ],
    "a card that names the columns": [
        ("rows.csv", "a,b\nc,d\n"),
        (
            "README.md",
            "---\nconfigs:\n- config_name: x\n  data_files: rows.csv\n  column_names: [sentence1, sentence2]\n---\n",
        ),
    ],
}


def zip_compress(content):
    """Packs a file into a zip archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("rows.csv", content)
    return packed.getvalue()


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zip": zip_compress}


def write(path, number):
    """Writes three rows with words that other readers take for something else."""
    rows = [
        {"sentence1": text, "sentence2": f"{path.name} {number}", "code": code, "day": "2024-02-01T23:30:00-05:00"}
        for text, code in (("None", "007"), ('a "b", c', "1E5"), ("NA", "12345678901234567890"))
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = path.name.removeprefix(".").split(".")
    if "parquet" in kind:
        return pq.write_table(pa.Table.from_pylist(rows), path)
    if "arrow" in kind:
        with pa.ipc.new_stream(path, pa.Table.from_pylist(rows).schema) as writer:
            return writer.write(pa.Table.from_pylist(rows))
    text = io.StringIO()
    if {"csv", "tsv"} & {*kind}:
        writer = csv.DictWriter(text, list(rows[0]), delimiter="\t" if "tsv" in kind else ",")
        writer.writeheader()
        writer.writerows(rows)
    elif {"json", "jsonl", "ndjson"} & {*kind}:
        # `datasets` itself takes a text in the form of a date for a date.
        text.write("\n".join(json.dumps({**row, "day": f"on {row['day']}"}) for row in rows) + "\n")
    else:
        text.write("\n".join(row["sentence1"] for row in rows) + "\n")
    return path.write_bytes(PACKERS.get(path.suffix, bytes)(text.getvalue().encode()))


def build(folder, files):
    for number, file in enumerate(files):
        if isinstance(file, str):
            write(folder / file, number)
        else:
            folder.mkdir(exist_ok=True)
            (folder / file[0]).write_text(file[1])
    return folder


def splits_of_datasets(folder, cache):
    found = load_dataset(str(folder), cache_dir=str(cache))
    if not any({".csv", ".tsv"} & {*path.suffixes} for path in folder.rglob("*")):
        return found
    return as_text(found, str(folder), cache_dir=str(cache))


def as_text(found, name, subset=None, **options):
    """Loads CSV again, with the text of its files as values."""
    text = Features(dict.fromkeys(next(iter(found.values())).column_names, Value("string")))
    try:
        return load_dataset(name, subset, features=text, keep_default_na=False, na_values=[""], **options)
    except ValueError:  # its other files are read, which do not have these options
        return found


@pytest.mark.parametrize("name", LAYOUTS)
def test_splits_counts_and_values_are_those_of_load_dataset(name, tmp_path):
    folder = build(tmp_path / "set", LAYOUTS[name])
    expected = splits_of_datasets(folder, tmp_path / "cache")
    opened = DataFolder(folder)
    assert {*opened.splits} == {*map(str, expected)}
    for split, rows in expected.items():
        assert opened.count(split) == len(rows)
        assert open_rows(folder, split, roles=()).read().to_pylist() == list(rows)
    unknown = f"no split `other` .the splits are {', '.join(opened.splits)}."
    with pytest.raises(InputError, match=unknown):
        opened.table("other")


def test_types_that_datasets_inferred_in_its_cache_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    folder = build(tmp_path / "set", LAYOUTS["a card: data_files: r.csv, skiprows: 1"])
    load_dataset(str(folder))
    assert open_rows(folder).read().to_pylist() == [{"a": "1", "b": "2"}]


def test_a_configuration_of_a_card_opens_by_its_name(tmp_path):
    folder = build(tmp_path / "set", LAYOUTS["a card"])
    expected = load_dataset(str(folder), "large", cache_dir=str(tmp_path / "cache"))["train"]
    for rows in (open_rows(folder, subset="large"), open_rows(folder, "large.train")):
        assert rows.read().to_pylist() == list(expected)
    with pytest.raises(InputError, match=r"small.*large"):
        open_rows(folder, subset="huge")


def test_folders_of_save_to_disk_open_with_their_splits(tmp_path):
    rows = Dataset.from_list([{"sentence1": "a", "sentence2": "b"}])
    rows.save_to_disk(tmp_path / "one")
    DatasetDict({"train": rows, "test": rows}).save_to_disk(tmp_path / "two")
    assert DataFolder(tmp_path / "one").splits == ["train"]
    assert DataFolder(tmp_path / "two").splits == ["train", "test"]
    assert DataFolder(tmp_path / "two").table("test").to_pylist() == list(rows)


def test_prepare_and_filter_find_the_same_splits(tmp_path):
    folder = build(tmp_path / "set", ["x_train.parquet", "x_test.parquet"])
    prepare_pairs(dataset=folder, split="test", output=tmp_path / "prepared")
    filter(pairs=folder, split="test", output=tmp_path / "filtered")
    texts = [DataFolder(tmp_path / name).table("test")["sentence2"] for name in ("prepared", "filtered")]
    assert texts[0] == texts[1] and texts[0][0].as_py() == "x_test.parquet 1"


DAY, LONG = "2024-02-01T23:30:00-05:00", "12345678901234567890"
ROWS = [{"sentence1": "a", "sentence2": "b", "code": "007"}, {"sentence1": None, "sentence2": "c", "code": "1"}]
TABLE = pa.Table.from_pylist(ROWS)


@pytest.mark.parametrize(
    "rows",
    [
        ROWS,
        iter(ROWS),
        TABLE,
        TABLE.to_reader(),
        pd.DataFrame(ROWS),
        pl.DataFrame(ROWS),
        pl.LazyFrame(ROWS),
        pl.DataFrame(ROWS).cast(pl.Categorical),
        Dataset.from_list(ROWS),
        Dataset.from_list(ROWS).to_iterable_dataset(),
        IterableDataset.from_generator(lambda: iter(ROWS)),
        DatasetDict({"train": Dataset.from_list(ROWS)}),
        {"train": ROWS},
        TABLE.cast(pa.schema([(name, pa.string_view()) for name in TABLE.column_names])),
        TABLE.cast(pa.schema([(name, pa.large_string()) for name in TABLE.column_names])),
        pa.table({name: TABLE[name].dictionary_encode() for name in TABLE.column_names}),
    ],
    ids=lambda rows: type(rows).__name__,
)
def test_tables_of_all_libraries_and_text_of_all_types_give_the_same_rows(rows):
    opened = open_rows(rows)
    assert opened.schema == TABLE.schema and opened.read().to_pylist() == ROWS


def test_dictionaries_whose_later_rows_have_more_keys_keep_them_and_nested_columns_stay():
    rows = [{"sentence1": "a"}, {"sentence1": "b", "more": [1.0, 2.0], "about": {"by": "me"}}]
    assert open_rows(rows).read().to_pylist() == [{"sentence1": "a", "more": None, "about": None}, rows[1]]
    vectors = pa.table({"v": pa.FixedSizeListArray.from_arrays(pa.array([1.0, 2.0, 3.0, 4.0]), 2)})
    assert open_rows(vectors).read() == vectors
    for wrong in (3, pd.DataFrame({"n": [2**70]})):
        with pytest.raises(UsageError, match="no rows that can be read"):
            open_rows(wrong)


def test_types_within_types_come_out_of_a_data_folder_as_load_dataset_reads_it(tmp_path):
    view, words = pa.array(["x", "y"], pa.string_view()), pa.array(["x", "y"])
    columns = {
        "struct": pa.StructArray.from_arrays([view, view.dictionary_encode()], ["a", "b"]),
        "structs": pa.array([[{"a": "x"}], None], pa.list_(pa.struct([("a", pa.string_view())]))),
        "categories": pa.ListArray.from_arrays([0, 1, 2], view.dictionary_encode()),
        "map": pa.array([{"m": [("x", 1)]}] * 2, pa.struct([("m", pa.map_(pa.string(), pa.int64()))])),
        "runs": pa.RunEndEncodedArray.from_arrays(pa.array([1, 2], pa.int32()), words),
        "list view": pa.array([["x"], ["x", "y"]], pa.list_view(pa.string())),
        "period": pa.array(pd.period_range("2024-01", periods=2, freq="M")),
    }
    rows = pa.table({"sentence1": words, "sentence2": words, **columns})
    made = filter(pairs=rows, output=tmp_path / "out", keep=["length>0"]).table().drop_columns("length").to_pylist()
    expected = {name: column.to_pylist() for name, column in columns.items()}
    expected |= {"map": [{"m": [{"key": "x", "value": 1}]}] * 2, "period": [648, 649]}
    assert {name: [row[name] for row in made] for name in columns} == expected
    assert load_dataset(str(tmp_path / "out"), split="train").remove_columns("length").to_list() == made
    frame = pl.DataFrame({"text": ["a"], "o": pl.Series([object()], dtype=pl.Object)})
    with pytest.raises(InputError, match=r"DataFrame: the column o holds Python objects \(convert or remove it"):
        open_rows(frame)
    with pytest.raises(InputError, match=r"sparse_union<.*which Parquet does not have"):
        open_rows(pa.table({"u": pa.UnionArray.from_sparse(pa.array([0], pa.int8()), [pa.array([1])])}))


def test_an_index_of_pandas_is_a_column_if_it_has_a_name():
    frame = pd.DataFrame({"text": ["a", "b"], "id": ["007", "8"]})
    assert open_rows(frame.set_index("id")[1:]).read().to_pylist() == [{"text": "b", "id": "8"}]
    assert open_rows(frame[1:]).columns == ["text", "id"]


def test_a_stream_with_features_may_have_missing_values():
    rows = [{"sentence1": "a", "n": None}, {"sentence1": None, "n": 1}, {"sentence1": "c", "n": 2}]
    features = Features({"sentence1": Value("string"), "n": Value("int32")})
    stream = IterableDataset.from_generator(lambda: iter(rows), features=features)
    assert open_rows(stream).read().to_pylist() == rows == list(stream)


@pytest.mark.parametrize("as_rows", [list, lambda rows: IterableDataset.from_generator(lambda: iter(rows))])
def test_a_row_of_another_type_is_named_with_its_column(as_rows):
    rows = as_rows([{"sentence1": "a", "sentence2": "b"}, {"sentence1": "c", "sentence2": 7}])
    with pytest.raises(InputError, match=r"the column sentence2 has values of different types"):
        open_rows(rows).read()


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("a.csv", f"x,y\n007,1E5\n,{DAY}\n", {"x": ["007", None], "y": ["1E5", DAY]}),
        *((name, f"{line}\nx;y\n1,5;TRUE\n", {"x": ["1,5"], "y": ["TRUE"]})
          for name, line in (("a.csv", "sep=;"), ("b.csv", "SEP=;"), ("c.csv", '"sep=;"'))),
        ("a.jsonl", f'{{"x": "007", "y": {LONG}}}\n{{"x": "{DAY}", "y": 1}}\n', {"x": ["007", DAY], "y": [LONG, "1"]}),
        ("a.jsonl", '{"x": true, "y": 1}\n{"x": false, "y": 2.5}\n', {"x": [True, False], "y": [1.0, 2.5]}),
        ("a.jsonl", '{"x": {}, "y": {"z": {}}}\n', {"x": ["{}"], "y": ['{"z": {}}']}),
        ("a.json", '[{"x": 1,\n "y": [1]}, {"x": 2, "y": []}]', {"x": [1, 2], "y": [[1], []]}),
    ],
)  # fmt: skip
def test_values_come_out_as_they_went_in(name, text, values, tmp_path):
    (tmp_path / name).write_text(text)
    assert open_rows(tmp_path / name).read().to_pydict() == values


def test_json_values_of_several_blocks_have_the_types_of_one_block(tmp_path, monkeypatch):
    path = tmp_path / "a.jsonl"
    objects = [{"n": 2**53 + 1, "x": 1, "y": 2**53 + 1}, {"n": 0.5, "x": 0.5, "y": 1}, {"n": None}]
    path.write_text("".join(f"{json.dumps(value)}\n" for value in objects))
    expected = open_rows(path).read()
    monkeypatch.setattr("hf_paraphrase.data.readers.BATCH_ROWS", 1)
    assert open_rows(path).read().equals(expected)
    assert expected["n"].to_pylist() == ["9007199254740993", "0.5", None] and expected["x"].to_pylist()[:2] == [1, 0.5]
    assert expected["y"].to_pylist() == [2**53 + 1, 1, None]


def test_encodings_and_numbers_of_other_countries_are_read_on_request(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("name;price;code\ncafé;12.000,00;007\nthé;7,90;x\n".encode("cp1252"))
    with pytest.raises(InputError, match=r"a.csv:2: not UTF-8.*--encoding"):
        open_rows(path).read()
    rows = open_rows(path, encoding="cp1252", decimal=",", thousands=".").read().to_pydict()
    assert rows == {"name": ["café", "thé"], "price": [12_000.0, 7.9], "code": ["007", "x"]}
    for encoding in ("klingon", "base64"):
        with pytest.raises(UsageError, match=f"--encoding `{encoding}` is unknown"):
            open_rows(path, encoding=encoding).read()


def test_numbers_are_converted_only_where_no_value_changes(tmp_path):
    columns = {
        "id": ["9007199254740993", "12345678901234567"], "code": ["0012", "7"], "long": ["12345678901234567890", "1"],
        "n": ["1.200", "3"], "price": ["-1.200,50", "3"], "x": ["+5", ",5"], "y": ["1,5E3", ""],
        "day": ["1.2.24", "3.4.24"], "address": ["10.0.0.1", "10.0.0.2"], "version": ["1.2", "1.25"],
    }  # fmt: skip
    lines = [";".join(columns), *(";".join(values) for values in zip(*columns.values(), strict=True))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    converted = {
        "id": [9007199254740993, 12345678901234567], "n": [1200, 3], "price": [-1200.5, 3.0], "x": [5.0, 0.5],
        "y": [1500.0, None],
    }  # fmt: skip
    rows = open_rows(tmp_path / "a.csv", decimal=",", thousands=".")
    assert rows.read().to_pydict() == columns | converted and rows.schema.field("n").type == pa.int64()


def test_numbers_of_a_column_are_checked_together(tmp_path, monkeypatch):
    monkeypatch.setattr("hf_paraphrase.data.readers.BATCH_ROWS", 1)
    (tmp_path / "a.csv").write_text("id;x;price\n1234567890123457;7;1.500\n1,5;2,5;2,5\n")
    rows = open_rows(tmp_path / "a.csv", decimal=",").read().to_pydict()
    assert rows == {"id": ["1234567890123457", "1,5"], "x": [7.0, 2.5], "price": ["1.500", "2,5"]}


@pytest.mark.parametrize("marks", [("", None), ("ab", None), ("1", None), (",", ","), (None, "."), (None, "-")])
def test_marks_that_no_number_can_have_are_refused(marks, tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1.5,2\n")
    with pytest.raises(UsageError, match=r"--(decimal|thousands)"):
        open_rows(tmp_path / "a.csv", decimal=marks[0], thousands=marks[1])
    with pytest.raises(UsageError, match="are not for --tsv"):
        prepare_pairs(tsv=tmp_path / "a.csv", decimal=",", output=tmp_path / "out")


@pytest.mark.parametrize(
    ("others", "is_refused"),
    [({"label": [0]}, True), ({"n": [[{"x": 1}]], "m": [0]}, True), ({"n": [[{"x": 1, "y": 2}]]}, True), ({}, False)],
)
def test_files_with_more_or_fewer_columns_are_read_or_refused_as_by_load_dataset(others, is_refused, tmp_path):
    rows, folder, cache = {"sentence1": ["a"], "sentence2": ["b"]}, tmp_path / "set", str(tmp_path / "cache")
    folder.mkdir()
    for file, columns in (("a.parquet", {**rows, "n": [[{"x": 1}]]}), ("b.parquet", {**others, **rows})):
        pq.write_table(pa.table(columns), folder / file)
    if not is_refused:
        expected = load_dataset(str(folder), split="train", cache_dir=cache).to_list()
        assert open_rows(folder).read().to_pylist() == expected
        values = [value for batch in open_rows(folder).batches(["n"]) for value in batch["n"].to_pylist()]
        assert values == [[{"x": 1}], None]
        return
    with pytest.raises(DatasetGenerationError):
        load_dataset(str(folder), cache_dir=cache)
    with pytest.raises(InputError, match=r"b.parquet: the columns are .*sentence1.*with the columns of .*a.parquet"):
        open_rows(folder)


@pytest.mark.parametrize("names", [["sentence1", "sentence2", "x", "x"], ["anchor", "positive", "sentence1", "x"]])
def test_a_name_of_two_columns_is_refused(names, tmp_path):
    pq.write_table(pa.table([pa.array([name]) for name in names], names=names), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a.parquet: the column (x|sentence1) occurs twice(, also as anchor)? \("):
        open_rows(tmp_path / "a.parquet")


def test_of_several_columns_for_one_sentence_prepare_chooses(tmp_path):
    (tmp_path / "a.csv").write_text("anchor,positive,sentence1\na,b,c\n")
    with pytest.raises(InputError, match="choose with prepare pairs --columns sentence1="):
        open_rows(tmp_path / "a.csv")
    for name, text in {"anchor": "a", "sentence1": "c"}.items():
        columns = f"sentence1={name},sentence2=positive"
        made = prepare_pairs(csv=tmp_path / "a.csv", output=tmp_path / name, columns=columns).table()
        assert made.to_pylist() == [{"sentence1": text, "sentence2": "b"}]


def test_of_configurations_without_a_default_one_is_chosen_by_its_name(tmp_path):
    folder = build(tmp_path, [*LAYOUTS["a card"][:-1], ("README.md", CONFIGS.replace("  default: true\n", ""))])
    with pytest.raises(ValueError, match="Config name is missing"):
        load_dataset(str(folder))
    for source in (folder, folder.as_uri()):
        data = DataFolder(source)
        assert data.splits == ["large.train", "small.held_out", "small.train"]
        for name in data.splits:
            subset, _, split = name.partition(".")
            expected = load_dataset(str(folder), subset, split=split, cache_dir=str(tmp_path / "cache")).to_list()
            assert data.table(name).to_pylist() == open_rows(source, name).read().to_pylist() == expected
            assert open_rows(source, split, subset=subset).read().to_pylist() == expected
        with pytest.raises(InputError, match=f"no split `train` .the splits are {', '.join(data.splits)}"):
            open_rows(source)
        with pytest.raises(InputError, match="nope"):
            open_rows(source, subset="nope")
    columns = open_rows(folder, subset="large").columns
    settings = {"columns": f"sentence1={columns[0]},sentence2={columns[0]}", "output": tmp_path / "out"}
    made = prepare_pairs(dataset=str(folder), subset="large", **settings)
    assert made.table()["sentence1"].to_pylist() == open_rows(folder, subset="large").read()[columns[0]].to_pylist()


def test_raw_files_at_urls_are_prepared(tmp_path):
    texts = {"csv": "sentence1,sentence2\na,b\n", "tsv": "a\tb\n", "jsonl": '{"sentence1": "a", "sentence2": "b"}\n'}
    for kind, text in texts.items():
        fsspec.filesystem("memory").pipe(f"/raw/a.{kind}", text.encode())
        made = prepare_pairs(**{kind: f"memory://raw/a.{kind}"}, output=tmp_path / kind)
        assert made.table().to_pylist() == [{"sentence1": "a", "sentence2": "b"}]
    bitext = prepare_bitext(tsv="memory://raw/a.tsv", source_lang="fr", target_lang="en", output=tmp_path / "bitext")
    assert bitext.table()["target"].to_pylist() == ["b"]


def test_maps_are_kept_as_lists_of_keys_and_values(tmp_path):
    kind = pa.map_(pa.string(), pa.int64())
    rows = {"sentence1": ["a", "b"], "sentence2": ["c", "d"], "counts": pa.array([[("x", 1)], None], kind)}
    pq.write_table(pa.table(rows), tmp_path / "a.parquet")
    made = prepare_pairs(parquet=tmp_path / "a.parquet", output=tmp_path / "out", keep_columns=True)
    expected = [[{"key": "x", "value": 1}], None]
    assert made.table()["counts"].to_pylist() == expected
    assert load_dataset(str(tmp_path / "out"), split="train")["counts"][:] == expected


def test_every_command_reads_parquet_of_polars(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sides = {"sentence1": ["a dog", "a cat"] * 4, "sentence2": ["one dog", "one cat"] * 4}
    frame = pl.DataFrame({**sides, "kind": ["x", "y"] * 4}).cast({"kind": pl.Categorical})
    pq.write_table(frame.to_arrow(), "a.parquet")
    frame.write_parquet("b.parquet")
    for name in ("a", "b"):
        for verb in (
            f"filter --pairs {name}.parquet",
            f"score --pairs {name}.parquet",
            f"deduplicate --input {name}.parquet",
            f"encode --columns sentence1 --input {name}.parquet",
            f"search --corpus {name}.parquet",
            f"train-tokenizer --pairs {name}.parquet",
            f"train-encoder --epochs 1 --pairs {name}.parquet",
            f"prepare pairs --keep-columns --parquet {name}.parquet",
        ):
            output = f"{name}-{verb.split()[0]}"
            assert main([*verb.split(), "--output", output]) == 0, verb
        for output in (f"{name}-filter", f"{name}-prepare"):
            assert DataFolder(output).table()["kind"].to_pylist() == ["x", "y"] * 4


def test_commands_take_the_encoding_and_the_numbers_of_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = ["--encoding", "cp1252", "--decimal", ","]
    Path("a.csv").write_bytes("text1;text2;score\ncafé;un café;0,5\n".encode("cp1252"))
    assert main(["prepare", "pairs", "--csv", "a.csv", *words, "--output", "pairs"]) == 0
    assert DataFolder("pairs").table().to_pylist() == [{"sentence1": "café", "sentence2": "un café", "score": 0.5}]
    Path("b.csv").write_bytes("text;price\na café;1200,5\na house;7,9\n".encode("cp1252"))
    assert main(["deduplicate", "--input", "b.csv", *words, "--output", "unique"]) == 0
    assert DataFolder("unique").table()["price"].to_pylist() == [1200.5, 7.9]
    query = ["--query", "coffee", "--filter", "price>=1000"]
    assert main(["search", "--corpus", "b.csv", *words, *query]) == 0
    shown = capsys.readouterr().out
    assert "café" in shown and "house" not in shown
    Path("a.txt").write_bytes("café\nthé\n".encode("cp1252"))
    Path("b.txt").write_bytes("a house\n".encode("utf-16"))
    # A remedy names only flags of the command.
    for verb, flags in (("deduplicate", "--input"), ("train-tokenizer", "--kind word --text")):
        for name in ("a.txt", "b.txt", "a.csv"):
            assert main([verb, *flags.split(), name, "--output", "none"]) == 2
            message = capsys.readouterr().err
            assert "convert it to UTF-8" in message or "not sentences (give one sentence per line" in message
            assert ("--encoding" in message) is (verb == "deduplicate"), message


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["train.parquet", ("README.md", CONFIGS)], "cannot open it"),
        ([("train.jsonl", '{"a": 1}\n{"a": \n')], r"train.jsonl:2: not a JSON object"),
        ([("train.jsonl", '{"a": "x"}\n{"a": 7}\n')], r"train.jsonl:2: `a` is not text: 7"),
        ([("train.jsonl", '{"a": 7}\n\n{"a": "x"}\n')], r"jsonl:1: `a` is not text: 7 .*first text is in .*jsonl:3\)"),
        ([("train.jsonl", '{"a": 7}\n{"a": "x"}\n{"a": 8}\n')], r"jsonl:2: `a` is not int64: \"x\""),
        ([("train.csv", "a,b\n1,2\n3\n")], r"train.csv:3: 1 field where the header has 2"),
        ([("train.csv", "")], "empty|no data"),
        ([("provenance.json", "{}")], "not a data folder"),
    ],
)
def test_what_cannot_be_read_is_one_line_with_the_file_and_its_line(files, message, tmp_path):
    folder = build(tmp_path, files)
    with pytest.raises(InputError, match=message) as caught:
        DataFolder(folder).table()
    assert "\n" not in str(caught.value)


CLASSES = ["entailment", "not_entailment"]
SIDES = dict.fromkeys(("sentence1", "sentence2"), Value("string"))
NAMES = Features({**SIDES, "label": ClassLabel(names=CLASSES)})


def test_names_of_classes_stay_with_a_column_through_filter_and_card(tmp_path):
    rows = Dataset.from_dict({"sentence1": ["a", "b"], "sentence2": ["c", "d"], "label": [0, 1]}, features=NAMES)
    rows.to_parquet(tmp_path / "train.parquet")
    made = filter(pairs=tmp_path / "train.parquet", output=tmp_path / "made")
    assert made.class_names("label") == CLASSES
    assert load_dataset(str(made.path), split="train", cache_dir=str(tmp_path / "cache")).features == NAMES
    prepared = prepare_pairs(dataset=str(made.path), output=tmp_path / "prepared").table()
    assert prepared["label"].to_pylist() == [1, 0]
    assert Path(made.path).name == "made"


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("- a", "card metadata block should be a dict"),
        ("configs: 3", "Expected configs to be a list"),
        ("dataset_info:\n  features:\n  - a", "load_dataset cannot open it"),
        ("configs:\n- config_name: default\n  data_files: nothere/*.parquet", "load_dataset cannot open it"),
    ],
)
def test_a_malformed_card_and_one_whose_files_do_not_exist_are_input_errors_that_say_so(tmp_path, head, message):
    write_split(tmp_path, "train", [pa.table({"text": ["a"]})], pa.schema([("text", pa.string())]))
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\n")
    with pytest.raises(InputError, match=message):
        open_rows(tmp_path)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv.gz", "a.jsonl", "a.json.xz", "a.txt", "train.csv.bz2", "a.parquet"])
@pytest.mark.parametrize("scheme", ["file://", "memory://"])
def test_files_of_all_formats_and_their_folders_open_at_urls(scheme, name, tmp_path):
    write(tmp_path / "set" / name, 0)
    system, root = fsspec.core.url_to_fs(f"{scheme}{tmp_path}")
    if scheme == "memory://":
        system.pipe(f"{root}/set/{name}", (tmp_path / "set" / name).read_bytes())
    folder = f"{scheme}{tmp_path}/set"
    expected = open_rows(tmp_path / "set" / name).read()
    assert open_rows(folder).read() == open_rows(f"{folder}/{name}").read() == expected


@pytest.mark.parametrize("scheme", ["file://", "simplecache::file://"])
def test_a_folder_at_a_url_opens_also_through_a_cache_of_fsspec(scheme, tmp_path):
    table = pa.table({"sentence1": ["a b", "c d"], "sentence2": ["e f", "g h"], "label": [0, 1]})
    (tmp_path / "data").mkdir()
    feature = {"name": "label", "dtype": {"class_label": {"names": dict(enumerate(CLASSES))}}}
    (tmp_path / "README.md").write_text(f"---\n{json.dumps({'dataset_info': {'features': [feature]}})}\n---\n")
    pq.write_table(table, tmp_path / "data/train-00000-of-00001.parquet")
    opened = open_rows(f"{scheme}{tmp_path}", split="train")
    assert opened.read().to_pydict() == table.to_pydict()
    # Without its names, class 0 would be taken for pairs that are no paraphrases.
    assert opened.class_names == open_rows(tmp_path).class_names == {"label": CLASSES}
