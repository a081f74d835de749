"""The reports of `analyze`: pairs, gates, neighbours, similarities and human scores."""

from __future__ import annotations

import csv
import json

import numpy as np
import pyarrow as pa
import pytest
from small_runs import run, write, write_rows
from tiny_encoders import write_average, write_reference_classifier

from hf_paraphrase.classification.references import write_seen
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.search_embedder import SearchEmbedder
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

WORDS = [f"w{number}" for number in range(12)]
QUERY = "w1 w2 w3"


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))


def embed(folder, texts):
    return SearchEmbedder(SentenceEncoder.from_pretrained(folder)).embed(texts).astype(np.float64)


def is_png(path):
    return path.read_bytes().startswith(b"\x89PNG") and path.with_suffix(".svg").read_text().startswith("<?xml")


def write_graded(folder, splits):
    """Writes a graded folder: the scores of splits by their names."""
    generator = np.random.default_rng(0)
    for split, scores in splits.items():
        sides = [[" ".join(generator.choice(WORDS, 3)) for _ in scores] for _ in range(2)]
        write(folder, split, sentence1=sides[0], sentence2=sides[1], score=pa.array(scores, pa.float64()))
    return folder


def analysed(output):
    """The report and its numbers."""
    return (output / "README.md").read_text(), json.loads((output / "analysis.json").read_text())


def test_the_report_has_tables_and_numbers_and_with_a_classifier_both_sides_are_judged(tmp_path, capsys):
    # 60 references of many words, each with two translations of few words that come again.
    generator, rows = np.random.default_rng(0), []
    for i in range(60):
        reference = " ".join(f"human{x}" for x in generator.permutation(40)[: generator.integers(4, 9)])
        for rank in range(2):
            rows.append((f"n{i}", reference, " ".join(f"robot{x}" for x in generator.integers(4, size=7)), rank))
    pairs = write_rows(tmp_path / "back", "train", "id sentence1 sentence2 rank", rows)
    assert run("analyze", "--pairs", pairs, "--output", tmp_path / "plain") == 0
    out, err = capsys.readouterr()
    assert out == "" and err.count("holds") >= 3 and "fails" not in err
    report, numbers = analysed(tmp_path / "plain")
    assert "60 references" in report and "No classifier was given" in report
    assert numbers["references"] == 60 and numbers["rows"] == 120 and numbers["table_10"] == {}
    folder = tmp_path / "classifier"
    words = [f"human{x}" for x in range(40)] + [f"robot{x}" for x in range(4)]
    write_reference_classifier(folder, words)
    texts = list(dict.fromkeys(DataFolder(pairs).table().column("sentence1").to_pylist()))[:20]
    write_seen(folder, {"train": texts})
    words = ["--pairs", pairs, "--classifier", folder, "--examples", 3]
    assert run("analyze", *words, "--output", tmp_path / "report") == 0
    report, numbers = analysed(tmp_path / "report")
    assert "Spearman" in report and "looks like a machine's" in report and "robot" in report
    assert set(numbers["table_10"]) == {"references", "translations"} and numbers["seen_by_the_classifier"] == 20
    assert run("analyze", *words, "--output", tmp_path / "unseen", "--unseen-only") == 0
    _, numbers = analysed(tmp_path / "unseen")
    assert numbers["references"] == 40 and numbers["seen_by_the_classifier"] == 0


