from __future__ import annotations

import gzip
import json
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from study_runs import StudyRuns, after, parsed

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.evaluation.verdicts import FEWEST_SEEDS
from hf_paraphrase.metrics.paraphrase_detection.paraphrase_detection import detection_measures

DESIGNS = Path(__file__).resolve().parents[2] / "scripts" / "studies" / "designs"
DESIGN = """
judged: {split: dev}
models: {wa: {seeds: 3, config: no.yaml}, gran: {seeds: 2, config: no.yaml}}
as_many_words_as: 4
tables:
  detection:
    columns: [perceptron]
    claims:
      - [worse, above, "wa: 4", "wa: 4 misranked 50"]
      - [more, below, "wa: 4", "wa: 4 misranked 50", "gran: 4", "gran: 4 misranked 50"]
"""
RANKED = """
judged: {{split: dev, positive_above: 2.5}}
models: {{wa: {{seeds: 1, config: {config}, hidden_size: 3}}}}
tables:
  detection:
    columns: [perceptron, AP]
    claims:
      - [noise, above, "wa: 40", "wa: 40 random 50"]
      - [pieces, above, "wa over bpe: 40", "wa: 40"]
"""
NOUNS, VERBS = ["cat", "dog", "cow", "hen", "pig", "fox"], ["sleeps", "plays", "eats", "runs"]
PLACES = ["here", "there", "outside", "inside", "today"]
MEANINGS = [(noun, verb, place) for noun in NOUNS for verb in VERBS for place in PLACES]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    first = [f"a {noun} {verb} {place} ." for noun, verb, place in MEANINGS]
    second = [f"{place} the {noun} {verb} ." for noun, verb, place in MEANINGS]
    table = pa.table({"sentence1": first[:60], "sentence2": second[:60]})
    write_split(folder / "pairs", "train", [table], table.schema)
    judged = pa.table(
        {
            "sentence1": first[60:] + first[60:],
            "sentence2": second[60:] + second[70:] + second[60:70],
            "score": [4.0] * 60 + [1.0] * 60,
        }
    )
    write_split(folder / "judged", "dev", [judged], judged.schema)
    for kind, name in (("word", "words"), ("bpe", "bpe")):
        size = ["--vocabulary-size", "60", "--min-frequency", "1"]
        words = ["--kind", kind, "--pairs", str(folder / "pairs"), "--output", str(folder / name), *size]
        assert main(["train-tokenizer", *words]) == 0
    (folder / "wa.yaml").write_text("model_type: avg\nloss: contrastive\nepochs: 2\nhidden_size: 4\n")
    return folder


@pytest.fixture
def study(load_script, folders, tmp_path, monkeypatch):
    """Runs a design in a folder; gives the exit code, and for each training the words, its pairs and its encoder."""
    runs = load_script("studies/detection_runs")

    def run(design=RANKED, tokenizers=("words", "bpe")):
        trained = []

        def verb(words):
            code = main(words)
            if words[0] == "train-encoder" and not code:
                pairs, model = (Path(words[words.index(flag) + 1]) for flag in ("--pairs", "--output"))
                results = json.loads((pairs / "provenance.json").read_text())["results"]
                found = DataFolder(pairs).table("train", ["sentence1", "label"])
                good = found.filter(pc.equal(found["label"], 1))["sentence1"].to_pylist()
                trained.append((words, results, good, json.loads((model / "config.json").read_text())))
            return code

        monkeypatch.setattr(sys.modules["quiet_verbs"], "main", verb)
        (tmp_path / "design.yaml").write_text(design.format(config=folders / "wa.yaml"))
        words = ["--design", tmp_path / "design.yaml", "--candidates", folders / "pairs", "--detection"]
        words += [folders / "judged", "--data", tmp_path, "--output", tmp_path / "runs", "--tokenizers"]
        words += [f"{name}={folders / name}" for name in tokenizers]
        monkeypatch.setattr("sys.argv", ["detection_runs", *map(str, words)])
        return runs.main(), trained

    return run


