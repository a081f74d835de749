from __future__ import annotations

import json

import numpy as np
import pytest
from analyzed_texts import QUERY, WORDS, embed, is_png, rows_of, run, save_model, write_graded

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_gran import GranModel


@pytest.fixture(scope="module")
def avg(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "avg")


@pytest.fixture(scope="module")
def gran(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "gran", GranModel, GranConfig, seed=1)


@pytest.fixture(scope="module")
def lines():
    generator = np.random.default_rng(0)
    made = [" ".join(generator.choice(WORDS, generator.integers(1, 5))) for _ in range(200)]
    return [*made, QUERY, "W1  w2 w3", "", "unheard of", "w1 | w2", made[0]]


@pytest.fixture(scope="module")
def text(tmp_path_factory, lines):
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def test_neighbours_are_those_of_comparing_with_every_sentence(avg, gran, text, lines, tmp_path, capsys):
    output = tmp_path / "report"
    words = ["--model", avg, gran, "--text", text, "--query", QUERY, "w7", "--neighbours", 4]
    assert run("neighbours", *words, "--output", output) == 0
    out, err = capsys.readouterr()
    assert out == "" and "words shared with the query" in err
    found = rows_of(output / "neighbours.tsv")
    summary = json.loads((output / "analysis.json").read_text())["summary"]["avg"]
    sides = [(row["query"], row["sentence"].lower().replace("|", "")) for row in found if row["model"] == "avg"]
    words = [(set(query.split()), set(sentence.split())) for query, sentence in sides]
    assert summary["shared_words"] == pytest.approx(np.mean([100 * len(a & b) / len(a | b) for a, b in words]))
    for query in (QUERY, "w7"):
        for model in (avg, gran):
            cosines = embed(model, lines) @ embed(model, [query])[0]
            order, seen = [], {query.lower()}
            for place in np.argsort(-np.round(cosines, 6), kind="stable"):
                key = " ".join(lines[place].lower().split())
                if key and key not in seen:
                    seen.add(key)
                    order.append(place)
            mine = [row for row in found if row["query"] == query and row["model"] == model.name]
            assert [int(row["rank"]) for row in mine] == [1, 2, 3, 4]
            expected = [cosines[place] for place in order[:4]]
            np.testing.assert_allclose([float(row["cosine"]) for row in mine], expected, atol=2e-6)
            for row in mine:
                assert " ".join(lines[int(row["position"]) - 1].split()) == row["sentence"]
                assert row["sentence"].lower() != query


def test_the_distribution_counts_every_sentence_of_the_text(avg, gran, text, lines, tmp_path, capsys):
    output = tmp_path / "report"
    assert run("similarities", "--model", avg, gran, "--text", text, "--query", QUERY, "--output", output) == 0
    out, err = capsys.readouterr()
    assert out == "" and "99.9 %" in err
    numbers = json.loads((output / "analysis.json").read_text())
    counts = rows_of(output / "histogram.tsv")
    for model in (avg, gran):
        vectors = embed(model, lines)
        cosines = vectors[vectors.any(axis=1)] @ embed(model, [QUERY])[0]
        found = numbers["queries"][0]["models"][model.name]
        assert found["sentences"] == len(cosines) == len(lines) - 2
        assert found["mean"] == pytest.approx(cosines.mean(), abs=1e-6)
        assert found["greatest"] == pytest.approx(1.0) and found["least"] == pytest.approx(cosines.min(), abs=1e-6)
        bins = {float(row["low"]): int(row["sentences"]) for row in counts if row["model"] == model.name}
        assert sum(bins.values()) == len(cosines)
        assert abs(sum(count for low, count in bins.items() if low >= 0.4999) - (cosines >= 0.5).sum()) <= 1
    assert is_png(output / "plots/distribution.png")


def test_human_scores_are_described_for_each_data_set_and_model(avg, gran, tmp_path, capsys):
    first = write_graded(tmp_path / "first", {"validation": [1.0, 1.5, 4.0] * 10, "train": [None] * 4})
    second = write_graded(tmp_path / "second", {"STS12": list(np.linspace(0, 5, 30)), "STS13": [5.0, 4.0]})
    output = tmp_path / "report"
    assert run("human-scores", "--model", avg, gran, "--data", first, second, "--output", output) == 0
    out, err = capsys.readouterr()
    assert out == "" and "Spearman × 100" in err
    rows = rows_of(output / "scores.tsv")
    assert len(rows) == 2 * 3 + 2 * 11 and [row["difference"] == "" for row in rows[:4]] == [True, False, False, True]
    assert sum(int(row["pairs"]) for row in rows if row["data"] == "second") == 2 * 32
    table = DataFolder(first).table("validation").to_pydict()
    sides = [embed(avg, table[name]) for name in ("sentence1", "sentence2")]
    cosines = (sides[0] * sides[1]).sum(axis=1)
    for row in rows[:3]:
        values = cosines[np.array(table["score"]) == float(row["score"])]
        assert float(row["mean"]) == pytest.approx(values.mean(), abs=1e-5)
        assert float(row["standard_deviation"]) == pytest.approx(values.std(ddof=1), abs=1e-5)
    tested = [row for row in rows if row["p"]]
    smallest = min(tested, key=lambda row: float(row["p"]))
    assert float(smallest["p_holm"]) == pytest.approx(min(1, len(tested) * float(smallest["p"])), rel=1e-4)
    assert is_png(output / "plots/human_scores.png")
    svg = (output / "plots/human_scores.svg").read_text()
    assert all(f"<!-- {label} -->" in svg for label in ("first", "second", "avg", "gran"))
    report = (output / "README.md").read_text()
    assert report.count("rounded to eleven") == 1 and "w1" not in report
