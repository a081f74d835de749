from __future__ import annotations

import gzip

import pytest

from hf_paraphrase.data.line_errors import LineErrors
from hf_paraphrase.data.sources.bitext import BitextSource
from hf_paraphrase.data.sources.corpus import Corpus
from hf_paraphrase.data.tsv_header import header_of, read_tsv
from hf_paraphrase.errors import InputError


@pytest.mark.parametrize(
    "line",
    [
        "sentence1\tsentence2",
        "Sentence 1\tSentence-2\tScore",
        "\ufeffid\tsource\ttarget\r",
        '"text1"\t"text2"\t"label"',
        "fr\ten",
        "premise\thypothesis\tmine",
    ],
)
def test_a_line_of_names_of_columns_is_a_header(tmp_path, line):
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(f"{line}\na\tb\n".encode()))
    assert header_of(tmp_path / "a.tsv.gz", ["fr", "en", "mine"]) is not None


@pytest.mark.parametrize(
    "line",
    [
        "The source of the river.\tThe target of the plan.",
        "source\tThe target.",
        "source\tsource",
        "source",
        "sentence1\t",
        "score\t3.5",
        "une source\ta source",
        "\t",
        "",
    ],
)
def test_a_line_with_anything_else_is_a_row(tmp_path, line):
    (tmp_path / "a.tsv").write_text(f"{line}\nsource\ttarget\n")
    assert header_of(tmp_path / "a.tsv", ["fr", "en"]) is None


def test_a_line_that_is_no_text_is_left_to_the_reader(tmp_path):
    (tmp_path / "a.tsv").write_bytes(b"\xff\tb\na\tb\n")
    with pytest.raises(InputError, match="not UTF-8"):
        list(read_tsv(tmp_path / "a.tsv", ["source", "target"], LineErrors(), header="auto"))


def test_line_numbers_count_the_header(tmp_path):
    (tmp_path / "a.tsv").write_text("source\ttarget\na\tb\nc\n")
    errors = LineErrors()
    with pytest.raises(InputError) as met:
        list(read_tsv(tmp_path / "a.tsv", ["source", "target"], errors, header="auto"))
    assert met.value.line == 3 and errors.left_out["header"] == 1


def test_the_header_of_a_bitext_is_no_row(tmp_path):
    (tmp_path / "a.tsv").write_text("fr\ten\nun chat\ta cat\n")
    source = BitextSource(tsv=str(tmp_path / "a.tsv"), source_lang="fr", target_lang="en")
    with Corpus(source) as corpus:
        rows = [row for table in corpus.batches("train") for row in table.to_pylist()]
    assert [row["target"] for row in rows] == ["a cat"]
    counts = corpus.counts["train"]
    assert (counts["lines"], counts["header"], counts["rows"]) == (2, 1, 1)
