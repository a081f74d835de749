from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder

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


def mine(words, output="pairs.tsv"):
    return main(["mine", *words.split(), "--output", output])


def rows_of(path="pairs.tsv"):
    return [line.split("\t") for line in Path(path).read_text(encoding="utf-8").splitlines()]


def gold_of(part="test"):
    return {tuple(line.split("\t")) for line in Path(f"fr-en.{part}.gold").read_text().splitlines()}


def test_hidden_pairs_are_found_and_measured(work, capsys):
    words = f"{SIDES} --encoder better --candidates 5 --margin --one-to-one"
    assert mine(f"{words} --gold fr-en.test.gold --tune-on fr-en.training") == 0
    rows = rows_of()
    assert {(row[1], row[2]) for row in rows} >= gold_of() and len(rows) < 20
    scores = [float(row[0]) for row in rows]
    assert scores == sorted(scores, reverse=True)
    texts = dict(line.split("\t") for line in Path("fr-en.test.fr").read_text().splitlines())
    assert all(texts[row[1]] == row[3] for row in rows)
    out = capsys.readouterr().out
    assert "F1 (%)" in out and "100.00" in out
    record = json.loads(Path("pairs.tsv.provenance.json").read_text())
    assert record["results"]["measures"]["right"] == 15 and record["results"]["candidates"] == 300
    assert record["results"]["tuning"]["threshold"] == record["results"]["threshold"]
    listed = {tuple(line.split("\t")) for line in Path("pairs.gold").read_text().splitlines()}
    assert listed == {(row[1], row[2]) for row in rows}
    assert not [path for path in work.iterdir() if path.name.startswith(".")]


def test_without_a_threshold_all_candidates_are_given_with_their_cosines(work):
    assert mine(f"{SIDES} --encoder encoder --candidates 3") == 0
    rows = rows_of()
    assert len(rows) == 180
    kept = [row for row in rows if float(row[0]) >= 0.8]
    assert mine(f"{SIDES} --encoder encoder --candidates 3 --threshold 0.8 --overwrite") == 0
    assert rows_of() == kept


def test_one_to_one_uses_no_sentence_twice_whichever_the_way(work):
    for way in ("--one-to-one", "--one-to-one exact"):
        assert mine(f"{SIDES} --encoder encoder --candidates 4 {way} --overwrite") == 0
        rows = rows_of()
        assert len({row[1] for row in rows}) == len({row[2] for row in rows}) == len(rows) > 30


def test_one_encoder_a_side_is_the_same_as_one_for_both(work):
    assert mine(f"{SIDES} --encoder encoder --candidates 3") == 0
    assert mine(f"{SIDES} --source-encoder encoder --target-encoder encoder --candidates 3", "two.tsv") == 0
    assert rows_of("two.tsv") == rows_of()


def test_a_classifier_scores_by_its_probabilities_alone_or_with_the_margin(work):
    from hf_paraphrase.studies.mining.parallel_classification import ParallelClassifier

    words = f"{SIDES} --encoder encoder --candidates 4 --classifier classifier"
    assert mine(words) == 0
    rows = rows_of()
    assert len(rows) == 240
    columns = list(zip(*rows, strict=True))
    wanted = ParallelClassifier.from_pretrained("classifier").probabilities(columns[3], columns[4])
    np.testing.assert_allclose(np.array(columns[0], float), wanted, atol=1e-6)
    assert wanted.std() > 0.01
    alone = {(row[1], row[2]): float(row[0]) for row in rows}
    assert mine(f"{SIDES} --encoder encoder --candidates 4 --margin", "margin.tsv") == 0
    margins = {(row[1], row[2]): float(row[0]) for row in rows_of("margin.tsv")}
    for how, combined in (("product", lambda one, two: one * two), ("mean", lambda one, two: (one + two) / 2)):
        assert mine(f"{words} --margin --combine {how}", f"{how}.tsv") == 0
        for row in rows_of(f"{how}.tsv"):
            pair = (row[1], row[2])
            assert float(row[0]) == pytest.approx(combined(alone[pair], margins[pair]), abs=1e-6)


def test_plain_lines_have_their_numbers_as_ids_and_empty_ones_are_never_paired(work, capsys):
    for end in ("fr", "en"):
        texts = [line.split("\t")[1] for line in Path(f"fr-en.test.{end}").read_text().splitlines()]
        Path(f"plain.{end}").write_text("\n".join(["", *texts, "   ", ""]), encoding="utf-8")
    words = "--source plain.fr --target plain.en --encoder better --candidates 4 --one-to-one"
    assert mine(words) == 0
    rows = rows_of()
    assert not {"1", "62"} & {name for row in rows for name in row[1:3]}
    assert all(row[3] and row[4] for row in rows)
    assert "2 empty, which are left out" in capsys.readouterr().err
    assert not Path("pairs.gold").exists()


def test_mined_pairs_go_straight_into_prepare_bitext(work):
    Path("tabs.fr").write_text("f1 f2 f3\tf4\nf5 f6 f7 f8\n"), Path("tabs.en").write_text("e5 e6 e7 e8\ne1 e2 e3 e4\n")
    words = "--source tabs.fr --target tabs.en --encoder better --candidates 1"
    assert mine(words) == 0
    words = "--source-lang fr --target-lang en --tsv pairs.tsv --columns _,_,_,source,target --output bitext"
    assert main(["prepare", "bitext", *words.split()]) == 0
    rows = {(row["source"], row["target"]) for row in DataFolder("bitext").table().to_pylist()}
    assert rows == {("f1 f2 f3 f4", "e1 e2 e3 e4"), ("f5 f6 f7 f8", "e5 e6 e7 e8")}


def test_approximate_search_prints_its_recall(work, capsys):
    assert mine(f"{SIDES} --encoder encoder --candidates 3 --approximate --probes 99") == 0
    assert "100.00 % were found" in capsys.readouterr().err
    assert mine(f"{SIDES} --encoder encoder --candidates 3", "exact.tsv") == 0
    scores = [{(row[1], row[2]): float(row[0]) for row in rows_of(path)} for path in ("pairs.tsv", "exact.tsv")]
    assert scores[0].keys() == scores[1].keys()
    assert all(scores[0][pair] == pytest.approx(score, abs=1e-6) for pair, score in scores[1].items())


def test_threshold_cannot_be_chosen_where_no_true_pair_is_a_candidate(work, capfd):
    lines = [line.split("\t") for line in Path("fr-en.training.gold").read_text().splitlines()]
    for end in ("fr", "en"):
        Path(f"wrong.{end}").write_text(Path(f"fr-en.training.{end}").read_text())
    shifted = [f"{one}\t{two}\n" for (one, _), (_, two) in zip(lines, [*lines[1:], lines[0]], strict=True)]
    Path("wrong.gold").write_text("".join(shifted))
    words = f"{SIDES} --encoder better --candidates 1 --tune-on wrong"
    assert mine(words) == 2
    assert "none of the true pairs is among the candidates" in capfd.readouterr().err


def test_threads_do_not_change_the_file(work):
    import torch

    words = f"{SIDES} --encoder encoder --candidates 5 --margin"
    assert mine(words) == 0
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert mine(words, "two.tsv") == 0
    finally:
        torch.set_num_threads(threads)
    assert Path("two.tsv").read_bytes() == Path("pairs.tsv").read_bytes()
    assert np.isfinite([float(row[0]) for row in rows_of()]).all()