def test_every_cell_is_run_once_with_its_pairs_noise_tokenizer_and_settings(study, folders, tmp_path):
    code, trained = study()
    assert code == 0
    assert [(after(words, "--tokenizer"), results["noise"]) for words, results, _, _ in trained] == [
        ("words", 0), ("words", 20), ("bpe", 0)
    ]  # fmt: skip
    ranked = DataFolder(folders / "pairs").table("train", ["sentence1"])["sentence1"].to_pylist()
    assert all(sorted(good) == sorted(ranked[:40]) for _, _, good, _ in trained)
    # What the design says of a model goes before its file.
    assert all(config["hidden_size"] == 3 for _, _, _, config in trained)
    files = {path.name for path in (tmp_path / "runs").iterdir()}
    assert files == {f"wa_{name}_seed_0.npz" for name in ("40", "40_random_50", "over_bpe_40")}
    for name in files:
        found = np.load(tmp_path / "runs" / name)
        assert found["cosine"].shape == found["right"].shape == (120,) and found["right"].min() >= 0
    assert study() == (0, [])


def test_a_verb_that_fails_ends_the_study_and_leaves_nothing(study, tmp_path, capsys):
    with pytest.raises(SystemExit) as caught:
        study(RANKED.replace("hidden_size: 3", "hidden_size: -1"))
    assert caught.value.code == 2 and not list((tmp_path / "runs").iterdir())
    assert study(RANKED.replace("wa: 40 random 50", "wa: 70"))[0] == 2
    assert "60 pairs" in capsys.readouterr().err
    assert study(RANKED, tokenizers=["words"])[0] == 2
    assert "no tokenizer `bpe`" in capsys.readouterr().err


def test_pairs_with_a_high_score_are_paraphrases_and_other_sets_are_read_when_they_are_asked_for(load_script, folders):
    judged = load_script("studies/judged_sets").JudgedSets(folders / "judged", folders / "nowhere", "dev", 2.5)
    assert judged.detection.gold.tolist() == [1.0] * 60 + [0.0] * 60
    with pytest.raises(InputError):
        judged.measure("MSRPC", [{}])


def test_the_first_seeds_of_all_cells_are_run_first(load_script, tmp_path):
    design = load_script("studies/detection_design")
    (tmp_path / "design.yaml").write_text(DESIGN)
    found = [(str(cell), seed) for cell, seed in design.read_design(tmp_path / "design.yaml").runs(1000)]
    cells = ["wa: 4", "wa: 4 misranked 50", "gran: 4", "gran: 4 misranked 50"]
    assert found == [(cell, seed) for seed in (0, 1) for cell in cells] + [(cell, 2) for cell in cells[:2]]
    (tmp_path / "design.yaml").write_text('fewer_seeds: {"gran: 4": 1}' + DESIGN)
    fewer = [(str(cell), seed) for cell, seed in design.read_design(tmp_path / "design.yaml").runs(2)]
    assert fewer == [run for run in found if run != ("gran: 4", 1) and run[1] < 2]


@pytest.mark.parametrize(("name", "tables"), [("noise", {"detection", "transfer"}), ("detection", {"detection"})])
def test_its_designs_are_understood_and_have_as_many_seeds_as_verdicts_ask_for(load_script, name, tables):
    design = load_script("studies/detection_design").read_design(DESIGNS / f"{name}.yaml")
    assert set(design.tables) == tables and all(table.claims for table in design.tables.values())
    seeds = {(cell.model, design.seeds(cell)) for table in tables for cell in design.cells(table)}
    assert seeds >= {("wa", 10), ("gran", 5)} and min(number for _, number in seeds) >= FEWEST_SEEDS


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (DESIGN.replace('"gran: 4"', '"lstm: 4"'), "no model `lstm`"),
        (DESIGN.replace('"gran: 4"', '"gran 4"'), "`gran 4` is not a cell"),
        (DESIGN.replace("below", "little"), "is not a claim"),
        ('fewer_seeds: {"gran: 5": 1}' + DESIGN, "no claim has a cell `gran: 5`"),
    ],
)
def test_a_design_that_contradicts_itself_is_refused(load_script, tmp_path, wrong, said):
    (tmp_path / "design.yaml").write_text(wrong)
    with pytest.raises(UsageError, match=said):
        load_script("studies/detection_design").read_design(tmp_path / "design.yaml")


def test_the_runs_of_all_cells_have_files_of_their_own(load_script, tmp_path):
    design = load_script("studies/detection_design")
    cells = [
        design.Cell.read(text) for text in ("gran: 4", "gran over bpe: 4", "gran network: 4", "gran: 4 random 50")
    ]
    files = {cell.file(tmp_path, seed) for cell in cells for seed in range(2)}
    assert len(files) == 8 and [str(cell) for cell in cells][1] == "gran over bpe: 4"
    assert cells[1] == design.Cell("gran", "bpe", "4") and cells[2].tokenizer == ""


