from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.parquet import read_table, write_split


@pytest.fixture
def pairs(tmp_path):
    table = pa.table(
        {
            "sentence1": ["a cat sat", "dogs bark", ""],
            "sentence2": ["the cat sat", "dogs bark loudly", "x"],
            "label": pa.array([1, 0, None]),
        }
    )
    folder = tmp_path / "pairs"
    for split in ("train", "test"):
        write_split(folder, split, [table], table.schema)
    return folder


def run(*words):
    return main([str(word) for word in words])


def test_score_adds_columns_to_every_split_and_keeps_rows_and_columns(pairs, tmp_path):
    output = tmp_path / "scored"
    assert run("score", "--pairs", pairs, "--output", output) == 0
    from datasets import load_dataset

    loaded = load_dataset(str(output), cache_dir=str(tmp_path / "cache"))
    assert set(loaded) == {"train", "test"}
    columns = ["length", "length_reference", "length_ratio", "overlap_1", "overlap_2", "overlap_3", "bleu"]
    columns += ["edit_distance", "repetition_1", "repetition_3", "repetition_reference_1", "repetition_reference_3"]
    columns += ["copy_rate"]
    assert loaded["train"].column_names == ["sentence1", "sentence2", "label", *columns]
    for split in ("train", "test"):
        before, after = read_table(pairs, split), read_table(output, split)
        assert after.select(before.column_names).equals(before)
        assert after.column("length").to_pylist() == [3, 3, 1]
    record = json.loads((output / "provenance.json").read_text())
    assert record["results"] == {"rows": {"train": 3, "test": 3}, "columns": columns}
    assert "`overlap_1`" in (output / "README.md").read_text()


@pytest.mark.parametrize(
    "words", [["length,clipped_overlap"], ["length", "clipped_overlap"], ["clipped_overlap, length"]]
)
def test_measures_can_be_listed_with_commas_or_spaces(pairs, tmp_path, words):
    assert run("score", "--pairs", pairs, "--output", tmp_path / "scored", "--measures", *words) == 0
    names = read_table(tmp_path / "scored").column_names
    assert names[-3:] == ["overlap_clipped_1", "overlap_clipped_2", "overlap_clipped_3"] and "bleu" not in names


def test_batches_do_not_change_the_result(pairs, tmp_path):
    for size in (1, 1000):
        run("score", "--pairs", pairs, "--output", tmp_path / str(size), "--batch-size", size)
    # As text, because NaN is not equal to itself.
    assert repr(read_table(tmp_path / "1").to_pydict()) == repr(read_table(tmp_path / "1000").to_pydict())


def test_filtering_scored_pairs_equals_filtering_with_measures_on_demand(pairs, tmp_path):
    run("score", "--pairs", pairs, "--output", tmp_path / "scored")
    for name in ("pairs", "scored"):
        assert (
            run("filter", "--pairs", tmp_path / name, "--output", tmp_path / f"{name}_kept", "--keep", "bleu>0.6") == 0
        )
    first, second = read_table(tmp_path / "pairs_kept"), read_table(tmp_path / "scored_kept")
    assert 0 < first.num_rows < 3
    assert first.equals(second.select(first.column_names))


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--measures", "beauty"], "unknown measure beauty"),
        (["--measures", "cost"], "needs the missing columns log_prob, num_tokens"),
        (["--batch-size", "0"], "--batch-size is 0"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing_behind(pairs, tmp_path, capsys, words, expected):
    before = sorted(tmp_path.iterdir())
    assert run("score", "--pairs", pairs, "--output", tmp_path / "scored", *words) == 2
    assert expected in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_columns_that_were_there_are_said_to_be_computed_anew(pairs, tmp_path, capsys):
    run("score", "--pairs", pairs, "--output", tmp_path / "one")
    assert run("score", "--pairs", tmp_path / "one", "--output", tmp_path / "two", "--measures", "bleu") == 0
    assert "the column bleu was there before" in capsys.readouterr().err
    assert repr(read_table(tmp_path / "one").to_pydict()) == repr(read_table(tmp_path / "two").to_pydict())
