from __future__ import annotations

import json

import pytest
from datasets import load_dataset
from transformers import AutoModel, AutoModelForSeq2SeqLM

from hf_paraphrase import quickstart_pipeline
from hf_paraphrase.artefacts.provenance import write_provenance
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

SMALL = ["--num-pairs", "300", "--nmt-epochs", "16", "--max-sentences", "80", "--num-beams", "20"]


@pytest.mark.slow
def test_the_whole_pipeline_leaves_every_artefact_and_resumes_without_work(tmp_path, capsys):
    output = tmp_path / "quickstart"
    # As the script does, which knows of no run before.
    words = ["quickstart", "--output", str(output), *SMALL, "--resume"]
    assert main(words) == 0
    report = capsys.readouterr().out
    for text in ("BLEU", "Filter", "Human paraphrases of 800", "Nearest of", "CC BY 2.0 FR", "\n| chance "):
        assert text in report
    assert (output / "README.md").read_text() == report and report.endswith("\n")
    results = json.loads((output / "results.json").read_text())
    assert 0 <= results["bleu"]["bleu"] <= 100 and len(results["examples"]) == 10
    assert {"avg", "untrained/avg", "gran", "untrained/gran", "chance"} < set(results["scores"])
    # No baseline learns anything, so that their scores are the same in every run.
    baselines = {name: round(100 * scores["top_1"], 1) for name, scores in results["scores"].items() if "*" in name}
    assert baselines == {"word overlap *": 33.2, "weighted trigrams *": 41.2}

    cache = str(tmp_path / "cache")
    sides = [set(load_dataset(str(output / "bitext"), split="train", cache_dir=cache)["target"])]
    for split, rows in (("validation", 1_800), ("test", 4_800)):
        judged = load_dataset(str(output / "paraphrases" / split), split=split, cache_dir=cache)
        assert len(judged) == rows and sum(judged["label"]) == rows / 6
        sides.append({*judged["sentence1"], *judged["sentence2"]})
    # Training, validation and test sentences do not overlap.
    assert not sides[0] & sides[1] and not sides[0] & sides[2] and not sides[1] & sides[2]
    assert set(load_dataset(str(output / "bitext"), cache_dir=cache)) == {"train", "validation", "test"}
    pairs = load_dataset(str(output / "pairs"), split="train", cache_dir=cache)
    assert len(pairs) == results["filter"]["rows"]
    back_translated = load_dataset(str(output / "back_translated"), split="train", cache_dir=cache)
    assert len(set(back_translated["id"])) <= 80 and max(back_translated["rank"]) <= 3
    AutoModelForSeq2SeqLM.from_pretrained(output / "rnn_search")
    AutoModel.from_pretrained(output / "gran")
    assert SentenceEncoder.from_pretrained(output / "avg").encode(["The doctor bought a car."]).shape == (1, 300)

    before = {path: path.stat().st_mtime_ns for path in output.rglob("*.safetensors")}
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*.safetensors")} == before
    again = json.loads((output / "results.json").read_text())
    assert {**again, "seconds": 0} == {**results, "seconds": 0}


@pytest.mark.parametrize(
    ("flags", "message"),
    [(["--resume"], "not empty"), (["--overwrite"], "replaces only folders with a provenance.json of")],
)
def test_an_output_that_holds_files_of_the_user_is_refused(tmp_path, capsys, interrupted, flags, message):
    (tmp_path / "job.json").write_text('{"mine": 1}')
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    assert main(["quickstart", "--output", str(tmp_path), *flags]) == 2
    assert message in capsys.readouterr().err and interrupted == []
    assert (tmp_path / "job.json").read_text() == '{"mine": 1}'
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


@pytest.fixture
def interrupted(monkeypatch):
    """Interrupts a quickstart at its first step; a list of the finished steps that each run found."""
    found = []

    def first_step(settings, steps):
        found.append(sorted(path.parent.name for path in steps.output.glob("*/provenance.json")))
        write_provenance(steps.output / "bitext", command="prepare bitext", settings={})
        raise KeyboardInterrupt

    monkeypatch.setattr(quickstart_pipeline, "_make_data_and_models", first_step)
    return found


def test_only_a_run_with_the_same_settings_continues_an_interrupted_one(tmp_path, capsys, interrupted):
    output = str(tmp_path / "quickstart")
    # The first is called as the script does it, which knows of no run before.
    for seed, code in (("0", 130), ("1", 2), ("0", 130)):
        assert main(["quickstart", "--num-pairs", "100", "--output", output, "--resume", "--seed", seed]) == code
    assert "had other settings: seed (repeat the original command with --resume, or" in capsys.readouterr().err
    assert interrupted == [[], ["bitext"]]


def test_steps_of_a_replaced_run_are_not_reused(tmp_path, interrupted):
    output = tmp_path / "quickstart"
    words = ["quickstart", "--num-pairs", "100", "--output", str(output)]
    assert main(words) == 130
    (output / "bleu.json").write_text("[]")
    assert main([*words, "--overwrite"]) == 130
    assert not (output / "bleu.json").exists()
    assert main([*words, "--resume"]) == 130
    assert interrupted == [[], [], ["bitext"]]