VOCABULARY = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "|", "."]
SENTENCES = [
    "The cat sat on the mat.",
    "A dog ran.",
    "the dog sat on a mat",
    "a cat ran $1 $2",
    "The cat sat on the mat.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("gates")
    write_average(root / "gran", VOCABULARY, classes="gran", hidden_size=6)
    write_average(root / "both", VOCABULARY, classes="gran", hidden_size=6, cell="gru", bidirectional=True)
    (root / "text.txt").write_text("\n".join(SENTENCES) + "\n")
    (root / "tagged.txt").write_text("the/DT cat/NN sat/VBD on/IN a/DT mat/NN\na/DT dog/NN ran/VBD to/TO it/PRP\n")
    return root


def test_tagged_text_gives_tables_pictures_and_a_comparison(folder, tmp_path, capsys):
    output = tmp_path / "report"
    words = ["--tagged", folder / "tagged.txt", "--output", output, "--min-count", 1]
    assert run("analyze", "gates", "--model", folder / "gran", *words) == 0
    out, err = capsys.readouterr()
    assert out == "" and "part of speech: highest" in err
    report, numbers = analysed(output)
    assert report.count("![") == 2 and (output / "plots/sentence_1.png").read_bytes().startswith(b"\x89PNG")
    assert "By part of speech" in report and "of all pairs" in report.lower() and "in 2 distinct sentences" in report
    rows = (output / "tables/tag.tsv").read_text().splitlines()
    assert rows[0].startswith("name\twords\tgate\tlow\thigh") and len(rows) == 1 + 6
    assert numbers["words"] == 11 and numbers["paper"]["tag"]["high"] == 1 and numbers["paper"]["tag"]["low"] == 4


def test_of_plain_text_each_distinct_sentence_counts_once(folder, tmp_path, monkeypatch):
    # Drawing takes longer than all else, and the test above looks at pictures.
    monkeypatch.setattr("matplotlib.figure.Figure.savefig", lambda self, path, **settings: path.write_bytes(b"PNG"))
    output = tmp_path / "report"
    words = ["--model", folder / "both", "--text", folder / "text.txt", "--min-count", 1]
    assert run("analyze", "gates", *words, "--output", output) == 0
    rows = [line.split("\t") for line in (output / "tables/words.tsv").read_text().splitlines()[1:]]
    found = {name: int(count) for name, count, *_ in rows}
    assert found["the"] == 3 and found["cat"] == 2 and found["dog"] == 2
    report, _ = analysed(output)
    assert "in 4 distinct sentences" in report and "in both directions" in report
    # A dollar sign is a letter like any other in a picture.
    assert "$1 $2" in report and (output / "plots/sentence_3.png").is_file()


@pytest.fixture(scope="module")
def avg(tmp_path_factory):
    return write_average(tmp_path_factory.mktemp("models") / "avg", [*WORDS, "|", "."], hidden_size=6)


@pytest.fixture(scope="module")
def gran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "gran"
    return write_average(folder, [*WORDS, "|", "."], seed=1, classes="gran", hidden_size=6)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    generator = np.random.default_rng(0)
    made = [" ".join(generator.choice(WORDS, generator.integers(1, 5))) for _ in range(200)]
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text("\n".join([*made, QUERY, "W1  w2 w3", "", "unheard of", "w1 | w2", made[0], ""]), encoding="utf-8")
    return path


def test_neighbours_are_those_of_comparing_with_every_sentence(avg, gran, text, tmp_path, capsys):
    output, lines = tmp_path / "report", text.read_text().split("\n")[:-1]
    words = ["--model", avg, gran, "--text", text, "--query", QUERY, "w7", "--neighbours", 4]
    assert run("analyze", "neighbours", *words, "--output", output) == 0
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


def test_the_distribution_counts_every_sentence_of_the_text(avg, gran, text, tmp_path, capsys):
    output, lines = tmp_path / "report", text.read_text().split("\n")[:-1]
    words = ["--model", avg, gran, "--text", text, "--query", QUERY]
    assert run("analyze", "similarities", *words, "--output", output) == 0
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
    assert run("analyze", "human-scores", "--model", avg, gran, "--data", first, second, "--output", output) == 0
    out, err = capsys.readouterr()
    assert out == "" and "Spearman × 100" in err
    rows = rows_of(output / "scores.tsv")
    assert len(rows) == 2 * 3 + 2 * 11 and [row["difference"] == "" for row in rows[:4]] == [True, False, False, True]
    assert sum(int(row["pairs"]) for row in rows if row["data"] == "second") == 2 * 32
    assert all(row["p_holm"] for row in rows if row["p"])
    assert is_png(output / "plots/human_scores.png")
    svg = (output / "plots/human_scores.svg").read_text()
    assert all(f"<!-- {label} -->" in svg for label in ("first", "second", "avg", "gran"))
    assert "w1" not in (output / "README.md").read_text()