def test_an_encoder_of_two_tables_is_trained_once(load_script):
    design = load_script("studies/detection_design").read_design(DESIGNS / "noise.yaml")
    runs = list(design.runs(1000))
    assert len(runs) == len(set(runs)) and {cell for cell, _ in runs} == set(design.cells("detection"))
    assert set(design.cells("transfer")) < set(design.cells("detection"))


def test_a_draw_of_judged_pairs_changes_average_precision_and_correlation_as_repeating_the_pairs_does(load_script):
    judged = load_script("studies/judged_sets")
    generator = np.random.default_rng(0)
    # Rounded, so that there are ties.
    cosines, labels = np.round(generator.normal(size=40), 1), generator.integers(0, 2, 40)
    counts = generator.multinomial(40, np.full(40, 1 / 40), size=3).astype(float)
    precision = judged.average_precision(cosines, labels.astype(float), counts)
    correlation = judged.weighted_pearson(cosines, labels.astype(float), counts)
    for row, times in enumerate(counts.astype(int)):
        values, gold = np.repeat(cosines, times), np.repeat(labels, times)
        assert precision[row] == pytest.approx(detection_measures(values, gold)["average_precision"])
        assert correlation[row] == pytest.approx(np.corrcoef(values, gold)[0, 1])


def test_how_long_the_vectors_of_an_encoder_are_changes_nothing_in_the_tasks_it_is_transferred_to(load_script):
    judged = load_script("studies/judged_sets")
    generator = np.random.default_rng(0)
    texts = [f"t{number}" for number in range(1200)]
    vectors = dict(zip(texts, generator.normal(size=(1200, 6)).astype(np.float32), strict=True))
    first, second = texts[:600], texts[600:]
    alike = [float(vectors[one][0] * vectors[other][0] > 0) for one, other in zip(first, second, strict=True)]
    sets = object.__new__(judged.JudgedSets)
    parts = {
        name: judged.Examples((first, second), 1 + 4 * np.asarray(alike) * share)
        for name, share in (("train", 1), ("dev", 0.9), ("test", 0.8))
    }
    vars(sets).update(msrp=judged.JudgedPairs(first, second, np.asarray(alike)), sick_parts=parts, sts=[])

    def said(length):
        return sets.transfer(lambda sentences: length * np.stack([vectors[text] for text in sentences]))

    short, long = said(0.01), said(1.0)
    assert short["MSRPC"].mean() > 0.8 and (short["MSRPC"] == long["MSRPC"]).all()
    np.testing.assert_allclose(short["SICK-R"], long["SICK-R"], atol=1e-3)


def test_pairs_that_share_a_sentence_are_drawn_together_and_tested_together(load_script):
    pairs = load_script("studies/judged_sets").JudgedPairs(
        [f"s{number // 4}" for number in range(40)], [f"t{number}" for number in range(40)], np.zeros(40)
    )
    groups = np.arange(40) // 4
    for values in (pairs.folds[None], pairs.counts):
        assert all((values[:, groups == group] == values[:, groups == group][:, :1]).all() for group in range(10))
    assert (pairs.counts.sum(axis=1) == 40).all() and len(set(pairs.folds)) == 5


def test_a_claim_of_four_cells_compares_two_differences_over_the_seeds_that_all_have(load_script, tmp_path):
    table, design = load_script("studies/detection_table"), load_script("studies/detection_design")
    (tmp_path / "design.yaml").write_text(DESIGN)
    claims = design.read_design(tmp_path / "design.yaml").tables["detection"].claims
    scores = {
        "wa: 4": [70.0, 71, 72],
        "wa: 4 misranked 50": [60.0, 62, 64],
        "gran: 4": [80.0, 80],
        "gran: 4 misranked 50": [78.0, 77],
    }
    nothing = np.zeros(5)
    measured = {
        design.Cell.read(cell): {seed: (value, nothing + value) for seed, value in enumerate(values)}
        for cell, values in scores.items()
    }
    assert table.contrast(claims[0], measured, 1).value == pytest.approx((10 + 9 + 8) / 3)
    both = table.contrast(claims[1], measured, 1)
    assert both.value == pytest.approx((10 - 2 + 9 - 3) / 2)
    judged = table.judge(table.Table(("perceptron",), claims), {"perceptron": dict(list(measured.items())[:3])})
    text = table.claims_table(table.Table(("perceptron",), claims), judged)
    assert list(judged) == [claims[0]] and "not run" in text.splitlines()[-1] and "holds" in text.splitlines()[-2]
    # Two seeds are too few for an interval.
    assert (
        both.verdict("above") == "cannot tell" and table.contrast(claims[0], measured, 1).verdict("above") == "holds"
    )


