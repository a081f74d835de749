from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest
from study_runs import StudyRuns, after

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.encoders.untrained import untrained_encoder

ROWS = ["captions", "tatoeba", "people", "all"]


@pytest.fixture
def run(tmp_path):
    for name in ("data", "encoder"):
        (tmp_path / name).mkdir()
    return StudyRuns(tmp_path, "studies/distilled_pairs.sh", python=True, places=("data", "encoder", "work"))


def test_every_row_is_trained_with_each_seed_from_the_same_encoder(run):
    done, calls = run(SEEDS="0 1")
    assert done.returncode == 0, done.stderr
    trained = [words for words in calls if words[0] == "train-encoder"]
    assert [after(words, "--output") for words in trained] == [f"on_{row}_{seed}" for row in ROWS for seed in (0, 1)]
    assert {after(words, "--initial-model") for words in trained} == {"encoder"}
    assert done.stdout.splitlines()[-1] == "the table"


def test_all_that_is_learned_from_is_free_of_what_it_is_measured_on(run):
    _, calls = run()
    made = [words for words in calls if words[0] == "prepare" and "--jsonl" not in words and words[1] != "pivot"]
    assert len(made) == 9 and all("held_out" in " ".join(words) for words in made)
    translated = next(words for words in calls if after(words, "--output") == "raw_tatoeba")
    assert "held_out" in " ".join(translated)


def test_what_is_there_is_not_made_again(run):
    run()
    done, calls = run()
    assert done.returncode == 0 and calls == []


@pytest.fixture
def folders(tmp_path):
    for name, count in (("one", 5), ("two", 30)):
        rows = {"sentence1": [f"{name} {x}" for x in range(count)], "sentence2": [f"{x} {name}" for x in range(count)]}
        table = pa.table(rows)
        write_split(tmp_path / name, "train", [table], table.schema)
    return tmp_path


def test_pairs_are_mixed_and_sampled(folders, run_script):
    mixed = folders / "mixed.jsonl"
    words = ["--pairs", folders / "one", f"{folders / 'two'}=10", "--output", mixed]
    assert run_script("studies/mixed_pairs", *words) == 0
    pairs = [json.loads(line) for line in mixed.read_text().splitlines()]
    assert sum(pair["sentence1"].startswith("one") for pair in pairs) == 5 and len(pairs) == 15
    assert all(pair["sentence2"].split() == pair["sentence1"].split()[::-1] for pair in pairs)
    before = mixed.read_text()
    run_script("studies/mixed_pairs", *words)
    assert mixed.read_text() == before


@pytest.fixture
def sts(tmp_path):
    at = tmp_path / "sts" / "STS16-en-test"
    at.mkdir(parents=True)
    first = [f"a{x} c{x % 7} b{(x * 5) % 11}" for x in range(40)]
    (at / "STS.input.headlines.txt").write_text(
        "".join(f"{text}\t{first[(x * x) % 9]}\n" for x, text in enumerate(first))
    )
    (at / "STS.gs.headlines.txt").write_text("".join(f"{x % 5}\n" for x in range(40)))
    return tmp_path / "sts"


@pytest.fixture
def encoders(tmp_path):
    pairs = [{"sentence1": " ".join(f"a{x} c{x % 7} b{x % 11}" for x in range(40)), "sentence2": "a1"}] * 2
    for seed in (0, 1):
        model, tokenizer = untrained_encoder("avg", pairs, hidden_size=8, seed=seed)
        SentenceEncoder(model, tokenizer).save_pretrained(tmp_path / f"seed{seed}")
    return tmp_path / "seed0", tmp_path / "seed1"


def test_the_same_encoder_differs_by_nothing_and_another_by_the_difference_of_their_scores(
    sts, run_script, capsys, encoders
):
    one, other = encoders
    words = ["--data", sts, "--model", f"none={one}", f"same={one},{one},{one}", f"other={other}"]
    assert run_script("studies/paired_differences", *words) == 0
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["encoder", "STS16"] and [row[0] for row in rows[2:]] == ["none", "same", "other"]
    assert rows[3][1].endswith("+0.00 [+0.00, +0.00]")
    none, other, change = (float(found) for found in re.findall(r"-?[\d.]+", f"{rows[2][1]} {rows[4][1]}")[:3])
    assert other - none == pytest.approx(change, abs=0.011) and change != 0


def test_an_encoder_without_a_folder_is_one_line(sts, run_script, capsys):
    assert run_script("studies/paired_differences", "--data", sts, "--model", "none=") == 2
    assert "no folder" in capsys.readouterr().err
