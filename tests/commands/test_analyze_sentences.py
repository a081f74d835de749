from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from analyzed_texts import QUERY, WORDS, embed, is_png, rows_of, run, save_model, write_graded

from hf_paraphrase.data.folder import write_split
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


# ----- neighbours


def test_neighbours_are_those_of_comparing_with_every_sentence(avg, gran, text, lines, tmp_path, capsys):
    output = tmp_path / "report"
    words = ["--model", avg, gran, "--text", text, "--query", QUERY, "w7", "--neighbours", 4]
    assert run("neighbours", *words, "--output", output) == 0
    out, err = capsys.readouterr()
    assert out == "" and "words shared with the query" in err
    found = rows_of(output / "neighbours.tsv")
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


@pytest.mark.usefixtures("plots_undrawn")
def test_sentences_that_both_models_find_are_bold_and_counted(avg, text, tmp_path):
    twin = save_model(tmp_path / "twin")
    words = ["--model", avg, twin, "--text", text, "--query", QUERY, "--neighbours", 3, "--output", tmp_path / "out"]
    assert run("neighbours", *words) == 0
    assert (tmp_path / "out/README.md").read_text().count("**") == 2 * 2 * 3
    summary = json.loads((tmp_path / "out/analysis.json").read_text())["summary"]["models"]
    assert summary["avg"]["common"] == {"avg": None, "twin": 100.0}


@pytest.mark.usefixtures("plots_undrawn")
def test_sentences_that_differ_in_case_and_spacing_only_are_one_neighbour(avg, tmp_path):
    (tmp_path / "text.txt").write_text("W1 w3\nw1 w3\nw1   w3\nw2 w3\n")
    words = ["--model", avg, "--text", tmp_path / "text.txt", "--query", "w1 w2", "--output", tmp_path / "out"]
    assert run("neighbours", *words) == 0
    page = (tmp_path / "out/README.md").read_text()
    assert page.count("W1 w3") == 1 and "w1 w3" not in page and "w2 w3" in page


@pytest.mark.usefixtures("plots_undrawn")
def test_a_data_folder_will_do_as_text_and_its_licence_is_passed_on(avg, tmp_path):
    columns = {"sentence1": ["w1 w2", "w3"], "sentence2": ["w4", "w1 w5"]}
    write_split(tmp_path / "pairs", "dev", [pa.table(columns)], pa.table(columns).schema)
    (tmp_path / "pairs/README.md").write_text("---\nlicense: cc-by-4.0\nlanguage: [en]\n---\n")
    words = ["--model", avg, "--text", tmp_path / "pairs", "--split", "dev", "--query", "w1"]
    assert run("neighbours", *words, "--output", tmp_path / "out") == 0
    report = (tmp_path / "out/README.md").read_text()
    assert "pairs (split dev)" in report and "cc-by-4.0, as the card" in report
    assert {row["sentence"] for row in rows_of(tmp_path / "out/neighbours.tsv")} == {"w1 w2", "w3", "w4", "w1 w5"}


# ----- similarities


def histogram(rows, query=QUERY):
    return {(row["model"], row["low"]): int(row["sentences"]) for row in rows if row["query"] == query}


def test_the_distribution_counts_every_sentence_of_the_text(avg, gran, text, lines, tmp_path, capsys):
    output = tmp_path / "report"
    words = ["--model", avg, gran, "--text", text, "--query", QUERY, "--thresholds", 0.9, 0.5]
    assert run("similarities", *words, "--output", output) == 0
    out, err = capsys.readouterr()
    assert out == "" and ">= 0.5 (%)" in err
    numbers = json.loads((output / "analysis.json").read_text())
    found = histogram(rows_of(output / "histogram.tsv"))
    for model in (avg, gran):
        vectors = embed(model, lines)
        cosines = vectors[vectors.any(axis=1)] @ embed(model, [QUERY])[0]
        mine = numbers["queries"][0]["models"][model.name]
        assert mine["sentences"] == len(cosines) == len(lines) - 2
        assert mine["mean"] == pytest.approx(cosines.mean(), abs=1e-6)
        assert mine["greatest"] == pytest.approx(1.0) and mine["least"] == pytest.approx(cosines.min(), abs=1e-6)
        assert mine["at_or_above"]["0.5"] == (cosines >= 0.5).sum()
        assert sum(count for (name, _), count in found.items() if name == model.name) == len(cosines)
        (half,) = [sum(n for (name, low), n in found.items() if name == model.name and float(low) >= 0.4999)]
        assert abs(half - (cosines >= 0.5).sum()) <= 1
    assert is_png(output / "plots/distribution.png")
    shown = (output / "README.md").read_text().partition("Ranges of the cosine under avg")[2].partition("Ranges")[0]
    cosines = dict(zip(lines, embed(avg, lines) @ embed(avg, [QUERY])[0], strict=True))
    for row in [line.split("|") for line in shown.splitlines() if " to " in line]:
        low = float(row[1].split()[0])
        drawn = [text.strip().replace("\\", "") for text in row[3].split("·")]
        assert 1 <= len(set(drawn)) == len(drawn) <= 3
        assert all(low - 1e-6 <= cosines[text] <= low + 0.1 + 1e-6 for text in drawn if text in cosines)
    assert numbers["read"]["avg"] == {"read": 206, "empty": 1, "unknown": 1, "compared": 204}


# ----- what goes wrong


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("neighbours --model avg --text text", "give --query or --queries"),
        ("neighbours --model avg avg --text text --query w1", "is given twice"),
        ("neighbours --model avg --text text --query unheard", "in the encoders' vocabularies"),
        ("similarities --model avg --text text --query unheard", "nothing to count"),
        ("human-scores --model avg-{lang} --data graded", "names no language"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing_behind(avg, text, tmp_path, monkeypatch, capsys, words, expected):
    import shlex
    import shutil

    monkeypatch.chdir(tmp_path)
    shutil.copytree(avg, "avg")
    shutil.copy(text, "text")
    write_graded(tmp_path / "graded", {"validation": [1.0, 2.0]})
    before = sorted(path.name for path in tmp_path.iterdir())
    assert run(*shlex.split(words), "--output", "out") == 2
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("hf-paraphrase: error: ")]
    assert len(lines) == 1 and expected in lines[0] and out == "" and "Traceback" not in err
    assert sorted(path.name for path in tmp_path.iterdir()) == before
