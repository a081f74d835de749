from __future__ import annotations

import json
from itertools import pairwise

import pytest
from small_runs import run, write

from hf_paraphrase.data.folder import DataFolder


@pytest.fixture
def pairs(tmp_path):
    first = [f"the {i // 2} cats sat on a mat" for i in range(20)]
    second = [text if i % 4 == 0 else f"{'x ' * i}pets" for i, text in enumerate(first)]
    columns = {"id": [f"r{i // 2}" for i in range(20)], "sentence1": first, "sentence2": second, "rank": [0, 1] * 10}
    write(tmp_path / "pairs", "test", **{name: values[:2] for name, values in columns.items()})
    return write(tmp_path / "pairs", **columns)


def test_every_step_is_counted_and_what_was_computed_for_one_stays(pairs, tmp_path, capsys):
    words = ["--drop-identical", "--keep", "overlap_1<=0.7", "2<=length<=30", "--keep", "rank==1"]
    assert run("filter", "--pairs", pairs, "--output", tmp_path / "kept", *words, "--sample", 4) == 0
    captured = capsys.readouterr()
    for step in ("read", "not identical", "overlap_1<=0.7", "2<=length<=30", "rank==1", "sample 4"):
        assert f"| {step} " in captured.err
    assert "not in the output: test" in captured.err
    kept = DataFolder(tmp_path / "kept").table()
    assert kept.column_names == ["id", "sentence1", "sentence2", "rank", "length", "overlap_1"]
    assert kept.column("rank").to_pylist() == [1] * 4
    record = json.loads((tmp_path / "kept/provenance.json").read_text())
    assert record["results"]["rows"] == 4 and record["results"]["funnel"]["read"] == 20


def test_pairs_that_contain_an_evaluation_sentence_go_only_where_ngrams_are_compared(pairs, tmp_path):
    (tmp_path / "eval.txt").write_text("3 cats sat on a\n")
    words = ["filter", "--pairs", pairs, "--decontaminate", tmp_path / "eval.txt"]
    assert run(*words, "--output", tmp_path / "exact") == 0
    assert run(*words, "--decontaminate-ngrams", 5, "--output", tmp_path / "ngrams") == 0
    exact, ngrams = (set(DataFolder(tmp_path / name).table()["id"].to_pylist()) for name in ("exact", "ngrams"))
    assert len(exact) == 10 and exact - ngrams == {"r3"}
    record = json.loads((tmp_path / "ngrams" / "provenance.json").read_text())
    assert record["results"]["contamination"] == {"eval.txt (5-grams)": 2}


def test_noise_and_negatives_are_made_told_and_recorded(pairs, tmp_path, capsys):
    words = ["filter", "--pairs", pairs, "--first", 16, "--drop-identical", "--noise", 0.25, "--seed", 3]
    assert run(*words, "--negatives", 7, "--output", tmp_path / "a") == 0
    assert "4 of the pairs made random, 15 negatives added" in capsys.readouterr().err
    table = DataFolder(tmp_path / "a").table()
    assert table["label"].to_pylist() == [1] * 15 + [0] * 15
    assert sum(table["noise"].to_pylist()) == 4 and table.column_names[-2:] == ["noise", "label"]
    results = json.loads((tmp_path / "a" / "provenance.json").read_text())["results"]
    assert (results["rows"], results["pairs"], results["noise"], results["negatives"]) == (30, 15, 4, 15)
    positives = table.slice(0, 15)
    texts = [*positives["sentence1"].to_pylist(), *positives["sentence2"].to_pylist()]
    assert results["tokens"] == sum(len(text.split()) for text in texts)
    card = (tmp_path / "a" / "README.md").read_text()
    assert "4 are random" in card and "15 negatives" in card


def test_explain_keeps_what_was_left_out_with_the_step_that_removed_it(pairs, tmp_path):
    words = ["--drop-identical", "--keep", "2<=length<=15", "--one-per-reference", "best", "--sample", 3]
    paths = ["--pairs", pairs, "--output", tmp_path / "kept", "--explain", tmp_path / "removed"]
    assert run("filter", *paths, *words) == 0
    every, kept, removed = (
        DataFolder(path).table().to_pylist() for path in (pairs, *map(tmp_path.joinpath, ("kept", "removed")))
    )
    key = lambda row: (row["id"], row["rank"])  # noqa: E731
    assert sorted(map(key, [*kept, *removed])) == sorted(map(key, every)) and len(kept) == 3
    steps = {key(row): row.pop("removed_by") for row in removed}
    assert all(row in every for row in removed)
    for row in every:
        if row["sentence1"] == row["sentence2"]:
            assert steps[key(row)] == "not identical"
        elif not 2 <= len(row["sentence2"].split()) <= 15:
            assert steps[key(row)] == "2<=length<=15"
    record = json.loads((tmp_path / "removed/provenance.json").read_text())["results"]
    lost = [before - after for before, after in pairwise(record["funnel"].values())]
    assert [list(steps.values()).count(step) for step in list(record["funnel"])[1:]] == lost and min(lost) > 0
