"""A study from its design: cells are trained once, measured on test rows, and judged together; configurations."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from small_runs import table_cells, write, write_sts

from hf_paraphrase.commands.parser import parse
from hf_paraphrase.commands.verbs import recipe_and_flags
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.metrics.paraphrase_detection.paraphrase_detection import detection_measures
from hf_paraphrase.training.verdicts import FEWEST_SEEDS

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
DESIGNS = sorted(path.stem for path in (SCRIPTS / "studies" / "designs").glob("*.yaml"))
DESIGN = {
    "variables": {"SETS": "data/sts", "WORDS": "dogs bark"},
    "steps": {
        "half_$SEED": "filter --pairs data/pairs --sample 20 --seed $SEED",
        "list.txt": "! echo $WORDS >$OUT",
        "words/first": "train-tokenizer --text list.txt --vocab-size $ROWS --min-frequency 1",
        "joined": "make_data.py joined --pairs half_0 half_1",
    },
    "results": {"ROWS": "half_0 rows"},
    "measured": {"sts": "$SETS", "detection": {"data": "data/judged", "split": "dev", "positive_above": 2.5}},
    "train": "train-encoder --initial-vectors data/glove.txt --epochs 1",
    "choose": ["dev_untrained"],
    "models": {
        "avg": {"seeds": 3, "train": "--config $CONFIGS/paper_000_avg.yaml"},
        "dense": {"seeds": 3, "train": "--config $CONFIGS/paper_000_avg.yaml --dense-optimizer"},
    },
    "data": {20: "filter --pairs data/pairs --sample 20", "all": "--pairs data/pairs"},
    "tables": {
        "one": {
            "columns": {
                "dev": {"sts": ["STS16"]},
                "short": {"length": [1, 8]},
                "AP": {"detection": "AP"},
                "right": {"detection": "perceptron"},
                "grows": {"step": [1.0, 4.0]},
            },
            "claims": [
                ["dense is the same", "dense: all", "equivalent", "avg: 20"],
                ["the cosine grows", "avg: 20", "above", "nothing", "grows"],
                ["the same", "avg: 20", "above", "dense: all", "avg: 20", "dense: all", "dev"],
            ],
        }
    },
}

STEPS_ONLY = {"tables": {}, "results": {}, "measured": {}, "models": {}, "data": {}}
"""What a design of steps alone leaves empty."""


def parsed(words):
    """Reads the words of a call as the command would."""
    name, recipe, flags = recipe_and_flags(words)
    return parse(recipe.settings, name, flags)


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    first = [f"a{x} c{x % 7} b{(x * 5) % 11}" for x in range(40)]
    second = [f"b{(x * 5) % 11} d{x % 7} a{x}" for x in range(40)]
    write(folder / "pairs", sentence1=first, sentence2=second)
    sides = {"sentence1": first, "sentence2": second[:20] + second[25:] + second[20:25]}
    write(folder / "judged", "dev", **sides, score=[4.0] * 20 + [1.0] * 20)
    for year, name in (("STS12-en-test", "MSRpar"), ("STS16-en-test", "headlines")):
        judged = [f"{first[x]}\t{second[(x * x) % 9]}" for x in range(30)]
        write_sts(folder / "sts" / year, name, judged, [x % 5 for x in range(30)])
    words = sorted({word for text in (*first, *second) for word in text.split()})
    values = np.random.default_rng(0).normal(size=(len(words), 4)).round(3)
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, values, strict=True)]
    (folder / "glove.txt").write_text("".join([*lines, "elsewhere 1 2 3 4\n"]))
    return folder


@pytest.fixture
def study(data, tmp_path, load_script, monkeypatch, capsys):
    module = load_script("studies/study")
    # Perceptrons would take half the time.
    monkeypatch.setattr("measures.FOLDS", 2)

    def run(*words, **changes):
        monkeypatch.setattr(module, "design_of", lambda name: {**DESIGN, **changes})
        monkeypatch.setattr("sys.argv", ["study", str(data), str(tmp_path), "out", *words])
        return module.main(), *capsys.readouterr()

    return run


def test_cells_are_trained_once_measured_and_judged(study, tmp_path):
    code, out, err = study()
    assert code == 0, err
    rows = {row[0]: row[1:] for row in table_cells((tmp_path / "out/one.md").read_text())}
    assert [rows[name][0] for name in ("dense: all", "avg: 20")] == ["3"] * 2
    assert all("holds" in cell or "tell" in cell or "not" in cell for cell in rows["dense is the same"])
    assert rows["the cosine grows"][:4] == ["–"] * 4 and rows["the cosine grows"][4].startswith(("+", "-"))
    # A difference of two equal differences is nothing.
    assert rows["the same"][0].startswith("+0.0 [+0.0, +0.0]")
    assert (tmp_path / "out/one.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "list.txt").read_text() == "dogs bark\n"
    assert DataFolder(tmp_path / "joined").count() == 40 and len(list(tmp_path.glob("half_*"))) == 3
    made = [tmp_path / "list.txt", tmp_path / "joined/provenance.json", *(tmp_path / "out/runs").iterdir()]
    times = [path.stat().st_mtime_ns for path in made]
    assert len(made) == 2 + 6 and any(path.name.startswith("avg_20_seed_0.") for path in made)
    assert study()[1] == out and [path.stat().st_mtime_ns for path in made] == times
    # Other flags, other inputs and other code are other runs; the earlier ones are still there.
    more = {**DESIGN["models"], "avg": {"seeds": 3, "train": "--config $CONFIGS/paper_000_avg.yaml --margin 0.5"}}
    assert study(models=more)[0] == 0 and len(list((tmp_path / "out/runs").iterdir())) == 6 + 3
    assert study()[1] == out and [path.stat().st_mtime_ns for path in made] == times


def test_a_step_is_made_again_if_its_command_its_input_or_the_code_changed(study, tmp_path, monkeypatch):
    made = {"list.txt": "! echo $SAID >$OUT", "copy.txt": "! cat list.txt >$OUT"}

    def again(*words, steps=made):
        code, _, err = study(*words, steps=steps, **STEPS_ONLY)
        return code, [line.split(": ", 1)[1] for line in err.splitlines() if line.startswith("made again")]

    monkeypatch.setenv("SAID", "dogs")
    assert again() == again() == (0, [])
    monkeypatch.setenv("SAID", "cats")
    assert again() == (0, ["list.txt (command)", "copy.txt (inputs)"])
    assert (tmp_path / "copy.txt").read_text() == "cats\n"
    monkeypatch.setattr("study_keys.code_digest", lambda: "other")
    assert again("--any-code") == (0, [])
    assert again() == (0, ["list.txt (code)", "copy.txt (code)"])
    (tmp_path / "given.txt").touch()
    given = {"given.txt": "! echo dogs >$OUT"}
    assert again(steps=given)[0] == 2 and not (tmp_path / "given.txt").read_text()
    assert again("--any-code", steps=given) == (0, [])


def test_a_word_of_a_command_that_is_also_the_folder_of_the_output_is_no_input(study):
    steps = {f"list/{name}": f"! echo list {name} >$OUT" for name in ("one", "two")}
    assert study(steps=steps, **STEPS_ONLY)[0] == 0
    assert "made again" not in study(steps=steps, **STEPS_ONLY)[2]


@pytest.mark.parametrize("step", ["filter --pairs nowhere", "! false | touch $OUT"])
def test_a_failing_step_ends_the_study_before_the_next_and_leaves_nothing_that_counts_as_made(study, tmp_path, step):
    with pytest.raises(SystemExit):
        study(steps={"one": step, "two": "filter --pairs data/pairs"}, results={})
    assert not (tmp_path / "one").exists() and not (tmp_path / "two").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"data": {}}, "unknown model or data"),
        ({"train": "train-encoder --pairs $NOWHERE"}, "needs the variable NOWHERE"),
        ({"steps": {"one": '! touch "$OUT"', "two": "filter --pairs $NOWHERE"}}, "needs the variable NOWHERE"),
        ({"tables": {"one": {"columns": {"x": {"sts": ["STS99"]}}, "cells": ["avg: all"]}}}, "no set STS99"),
        ({"tables": {"one": {"columns": {"x": {"loss": "dev"}}, "cells": ["avg: all"]}}}, "column cannot be `loss`"),
        ({"tables": {"one": {"columns": {}, "claims": [["better", "avg: 20", "over", "avg: all"]]}}}, "not a claim"),
    ],
)
def test_a_design_that_does_not_fit_is_refused_before_anything_is_trained(study, tmp_path, changes, message):
    code, _, err = study(**{"steps": {}, "results": {}, **changes})
    assert code == 2 and message in err and not list(tmp_path.glob("out/runs/*.npz"))
    assert not (tmp_path / "one").exists()


def test_a_number_of_the_results_is_found_at_any_depth_or_what_is_there_is_named(load_script):
    number_at = load_script("studies/measures").number_at
    results = {"rows": 7, "test": {"dev": {"accuracy": 0.5}}}
    assert (number_at(results, "rows"), number_at(results, "test.dev.accuracy")) == (7, 0.5)
    for path, said in (("row", "one of rows, test"), ("rows.x", "`7` has no names"), ("test.dev", "not a number")):
        with pytest.raises(UsageError, match=said):
            number_at(results, path)


def test_a_grid_is_chosen_on_the_dev_part_by_the_first_seed(load_script, monkeypatch):
    module = load_script("studies/study")
    models = {"avg": {"seeds": 2, "train": "--learning-rate $RATE", "grid": {"RATE": [1, 3, 2]}}}
    table = {"columns": {}, "cells": ["avg: all"]}
    choose = ["dev.pearson", "dev.accuracy"]
    design = {**DESIGN, "measured": {}, "models": models, "tables": {"t": table}, "choose": choose}
    monkeypatch.setattr(module, "design_of", lambda name: design)
    made = module.Study("out")
    ran = []

    def run(cell, seed, values):
        ran.append((seed, values["RATE"]))
        return {"results": json.dumps({"dev": {"accuracy": float(values["RATE"])}})}

    monkeypatch.setattr(made, "run", run)
    made.train()
    assert ran == [(0, "1"), (0, "3"), (0, "2"), (0, "3"), (1, "3")]


def test_a_step_is_made_for_each_value_of_a_variable_that_its_output_names(load_script, monkeypatch):
    module = load_script("studies/study")
    early = {
        "steps": {"$CODE/a": "filter --pairs $FROM"},
        "each": {"CODE": {"fr": {"FROM": "x"}, "cs": {"FROM": "y"}}},
    }
    late = {"before": ["early"], "steps": {"b": "c"}, "each": {"CODE": {"cs": {"FROM": "z"}}}}
    monkeypatch.setattr(module, "design_of", {"early": early, "late": late}.__getitem__)
    commands = [(str(output), command) for output, command in module.Study("late").step_commands()]
    assert commands == [("fr/a", "filter --pairs x"), ("cs/a", "filter --pairs z"), ("b", "c")]
    monkeypatch.setenv("CODE", "cs")
    assert [str(output) for output, _ in module.Study("late").step_commands()] == ["cs/a", "b"]


@pytest.mark.parametrize("name", DESIGNS)
def test_every_design_has_steps_and_cells_that_their_verbs_understand_and_seeds_enough_for_a_verdict(
    name, load_script, monkeypatch
):
    module = load_script("studies/study")
    for given in ("ENCODER", "PACKAGES", "PPDB", "SMOLLM2", "TEACHER", "USE", "WORDNET"):
        monkeypatch.setenv(given, f"/{given.lower()}")
    study = module.Study(name)
    known = study.results
    study.results = {}
    study.variables |= dict.fromkeys(known, "5")
    outputs, raw = [], ("bitext", "pairs")
    # Judged on their own data alone.
    apart = ("augmentation", "detection", "mining", "mining_captions", "mining_threshold")
    for output, command in study.step_commands():
        outputs.append(str(output))
        if command.startswith("!"):
            continue
        words = shlex.split(command)
        if words[0] == "make_data.py":
            load_script("studies/make_data").make_parser().parse_args([*words[1:], "--output", "o"])
        elif words[0].endswith(".py"):
            source = (SCRIPTS / "studies" / words[0]).read_text(encoding="utf-8")
            assert all(f'"{word}"' in source for word in words if word.startswith("--"))
        else:
            parsed([*words, "--output", "o"])
        is_raw = words[0] == "prepare" and words[1] in raw and not {"test", "validation"} & {*words}
        # Only `evaluate` reads these.
        is_test = str(output).startswith(("captions_", "newstest2013_"))
        learns = (is_raw and not is_test) or words[0] == "distill"
        if learns and name not in apart:
            assert "--decontaminate" in words and "data/held_out.sha256-16.txt.gz" in words, words
    assert all(place.split()[0] in outputs for place in known.values())
    assert outputs or study.all_cells()
    for cell in study.all_cells():
        model = study.models[cell.model]
        if "folder" in model:
            continue
        assert len(study.seeds(cell)) >= FEWEST_SEEDS
        variables = {"SEED": "0", **{key: str(values[0]) for key, values in model.get("grid", {}).items()}}
        words = shlex.split(study.filled(study.data[cell.data], variables))
        if words and words[0] == "filter":
            parsed([*words, "--seed", "0", "--output", "o"])
            words = ["--pairs", "p"]
        train = shlex.split(study.filled(f"{study.common} {model['train']}", variables))
        parsed([*train, *words, "--seed", "0", "--output", "o"])


def test_a_quarter_of_msrps_training_part_is_tested_on_and_the_rest_trained_on(load_script, tmp_path, monkeypatch):
    module = load_script("studies/study")
    for name in ("transfer", "msrp"):
        (tmp_path / "data" / name).mkdir(parents=True)
    whole = ["\ufeffQuality", *(f"1\t{x}\t{x}\ta {x}\tb {x}" for x in range(9))]
    (tmp_path / "data/msrp/msr_paraphrase_train.txt").write_text("".join(f"{line}\n" for line in whole))
    monkeypatch.chdir(tmp_path)
    module.make(Path("transfer"), module.Study("sdae").steps["transfer"], module.StudyKeys())
    train, test = (Path(f"transfer/msr_paraphrase_{part}.txt").read_text().splitlines() for part in ("train", "test"))
    assert train == whole[:8] and test == [whole[0], *whole[8:]]


def test_a_draw_of_judged_pairs_changes_average_precision_and_correlation_as_repeating_the_pairs_does(load_script):
    judged = load_script("studies/measures")
    generator = np.random.default_rng(0)
    # Rounded, so that some are equal.
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
    found = study.measure(lambda texts: vectors)
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


FOLDER = Path(__file__).parents[2] / "scripts" / "configs"


@pytest.mark.parametrize("config", sorted(FOLDER.rglob("*.yaml")), ids=lambda path: str(path.relative_to(FOLDER)))
def test_every_configuration_gives_its_verb_its_settings(config, tmp_path):
    (tmp_path / "vectors.txt").write_text("a1 1 2 3\n")
    words = ("train-sdae --text lines.txt" if config.parent.name == "sdae" else "train-encoder --pairs p").split()
    values = yaml.safe_load(config.read_text(encoding="utf-8"))
    if values.get("fixed_vectors"):
        words += ["--initial-vectors", str(tmp_path / "vectors.txt")]
    found = parsed([*words, "--config", str(config), "--output", str(tmp_path / "m")])
    assert values and {name: getattr(found, name) for name in values} == values


def test_every_stage_is_one_that_its_verb_understands(load_script):
    for output, line in load_script("benchmarks/growth").STAGES.values():
        assert parsed([*line.split(), *(["--output", output] if output else [])])
