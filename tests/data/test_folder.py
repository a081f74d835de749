from __future__ import annotations

import json
import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Dataset, IterableDataset, load_dataset
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase import filter, prepare_pairs
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.pair_rows import iterate_pairs
from hf_paraphrase.data.rows import open_rows
from hf_paraphrase.errors import InputError, UsageError

PAIRS = pa.schema([("sentence1", pa.string()), ("rank", pa.int32())])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """100 rows in shards of 30 and 40 with row groups of 1 to 7 rows."""
    table = pa.table({"number": list(range(100))})
    sizes = [1, 7, 3, 5] * 20
    batches, start = [], 0
    while start < 100:
        size = sizes[len(batches)]
        batches.append(table.slice(start, size))
        start += size
    folder = tmp_path_factory.mktemp("rows")
    write_split(folder, "train", batches, table.schema, rows_per_shard=30)
    return folder


@settings(deadline=None, max_examples=60)
@given(start=st.integers(0, 110), length=st.integers(0, 110), size=st.integers(1, 50))
def test_the_rows_asked_for_come_in_order_in_tables_of_the_size_asked_for(folder, start, length, size):
    tables = list(DataFolder(folder).rows().tables(start=start, stop=start + length, size=size))
    numbers = [number for table in tables for number in table.column("number").to_pylist()]
    assert numbers == list(range(100))[start : start + length]
    assert all(table.num_rows == size for table in tables[:-1])


def test_a_folder_with_json_about_it_and_no_rows_is_no_data_folder(tmp_path):
    for name in ("provenance.json", ".hidden.csv", "notes.txt"):
        (tmp_path / name).write_text("{}\n")
    with pytest.raises(InputError, match=r"not a data folder.*prepare pairs --dataset"):
        DataFolder(tmp_path)
    with pytest.raises(InputError, match=r"missing columns sentence1, sentence2.*the columns are text"):
        DataFolder(tmp_path / "notes.txt").require("sentence1", "sentence2")


def test_empty_batches_make_no_row_group_that_load_dataset_cannot_read(tmp_path):
    rows = pa.Table.from_pydict({"sentence1": ["a", "b"], "rank": [0, 1]}, schema=PAIRS)
    empty = rows.slice(0, 0)
    assert write_split(tmp_path / "data folder", "train", [empty, rows, empty, rows], PAIRS, rows_per_shard=2) == 4
    found = load_dataset(str(tmp_path / "data folder"), split="train", cache_dir=str(tmp_path / "cache"))
    assert found["rank"][:] == [0, 1, 0, 1]


def test_a_split_name_that_load_dataset_refuses_is_refused_before_anything_is_written(tmp_path):
    rows = pa.table({"sentence1": ["a"], "sentence2": ["b"]})
    with pytest.raises(UsageError, match=r"`train-1` is not a name for a split"):
        write_split(tmp_path / "d", "train-1", rows.to_batches(), rows.schema)
    assert not (tmp_path / "d").exists()


def test_outputs_of_a_split_of_a_configuration_with_a_dash_open_with_load_dataset(tmp_path):
    configs = [
        {"config_name": name, "default": name == "en-de", "data_files": f"{name}.csv"} for name in ("en-de", "en-fr")
    ]
    for config in configs:
        (tmp_path / config["data_files"]).write_text(f"sentence1,sentence2\n{config['config_name']},a\n")
    (tmp_path / "README.md").write_text(f"---\nconfigs: {json.dumps(configs)}\n---\n")
    filter(pairs=tmp_path, split="en-fr.train", output=tmp_path / "filtered")
    prepare_pairs(dataset=tmp_path, split="en-fr.train", output=tmp_path / "prepared")
    for name in ("filtered", "prepared"):
        made = load_dataset(str(tmp_path / name), cache_dir=str(tmp_path / "cache"))
        assert {split: rows["sentence1"][:] for split, rows in made.items()} == {"en_fr.train": ["en-fr"]}, name


@pytest.mark.parametrize("counts", [(0, 3, 3), (3, 0, 3), (3, 0, 0)])
def test_files_without_rows_are_read_wherever_they_stand(tmp_path, counts):
    table = pa.table({"number": list(range(sum(counts)))})
    for number, (count, end) in enumerate(zip(counts, np.cumsum(counts), strict=True)):
        # A file without rows has no row groups.
        with pq.ParquetWriter(tmp_path / f"train-{number:05d}-of-00003.parquet", table.schema) as writer:
            if count:
                writer.write_table(table.slice(end - count, count))
    opened = DataFolder(tmp_path)
    assert opened.table().column("number").to_pylist() == list(range(sum(counts)))
    rows = np.arange(sum(counts)) % 2 == 0
    found = pa.Table.from_batches(opened.batches(rows=rows), table.schema)
    assert found.column("number").to_pylist() == np.flatnonzero(rows).tolist()
    (part,) = opened.rows().tables(start=1, stop=3)
    assert part.column("number").to_pylist() == [1, 2]


