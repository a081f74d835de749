from __future__ import annotations

import json

import numpy as np
import pytest
from analyzed_texts import embed, is_png, rows_of, run, save_model, write_graded

from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_gran import GranModel


@pytest.fixture(scope="module")
def avg(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "avg")


@pytest.fixture(scope="module")
def gran(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "gran", GranModel, GranConfig, seed=1)


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """Writes a graded folder under a name."""
    return lambda name, *given: write_graded(tmp_path_factory.mktemp("graded") / name, *given)


def test_human_scores_are_described_for_each_data_set_and_model(avg, gran, graded, tmp_path, capsys):
    first = graded("first", {"validation": [1.0, 1.5, 4.0] * 10, "train": [None] * 4}, "fi")
    second = graded("second", {"STS12": list(np.linspace(0, 5, 30)), "STS13": [5.0, 4.0]})
    output = tmp_path / "report"
    assert run("human-scores", "--model", avg, gran, "--data", first, second, "--output", output) == 0
    out, err = capsys.readouterr()
    assert out == "" and "Spearman × 100" in err
    sets = json.loads((output / "analysis.json").read_text())["sets"]
    assert [(item["data"], item["splits"], item["pairs"], item["step"]) for item in sets] == [
        ("first (fi)", ["validation"], 30, None),
        ("second", ["STS12", "STS13"], 32, 0.5),
    ]
    (low, middle, high) = sets[0]["models"]["gran"]["scores"]
    assert (low["score"], middle["score"], high["score"]) == (1, 1.5, 4) and low["pairs"] == 10
    assert len(sets[1]["models"]["avg"]["tests"]) == 10
    rows = rows_of(output / "scores.tsv")
    assert len(rows) == 2 * 3 + 2 * 11 and [row["difference"] == "" for row in rows[:4]] == [True, False, False, True]
    made = [float(row["p"]) for row in rows if row["p"]]
    smallest = min((row for row in rows if row["p"]), key=lambda row: float(row["p"]))
    assert float(smallest["p_holm"]) == pytest.approx(min(1, len(made) * min(made)), rel=1e-4)
    assert is_png(output / "plots/human_scores.png")
    svg = (output / "plots/human_scores.svg").read_text()
    assert all(f"<!-- {label} -->" in svg for label in ("first (fi)", "second", "avg", "gran"))
    report = (output / "README.md").read_text()
    assert "bands of width 0.5" in report and "w1" not in report


@pytest.mark.usefixtures("plots_undrawn")
def test_the_cosines_behind_human_scores_are_those_of_the_encoder(avg, graded, tmp_path):
    from hf_paraphrase.data.folder import DataFolder

    folder = graded("one", {"validation": [1.0, 2.0] * 8})
    assert run("human-scores", "--model", avg, "--data", folder, "--output", tmp_path / "out") == 0
    table = DataFolder(folder).table("validation").to_pydict()
    sides = [embed(avg, table[name]) for name in ("sentence1", "sentence2")]
    cosines = (sides[0] * sides[1]).sum(axis=1)
    for row in rows_of(tmp_path / "out/scores.tsv"):
        there = cosines[np.array(table["score"]) == float(row["score"])]
        assert float(row["mean"]) == pytest.approx(there.mean(), abs=1e-5)
        assert float(row["standard_deviation"]) == pytest.approx(there.std(ddof=1), abs=1e-5)


@pytest.mark.usefixtures("plots_undrawn")
def test_the_language_of_the_card_chooses_the_encoder(graded, tmp_path):
    for lang, seed in (("de", 1), ("fi", 2)):
        save_model(tmp_path / f"avg-{lang}", seed=seed)
    first, second = (
        graded("x", {"validation": [1.0, 2.0, 2.0]}, "de"),
        graded("y", {"validation": [1.0, 2.0, 2.0]}, "fi"),
    )
    words = ["--data", first, second, "--output", tmp_path / "out"]
    assert run("human-scores", "--model", f"{tmp_path}/avg-{{lang}}", *words) == 0
    sets = json.loads((tmp_path / "out/analysis.json").read_text())["sets"]
    assert [item["models"]["avg"]["model"] for item in sets] == ["avg-de", "avg-fi"]
    assert run("human-scores", "--model", tmp_path / "avg-fi", "--data", second, "--output", tmp_path / "one") == 0
    alone = json.loads((tmp_path / "one/analysis.json").read_text())["sets"][0]["models"]["avg-fi"]["scores"]
    assert alone == sets[1]["models"]["avg"]["scores"]


def test_a_card_cannot_lead_to_another_folder(avg, graded, tmp_path, capsys):
    folder = graded("z", {"validation": [1.0, 2.0]}, "'../../secret'")
    words = ["--data", folder, "--output", tmp_path / "out"]
    assert run("human-scores", "--model", f"{tmp_path}/avg-{{lang}}", *words) == 2
    assert "not the code of a language" in capsys.readouterr().err
