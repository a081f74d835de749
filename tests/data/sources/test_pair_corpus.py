from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.sources.corpus import Corpus
from hf_paraphrase.data.sources.pairs import PairsSource
from hf_paraphrase.errors import HfParaphraseError, InputError, UsageError


def read(path, **options) -> tuple[list[dict], Corpus]:
    with Corpus(PairsSource(tsv=str(path), **options)) as corpus:
        rows = [row for table in corpus.batches("train") for row in table.to_pylist()]
    assert corpus.counts["train"]["lines"] == sum(
        count for rule, count in corpus.counts["train"].items() if rule != "lines"
    )
    assert corpus.counts["train"]["rows"] == len(rows)
    return rows, corpus


def test_columns_are_put_in_order_and_given_their_types(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text(' 3.5 \tx\tNA\t"b"\t1\tcut\n')
    rows, corpus = read(path, columns="score,id,sentence1,sentence2,label,_")
    assert rows == [{"sentence1": "NA", "sentence2": '"b"', "score": 3.5, "id": "x", "label": 1}]
    assert corpus.schema("train").names == ["sentence1", "sentence2", "score", "id", "label"]
    assert corpus.schema("train").field("label").type == pa.int64()


@pytest.mark.parametrize("value", ["", "high", "1,5", "nan", "inf", "1e999", "0x1", "--1", "1_0"])
def test_a_score_that_is_no_number_is_named_with_its_line_or_skipped(tmp_path, value):
    path = tmp_path / "a.tsv"
    path.write_text(f"a\tb\t1\nc\td\t{value}\ne\tf\t-.5e1\n")
    with pytest.raises(InputError, match="is not a number") as caught:
        read(path, columns="sentence1,sentence2,score")
    assert caught.value.line == 2
    rows, corpus = read(path, columns="sentence1,sentence2,score", on_error="skip")
    assert [row["score"] for row in rows] == [1.0, -5.0]
    assert corpus.counts["train"]["malformed"] == 1


@pytest.mark.parametrize("value", ["1.0", "", "yes", "9" * 30])
def test_a_label_must_be_a_whole_number(tmp_path, value):
    path = tmp_path / "a.tsv"
    path.write_text(f"a\tb\t{value}\n")
    with pytest.raises(InputError, match="is not a whole number"):
        read(path, columns="sentence1,sentence2,label")


def test_a_header_is_left_out_by_itself_and_logged(tmp_path, caplog):
    path = tmp_path / "a.tsv"
    path.write_text("sentence_A\tsentence_B\tscore\na\tb\t2\n")
    columns = "sentence1,sentence2,score"
    for options in ({}, {"header": "auto"}, {"header": "yes"}, {"skip_header": True}):
        caplog.clear()
        with caplog.at_level("INFO"):
            rows, corpus = read(path, columns=columns, **options)
        assert [row["sentence1"] for row in rows] == ["a"] and corpus.counts["train"]["header"] == 1
        said = "names the fields and is left out (--header no keeps it)" in caplog.text
        assert said is (options in ({}, {"header": "auto"}))
    with pytest.raises(InputError, match="leave a header out with --header yes"):
        read(path, columns=columns, header="no")
    path.write_text("sentence1\tsentence2\na\tb\n")
    assert len(read(path, header="no")[0]) == 2 and len(read(path)[0]) == 1


def test_header_and_skip_header_are_for_tab_separated_files(tmp_path):
    (tmp_path / "a.csv").write_text("sentence1,sentence2\na,b\n")
    for options in ({"header": "yes"}, {"header": "no"}, {"skip_header": True}):
        with pytest.raises(UsageError, match="is for --tsv"):
            PairsSource(csv=str(tmp_path / "a.csv"), **options).check()
    (tmp_path / "a.tsv").write_text("a\tb\n")
    with pytest.raises(UsageError, match="exclude each other"):
        PairsSource(tsv=str(tmp_path / "a.tsv"), skip_header=True, header="no").check()


def test_pairs_with_an_empty_side_or_an_evaluation_sentence_go(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\t \nThis is in the test.\tb\nc\tthis is IN the test\nd\te\n")
    (tmp_path / "eval.txt").write_text("this is in the test\n")
    rows, corpus = read(path, decontaminate=[str(tmp_path / "eval.txt")])
    assert rows == [{"sentence1": "d", "sentence2": "e"}]
    assert corpus.counts["train"] == {
        "lines": 4,
        "header": 0,
        "malformed": 0,
        "empty_side": 1,
        "contaminated": 2,
        "rows": 1,
    }
    assert corpus.contamination == {"eval.txt": 2}


@pytest.mark.parametrize("columns", ["sentence1", "sentence1,sentence2,sentence2", "sentence1,sentence2,a b", "", "_"])
def test_columns_that_are_no_pair_are_refused(tmp_path, columns):
    (tmp_path / "a.tsv").write_text("a\tb\n")
    with pytest.raises(UsageError, match="--columns"):
        read(tmp_path / "a.tsv", columns=columns)


def test_nothing_left_is_an_error(tmp_path):
    (tmp_path / "a.tsv").write_text("\tb\n")
    with pytest.raises(InputError, match=r"no row of train is left.*empty_side 1"):
        read(tmp_path / "a.tsv")


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=60) | st.text("ab\t\n\r 1.-", max_size=60).map(str.encode), skip=st.booleans())
def test_any_file_gives_rows_or_one_of_our_errors(tmp_path, data, skip):
    path = tmp_path / "a.tsv"
    path.write_bytes(data)
    try:
        rows, _ = read(path, columns="sentence1,sentence2,label,_", on_error="skip" if skip else "raise")
    except HfParaphraseError as error:
        assert "\n" not in str(error)
        return
    assert all(row["sentence1"].strip() and row["sentence2"].strip() for row in rows)


def test_a_sample_is_drawn_of_the_pairs_that_the_rules_leave(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"one {i}\ttwo {i}\n" for i in range(30)) + "a\t \n")
    rows, corpus = read(path, max_pairs=7)
    assert len(rows) == 7 and corpus.counts["train"]["not_sampled"] == 23 and corpus.counts["train"]["lines"] == 31
    assert rows == [row for row in read(path)[0] if row in rows]
    assert rows == read(path, max_pairs=7)[0]
