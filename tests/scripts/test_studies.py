"""A study from its design: cells are trained once, measured on test rows, and judged together."""

from __future__ import annotations

import json
import shlex

import numpy as np
import pyarrow as pa
import pytest
import yaml
from study_runs import SCRIPTS, parsed

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.errors import UsageError
from hf_paraphrase.evaluation.verdicts import FEWEST_SEEDS
from hf_paraphrase.metrics.paraphrase_detection.paraphrase_detection import detection_measures

DESIGNS = sorted((SCRIPTS / "studies" / "designs").glob("*.yaml"))
VARIABLES = ("WORK", "DATA", "VECTORS", "GLOVE", "PAIRS", "ENCODER", "EXPANSION", "TOKENS")
DESIGN = {
    "measured": {"sts": "$DATA/sts", "detection": {"data": "$DATA/judged", "split": "dev", "positive_above": 2.5}},
    "train": "train-encoder --initial-vectors $DATA/glove.txt --epochs 1",
    "choose": ["dev_untrained"],
    "models": {
        "avg": {"seeds": 3, "train": "--config $CONFIGS/paper_000_avg.yaml"},
        "dense": {"seeds": 3, "train": "--config $CONFIGS/paper_000_avg.yaml --dense-optimizer"},
    },
    "data": {20: "filter --pairs $DATA/pairs --sample 20", "all": "--pairs $DATA/pairs"},
    "tables": {
        "one": {
            "columns": {
                "dev": {"sts": ["STS16"]},
                "short": {"length": [1, 8]},
                "AP": {"detection": "AP"},
                "right": {"detection": "perceptron"},
                "grows": {"step": [1.0, 4.0]},
            },
            "cells": ["avg: all"],
            "claims": [
                ["dense is the same", "dense: 20", "little", "avg: 20"],
                ["the cosine grows", "avg: 20", "above", "nothing", "grows"],
                ["the same", "avg: 20", "above", "avg: all", "avg: 20", "avg: all", "dev"],
            ],
        }
    },
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    first = [f"a{x} c{x % 7} b{(x * 5) % 11}" for x in range(40)]
    second = [f"b{(x * 5) % 11} d{x % 7} a{x}" for x in range(40)]
    pairs = pa.table({"sentence1": first, "sentence2": second})
    write_split(folder / "pairs", "train", [pairs], pairs.schema)
    judged = pa.table({"sentence1": first, "sentence2": second[:20] + second[25:] + second[20:25]})
    judged = judged.append_column("score", pa.array([4.0] * 20 + [1.0] * 20))
    write_split(folder / "judged", "dev", [judged], judged.schema)
    for year, name in (("STS12-en-test", "MSRpar"), ("STS16-en-test", "headlines")):
        at = folder / "sts" / year
        at.mkdir(parents=True)
        (at / f"STS.input.{name}.txt").write_text("".join(f"{first[x]}\t{second[(x * x) % 9]}\n" for x in range(30)))
        (at / f"STS.gs.{name}.txt").write_text("".join(f"{x % 5}\n" for x in range(30)))
    words = sorted({word for text in (*first, *second) for word in text.split()})
    values = np.random.default_rng(0).normal(size=(len(words), 4)).round(3)
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, values, strict=True)]
    (folder / "glove.txt").write_text("".join([*lines, "elsewhere 1 2 3 4\n"]))
    return folder


@pytest.fixture
def study(data, tmp_path, run_script, monkeypatch, capsys):
    monkeypatch.setenv("DATA", str(data))

    def run(**changes):
        (tmp_path / "design.yaml").write_text(yaml.safe_dump({**DESIGN, **changes}, sort_keys=False))
        words = ["--design", tmp_path / "design.yaml", "--output", tmp_path / "out"]
        code = run_script("studies/study", *words)
        return code, *capsys.readouterr()

    return run


def cells(text):
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in text.splitlines() if line]


