from __future__ import annotations

import csv
import io
import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hf_paraphrase.data.text_blocks as text_blocks
from hf_paraphrase import prepare_bitext, score, train_nmt, train_tokenizer
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.readers import CsvReader
from hf_paraphrase.data.sentences import SentenceCorpus, lines_of_file
from hf_paraphrase.data.sources.pairs import PairsSource
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.mining.collections import read_collection

HARD = st.one_of(
    st.sampled_from(['"', '""', ",", 'a"b', "\n", "a\nb", "NA", "null", "", " ", "a\rb", "\x0c", "\u2028", "\ufeff"]),
    # A carriage return before a line feed is a line end, which comes back as a line feed.
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r"), max_size=12),
)
ROWS = st.lists(st.lists(HARD, min_size=3, max_size=3), min_size=1, max_size=8)


def as_read(text):
    return re.sub(r"\r+(?=\n|\Z)", "", text).replace("\r", " ")


def read(options):
    with SourceRows(PairsSource(**options)) as rows:
        found = [row for table in rows.tables("train") for row in table.to_pylist()]
    counts = rows.counts["train"]
    assert counts["rows"] == len(found) and 2 * counts["lines"] == sum(counts.values())
    return found, rows


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=ROWS, block=st.integers(1, 30))
def test_csv_that_python_writes_comes_back_exactly_whatever_the_block_size(tmp_path, rows, block):
    text = io.StringIO(newline="")
    # A lone carriage return is quoted by the writer; it is text here all the same.
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows([["left", "right", "extra"], *rows])
    path = tmp_path / "a.csv"
    path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        batches = list(CsvReader([path], {}).batches(["right", "left"]))
    found = [tuple(row.values()) for batch in batches for row in batch.to_pylist()]
    assert found == [(as_read(row[1]) or None, as_read(row[0]) or None) for row in rows]


def test_a_quote_that_is_never_closed_does_not_swallow_the_lines_after_it(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('sentence1,sentence2\na,b\n"never closed,c\n' + "".join(f"s{i},t{i}\n" for i in range(300)))
    with pytest.raises(InputError, match="not closed") as caught:
        read({"csv": str(path)})
    assert caught.value.line == 3
    rows, corpus = read({"csv": str(path), "on_error": "skip"})
    assert len(rows) == 301 and rows[1] == {"sentence1": "s0", "sentence2": "t0"}
    assert corpus.counts["train"]["malformed"] == 1


@pytest.mark.parametrize("kind", ["jsonl", "dataset"])
def test_a_malformed_line_is_skipped_on_request_however_its_file_is_given(kind, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"sentence1": "a", "sentence2": "b"}\n{"sentence1":\n')
    rows, corpus = read({kind: str(tmp_path / "a.jsonl"), "on_error": "skip"})
    assert rows == [{"sentence1": "a", "sentence2": "b"}] and corpus.counts["train"]["malformed"] == 1
    # The type of most values is that of the column.
    for labels, readable in (((1, "odd", 0), [1, 0]), (("1", 1, "0"), [1, 0])):
        pairs = [{"sentence1": "a", "sentence2": "b", "label": label} for label in labels]
        (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, pairs)))
        rows, corpus = read({kind: str(tmp_path / "a.jsonl"), "on_error": "skip"})
        assert [row["label"] for row in rows] == readable and corpus.counts["train"]["malformed"] == 1


