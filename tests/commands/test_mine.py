from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.studies.mining import candidates
from hf_paraphrase.studies.mining.candidates import candidate_blocks

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


def fails(words, capfd, *, output="pairs.tsv"):
    before = sorted(Path().iterdir())
    assert mine(words, output) == 2
    out, err = capfd.readouterr()
    assert "Traceback" not in err and out == ""
    assert sorted(Path().iterdir()) == before
    return err.splitlines()[-1]


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


def test_a_second_encoder_scores_what_the_first_one_found(work):
    assert mine(f"{SIDES} --encoder encoder --candidates 10 --scoring-encoder better") == 0
    assert mine(f"{SIDES} --encoder better --candidates 60", "all.tsv") == 0
    scores = {(row[1], row[2]): float(row[0]) for row in rows_of("all.tsv")}
    assert all(scores[row[1], row[2]] == pytest.approx(float(row[0]), abs=1e-6) for row in rows_of())


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


def test_a_run_that_was_broken_off_goes_on_with_the_same_result(work, monkeypatch, capfd):
    words = f"{SIDES} --encoder encoder --candidates 5 --margin --threshold 1"
    assert mine(words, "whole.tsv") == 0
    monkeypatch.setattr(candidates, "SOURCES_PER_BLOCK", 16)
    started = []

    def broken(*arguments, **options):
        for number, block in enumerate(candidate_blocks(*arguments, **options)):
            started.append(number)
            if len(started) == 3:
                raise KeyboardInterrupt
            yield block

    monkeypatch.setattr(candidates, "candidate_blocks", broken)
    assert mine(words) == 130
    assert not Path("pairs.tsv").exists() and len(list(Path(".pairs.tsv.partial").rglob("best-*.npz"))) == 2
    computed = []

    def counted(*arguments, first_block=0, **options):
        computed.append(first_block)
        return candidate_blocks(*arguments, first_block=first_block, **options)

    monkeypatch.setattr(candidates, "candidate_blocks", counted)
    capfd.readouterr()
    assert mine(words) == 2
    assert "--resume continues it" in capfd.readouterr().err
    assert mine(f"{words} --margin distance --resume") == 2
    assert "other settings: margin" in capfd.readouterr().err
    assert mine(f"{words} --resume") == 0
    assert computed == [2, 0, 0]
    assert Path("pairs.tsv").read_bytes() == Path("whole.tsv").read_bytes()
    assert not Path(".pairs.tsv.partial").exists()
    # As a kill leaves it that comes after the pairs are in their place, and before.
    before, record = files_here(), Path("pairs.tsv.provenance.json").read_text()
    assert len(json.loads(record)["interruptions"]) == 1
    Path(".pairs.tsv.partial").mkdir()
    assert mine(f"{words} --resume") == 0
    assert "nothing is left to do, the output is finished" in capfd.readouterr().err
    assert files_here() == before
    assert mine(f"{words} --margin distance --resume") == 2
    assert "the output file exists" in capfd.readouterr().err
    Path("pairs.tsv").unlink()
    assert mine(f"{words} --resume") == 0
    assert Path("pairs.tsv").read_bytes() == Path("whole.tsv").read_bytes()


def test_where_the_pairs_are_nothing_is_left_to_clear_away(work, monkeypatch, capfd):
    words = f"{SIDES} --encoder encoder --candidates 5"
    replace = Path.replace

    def killed(path, target):
        if Path(target) == Path("pairs.tsv"):
            assert not Path(".pairs.tsv.partial").exists()
            raise KeyboardInterrupt
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", killed)
    assert mine(words) == 130
    assert not Path("pairs.tsv").exists()
    monkeypatch.setattr(Path, "replace", replace)
    assert mine(f"{words} --resume") == 0
    assert "nothing is left to do" in capfd.readouterr().err
    assert Path("pairs.tsv").exists() and not [path for path in Path().iterdir() if path.name.startswith(".")]


def files_here():
    return {path: path.read_bytes() for path in Path().iterdir() if path.is_file()}


