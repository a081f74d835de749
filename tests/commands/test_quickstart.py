from __future__ import annotations

import json

import pyarrow as pa
import pytest
from datasets import load_dataset
from hf_paraphrase.artefacts.unfinished import forget
from transformers import AutoModel, AutoModelForSeq2SeqLM

from hf_paraphrase import quickstart_run
from hf_paraphrase.artefacts.provenance import write_provenance
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering.filter import filter_pairs
from hf_paraphrase.quickstart_run import _Steps

SMALL = ["--num-pairs", "300", "--nmt-epochs", "16", "--max-sentences", "80", "--num-beams", "20"]


@pytest.mark.slow
def test_the_whole_pipeline_leaves_every_artefact_and_resumes_without_work(tmp_path, capsys):
    output = tmp_path / "quickstart"
    # As the script does, which knows of no run before.
    words = ["quickstart", "--output", str(output), *SMALL, "--num-return-sequences", "3", "--resume"]
    assert main(words) == 0
    report = capsys.readouterr().out
    for heading in (
        "BLEU",
        "Ten paraphrase pairs",
        "Filter",
        "Human paraphrases of 800",
        "Nearest of",
        "CC BY 2.0 FR",
    ):
        assert heading in report
    for row in ("avg", "gran", "word overlap", "weighted trigrams", "chance"):
        assert f"\n  {row} " in report
    results = json.loads((output / "results.json").read_text())
    assert 0 <= results["bleu"]["bleu"] <= 100 and len(results["examples"]) == 10
    assert len(results["neighbours"]["found"]) == 5
    for name in ("avg", "gran"):
        for scores in (results["encoders"][name]["before"], results["encoders"][name]["after"]):
            assert set(scores) == {"average_precision", "top_1"} and all(0 <= score <= 1 for score in scores.values())
    # Neither floor learns anything, so that their scores are the same in every run.
    floors = {name: round(100 * scores["top_1"], 1) for name, scores in results["floors"].items()}
    assert floors == {"words": 33.6, "weighted-trigrams": 40.9}

    cache = str(tmp_path / "cache")
    sides = [set(load_dataset(str(output / "bitext"), split="train", cache_dir=cache)["target"])]
    for split, rows in (("validation", 1_800), ("test", 4_800)):
        judged = load_dataset(str(output / "paraphrases" / split), split=split, cache_dir=cache)
        assert len(judged) == rows and sum(judged["label"]) == rows / 6
        sides.append({*judged["sentence1"], *judged["sentence2"]})
    # The sentences of the epoch's choice, those of the figures, and those that are learnt from are apart.
    assert not sides[0] & sides[1] and not sides[0] & sides[2] and not sides[1] & sides[2]
    assert set(load_dataset(str(output / "bitext"), cache_dir=cache)) == {"train", "validation", "test"}
    pairs = load_dataset(str(output / "pairs"), split="train", cache_dir=cache)
    assert len(pairs) == results["filter"]["rows"]
    back_translated = load_dataset(str(output / "back_translated"), split="train", cache_dir=cache)
    assert len(set(back_translated["id"])) <= 80 and max(back_translated["rank"]) <= 2
    AutoModelForSeq2SeqLM.from_pretrained(output / "rnn_search")
    AutoModel.from_pretrained(output / "gran")
    assert SentenceEncoder.from_pretrained(output / "avg").encode(["The doctor bought a car."]).shape == (1, 300)

    before = {path: path.stat().st_mtime_ns for path in output.rglob("*.safetensors")}
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in output.rglob("*.safetensors")} == before
    again = json.loads((output / "results.json").read_text())
    assert {**again, "seconds": 0} == {**results, "seconds": 0}


@pytest.mark.parametrize("resume", [False, True])
def test_a_step_is_made_by_a_verb_that_resumes_only_on_several_machines_too(tmp_path, resume):
    rows = pa.table({"sentence1": ["a b", "c"], "sentence2": ["b a", "d"]})
    write_split(tmp_path / "given", "train", [rows], rows.schema)
    steps = _Steps(tmp_path, resume=resume)
    for _ in range(2):
        steps.run("filter", filter_pairs, "pairs", pairs=str(tmp_path / "given"), keep=["length>=2"])
        assert sum(batch.num_rows for batch in DataFolder(tmp_path / "pairs").batches("train")) == 1


@pytest.mark.parametrize(
    ("flags", "message"),
    [([], "not empty"), (["--resume"], "not empty"), (["--overwrite"], "only what hf-paraphrase made")],
)
def test_an_output_that_holds_something_else_is_refused(tmp_path, capsys, flags, message):
    (tmp_path / "mine.txt").write_text("mine")
    assert main(["quickstart", "--output", str(tmp_path), *flags]) == 2
    assert message in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("flag", ["--overwrite", "--resume"])
