from __future__ import annotations

import json
import shutil
import zlib

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.evaluation.correlation import pearson
from hf_paraphrase.filtering.tuning.grids import FilterRange
from hf_paraphrase.filtering.tuning.runs import TuningRuns
from hf_paraphrase.filtering.tuning.selection_pool import SelectionPool
from hf_paraphrase.filtering.tuning.tuned_encoders import encoder_settings

GOOD, BAD = "quality>0.5", "quality<0.5"
DEV = {
    ("news", "avg"): {GOOD: 60.0, BAD: 40.0},
    ("news", "gran"): {GOOD: 30.0, BAD: 35.0},
    ("web", "avg"): {GOOD: 20.0, BAD: 25.0},
    ("web", "gran"): {GOOD: 55.0, BAD: 45.0},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Two data sets whose first half is of high quality, a dev set and a test set."""
    folder = tmp_path_factory.mktemp("data")
    for name in ("news", "web"):
        table = pa.table(
            {
                "sentence1": [f"{name} {i} a" for i in range(20)],
                "sentence2": [f"{name} {i} b" for i in range(20)],
                "quality": [1.0] * 10 + [0.0] * 10,
            }
        )
        write_split(folder / name, "train", [table], table.schema)
    generator = np.random.default_rng(0)
    for name, split in (("dev", "validation"), ("test", "test")):
        columns = {f"sentence{side}": [f"{name} {i} of {side}" for i in range(50)] for side in (1, 2)}
        table = pa.table({**columns, "score": generator.uniform(0, 5, size=50)})
        write_split(folder / name, split, [table], table.schema)
    return folder


def trained_by_hand(self, data, settings, rows, seed):
    """Stands for training: the dev mean is in a table, and what was selected says how good the similarities are."""
    ranges = [label for label, wanted in ((GOOD, rows < 10), (BAD, rows >= 10)) if wanted.all()]
    dev = DEV[data, settings.model_type][ranges[0]] if ranges else 33.0
    generator = np.random.default_rng(zlib.crc32(f"{data} {settings.model_type} {ranges} {seed}".encode()))
    sign, noise = (1, 8.0) if not ranges else (1, 0.5) if ranges[0] == GOOD else (-1, 0.5)
    similarities = [sign * graded.scores + noise * generator.normal(size=len(graded.scores)) for graded in self.tests]
    tests = {
        graded.key: 100 * pearson(found, graded.scores) for graded, found in zip(self.tests, similarities, strict=True)
    }
    curve = [dev - 1, dev + seed]
    record = {
        "data": data,
        "pairs": len(rows),
        "dev": dev + seed,
        "epoch": 2.0,
        "untrained": 1.0,
        "curve": curve,
        "tests": tests,
        "seconds": 0.5,
    }
    return record, similarities


@pytest.fixture
def by_hand(monkeypatch):
    monkeypatch.setattr(TuningRuns, "_train", trained_by_hand)


def runs_of(folder, data, names, encoder="avg", **changed):
    _, settings = encoder_settings(encoder)
    for name, value in changed.items():
        setattr(settings, name, value)
    pools = {name: SelectionPool(data / name, [], None) for name in names}
    return TuningRuns(folder, pools, {"one": settings}, data / "dev", [], sample=5)


def test_a_run_is_not_reused_once_other_data_sets_give_the_vocabulary_words(data, tmp_path, by_hand):
    random = FilterRange("random", "")
    trained = []
    for names in (["news"], ["news"], ["news", "web"], ["news", "web"], ["news"]):
        runs = runs_of(tmp_path, data, names)
        runs.run("news", "one", random, 0)
        trained.append(runs.trained)
    assert trained == [1, 0, 1, 0, 0]


def test_with_a_tokenizer_of_its_own_a_run_does_not_depend_on_other_data_sets(data, tmp_path, by_hand):
    (tmp_path / "tokenizer.json").write_text("{}")
    for folder, encoder, expected in (("words", "avg", 0), ("trigrams", "word-trigram", 1)):
        for names in (["news"], ["news", "web"]):
            runs = runs_of(tmp_path / folder, data, names, encoder, tokenizer=str(tmp_path / "tokenizer.json"))
            runs.run("news", "one", FilterRange("random", ""), 0)
        assert runs.trained == expected


def grid(data, output, *more):
    words = ["tune", "--output", output, "--dev-data", data / "dev", "--data", data / "test", "--pairs", data / "news"]
    return main([str(word) for word in [*words, "--sample", 8, "--bootstrap", 40, *more]])


def test_a_grid_with_more_ranges_and_seeds_trains_only_what_others_have_not(data, tmp_path, monkeypatch, capsys):
    trained = []

    def training(self, data, settings, rows, seed):
        trained.append(seed)
        if len(trained) == stop:
            raise KeyboardInterrupt
        return trained_by_hand(self, data, settings, rows, seed)

    monkeypatch.setattr(TuningRuns, "_train", training)
    whole = ["--keep", GOOD, "--keep", BAD, "--seeds", 0, 1, 2]
    stop = 3
    assert grid(data, tmp_path / "cut", "--keep", BAD, "--seeds", 0, 1) == 130, "after two runs"
    stop = None
    assert grid(data, tmp_path / "first", "--keep", GOOD, "--seeds", 1, 0) == 0
    trained.clear()
    others = ["--runs-from", tmp_path / "first", tmp_path / "cut"]
    assert grid(data, tmp_path / "joined", *whole, *others) == 0
    assert trained == [2, 2], "the third seed of the random selection and of what was chosen"
    assert "5 of 7 runs were taken over from" in capsys.readouterr().err
    assert grid(data, tmp_path / "alone", *whole) == 0
    assert len(trained) == 2 + 7
    for name in ("table.md", "table.csv"):
        assert (tmp_path / "joined" / name).read_text() == (tmp_path / "alone" / name).read_text()
    # Any of its runs can be taken over in turn.
    trained.clear()
    assert grid(data, tmp_path / "again", *whole, "--runs-from", tmp_path / "joined") == 0 and trained == []


def test_runs_without_the_similarities_that_a_grid_needs_are_trained(data, tmp_path, by_hand, capsys):
    more = ["--keep", GOOD, "--seeds", 0]
    assert grid(data, tmp_path / "first", *more) == 0
    shutil.rmtree(tmp_path / "first/similarities")
    assert grid(data, tmp_path / "second", *more, "--runs-from", tmp_path / "first") == 0
    assert "0 of 2 runs were taken over" in capsys.readouterr().err


def test_each_data_set_and_encoder_has_its_own_choice_and_its_own_random_selection(data, tmp_path, by_hand):
    (tmp_path / "small.yaml").write_text("model_type: gran\nhidden_size: 7\n")
    words = ["tune", "--output", tmp_path / "grid", "--dev-data", data / "dev", "--data", data / "test"]
    words += ["--pairs", data / "news", data / "web", "--encoders", "avg", f"gran={tmp_path / 'small.yaml'}"]
    words += ["--keep", GOOD, "--keep", BAD, "--sample", 8, "--seeds", 0, 1, 2, "--bootstrap", 40]
    assert main([str(word) for word in words]) == 0
    record = json.loads((tmp_path / "grid/provenance.json").read_text())
    chosen = {(item["encoder"], item["filter"], item["data"]): item for item in record["results"]["chosen"]}
    assert len(chosen) == 8
    for (name, encoder), devs in DEV.items():
        item = chosen[encoder, "quality", name]
        best = max(devs, key=devs.get)
        assert item["range"] == best and item["dev"] == devs[best] + 1.0
        # What was chosen is better than random on the test sets where it is the good half, and worse where not.
        assert (item["difference"]["low"] > 0) == (best == GOOD) and (item["difference"]["high"] < 0) == (best == BAD)
        random = chosen[encoder, "random", name]
        assert item["test_random"] == random["test"] and random["difference"]["value"] == 0
        assert item["difference"]["value"] == pytest.approx(item["test"] - random["test"])
    rows = (tmp_path / "grid/table.md").read_text().splitlines()
    quality = next(line for line in rows if line.startswith("| quality"))
    means = [
        (DEV["news", encoder][best] + DEV["web", encoder][other]) / 2 + 1.0
        for encoder, best, other in (("avg", GOOD, BAD), ("gran", BAD, GOOD))
    ]
    cells = [cell.strip() for cell in quality.strip("|").split("|")]
    assert [cells[1], cells[6]] == [f"{value:.1f}" for value in means]
    assert "small.yaml" in {item["name"] for item in record["inputs"]}
    assert record["results"]["encoders"]["gran"]["hidden_size"] == 7


def test_every_length_bin_has_its_difference_from_random_where_all_are_tested(data, tmp_path, by_hand):
    words = ["tune", "--output", tmp_path / "grid", "--dev-data", data / "dev", "--data", data / "test"]
    words += ["--pairs", data / "news", "--filters", "length_bins", "--sample", 8, "--seeds", 0, "--bootstrap", 20]
    assert main([str(word) for word in [*words, "--test-all"]]) == 0
    record = json.loads((tmp_path / "grid/provenance.json").read_text())
    cells = {item["range"]: item for item in record["results"]["length_bins"]}
    # No sentence has more than ten tokens, so this bin is the random selection.
    assert set(cells) == {"", "0<length<=10"} and cells["0<length<=10"]["difference"]["value"] == 0
    # One seed tells nothing.
    assert cells["0<length<=10"]["difference"]["low"] is None
    card = (tmp_path / "grid/README.md").read_text()
    assert "## Length bins" in card and "(+0.0), 8 pairs" in card


def test_the_last_length_bin_is_compared_with_the_first(data, tmp_path, by_hand):
    pairs = tmp_path / "pairs"
    texts = [" ".join(["w"] * (5 if row < 10 else 25)) + f" {row}" for row in range(20)]
    table = pa.table({"sentence1": texts, "sentence2": texts, "quality": [1.0] * 10 + [0.0] * 10})
    write_split(pairs, "train", [table], table.schema)
    words = ["tune", "--output", tmp_path / "grid", "--dev-data", data / "dev", "--data", data / "test"]
    words += ["--pairs", f"news={pairs}", "--filters", "length_bins", "--sample", 8, "--seeds", 0, 1, 2]
    assert main([str(word) for word in [*words, "--grid-seeds", 3, "--bootstrap", 20, "--test-all"]]) == 0
    results = json.loads((tmp_path / "grid/provenance.json").read_text())["results"]
    tests = {item["range"]: item["test"] for item in results["length_bins"]}
    assert set(tests) == {"", "0<length<=10", "20<length<=30"}, "the others select nothing"
    ((name, encoder, difference),) = (item.values() for item in results["last_minus_first_bin"])
    assert (name, encoder) == ("news", "avg")
    assert difference["value"] == pytest.approx(tests["20<length<=30"] - tests["0<length<=10"])
    # Those of the second half stand for bad training pairs.
    assert difference["high"] < 0


def test_an_unbounded_perplexity_is_the_random_selection_and_can_be_chosen(data, tmp_path, by_hand, capsys):
    table = DataFolder(data / "web").table()
    table = table.append_column("perplexity", pa.array([None] * 10 + [10.0] * 10, pa.float64()))
    write_split(tmp_path / "web", "train", [table], table.schema)
    words = ["tune", "--output", tmp_path / "grid", "--dev-data", data / "dev", "--pairs", tmp_path / "web"]
    words += ["--filters", "perplexity", "--sample", 8, "--seeds", 0]
    assert main([str(word) for word in words]) == 0
    record = json.loads((tmp_path / "grid/provenance.json").read_text())
    chosen = {item["filter"]: item for item in record["results"]["chosen"]}
    assert chosen["perplexity"]["range"] == "unbounded" and chosen["random"]["dev"] == chosen["perplexity"]["dev"]
    # The six bounds select the same rows, and no bound those of the random selection.
    assert record["results"]["runs"] == 2 and record["results"]["cells"] == 8
    # What `filter` is told to do for the best of them names no range.
    assert "--keep" not in capsys.readouterr().err