def test_what_is_asked_of_an_open_folder(folder):
    opened = DataFolder(folder)
    assert os.fspath(opened) == str(folder)
    assert opened.splits == ["train"]
    assert opened.count() == 100
    assert opened.schema() == pa.schema([("number", pa.int64())])
    assert opened.table().column("number").to_pylist() == list(range(100))
    assert [split["num_examples"] for split in opened.sizes()] == [100]
    with pytest.raises(InputError, match=r"missing column sentence1.*the columns are number"):
        opened.require("sentence1")
    with pytest.raises(InputError, match=r"no split `dev`.*the splits are train"):
        opened.schema("dev")


def test_the_split_of_a_configuration_opens_by_the_name_of_its_files(tmp_path):
    for split in ("mr.train", "trec.train"):
        write_split(tmp_path / "set", split, [pa.table({"text": [split, "b"]})], pa.schema([("text", pa.string())]))
    configs = [
        {"config_name": name, "data_files": [{"split": "train", "path": f"data/{name}.train-*"}]}
        for name in ("mr", "trec")
    ]
    (tmp_path / "set" / "README.md").write_text(f"---\nconfigs: {json.dumps(configs)}\n---\n")
    assert open_rows(tmp_path / "set", "trec.train").read().to_pydict() == {"text": ["trec.train", "b"]}
    with pytest.raises(InputError, match=r"no split `trec.test`.*the splits are mr.train, trec.train"):
        open_rows(tmp_path / "set", "trec.test")


def test_pairs_of_a_dataset_may_have_the_usual_names():
    rows = [{"premise": "a", "hypothesis": "b", "label": 1}] * 2
    stream = IterableDataset.from_generator(lambda: iter(rows))
    for source in (rows, iter(rows), Dataset.from_list(rows), stream):
        assert list(iterate_pairs(source)) == [(["a", "a"], ["b", "b"])]
    for wrong in (3, [("a", "b")]):
        with pytest.raises(UsageError, match="has no rows that can be read"):
            list(iterate_pairs(wrong))


NOT_UTF_8 = pa.Array.from_buffers(
    pa.string(), 2, [None, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff\xfe")]
)


@pytest.mark.parametrize("damage", ["empty", "truncated", "inside", "not UTF-8"])
def test_a_damaged_shard_is_an_input_error_that_names_it(tmp_path, damage):
    texts = NOT_UTF_8 if damage == "not UTF-8" else [f"number {row} {row * 7919 % 1009}" for row in range(5_000)]
    table = pa.table({"sentence1": texts, "sentence2": texts})
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "train-00000-of-00001.parquet"
    pq.write_table(table, path)
    content = path.read_bytes()
    if damage == "inside":
        content = content[:4] + bytes(byte ^ 0xFF for byte in content[4:2_000]) + content[2_000:]
    path.write_bytes(content[: {"empty": 0, "truncated": -1}.get(damage)])
    with pytest.raises(InputError, match="not a readable Parquet file") as caught:
        DataFolder(tmp_path).table("train", ["sentence1"])
    assert caught.value.path == str(path) and len(str(caught.value)) < 600


@pytest.mark.parametrize("tags", ["", "task_ids:\n- part-of-speech\n"])
@pytest.mark.parametrize("pattern", ["data/*", "data/train-00000-of-00002.parquet"])
def test_a_split_without_one_of_its_shards_is_refused_unless_the_card_names_the_others(tmp_path, tags, pattern):
    write_split(tmp_path, "train", [pa.table({"text": [*"abcd"]})], pa.schema([("text", pa.string())]))
    (tmp_path / "data/train-00000-of-00001.parquet").rename(tmp_path / "data/train-00000-of-00002.parquet")
    head = f"data_files:\n  - split: train\n    path: {pattern}"
    (tmp_path / "README.md").write_text(f"---\n{tags}configs:\n- config_name: default\n  {head}\n---\n")
    if pattern == "data/*":
        with pytest.raises(InputError, match=r"split `train` has 1 of 2 shards \(copy all\)"):
            open_rows(tmp_path)
    else:
        assert open_rows(tmp_path).count() == 4