def test_cells_are_trained_once_measured_and_judged(study, tmp_path):
    code, out, err = study()
    assert code == 0, err
    rows = {row[0]: row[1:] for row in cells((tmp_path / "out/one.md").read_text())}
    assert [rows[name][0] for name in ("dense: 20", "avg: 20", "avg: all")] == ["3"] * 3
    assert all("holds" in cell or "tell" in cell or "not" in cell for cell in rows["dense is the same"])
    assert rows["the cosine grows"][:4] == ["–"] * 4 and rows["the cosine grows"][4].startswith(("+", "-"))
    # A difference of two equal differences is nothing.
    assert rows["the same"][0].startswith("+0.0 [+0.0, +0.0]")
    assert (tmp_path / "out/one.png").read_bytes().startswith(b"\x89PNG")
    files = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").iterdir()}
    assert len(files) == 9 and "avg_20_seed_0.npz" in files
    assert study()[1] == out
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "out/runs").iterdir()} == files


def test_a_failing_run_ends_the_study_and_leaves_nothing(study, tmp_path):
    with pytest.raises(SystemExit):
        study(train="train-encoder --hidden-size -1")
    assert not list((tmp_path / "out/runs").iterdir())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": {}}, "unknown model or data"),
        ({"train": "train-encoder --pairs $NOWHERE"}, "needs the variable NOWHERE"),
        ({"tables": {"one": {"columns": {"x": {"sts": ["STS99"]}}, "cells": ["avg: all"]}}}, "no set STS99"),
        ({"tables": {"one": {"columns": {}, "claims": [["better", "avg: 20", "over", "avg: all"]]}}}, "not a claim"),
        ({"tables": {"one": {"columns": {}, "cells": ["avg 20"]}}}, "not a cell"),
    ],
)
def test_a_design_that_does_not_fit_is_refused_before_anything_is_trained(study, tmp_path, changes, message):
    code, _, err = study(**changes)
    assert code == 2 and message in err and not list(tmp_path.glob("out/runs/*.npz"))


def test_a_grid_is_chosen_on_the_dev_part_by_the_first_seed(study, load_script, monkeypatch, tmp_path):
    module = load_script("studies/study")
    models = {"avg": {"seeds": 2, "train": "--learning-rate $RATE", "grid": {"RATE": [1, 3, 2]}}}
    table = {"columns": {}, "cells": ["avg: all"]}
    (tmp_path / "d.yaml").write_text(yaml.safe_dump({**DESIGN, "models": models, "tables": {"t": table}}))
    made = module.Study(tmp_path / "d.yaml", tmp_path / "runs")
    made.choose = ["dev.pearson", "dev.accuracy"]
    ran = []

    def run(cell, seed, values):
        ran.append((seed, values["RATE"]))
        return {"results": json.dumps({"dev": {"accuracy": float(values["RATE"])}})}

    monkeypatch.setattr(made, "run", run)
    made.train()
    assert ran == [(0, "1"), (0, "3"), (0, "2"), (0, "3"), (1, "3")]


@pytest.mark.parametrize("path", DESIGNS, ids=lambda path: path.stem)
def test_every_design_has_cells_that_its_verb_understands_and_seeds_enough_for_a_verdict(
    path, load_script, monkeypatch, tmp_path
):
    module = load_script("studies/study")
    for name in VARIABLES:
        monkeypatch.setenv(name, "5" if name == "TOKENS" else "" if name == "EXPANSION" else f"/{name.lower()}")
    monkeypatch.setattr(module, "Measures", lambda places, columns: None)
    study = module.Study(path, tmp_path)
    assert study.all_cells() and all(study.cells(name) for name in study.tables)
    for cell in study.all_cells():
        model = study.models[cell.model]
        if "folder" in model:
            continue
        assert len(study.seeds(cell)) >= FEWEST_SEEDS
        variables = {"SEED": "0", **{name: str(values[0]) for name, values in model.get("grid", {}).items()}}
        words = shlex.split(module.filled(study.data[cell.data], variables))
        if words[0] == "filter":
            parsed([*words, "--seed", "0", "--output", "o"])
            words = ["--pairs", "p"]
        train = shlex.split(module.filled(f"{study.common} {model['train']}", variables))
        parsed([*train, *words, "--seed", "0", "--output", "o"])