def test_a_damaged_block_of_an_unfinished_run_is_named(work, monkeypatch, capfd):
    words = f"{SIDES} --encoder encoder --candidates 5"
    assert mine(words, "whole.tsv") == 0

    def broken(*arguments, **options):
        yield next(candidate_blocks(*arguments, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(candidates, "candidate_blocks", broken)
    assert mine(words) == 130
    (block,) = Path(".pairs.tsv.partial").rglob("best-*.npz")
    block.write_bytes(block.read_bytes()[:50])
    capfd.readouterr()
    assert mine(f"{words} --resume") == 2
    assert "best-000000.npz: a block of the unfinished run is damaged" in capfd.readouterr().err


BAD_FILES = {
    "an id that repeats": (
        "bad.fr",
        "fr-1\tf1 f2\nfr-2\tf3\nfr-1\tf4\n",
        "bad.fr:3: the id `fr-1` was in line 1 already",
    ),
    "an empty id": ("bad.fr", "fr-1\tf1 f2\n\tf3\n", "bad.fr:2: the id is empty"),
    "no ids": ("bad.fr", "f1 f2\n", "bad.fr:1"),
    "no sentence": ("bad.fr", "fr-1\t\nfr-2\t \n", "there is no sentence in it"),
    "an empty file": ("bad.fr", "", "the file is empty"),
    "other bytes": ("bad.fr", b"fr-1\tf1 \xff\n", "not UTF-8"),
    "a language that nobody knows": ("bad.fr", "fr-1\tx1 x2\n", "the encoder knows no word of these sentences"),
    "the same sentences": ("bad.en", "same", "source and target are the same sentences"),
    "gold of unknown ids": ("bad.gold", "fr-000000001\ten-9\n", "bad.gold:1: the id `en-9` is not in fr-en.test.en"),
    "gold of one field": ("bad.gold", "fr-000000001\n", "bad.gold:1"),
    "an empty gold": ("bad.gold", "", "the file is empty"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_one_line_that_names_the_place_and_leave_nothing(work, capfd, case):
    name, content, text = BAD_FILES[case]
    if content == "same":
        content = Path("fr-en.test.fr").read_text()
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    words = {
        "bad.fr": f"{SIDES.replace('fr-en.test.fr', 'bad.fr')} --encoder encoder",
        "bad.en": f"{SIDES.replace('fr-en.test.en', 'bad.en')} --encoder encoder",
        "bad.gold": f"{SIDES} --encoder encoder --gold bad.gold",
    }[name]
    assert text in fails(words, capfd)


BAD_WORDS = {
    "no encoder": (SIDES, "candidates need an encoder"),
    "half of two encoders": (f"{SIDES} --source-encoder encoder", "give either --encoder, or"),
    "too many encoders": (f"{SIDES} --encoder encoder --target-encoder encoder", "give either --encoder, or"),
    "half of two scorers": (f"{SIDES} --encoder encoder --source-scoring-encoder better", "--scoring-encoder"),
    "no candidates": (f"{SIDES} --encoder encoder --candidates 0", "--candidates must be at least 1, not 0"),
    "no neighbours": (f"{SIDES} --encoder encoder --margin --neighbours 0", "--neighbours must be at least 1, not 0"),
    "two thresholds": (
        f"{SIDES} --encoder encoder --threshold 1 --tune-on x",
        "--tune-on and --threshold exclude each other",
    ),
    "a margin that nobody knows": (f"{SIDES} --encoder encoder --margin cube", "cube"),
    "probes for nothing": (f"{SIDES} --encoder encoder --probes 3", "--probes is for --approximate"),
    "nothing to tune on": (f"{SIDES} --encoder encoder --tune-on nowhere", "no such file"),
    "a file that is not there": (f"{SIDES}x --encoder encoder", "bucc"),
    "a folder that is no encoder": (f"{SIDES} --encoder .", "not a model folder"),
    "a classifier that is none": (f"{SIDES} --encoder encoder --classifier encoder", "not a classifier"),
    "a scorer that is none": (f"{SIDES} --encoder encoder --scoring-encoder nowhere", "no such model folder"),
}


@pytest.mark.parametrize("case", BAD_WORDS)
def test_arguments_that_do_not_fit_are_one_line_and_leave_nothing(work, capfd, case):
    words, text = BAD_WORDS[case]
    assert text in fails(words, capfd)


def test_outputs_that_are_in_the_way_are_refused_and_kept(work, capfd):
    words = f"{SIDES} --encoder encoder"
    Path("pairs.gold").write_text("mine")
    assert "pairs.gold: the output file exists" in fails(words, capfd)
    Path("folder").mkdir()
    assert "a folder, not a file" in fails(words, capfd, output="folder")
    assert "the output is the input of --target" in fails(f"{words} --overwrite", capfd, output="fr-en.test.en")
    assert "cannot end in .gold" in fails(words, capfd, output="some.gold")
    assert Path("pairs.gold").read_text() == "mine"
    assert mine(f"{words} --overwrite") == 0
    assert Path("pairs.gold").read_text() != "mine"


def test_a_failure_leaves_an_existing_output_as_it_was(work, monkeypatch):
    words = f"{SIDES} --encoder encoder --overwrite"
    assert mine(words) == 0
    before = Path("pairs.tsv").read_bytes()

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("hf_paraphrase.studies.mining.mined_pairs._write_record", fail)
    assert mine(f"{words} --margin") == 130
    assert Path("pairs.tsv").read_bytes() == before


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