def test_a_folder_of_the_user_in_which_a_job_json_lies_is_left_alone(tmp_path, capsys, interrupted, flag):
    (tmp_path / "job.json").write_text('{"mine": 1}')
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("years of work")
    assert main(["quickstart", "--output", str(tmp_path), flag]) == 2
    assert capsys.readouterr().err.count("\n") == 1 and interrupted == []
    assert (tmp_path / "job.json").read_text() == '{"mine": 1}'
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "years of work"


@pytest.fixture
def interrupted(monkeypatch):
    """Lets a quickstart be interrupted at its first step, and tells which steps it found finished."""
    found = []

    def first_step(settings, steps):
        found.append(sorted(path.parent.name for path in steps.output.glob("*/provenance.json")))
        write_provenance(steps.output / "bitext", command="prepare bitext", settings={}, inputs=[])
        raise KeyboardInterrupt

    monkeypatch.setattr(quickstart_run, "_make_data_and_models", first_step)
    return found


def test_a_run_with_other_settings_does_not_go_on_with_the_steps_of_the_interrupted_one(tmp_path, capsys, interrupted):
    output = str(tmp_path / "quickstart")
    # The first is called as the script does it, which knows of no run before.
    for seed, code in (("0", 130), ("1", 2), ("0", 130)):
        assert main(["quickstart", "--num-pairs", "100", "--output", output, "--resume", "--seed", seed]) == code
    assert "had other settings: seed (repeat the original command with --resume, or" in capsys.readouterr().err
    assert interrupted == [[], ["bitext"]]


def test_a_finished_run_of_other_settings_is_not_resumed(tmp_path, capsys):
    output = tmp_path / "quickstart"
    quickstart_run._begin(output, quickstart_run.QuickstartSettings(output=str(output), num_pairs=100))
    write_provenance(output, command="quickstart", settings={}, inputs=[])
    forget(output)
    assert main(["quickstart", "--num-pairs", "200", "--seed", "3", "--output", str(output), "--resume"]) == 2
    message = capsys.readouterr().err.splitlines()[-1]
    assert "the run there had other settings" in message and "start afresh with --overwrite" in message


def test_a_filter_that_leaves_nothing_names_an_option_that_quickstart_has(tmp_path):
    class Unfit(_Steps):
        def run(self, verb, function, name, **fields):
            if verb == "filter":
                super().run(verb, function, name, **fields)

    rows = pa.table(
        {"id": ["0", "1"], "rank": [0, 0], "sentence1": ["a b c", "c d e"], "sentence2": ["a b c", "c d e"]}
    )
    write_split(tmp_path / "back_translated", "train", [rows], rows.schema)
    settings = quickstart_run.QuickstartSettings(output=str(tmp_path))
    with pytest.raises(InputError, match=r"nothing is left after .* with --overwrite and more --num-pairs or --nmt"):
        quickstart_run._make_data_and_models(settings, Unfit(tmp_path, resume=False))


@pytest.mark.parametrize("finished", [True, False])
def test_to_replace_the_current_folder_does_not_remove_it(tmp_path, monkeypatch, interrupted, finished):
    words = ["quickstart", "--num-pairs", "100", "--output"]
    assert main([*words, str(tmp_path)]) == 130
    if finished:
        write_provenance(tmp_path, command="quickstart", settings={}, inputs=[])
        forget(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main([*words, ".", "--overwrite"]) == (2 if finished else 130)
    assert (tmp_path / "bitext" / "provenance.json").is_file()


@pytest.mark.parametrize("finished", [True, False])
def test_what_is_replaced_is_not_taken_for_finished_steps_of_the_new_run(tmp_path, interrupted, finished):
    output = tmp_path / "quickstart"
    words = ["quickstart", "--num-pairs", "100", "--output", str(output)]
    assert main(words) == 130
    write_provenance(output / "pairs", command="filter", settings={}, inputs=[])
    (output / "bleu.json").write_text("[]")
    if finished:
        write_provenance(output, command="quickstart", settings={}, inputs=[])
        forget(output)
    assert main([*words, "--overwrite"]) == 130
    assert not (output / "bleu.json").exists()
    assert main([*words, "--resume"]) == 130
    assert interrupted == [[], [], ["bitext"]]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--num-beams 3", "--num-return-sequences 4 must be 1 to --num-beams 3"),
    ],
)
def test_what_a_later_step_would_refuse_is_refused_before_the_first(tmp_path, capsys, words, message):
    assert main(["quickstart", "--output", str(tmp_path / "quickstart"), *words.split()]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "quickstart").exists()