def test_a_draw_of_judged_pairs_changes_average_precision_and_correlation_as_repeating_the_pairs_does(load_script):
    judged = load_script("studies/measures")
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


def test_more_claims_make_wider_intervals_and_pairs_of_four_cells_are_differences_of_differences(load_script):
    tables = load_script("studies/study_tables")
    draws = np.random.default_rng(0)
    names = [tables.Cell("m", data) for data in "abcd"]
    column = {
        cell: tables.Measured({seed: 10.0 * place + seed for seed in range(3)}, draws.normal(10 * place, 1, (200, 3)))
        for place, cell in enumerate(names)
    }
    one = tables.Claim.read(["b beats a", "m: b", "above", "m: a"], [])
    four = tables.Claim.read(["more", "m: d", "above", "m: a", "m: c", "m: b"], [])
    alone = tables.judge([one], {"x": column})[one]["x"]
    found = tables.judge([one, four], {"x": column})
    assert found[one]["x"].value == pytest.approx(10) and found[four]["x"].value == pytest.approx(30 - 10)
    assert found[one]["x"].low < alone.low
    with pytest.raises(UsageError):
        tables.Claim.read(["b beats a", "m: b", "above", "m: a", "m: c"], [])


WORDS = ["you", "don't", "get", "it", "man", "she", "sees", "old", "tree", "never", "house", "green", "walks", "home"]


def test_every_measure_of_neighbours_is_what_a_loop_over_all_sentences_finds(load_script, monkeypatch, tmp_path):
    module = load_script("studies/neighbours")
    monkeypatch.setattr(module, "FUNCTION_WORDS", 3)
    draws = np.random.default_rng(0)
    (tmp_path / "text.txt").write_text("\n".join(" ".join(draws.choice(WORDS, 6)) for _ in range(60)))
    study = module.Neighbours(tmp_path / "text.txt", queries=10)
    vectors = draws.normal(size=(len(study.sentences), 7)).astype(np.float32)
    found = study.look(lambda texts: vectors)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    assert sum(study.negated[query] for query in study.queries) == 5
    for place, query in enumerate(study.queries):
        cosines = {n: float(unit[n] @ unit[query]) for n in range(len(vectors)) if n != query}
        near = sorted(cosines, key=lambda n: -cosines[n])[:10]
        own = set(study.sentences[query].split())
        texts = [set(study.sentences[n].split()) for n in near]
        assert found["shared"][place] == pytest.approx(10 * sum(len(own & text) / len(text) for text in texts))
        if not study.negated[query]:
            assert np.isnan(found["negated"][place]) and np.isnan(found["apart"][place])
            continue
        negated = [n for n in cosines if {"don't", "never"} & set(study.sentences[n].split())]
        assert found["negated"][place] == pytest.approx(10 * len(set(near) & set(negated)))


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(0, 1, 1)], False),
        ([(0, 1, 1), (5, 1, 0.2)], True),
        ([(0, 1, 1), (5, 1, 0.01)], False),  # smaller than a fiftieth of the peak
        ([(0, 1, 1), (-5, 1, 0.2)], False),  # on the left
    ],
)
def test_a_second_bump_is_a_peak_of_its_own_right_of_the_highest(load_script, parts, expected):
    module = load_script("studies/neighbours")
    middles = (module.DEVIATIONS[1:] + module.DEVIATIONS[:-1]) / 2
    curves = [weight * np.exp(-(((middles - mean) / deviation) ** 2) / 2) for mean, deviation, weight in parts]
    found = np.stack([curves[-1], sum(curves[:-1], 0 * middles)])
    assert module.has_second_bump(found) is expected and not module.has_second_bump(found[::-1])
