from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from mined_corpora import log, sentences, write_classifier, write_encoder, write_task
from small_runs import record

from hf_paraphrase.classification.parallel_classifier import ParallelClassifier
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.mining.candidates import CandidateSettings, MiningRun, open_pair
from hf_paraphrase.mining.collections import TaskPart
from hf_paraphrase.studies.mining.evaluation import evaluate_mining, random_pair_curve, task_tables


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    write_encoder(folder / "encoder", noise=1.2)
    write_encoder(folder / "better", noise=0.1, seed=1)
    write_classifier(folder / "keep")
    write_classifier(folder / "zero", seed=1)
    write_task(folder, "training", seed=1)
    write_task(folder, "test", seed=2)
    return folder


@pytest.fixture
def work(originals, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in originals.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


SIDES = "--source fr-en.test.fr --target fr-en.test.en --layout bucc"


def mine(words, output="mined"):
    return main(["mine", *words.split(), "--output", output])


def evaluate(words):
    return main(["evaluate-mining", *words.split()])


def fields_of(path):
    """Return the fields of the lines of a file."""
    return [tuple(line.split("\t")) for line in Path(path).read_text().splitlines()]


def rows_of(path="mined"):
    return DataFolder(path).table().to_pylist()


def scores_of(path="mined"):
    return {(row["source_id"], row["target_id"]): row["score"] for row in rows_of(path)}


def test_hidden_pairs_are_found_and_measured_in_a_bitext(work, capsys):
    words = f"{SIDES} --encoder better --candidates 5 --margin --one-to-one --source-lang fr --target-lang en"
    assert mine(f"{words} --gold fr-en.test.gold --tune-on fr-en.training") == 0
    rows = rows_of()
    gold = set(fields_of("fr-en.test.gold"))
    assert scores_of().keys() >= gold and len(rows) < 20
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    for side, ending in (("source", "fr"), ("target", "en")):
        texts = dict(fields_of(f"fr-en.test.{ending}"))
        assert all(texts[row[f"{side}_id"]] == row[side] and row[f"{side}_lang"] == ending for row in rows)
    assert len({row["source_id"] for row in rows}) == len({row["target_id"] for row in rows}) == len(rows)
    out = capsys.readouterr().out
    assert "F1 (%)" in out and "100.00" in out
    results = record(Path("mined"))["results"]
    assert results["measures"]["right"] == 15 and 300 < results["candidates"] < 600 and results["tuning"]["f1"] > 0.8
    listed = set(fields_of("mined/pairs.gold"))
    assert listed == scores_of().keys()


def test_by_default_no_sentence_is_used_twice_and_a_margin_of_ratio_has_a_threshold(work):
    assert mine(f"{SIDES} --encoder better") == 0
    rows = rows_of()
    assert len({row["source_id"] for row in rows}) == len({row["target_id"] for row in rows}) == len(rows) > 10
    gold = set(fields_of("fr-en.test.gold"))
    assert len(gold & scores_of().keys()) > 0.8 * len(gold) and all(row["score"] >= 1.15 for row in rows)
    assert mine(f"{SIDES} --encoder better --threshold 1.15 --margin ratio --one-to-one", "same") == 0
    assert rows_of("same") == rows
    assert mine(f"{SIDES} --encoder better --threshold 1.15 --approximate --candidates 60", "near") == 0
    assert scores_of("near") == pytest.approx(scores_of(), abs=1e-6)


def test_a_bitext_teaches_the_threshold(work, capsys):
    meanings, sources = sentences(np.random.default_rng(3), 300, "f")
    targets = [log(meaning, "e") for meaning in meanings]
    rows = [{"source": one, "target": two} for one, two in zip(sources, targets, strict=True)]
    table = pa.Table.from_pylist(
        [{"id": "", **row, "source_lang": "fr", "target_lang": "en"} for row in rows], schema=BITEXT
    )
    write_split(Path("dev"), "train", [table], BITEXT)
    assert mine(f"{SIDES} --encoder better --dev-bitext dev --gold fr-en.test.gold") == 0
    results = record(Path("mined"))["results"]
    assert results["tuning"]["gold"] == len(rows) // 3 and results["measures"]["f1"] > 0.9
    assert results["threshold"] != 1.15 and min(scores_of().values()) >= results["threshold"]
    write_split(Path("short"), "train", [table.slice(0, 2)], BITEXT)
    assert mine(f"{SIDES} --encoder better --dev-bitext short", "none") == 2
    assert "too few pairs to choose a threshold" in capsys.readouterr().err and not Path("none").exists()


ALL = "--no-one-to-one --threshold -2"


def test_candidates_are_the_nearest_in_both_directions_with_their_cosines(work):
    assert mine(f"{SIDES} --encoder encoder --candidates 3 --margin absolute {ALL}") == 0
    rows = rows_of()
    encoder = SentenceEncoder.from_pretrained("encoder")
    sides = [fields_of(f"fr-en.test.{end}") for end in ("fr", "en")]
    source, target = (encoder.encode([text for _, text in side], normalize_embeddings=True) for side in sides)
    cosines = source @ target.T
    first, second = np.argsort(-cosines, 1)[:, :3], np.argsort(-cosines.T, 1)[:, :3]
    expected = {(row, other) for row in range(60) for other in first[row]}
    expected |= {(other, row) for row in range(60) for other in second[row]}
    assert scores_of().keys() == {(sides[0][one][0], sides[1][two][0]) for one, two in expected}
    words = f"{SIDES} --encoder encoder --candidates 3 --margin absolute --no-one-to-one --threshold 0.5"
    assert mine(words, "some") == 0
    assert rows_of("some") == [row for row in rows if row["score"] >= 0.5]
    for end in ("fr", "en"):
        texts = [text for _, text in fields_of(f"fr-en.test.{end}")]
        Path(f"plain.{end}").write_text("\n".join(["", *texts, "   ", ""]), encoding="utf-8")
    words = "--source plain.fr --target plain.en --source-encoder encoder --target-encoder encoder --candidates 3"
    words += f" --margin absolute {ALL}"
    assert mine(words, "plain") == 0 and not Path("plain/pairs.gold").exists()
    # Of plain lines the number is the id, and an empty one is in no pair.
    plain = scores_of("plain")
    assert {(int(one) - 1, int(two) - 1): score for (one, two), score in plain.items()} == {
        (int(row["source_id"][3:]), int(row["target_id"][3:])): row["score"] for row in rows
    }


def test_copies_of_a_translation_do_not_lower_its_margin(work):
    for end in ("fr", "en"):
        lines = [text for _, text in fields_of(f"fr-en.test.{end}")[:30]]
        # The encoder does not see case and spacing.
        copies = [f" {line.upper()}" for line in lines for _ in range(4)]
        Path(f"once.{end}").write_text("\n".join(lines))
        Path(f"often.{end}").write_text("\n".join([*lines, *copies]))
    for name in ("once", "often"):
        words = f"--source {name}.fr --target {name}.en --encoder better --candidates 150 --margin ratio {ALL}"
        assert mine(words, name) == 0
    once, often = scores_of("once"), scores_of("often")
    assert max(once.values()) > 1.5 and {pair: often[pair] for pair in once} == pytest.approx(once, abs=1e-6)


def test_collections_of_one_language_give_paraphrases(work):
    for name in ("two.en", "two.en2", "two.gold"):
        Path(name).write_bytes(Path("fr-en.test." + {"two.en": "fr", "two.en2": "en"}.get(name, "gold")).read_bytes())
    words = "--layout bucc --encoder better --candidates 1 --source-lang en --target-lang en"
    assert mine(f"--source two.en --target two.en2 {words} --tune-on two --gold two.gold") == 0
    gold = set(fields_of("two.gold"))
    assert scores_of().keys() & gold == gold and {row["target_lang"] for row in rows_of()} == {"en"}
    card = Path("mined/README.md").read_text()
    assert "language:\n- en\ntask_categories:\n- sentence-similarity" in card and "# Mined paraphrases:" in card
    with pytest.raises(InputError, match="`en-en` is not a pair of languages"):
        TaskPart.of_task("en-en", "test")


def test_a_classifier_scores_by_its_probabilities_alone_or_with_the_margin(work):
    words = f"{SIDES} --encoder encoder --candidates 4 {ALL} --classifier keep"
    assert mine(words) == 0
    rows = rows_of()
    assert len(rows) > 240
    texts = [[row[side] for row in rows] for side in ("source", "target")]
    wanted = ParallelClassifier.from_pretrained("keep").probabilities(*texts)
    np.testing.assert_allclose([row["score"] for row in rows], wanted, atol=1e-6)
    assert wanted.std() > 0.01
    alone = scores_of()
    assert mine(f"{SIDES} --encoder encoder --candidates 4 {ALL} --margin", "margin") == 0
    margins = scores_of("margin")
    assert mine(f"{words} --margin", "both") == 0
    products = {pair: alone[pair] * max(margin, 0) for pair, margin in margins.items()}
    assert scores_of("both") == pytest.approx(products, abs=1e-6)


# ----- evaluate-mining


@pytest.fixture(scope="module")
def study(originals, tmp_path_factory):
    """The report of a study with everything in it."""
    output = tmp_path_factory.mktemp("report") / "report"
    words = f"--task {originals}/fr-en --encoder {originals}/encoder --candidates 5 --random-negatives 50"
    words += f" --scoring-encoder {originals}/better --classifier {originals}/keep {originals}/zero"
    assert evaluate(f"{words} --output {output}") == 0
    return output


def test_report_holds_tables_and_curves_of_every_way(study):
    results = json.loads((study / "results.json").read_text())
    found = {(row["score"], row["one_to_one"], row["threshold_is"]) for row in results["candidates"]}
    assert {("keep", False, "fixed"), ("keep", False, "tuned"), ("zero", True, "tuned")} < found
    assert {("filter cosine", False, "tuned"), ("better ratio margin", True, "tuned")} < found
    assert ("keep × better ratio margin", True, "tuned") in found
    assert {path.name for path in (study / "curves/random_pairs").iterdir()} == {"keep.tsv", "zero.tsv"}
    header, *_ = (study / "curves/candidates/better ratio margin, one-to-one.tsv").read_text().splitlines()
    assert header.split("\t") == ["threshold", "precision", "recall", "f1", "found", "right"]
    card = (study / "README.md").read_text()
    assert "True pairs among the candidates" in card and "| test | test | 60 | 60 | 15 | 300 |" in card


def test_recall_bounds_every_way_and_better_encoders_and_matching_help(study, originals, tmp_path, capsys):
    results = json.loads((study / "results.json").read_text())
    rows = results["recall"]["the filter (encoder)"]
    assert rows[-1]["share"] == 100 and rows[-1]["pairs"] == 3600 and rows[0]["found"] < rows[1]["found"] < 15
    assert all(row["test"]["recall"] <= rows[1]["found"] / 15 for row in results["candidates"])
    tuned = {(row["score"], row["one_to_one"]): row for row in results["candidates"] if row["threshold_is"] == "tuned"}
    f1 = {way: row["test"]["f1"] for way, row in tuned.items()}
    assert f1["better cosine", False] > f1["filter cosine", False]
    assert f1["better cosine", True] >= f1["better cosine", False] > 0.6
    # `mine` on the same files chooses the same threshold, and its folder has the same measures.
    sides = " ".join(f"--{name} {originals}/fr-en.test.{end}" for name, end in (("source", "fr"), ("target", "en")))
    words = f"{sides} --layout bucc --encoder {originals}/encoder --candidates 5 --margin --one-to-one"
    words += f" --gold {originals}/fr-en.test.gold --tune-on {originals}/fr-en.training"
    assert mine(words, str(tmp_path / "mined")) == 0
    mined = record(tmp_path / "mined")["results"]
    row = tuned["filter ratio margin", True]
    assert mined["threshold"] == row["threshold"] and mined["measures"] == row["test"]
    assert f"{100 * row['test']['precision']:.2f}" in capsys.readouterr().out


def test_rows_whose_names_differ_in_a_slash_have_a_curve_each_and_a_finished_report_gives_its_tables_again(work):
    for name in ("a/run", "b/run", "a_run"):
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).symlink_to(work / "keep")
    options = {"task": "fr-en", "encoder": "encoder", "output": "report", "resume": True, "candidates": 2}
    options |= {"random_negatives": 3, "classifier": ["a/run", "b/run", "a_run"]}
    first = evaluate_mining(**options)
    curves = {path.name for path in Path("report/curves/random_pairs").iterdir()}
    assert curves == {"a%2Frun.tsv", "b%2Frun.tsv", "a_run.tsv"}
    again = evaluate_mining(**options)
    assert again == json.loads(json.dumps(first)) and task_tables(again) == task_tables(first) != {}


def test_random_pairs_are_scored_as_the_classifier_does_and_none_of_them_is_true(originals, tmp_path):
    part = TaskPart.of_task(str(originals / "fr-en"), "test")
    keep = ParallelClassifier.from_pretrained(originals / "keep")
    encoders, settings = {"filter": open_pair([str(originals / "encoder")])}, CandidateSettings(candidates=3)
    run = MiningRun(part.source, part.target, encoders, tmp_path, settings, {"keep": keep})
    curve = random_pair_curve(run, part.gold, "keep", 40)
    # True ones among the random pairs are left out.
    assert curve.at()["right"] == 15 and 500 < curve.at()["found"] - 15 < 600
    sides = zip((part.source, part.target), part.gold.T, strict=True)
    wanted = keep.probabilities(*([side.sentences[row] for row in rows] for side, rows in sides))
    threshold = float(np.median(wanted)) - 1e-6
    assert curve.at(threshold)["right"] == (wanted >= threshold).sum() == 8