def test_the_runs_of_one_folder_make_the_file_and_the_picture_of_each_table(load_script, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    table = load_script("studies/detection_table")

    class Judged:
        def __init__(self, *places, **judged):
            assert judged == {"split": "dev"}

        def measure(self, name, runs):
            values = np.array([float(run["value"]) for run in runs])
            return values, np.tile(values, (5, 1))

    monkeypatch.setattr(table, "JudgedSets", Judged)
    _, tables = DESIGN.split("tables:\n")
    (tmp_path / "design.yaml").write_text(DESIGN + tables.replace("detection", "transfer"))
    (tmp_path / "runs").mkdir()
    for pairs, value in (("4", 70.0), ("4_misranked_50", 60.0)):
        for seed in range(3):
            np.savez(tmp_path / "runs" / f"wa_{pairs}_seed_{seed}.npz", value=value + seed)
    words = ["--design", "design.yaml", "--runs", "runs", "--detection", "no", "--data", "no", "--output", "tables"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["detection_table", *words, "--pictures"])
    assert table.main() == 0
    for name in ("detection", "transfer"):
        assert "+10.0 [+10.0, +10.0]: holds" in (tmp_path / "tables" / f"{name}.md").read_text()
        assert (tmp_path / "tables" / f"{name}.png").stat().st_size > 1000


def test_the_picture_is_small_and_the_same_each_time(load_script, tmp_path):
    pytest.importorskip("matplotlib")
    picture = load_script("studies/interval_picture")
    Interval = load_script("studies/detection_table").Interval
    rows = [("one", [Interval(1.0, 0.5, 1.5)]), ("other", [Interval(1.0, -float("inf"), float("inf"))])]
    for name in ("first.png", "second.png"):
        picture.draw_intervals(tmp_path / name, rows, ["AP"], "points")
    assert (tmp_path / "first.png").read_bytes() == (tmp_path / "second.png").read_bytes()
    assert (tmp_path / "first.png").stat().st_size < 60_000


def test_the_picture_has_every_column_and_none_of_its_intervals_on_another(load_script, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    picture = load_script("studies/interval_picture")
    Interval = load_script("studies/detection_table").Interval
    drawn = []
    monkeypatch.setattr(picture, "save_figure", lambda figure, path: drawn.append(figure))
    columns = [f"column {number}" for number in range(7)]
    rows = [(text, [Interval(1.0, 0.5, 1.5)] * 7) for text in ("one", "other")]
    picture.draw_intervals(tmp_path / "p.png", rows, columns, "points")
    axis = drawn[0].axes[0]
    assert [text.get_text() for text in axis.get_legend().get_texts()] == columns
    looks = [(line.get_color(), line.get_marker()) for line in axis.get_legend().get_lines()]
    assert len(set(looks)) == 7
    heights = sorted(line.get_ydata()[0] for line in axis.lines if list(line.get_xdata()) == [0.5, 1.5])
    assert len(heights) == 14 and min(after_it - before for before, after_it in pairwise(heights)) > 0.1


def test_the_script_asks_the_verbs_for_what_they_have_and_trains_on_no_judged_pair(tmp_path):
    runs = StudyRuns(tmp_path, "studies/detection.sh", python=True)
    # What it asks for is the number of morphs.
    (runs.programs / "python").write_text("#!/usr/bin/env bash\necho 50\n")
    text = tmp_path / "data" / "manythings" / "fin-eng" / "fin.txt.gz"
    text.parent.mkdir(parents=True)
    text.write_bytes(gzip.compress(b"The dog sleeps.\tKoira nukkuu.\tCC\n"))
    done, calls = runs()
    assert done.returncode == 0, done.stderr
    settings = {after(words, "--output"): parsed(words) for words in calls}
    assert list(settings) == ["bitext_en_fi", "pivot_fi", "judged_fi", "morphs", "words", "bpe"]
    assert [Path(path).name for path in settings["pivot_fi"].decontaminate] == ["turku_paraphrase"]
    assert settings["pivot_fi"].ranked and settings["bpe"].vocabulary_size == 50
    assert (tmp_path / "work" / "text_fi.txt").read_text() == "Koira nukkuu.\n"
    done, again = runs()
    assert done.returncode == 0 and not again
    (runs.programs / "python").write_text('#!/usr/bin/env bash\ncase "$1" in *detection_table.py) exit 3 ;; esac\n')
    assert runs()[0].returncode == 3
