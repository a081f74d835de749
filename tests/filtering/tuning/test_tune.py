from __future__ import annotations

import zlib

import numpy as np
import pytest
from small_runs import lettered, record, run, write

from hf_paraphrase.filtering.tuning.runs import TuningRuns
from hf_paraphrase.vectors.similarity import pearson


def graded(folder, seed, split):
    first, second, other = lettered("a", seed, 20), lettered("b", seed, 20), lettered("b", seed + 100, 20)
    write(folder, split, sentence1=first * 2, sentence2=second + other, score=[5.0] * 20 + [0.0] * 20)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Pairs whose words mean the same with another letter; the second half is noise of low quality."""
    folder = tmp_path_factory.mktemp("data")
    good, bad = lettered("a", 4, 60), lettered("a", 1, 60)
    second = [*(text.replace("a", "b") for text in good), *lettered("b", 2, 60)]
    write(folder / "news", sentence1=[*good, *bad], sentence2=second, quality=[1.0] * 60 + [0.0] * 60)
    graded(folder / "dev", 10, "validation")
    graded(folder / "test", 20, "test")
    return folder


def tune(data, output, *more, pairs=None):
    words = ["tune", "--output", output, "--dev-data", data / "dev", "--data", data / "test", "--sample", 40]
    return run(*words, "--pairs", pairs or data / "news", "--epochs", 2, "--bootstrap", 40, *more)


def results_of(folder):
    return record(folder)["results"]


def cells_of(folder):
    return {(cell["filter"], cell["range"]): cell["runs"] for cell in results_of(folder)["grid"]}


def test_a_cell_equals_filter_and_train_encoder_by_hand(data, tmp_path):
    # Words of a sample alone are numbered otherwise, and the random start with them: all have vectors.
    generator = np.random.default_rng(0)
    lines = [f"{letter}{x} {' '.join(map(str, generator.normal(size=5)))}\n" for letter in "ab" for x in range(30)]
    (tmp_path / "vectors.txt").write_text("".join(lines))
    start = ["--initial-vectors", tmp_path / "vectors.txt"]
    assert tune(data, tmp_path / "grid", "--keep", "quality>0.5", "--seeds", 0, *start) == 0
    (row,) = cells_of(tmp_path / "grid")["quality", "quality>0.5"]
    assert row["pairs"] == 40 and row["available"] == 60
    keep = ["--keep", "quality>0.5", "--sample", 40, "--seed", 0]
    assert run("filter", "--pairs", data / "news", "--output", tmp_path / "kept", *keep) == 0
    train = [*start, "--dev-data", data / "dev", "--epochs", 2, "--seed", 0]
    assert run("train-encoder", "--pairs", tmp_path / "kept", "--output", tmp_path / "encoder", *train) == 0
    assert row["dev"] == pytest.approx(results_of(tmp_path / "encoder")["dev_best"], abs=1e-3)


GOOD, BAD = "quality>0.5", "quality<0.5"


@pytest.fixture
def trained(monkeypatch):
    """Stands for training: the dev mean is in a table, and what was selected says how good the similarities are."""

    def training(self, cell, rows, seed):
        (label,) = [label for label, wanted in ((GOOD, rows < 60), (BAD, rows >= 60)) if wanted.all()] or [""]
        generator = np.random.default_rng(zlib.crc32(f"{cell.data} {cell.encoder} {label} {seed}".encode()))
        sign, noise = {GOOD: (1, 0.5), BAD: (-1, 0.5), "": (1, 8.0)}[label]
        found = {item.key: sign * item.scores + noise * generator.normal(size=len(item.scores)) for item in self.tests}
        return {
            "pairs": len(rows),
            "dev": {GOOD: 60.0, BAD: 40.0}.get(label, 33.0) + seed,
            "tests": {item.key: 100 * pearson(found[item.key], item.scores) for item in self.tests},
            "similarities": {name: values.tolist() for name, values in found.items()},
        }

    monkeypatch.setattr(TuningRuns, "_train", training)


def test_equal_dev_scores_choose_nothing_which_is_logged(data, tmp_path, trained, capsys):
    for keep, is_equal in {"different": True, "quality>0.5": False}.items():
        assert tune(data, tmp_path / keep, "--keep", keep, "--seeds", 0) == 0
        assert ("all selections score 33.0, so the dev set chooses none" in capsys.readouterr().err) is is_equal


def test_a_grid_leaves_tables_a_card_and_every_run_and_the_dev_set_alone_chooses(data, tmp_path, trained):
    output = tmp_path / "grid"
    keep = ["--keep", "quality>0.5", "quality<0.5", "different", "different,quality>0.5"]
    assert tune(data, output, "--filters", "length_bins", *keep, "--seeds", 0, 1) == 0
    cells = cells_of(output)
    # No sentence has more than nine tokens: the other length bins select nothing.
    assert {cell: runs[0]["available"] for cell, runs in cells.items()} == {
        ("random", ""): 120,
        ("length_bins", "0<length<=10"): 120,
        ("quality", "quality>0.5"): 60,
        ("quality", "quality<0.5"): 60,
        ("different", "different"): 120,
        ("different+quality", "different,quality>0.5"): 60,
    }
    assert "minus random" in (output / "README.md").read_text()
    # What selects the same pairs shares the runs: all pairs and the good half have two seeds, the bad one.
    assert len(list((output / "runs").iterdir())) == 5
    chosen = {item["filter"]: item for item in results_of(output)["chosen"]}
    assert chosen["quality"]["range"] == "quality>0.5" and chosen["random"]["test"] is not None


def test_every_cell_has_its_test_mean_where_all_are_tested_and_the_last_bin_is_compared_with_the_first(
    data, tmp_path, trained
):
    texts = [" ".join(["w"] * (5 if row < 60 else 25)) + f" {row}" for row in range(120)]
    write(tmp_path / "news", sentence1=texts, sentence2=texts)
    more = ["--filters", "length_bins", "--seeds", 0, 1, 2, "--grid-seeds", 3]
    assert tune(data, tmp_path / "grid", *more, pairs=tmp_path / "news") == 0
    results = results_of(tmp_path / "grid")
    tests = {item["range"]: item["test"] for item in results["tested"]}
    assert set(tests) == {"", "0<length<=10", "20<length<=30"}, "the others select nothing"
    (ends,) = results["last_minus_first_bin"]
    assert (ends["data"], ends["encoder"], ends["range"]) == ("news", "avg", "20<length<=30")
    assert ends["difference"]["value"] == pytest.approx(tests["20<length<=30"] - tests["0<length<=10"])
    # Those of the second half stand for bad training pairs.
    assert ends["difference"]["high"] < 0
    assert "minus first bin [95 %]" in (tmp_path / "grid/README.md").read_text()
