from __future__ import annotations

import csv
import gzip
import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hf_paraphrase.data.text_blocks as text_blocks
from hf_paraphrase.commands import main
from hf_paraphrase.data.sources.corpus import Corpus
from hf_paraphrase.data.sources.pair_files import read_csv, read_jsonl, split_record
from hf_paraphrase.data.sources.pairs import PairsBuilder, PairsSource
from hf_paraphrase.data.text_files import LineErrors
from hf_paraphrase.errors import HfParaphraseError, InputError, UsageError

FUZZ = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = ["left", "right", "extra"]
HARD = st.one_of(
    st.sampled_from(['"', '""', ",", 'a"b', "\n", "a\nb", "NA", "null", "", " ", "a\rb", "\x0c", "\u2028", "\ufeff"]),
    # A carriage return before a line feed is a line end, which comes back as a line feed.
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=12),
)


def rows_of(reader, path, columns, errors=None):
    rows = []
    for lines, block in reader(path, columns, errors or LineErrors()):
        rows += zip(lines.tolist(), *(column.to_pylist() for column in block.values()), strict=True)
    return rows


def read(options):
    with Corpus(PairsSource(**options)) as corpus:
        return [row for table in corpus.batches("train") for row in table.to_pylist()], corpus


@FUZZ
@given(rows=st.lists(st.lists(HARD, min_size=3, max_size=3), min_size=1, max_size=8), block=st.integers(1, 30))
def test_csv_that_python_writes_comes_back_exactly_whatever_the_block_size(tmp_path, rows, block):
    text = io.StringIO(newline="")
    # A lone carriage return is quoted by the writer; it is text here all the same.
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([NAMES, *rows])
    path = tmp_path / "a.csv"
    path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        found = rows_of(read_csv, path, {"a": "right", "b": "left"})
    assert [row[1:] for row in found] == [(row[1], row[0]) for row in rows]


@FUZZ
@given(rows=st.lists(st.lists(HARD, min_size=3, max_size=3), min_size=1, max_size=8))
def test_json_lines_come_back_exactly(tmp_path, rows):
    path = tmp_path / "a.jsonl"
    lines = [json.dumps(dict(zip(NAMES, row, strict=True)), ensure_ascii=False) for row in rows]
    path.write_bytes("".join(f"{line}\n" for line in lines).encode())
    found = rows_of(read_jsonl, path, {"a": "right", "b": "left"})
    assert found == [(number, row[1], row[0]) for number, row in enumerate(rows, start=1)]


@FUZZ
@given(
    data=st.binary(max_size=60) | st.text('ab,"\n\r{}:[]1', max_size=60).map(str.encode),
    kind=st.sampled_from(["csv", "jsonl", "parquet"]),
    skip=st.booleans(),
)
def test_any_bytes_give_rows_or_one_of_our_errors(tmp_path, data, kind, skip):
    path = tmp_path / f"x.{kind}"
    path.write_bytes(
        {"csv": b"sentence1,sentence2\n", "jsonl": b'{"sentence1":"a","sentence2":"b"}\n'}.get(kind, b"") + data
    )
    try:
        rows, corpus = read({kind: str(path), "on_error": "skip" if skip else "raise"})
    except HfParaphraseError as error:
        assert "\n" not in str(error)
        return
    assert corpus.counts["train"]["rows"] == len(rows)
    assert all(row["sentence1"].strip() and row["sentence2"].strip() for row in rows)


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("a,b", ["a", "b"]),
        ("", [""]),
        (",", ["", ""]),
        ('"a,b",c', ["a,b", "c"]),
        ('"a ""b""",c', ['a "b"', "c"]),
        ('a "b",c', ['a "b"', "c"]),
        ('5" disk,x', ['5" disk', "x"]),
        ('"open,b', None),
        ('"",', ["", ""]),
        ('"a\nb",c', ["a\nb", "c"]),
    ],
)
def test_quotes_mean_something_only_at_the_edges_of_a_field(text, fields):
    assert split_record(text) == fields


