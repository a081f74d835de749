from __future__ import annotations

import json
from itertools import pairwise

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split


@pytest.fixture
def pairs(tmp_path):
    table = pa.table(
        {
            "id": [f"r{i // 2}" for i in range(20)],
            "sentence1": [f"the {i // 2} cats sat on a mat" for i in range(20)],
            "sentence2": [f"the {i // 2} cats sat on a mat" if i % 4 == 0 else f"{'x ' * i}pets" for i in range(20)],
            "rank": pa.array([i % 2 for i in range(20)], pa.int32()),
        }
    )
    folder = tmp_path / "pairs"
    write_split(folder, "train", [table], table.schema)
    write_split(folder, "test", [table.slice(0, 2)], table.schema)
    (folder / "README.md").write_text("---\nlicense: cc0-1.0\nlanguage: en\n---\n")
    return folder


def run(*words):
    return main([str(word) for word in words])


def test_filter_writes_a_folder_that_load_dataset_opens_with_card_and_provenance(pairs, tmp_path, capsys):
    output = tmp_path / "kept"
    code = run(
        "filter", "--pairs", pairs, "--output", output, "--drop-identical",
        "--keep", "overlap_1<=0.7", "2<=length<=30", "--keep", "rank==1", "--sample", 4, "--seed", 7,
    )  # fmt: skip
    captured = capsys.readouterr()
    assert code == 0 and captured.out == ""
    for step in ("read", "not identical", "overlap_1<=0.7", "2<=length<=30", "rank==1", "sample 4"):
        assert f"| {step} " in captured.err
    from datasets import load_dataset

    loaded = load_dataset(str(output), cache_dir=str(tmp_path / "cache"))
    assert list(loaded) == ["train"] and loaded["train"].num_rows == 4
    assert loaded["train"].column_names == ["id", "sentence1", "sentence2", "rank", "length", "overlap_1"]
    assert set(loaded["train"]["rank"]) == {1}
    record = json.loads((output / "provenance.json").read_text())
    assert record["seed"] == 7 and record["results"]["rows"] == 4
    assert record["results"]["funnel"]["read"] == 20
    card = (output / "README.md").read_text()
    assert "cc0-1.0" in card and "- en" in card and "overlap_1<=0.7" in card
    assert "not in the output: test" in captured.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--keep", "length>>3"], "cannot read `length>>3`"),
        (["--keep", "nothing<3"], "there is no column nothing (the columns are"),
        (["--keep", "lenght<3"], "there is no column lenght (did you mean length? the columns are"),
        (["--keep", "length>1000"], "nothing is left after `length>1000`"),
        (["--first", "1", "--negatives", "1"], "--negatives: 1 pairs have too few distinct sentences"),
        (["--split", "dev"], "no split `dev`"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing_behind(pairs, tmp_path, capsys, words, expected):
    before = sorted(tmp_path.iterdir())
    assert run("filter", "--pairs", pairs, "--output", tmp_path / "kept", *words) == 2
    error = [line for line in capsys.readouterr().err.splitlines() if line.startswith("hf-paraphrase: error")]
    assert len(error) == 1 and expected in error[0]
    assert sorted(tmp_path.iterdir()) == before


def test_pairs_that_contain_an_evaluation_sentence_go_only_where_ngrams_are_compared(pairs, tmp_path):
    (tmp_path / "eval.txt").write_text("3 cats sat on a\n")
    words = ["filter", "--pairs", pairs, "--decontaminate", tmp_path / "eval.txt"]
    assert run(*words, "--output", tmp_path / "exact") == 0
    assert run(*words, "--decontaminate-ngrams", 5, "--output", tmp_path / "ngrams") == 0
    exact, ngrams = (set(DataFolder(tmp_path / name).table()["id"].to_pylist()) for name in ("exact", "ngrams"))
    assert len(exact) == 10 and exact - ngrams == {"r3"}
    record = json.loads((tmp_path / "ngrams" / "provenance.json").read_text())
    assert record["results"]["contamination"] == {"eval.txt (5-grams)": 2}


def test_the_first_pairs_or_tokens_of_what_is_left_are_taken(pairs, tmp_path):
    def ids(*words):
        output = tmp_path / "_".join(map(str, words))
        assert run("filter", "--pairs", pairs, "--output", output, *words) == 0
        table = DataFolder(output).table()
        return [(row["id"], row["rank"]) for row in table.to_pylist()]

    rows = [(f"r{i // 2}", i % 2) for i in range(20)]
    assert ids("--first", 3) == rows[:3]
    # 7 + 7 tokens, then 7 + 2, 7 + 3, …
    assert ids("--max-tokens", 14) == rows[:1] and ids("--max-tokens", 15) == rows[:2]
    assert ids("--keep", "rank==1", "--max-tokens", 9) == [rows[1]]
    assert ids("--one-per-reference", "best", "--first", 2) == [rows[0], rows[2]]
    assert ids("--first", 100) == rows


def test_noise_and_negatives_are_made_told_and_recorded(pairs, tmp_path, capsys):
    words = ["filter", "--pairs", pairs, "--first", 16, "--drop-identical", "--noise", 0.25, "--seed", 3]
    assert run(*words, "--negatives", 7, "--output", tmp_path / "a") == 0
    assert "4 of the pairs made random, 15 negatives added" in capsys.readouterr().err
    assert run(*words, "--negatives", 7, "--output", tmp_path / "b") == 0
    table = DataFolder(tmp_path / "a").table()
    assert table.equals(DataFolder(tmp_path / "b").table())
    assert table.num_rows == 30 and table["label"].to_pylist() == [1] * 15 + [0] * 15
    assert sum(table["noise"].to_pylist()) == 4 and table.column_names[-2:] == ["noise", "label"]
    record = json.loads((tmp_path / "a" / "provenance.json").read_text())
    assert record["settings"]["noise"] == 0.25 and record["settings"]["negatives"] == 7
    results = record["results"]
    assert (results["rows"], results["pairs"], results["noise"], results["negatives"]) == (30, 15, 4, 15)
    positives = table.slice(0, 15)
    texts = [*positives["sentence1"].to_pylist(), *positives["sentence2"].to_pylist()]
    assert results["tokens"] == sum(len(text.split()) for text in texts)
    card = (tmp_path / "a" / "README.md").read_text()
    assert "4 are random" in card and "15 negatives" in card
    assert {path.name for path in (tmp_path / "a").iterdir()} == {"data", "README.md", "provenance.json"}
    # Made once, the negatives keep later ones from being made.
    assert run("filter", "--pairs", tmp_path / "a", "--negatives", 1, "--output", tmp_path / "c") == 2
    assert "not labelled 1" in capsys.readouterr().err and not (tmp_path / "c").exists()


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
    counts = list(record["funnel"].values())
    lost = [before - after for before, after in pairwise(counts)]
    assert [list(steps.values()).count(step) for step in list(record["funnel"])[1:]] == lost and min(lost) > 0
    assert run("filter", "--pairs", pairs, "--output", tmp_path / "x", "--explain", tmp_path / "x") == 2
