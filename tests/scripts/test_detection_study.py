from __future__ import annotations

import json

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split

NOUNS, VERBS = ["cat", "dog", "cow", "hen", "pig", "fox"], ["sleeps", "plays", "eats", "runs"]
PLACES = ["here", "there", "outside", "inside", "today"]
MEANINGS = [(noun, verb, place) for noun in NOUNS for verb in VERBS for place in PLACES]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    first = [f"a {noun} {verb} {place} ." for noun, verb, place in MEANINGS]
    second = [f"{place} the {noun} {verb} ." for noun, verb, place in MEANINGS]
    table = pa.table({"sentence1": first[:60], "sentence2": second[:60]})
    write_split(folder / "pairs", "train", [table], table.schema)
    judged = pa.table(
        {
            "sentence1": first[60:] + first[60:],
            "sentence2": second[60:] + second[70:] + second[60:70],
            "score": [4.0] * 60 + [1.0] * 60,
        }
    )
    write_split(folder / "judged", "dev", [judged], judged.schema)
    for kind, name in (("word", "none"), ("bpe", "bpe")):
        size = ["--vocabulary-size", "60", "--min-frequency", "1"]
        words = ["--kind", kind, "--pairs", str(folder / "pairs"), "--output", str(folder / name), *size]
        assert main(["train-tokenizer", *words]) == 0
    (folder / "wa.yaml").write_text("model_type: avg\nloss: contrastive\nepochs: 2\nhidden_size: 4\n")
    return folder


def study(run_script, folders, output, *words):
    return run_script(
        "studies/detection_runs", "--language", "en", "--pairs", folders / "pairs", "--data", folders / "judged",
        "--split", "dev", "--positive-above", 2.5,
        "--tokenizers", f"none={folders / 'none'}", f"bpe={folders / 'bpe'}",
        "--configs", f"wa={folders / 'wa.yaml'}", "--output", output, "--perceptrons", 1, *words,
    )  # fmt: skip


def test_every_cell_is_run_once_with_its_pairs_noise_and_seed(run_script, folders, tmp_path, monkeypatch):
    output = tmp_path / "results.jsonl"
    study(run_script, folders, output, "--first", 40, "--noise", 0, 0.5, "--seeds", 1)
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(row["segmentation"], row["noise"], row["noisy_pairs"]) for row in rows] == [
        ("none", 0.0, 0), ("none", 0.5, 20), ("bpe", 0.0, 0), ("bpe", 0.5, 20)
    ]  # fmt: skip
    assert all(row["training_pairs"] == 40 and row["test_pairs"] == 120 for row in rows)
    assert all(row["all_paraphrases"] == 0.5 and 0 <= row["perceptron"] <= 1 for row in rows)
    before = output.read_bytes()
    study(run_script, folders, output, "--first", 40, "--noise", 0, "--seeds", 1)
    assert output.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["results.jsonl"]


def test_a_verb_that_fails_ends_the_study_and_keeps_what_is_finished(run_script, folders, tmp_path):
    output = tmp_path / "results.jsonl"
    with pytest.raises(SystemExit) as caught:
        study(run_script, folders, output, "--first", 1, "--seeds", 1)
    assert caught.value.code == 2 and not output.exists() and not list(tmp_path.iterdir())
    with pytest.raises(SystemExit, match="not NAME=PATH"):
        study(run_script, folders, output, "--configs", "wa", "--first", 9)


def row(seed, perceptron, **settings):
    values = {"language": "fi", "model": "wa", "segmentation": "morfessor", "first": 100, "noise": 0.0, "seed": seed}
    measures = {"average_precision": perceptron, "accuracy": perceptron, "f1": perceptron}
    rest = {"vocabulary": 9, "training_seconds": 1.0, "test_pairs": 10, "all_paraphrases": 0.5}
    return {**values, **settings, "perceptron": perceptron, **measures, **rest}


def test_verdicts_are_of_differences_paired_by_seed_and_of_all_claims_together(load_script):
    interval = load_script("studies/detection_table").interval
    found = interval({0: 0.01, 1: 0.02, 2: 0.03}, 1)
    assert found.value == pytest.approx(0.02)
    assert found.high - found.value == pytest.approx(4.302653 * 0.01 / 3**0.5, rel=1e-6)
    near = {0: 0.02, 1: 0.0215, 2: 0.023}
    assert interval(near, 1).verdict("above") == "holds" and interval(near, 50).verdict("above") == "cannot tell"
    assert interval({0: 0.5, 1: 0.5}, 1).verdict("above") == "cannot tell"


def test_claims_pair_the_cells_by_seed_and_compare_what_they_say(load_script):
    table = load_script("studies/detection_table")
    rows = [
        *(row(seed, 0.80 + seed / 100) for seed in range(3)),
        *(row(seed, 0.75 + seed / 100, segmentation="none") for seed in range(3)),
        *(row(seed, 0.70 + seed / 100, noise=0.4) for seed in range(2)),
        *(row(seed, 0.82, model="gran") for seed in range(2)),
        *(row(seed, 0.81, model="gran", noise=0.4) for seed in range(2)),
        *(row(seed, 0.70 + seed / 50, first=10) for seed in range(3)),
    ]
    found = {claim: list(measures["perceptron"].values()) for claim, _, measures in table.claims(rows)}
    assert found["Morfessor is better than no segmentation (Tables 2 and 9)"] == pytest.approx([0.05] * 3)
    assert "Morfessor is better than BPE (section 4.1)" not in found
    assert found["GRAN is better than WA (Table 2)"] == pytest.approx([0.02, 0.01])
    assert found["40 % of noise makes WA worse (Table 3)"] == pytest.approx([0.1, 0.1])
    assert found["GRAN loses less by 40 % of noise than WA (Table 3)"] == pytest.approx([0.09, 0.09])
    assert found["100 pairs are better than the best 10 (section 4.2)"] == pytest.approx([0.1, 0.09, 0.08])


def test_the_tables_are_markdown_with_every_cell(run_script, tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row(seed, 0.5 + seed / 10)) + "\n" for seed in range(2)) + "\n")
    run_script("studies/detection_table", path)
    printed = capsys.readouterr().out
    assert "fi: 10 judged pairs, 50.0 % paraphrases" in printed
    assert "| fi wa morfessor |   100 |   0 % |     2 |" in printed and "| claim | difference, perceptron |" in printed
    (tmp_path / "none").write_text("")
    with pytest.raises(SystemExit, match="no results"):
        run_script("studies/detection_table", tmp_path / "none")