@pytest.mark.parametrize(
    "content",
    [b'\xef\xbb\xbftext1,text2\r\n\r\na,b\r\nc,"d\r\ne"\r\n', b'text1;text2\r\r\na;b\r\r\nc;"d\r\r\ne"\r\r\n'],
)
def test_no_line_end_of_any_system_is_in_the_rows_of_csv_and_the_usual_names_are_recognised(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    found, _ = read({"csv": str(tmp_path / "a.csv")})
    assert found == [{"sentence1": "a", "sentence2": "b"}, {"sentence1": "c", "sentence2": "d\ne"}]


def test_pairs_with_an_empty_side_or_an_evaluation_sentence_go_and_a_sample_is_of_the_rest(tmp_path):
    rows = ["a\t ", "This is in the test.\tb", "c\tthis is IN the test", *(f"one {i}\ttwo {i}" for i in range(30))]
    (tmp_path / "a.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "eval.txt").write_text("this is in the test\n")
    options = {"tsv": str(tmp_path / "a.tsv"), "decontaminate": [str(tmp_path / "eval.txt")]}
    found, whole = read(options)
    expected = {"lines": 33, "header": 0, "malformed": 0, "empty_side": 1, "contaminated": 2, "rows": 30}
    assert whole.counts["train"] == expected and whole.contamination == {"eval.txt": 2}
    assert len(found) == 30 and read({**options, "max_pairs": 7})[1].counts["train"]["not_sampled"] == 23


def test_whatever_load_dataset_opens_becomes_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = {"anchor": ["a", "c"], "positive": ["b", "d"], "negative": ["x", "y"], "score": [0.5, None], "n": [1, 2]}
    (tmp_path / "set").mkdir()
    pq.write_table(pa.table({**rows, "vector": [[1.0], [2.0]]}), tmp_path / "set" / "train.parquet")
    assert main(["prepare", "pairs", "--dataset", "set", "--output", "out"]) == 0
    made = DataFolder("out").table()
    pair = {"sentence1": "c", "sentence2": "d", "score": None, "negative": "y"}
    assert made.to_pylist()[1] == pair
    assert main(["prepare", "pairs", "--dataset", "set", "--keep-columns", "--output", "whole"]) == 0
    assert DataFolder("whole").table().to_pylist()[1] == pair | {"n": 2, "vector": [2.0]}
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert [item["name"] for item in record["inputs"]] == ["set"]
    (tmp_path / "json").mkdir()
    lines = '{"q": "a", "p": "b", "label": 1}\n{"q": "c", "p": " ", "label": 0}\n'
    (tmp_path / "json" / "test.jsonl").write_text(lines)
    words = ["--dataset", "json", "--split", "test", "--columns", "sentence1=q,sentence2=p,label", "--output", "two"]
    assert main(["prepare", "pairs", *words]) == 0
    assert DataFolder("two").table("test").to_pylist() == [{"sentence1": "a", "sentence2": "b", "label": 1}]


def test_bitext_is_read_from_whatever_load_dataset_opens(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "opus").mkdir()
    sides = [{"en": "A cat.", "fr": "Un chat."}, {"en": "", "fr": "Rien"}, {"en": "Yes", "fr": None}]
    lines = [json.dumps({"id": str(number), "translation": side}) for number, side in enumerate(sides)]
    (tmp_path / "opus" / "train.jsonl").write_text("\n".join(lines))
    pq.write_table(pa.table({"en": ["A cat."], "source": ["Un chat."]}), tmp_path / "named.parquet")
    words = ["--source-lang", "fr", "--target-lang", "en", "--output"]
    for name in ("opus", "named.parquet"):
        assert main(["prepare", "bitext", "--dataset", name, *words, f"out_{name}"]) == 0
        (row,) = DataFolder(f"out_{name}").table().to_pylist()
        sides = {"source": "Un chat.", "target": "A cat.", "source_lang": "fr", "target_lang": "en"}
        assert row == {"id": "fr-en-0000001", **sides}
    record = json.loads((tmp_path / "out_opus" / "provenance.json").read_text())
    assert record["results"]["counts"]["train"]["empty_side"] == 2 and record["inputs"][0]["name"] == "opus"
    problem = "no column for the language `de`.*translation\\.de, de, target; the columns are id, translation"
    with pytest.raises(InputError, match=problem):
        prepare_bitext(dataset="opus", source_lang="fr", target_lang="de", output="no")
    with pytest.raises(InputError, match="the source language is `fr`, not `en`"):
        prepare_bitext(dataset="out_opus", source_lang="en", target_lang="fr", output="no")
    with pytest.raises(InputError, match=r"missing columns source, target.*prepare bitext --dataset DATA"):
        train_nmt(bitext="opus", output="no")
    with pytest.raises(UsageError, match="--columns is for --tsv"):
        prepare_bitext(dataset="opus", columns="target,source", source_lang="fr", target_lang="en", output="no")


def test_sentences_of_files_with_columns_are_their_texts_and_not_their_lines(tmp_path):
    (tmp_path / "a.csv").write_text('id,text\n1,"a, b"\n2,c\n')
    (tmp_path / "a.jsonl").write_text('{"sentence1": "a", "sentence2": "b"}\n')
    (tmp_path / "a.tsv").write_text("id\ttext\n1\ta, b\n")
    assert list(SentenceCorpus(tmp_path / "a.tsv").blocks()) == [["a, b"]]
    assert list(SentenceCorpus(tmp_path / "a.csv").blocks()) == [["a, b", "c"]]
    assert list(SentenceCorpus(tmp_path / "a.csv", ["id"]).blocks()) == [["1", "2"]]
    assert list(SentenceCorpus(tmp_path / "a.jsonl").blocks()) == [["a", "b"]]
    (tmp_path / "b.csv").write_text("Anchor,positive\na,b\n")
    for columns in (["Anchor"], ["sentence1"]):
        assert list(SentenceCorpus(tmp_path / "b.csv", columns).blocks()) == [["a"]]
    assert list(SentenceCorpus(tmp_path / "b.csv", ["positive,Anchor"]).blocks()) == [["b", "a"]]
    with pytest.raises(InputError, match="missing column negative"):
        SentenceCorpus(tmp_path / "b.csv", ["Anchor", "negative"])
    output, pairs = str(tmp_path / "out"), [{"sentence1": "a", "sentence2": "b"}]
    for reader in (
        lambda path: list(lines_of_file(path)),
        lambda path: train_tokenizer(text=[str(path)], output=output),
        lambda path: score(pairs=pairs, language_model_text=path, output=output),
        lambda path: read_collection(path, "lines"),
    ):
        for name in ("a.csv", "a.jsonl", "a.tsv"):
            with pytest.raises(InputError, match="whose lines are not sentences"):
                reader(tmp_path / name)


def test_a_csv_without_a_header_is_refused_alike_by_every_reader(tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    path = tmp_path / "a.csv"
    path.write_text("A cat sits.,The cat is sitting.\nA dog.,One dog.\n")
    readers = (
        lambda: read({"csv": str(path)}),
        lambda: SentenceCorpus(path),
        lambda: DataFolder(path).require("sentence1", "sentence2"),
    )
    for reader in readers:
        with pytest.raises(InputError, match="if these are values, write a header above them"):
            reader()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({}, UsageError, "give one of --tsv"),
        ({"csv": "a.csv", "header": "yes"}, UsageError, "--header"),
        ({"tsv": "a.csv", "columns": "sentence1,sentence2,sentence2"}, UsageError, "--columns"),
        ({"csv": "a.csv", "columns": "sentence1=,sentence2"}, UsageError, "name=theirs"),
        (
            {"parquet": "n.parquet", "columns": "sentence1=x,sentence2=a"},
            InputError,
            r"missing column x.*--columns.*the columns are a, b",
        ),
        ({"csv": "a.csv", "columns": "sentence1=a,sentence2=b"}, InputError, "column b occurs twice"),
        ({"dataset": "set"}, InputError, r"missing columns sentence1.*--columns sentence1="),
        ({"dataset": "no/such_dataset"}, InputError, "no such file or data folder"),
        ({"parquet": "n.parquet", "columns": "sentence1=a,sentence2=b"}, InputError, "of type int64, not text"),
    ],
)
def test_what_does_not_fit_together_is_refused(tmp_path, monkeypatch, options, error, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("a,b,b\n1,2,3\n")
    (tmp_path / "set").mkdir()
    for name in ("n.parquet", "set/n.parquet"):
        pq.write_table(pa.table({"a": [1], "b": ["x"]}), name)
    with pytest.raises(error, match=message):
        read(options)