def test_a_quote_that_is_never_closed_does_not_swallow_the_lines_after_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('sentence1,sentence2\na,b\n"never closed,c\n' + "".join(f"s{i},t{i}\n" for i in range(300)))
    with pytest.raises(InputError, match="not closed") as caught:
        read({"csv": str(path)})
    assert caught.value.line == 3
    rows, corpus = read({"csv": str(path), "on_error": "skip"})
    assert len(rows) == 301
    assert rows[1] == {"sentence1": "s0", "sentence2": "t0"}
    assert corpus.counts["train"]["malformed"] == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [("a", "1 field where the header has 2"), ("a,b,c", "3 fields where"), ('"a"b,c', "`b` after the closing quote")],
)
def test_a_malformed_record_is_named_or_skipped_alone(tmp_path, line, message):
    path = tmp_path / "a.csv"
    path.write_text(f'sentence1,sentence2\n"x\ny",b\n{line}\nc,d\n')
    with pytest.raises(InputError, match=message) as caught:
        read({"csv": str(path)})
    assert caught.value.line == 4
    rows, _ = read({"csv": str(path), "on_error": "skip"})
    assert rows == [{"sentence1": "x\ny", "sentence2": "b"}, {"sentence1": "c", "sentence2": "d"}]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[]", "something other than"),
        ('{"s": 1}', "no key `s1`"),
        ('{"s1": 1, "s2": "b", "score": 1}', "sentence1 is not a text"),
        ('{"s1": "a", "s2": "b", "score": [1]}', "score is a list"),
        ('{"s1": "a", "s2": "b", "score": NaN}', "score `nan` is not a number"),
        ('{"s1": "\\ud800", "s2": "b", "score": 1}', "surrogate"),
        ('{"s1": "a"', "not a JSON object"),
        ('{"s1": "a", "s2": "b", "score": ' + "9" * 5000 + "}", "not a JSON object|is not a number"),
        ("", "not a JSON object"),
        ('[{"s1": "a", "s2": "b"}]', r"not a JSON object as expected: something other than.*\(give one object a line"),
    ],
)
def test_a_malformed_json_line_is_named_or_skipped_alone(tmp_path, line, message):
    path = tmp_path / "a.jsonl"
    good = '{"s1": "a", "s2": "b", "score": 0.5}\n'
    path.write_text(f"{good}{line}\n{good}")
    options = {"jsonl": str(path), "columns": "sentence1=s1,sentence2=s2,score"}
    with pytest.raises(InputError, match=message) as caught:
        read(options)
    assert caught.value.line == 2
    assert len(read({**options, "on_error": "skip"})[0]) == 2


def test_all_layouts_give_the_same_rows(tmp_path):
    rows = [
        {"sentence1": 'a "quoted", text', "sentence2": "NA", "score": 4.25, "label": 1, "kind": "x"},
        {"sentence1": "c", "sentence2": "null", "score": 0.1, "label": 0, "kind": ""},
    ]
    columns = "sentence1=left,sentence2=right,score=sim,label=gold,kind"
    raw = [
        {"left": r["sentence1"], "right": r["sentence2"], "sim": r["score"], "gold": r["label"], "kind": r["kind"]}
        for r in rows
    ]
    with (tmp_path / "a.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(raw[0]))
        writer.writeheader()
        writer.writerows(raw)
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in raw).encode()))
    pq.write_table(pa.Table.from_pylist(raw), tmp_path / "a.parquet")
    (tmp_path / "a.tsv").write_text("".join("\t".join(map(str, row.values())) + "\n" for row in rows))
    found = [
        read({kind: str(tmp_path / name), "columns": columns})[0]
        for kind, name in (("csv", "a.csv"), ("jsonl", "a.jsonl.gz"), ("parquet", "a.parquet"))
    ]
    found.append(read({"tsv": str(tmp_path / "a.tsv"), "columns": "sentence1,sentence2,score,label,kind"})[0])
    assert all(part == rows for part in found)


def test_truth_values_become_labels_and_missing_sentences_go(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(
        pa.table({"sentence1": ["a", None, "c"], "sentence2": ["x", "y", "z"], "label": [True, True, False]}), path
    )
    rows, corpus = read({"parquet": str(path), "columns": "sentence1,sentence2,label"})
    assert [row["label"] for row in rows] == [1, 0]
    assert corpus.counts["train"]["empty_side"] == 1


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, UsageError, "give one of --tsv"),
        ({"csv": "a.csv", "jsonl": "a.csv"}, UsageError, "give one of --tsv"),
        ({"csv": "a.csv", "skip_header": True}, UsageError, "--skip-header"),
        ({"csv": "a.csv", "columns": "sentence1=,sentence2"}, UsageError, "name=theirs"),
        ({"csv": "a.csv", "columns": "sentence1,_"}, UsageError, "sentence1 and sentence2"),
        (
            {"csv": "a.csv", "columns": "sentence1=x,sentence2=y"},
            InputError,
            "no column `x`.*the header has `a`, `b`, `b`",
        ),
        ({"csv": "a.csv", "columns": "sentence1=a,sentence2=b"}, InputError, "more than one column `b`"),
        ({"parquet": "a.csv", "columns": "sentence1=a,sentence2=b"}, InputError, "not a readable Parquet"),
        ({"parquet": "n.parquet", "columns": "sentence1=a,sentence2=b"}, InputError, "of type int64, not text"),
        ({"parquet": "none.parquet"}, InputError, "no such file"),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path, monkeypatch, options, error, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,b,b\n1,2,3\n")
    pq.write_table(pa.table({"a": [1], "b": ["x"]}), "n.parquet")
    with pytest.raises(error, match=message):
        read(options)


def test_command_and_builder_take_a_csv(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text('text,paraphrase,id\n"One, two.",Three.,7\n')
    columns = "sentence1=text,sentence2=paraphrase,id"
    assert main(["prepare", "pairs", "--csv", "a.csv", "--columns", columns, "--output", "out"]) == 0
    assert capsys.readouterr().out == ""
    expected = [{"sentence1": "One, two.", "sentence2": "Three.", "id": "7"}]
    assert load_dataset("out", split="train", cache_dir="cache").to_list() == expected
    builder = PairsBuilder(csv="a.csv", columns=columns, cache_dir="cache")
    builder.download_and_prepare()
    assert builder.as_dataset(split="train").to_list() == expected
