from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
from datasets import load_dataset

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.studies.mining.parallel_classification import ParallelClassifier
from hf_paraphrase.studies.mining.parallel_examples import read_parallel_texts

sys.path.append(str(Path(__file__).parents[1] / "studies" / "mining"))
from mined_corpora import write_classifier, write_encoder, write_task


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mine")
    write_encoder(folder / "encoder")
    write_encoder(folder / "better", noise=0.1, seed=1)
    write_classifier(folder / "classifier")
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


def rows_of(path="mined"):
    return DataFolder(path).table().to_pylist()


def scores_of(path="mined"):
    return {(row["source_id"], row["target_id"]): row["score"] for row in rows_of(path)}


def gold_of(part="test"):
    return {tuple(line.split("\t")) for line in Path(f"fr-en.{part}.gold").read_text().splitlines()}


def test_hidden_pairs_are_found_and_measured_in_a_bitext(work, capsys):
    words = f"{SIDES} --encoder better --candidates 5 --margin --one-to-one --source-lang fr --target-lang en"
    assert mine(f"{words} --gold fr-en.test.gold --tune-on fr-en.training") == 0
    rows = rows_of()
    assert scores_of().keys() >= gold_of() and len(rows) < 20
    scores = [row["score"] for row in rows]
    assert scores == sorted(scores, reverse=True)
    for side, ending in (("source", "fr"), ("target", "en")):
        texts = dict(line.split("\t") for line in Path(f"fr-en.test.{ending}").read_text().splitlines())
        assert all(texts[row[f"{side}_id"]] == row[side] and row[f"{side}_lang"] == ending for row in rows)
    assert len({row["source_id"] for row in rows}) == len({row["target_id"] for row in rows}) == len(rows)
    out = capsys.readouterr().out
    assert "F1 (%)" in out and "100.00" in out
    results = json.loads(Path("mined/provenance.json").read_text())["results"]
    assert results["measures"]["right"] == 15 and results["candidates"] == 300 and results["tuning"]["f1"] > 0.8
    listed = {tuple(line.split("\t")) for line in Path("mined/pairs.gold").read_text().splitlines()}
    assert listed == scores_of().keys()
    assert load_dataset("mined", split="train").num_rows == len(rows)
    loaded = read_parallel_texts("mined")
    assert loaded.source_lang == "fr" and loaded.target["train"] == [row["target"] for row in rows]


def test_without_a_threshold_all_candidates_are_given_with_their_cosines(work):
    assert mine(f"{SIDES} --encoder encoder --candidates 3") == 0
    rows = rows_of()
    assert len(rows) == 180
    assert mine(f"{SIDES} --encoder encoder --candidates 3 --threshold 0.8 --overwrite") == 0
    assert rows_of() == [row for row in rows if row["score"] >= 0.8]
    assert mine(f"{SIDES} --source-encoder encoder --target-encoder encoder --candidates 3", "two") == 0
    assert rows_of("two") == rows
    assert mine(f"{SIDES} --encoder encoder --threshold 2", "none") == 0
    assert rows_of("none") == []


def test_a_classifier_scores_by_its_probabilities_alone_or_with_the_margin(work):
    words = f"{SIDES} --encoder encoder --candidates 4 --classifier classifier"
    assert mine(words) == 0
    rows = rows_of()
    assert len(rows) == 240
    texts = [[row[side] for row in rows] for side in ("source", "target")]
    wanted = ParallelClassifier.from_pretrained("classifier").probabilities(*texts)
    np.testing.assert_allclose([row["score"] for row in rows], wanted, atol=1e-6)
    assert wanted.std() > 0.01
    alone = scores_of()
    assert mine(f"{SIDES} --encoder encoder --candidates 4 --margin", "margin") == 0
    margins = scores_of("margin")
    assert mine(f"{words} --margin", "both") == 0
    products = {pair: alone[pair] * margin for pair, margin in margins.items()}
    assert scores_of("both") == pytest.approx(products, abs=1e-6)


def test_plain_lines_have_their_numbers_as_ids_and_empty_ones_are_never_paired(work, capsys):
    for end in ("fr", "en"):
        texts = [line.split("\t")[1] for line in Path(f"fr-en.test.{end}").read_text().splitlines()]
        Path(f"plain.{end}").write_text("\n".join(["", *texts, "   ", ""]), encoding="utf-8")
    words = "--source plain.fr --target plain.en --encoder better --candidates 4 --one-to-one"
    assert mine(words) == 0
    rows = rows_of()
    assert not {"1", "62"} & {name for pair in scores_of() for name in pair}
    assert all(row["source"] and row["target"] for row in rows)
    assert "2 empty, which are left out" in capsys.readouterr().err
    assert not Path("mined/pairs.gold").exists()


def test_approximate_search_prints_its_recall(work, capsys):
    assert mine(f"{SIDES} --encoder encoder --candidates 3 --approximate") == 0
    assert "find 100.00 % of the true nearest" in capsys.readouterr().err
    assert mine(f"{SIDES} --encoder encoder --candidates 3", "exact") == 0
    assert scores_of() == pytest.approx(scores_of("exact"), abs=1e-6)


def test_threshold_cannot_be_chosen_where_no_true_pair_is_a_candidate(work, capfd):
    lines = [line.split("\t") for line in Path("fr-en.training.gold").read_text().splitlines()]
    for end in ("fr", "en"):
        Path(f"wrong.{end}").write_text(Path(f"fr-en.training.{end}").read_text())
    shifted = [f"{one}\t{two}\n" for (one, _), (_, two) in zip(lines, [*lines[1:], lines[0]], strict=True)]
    Path("wrong.gold").write_text("".join(shifted))
    words = f"{SIDES} --encoder better --candidates 1 --tune-on wrong"
    assert mine(words) == 2
    assert "none of the true pairs is among the candidates" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("sides", "text"),
    [
        ("--source a.txt --target b.txt", "both are `.txt`"),
        ("--source a.txt.gz --target b.txt.gz", "both are `.txt.gz`"),
        ("--source a.gold --target b.en", "a side ends in .gold"),
    ],
)
def test_tuning_files_of_one_name_are_refused_by_their_endings(work, capfd, sides, text):
    for name in sides.split()[1::2]:
        Path(name).write_text("w1 w2\n")
    assert mine(f"{sides} --encoder better --tune-on dev") == 2
    assert text in capfd.readouterr().err.splitlines()[-1]
