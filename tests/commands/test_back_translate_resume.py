from __future__ import annotations

import dataclasses
import json
import re
import shutil
import signal

import pytest
from back_translate_runs import command, files, job
from two_processes import launch

from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.artefacts.unfinished import job_fingerprint
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.jobs.shards import ShardJob, cut, run_shards
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.translation.back_translator import BackTranslator
from hf_paraphrase.translation.table_translator import SearchOptions, TableTranslator

KILLED = """
import os, signal, sys
from hf_paraphrase.commands import main
from hf_paraphrase.jobs import shards
write = shards.write_shard
def killed_in_the_third_shard(job, shard, output, *progress):
    if shard.index == 2:
        shard.path(output).with_name(".00002.partial").write_bytes(b"half a shard")
        os.kill(os.getpid(), signal.SIGKILL)
    write(job, shard, output, *progress)
shards.write_shard = killed_in_the_third_shard
main(sys.argv[1:])
"""


@pytest.fixture(scope="session")
def killed_job(tiny_model, awkward_bitext, tmp_path_factory, run_python):
    """What a job leaves behind that was killed while it wrote its third shard of five."""
    folder = tmp_path_factory.mktemp("killed")
    words = command(tiny_model, awkward_bitext, folder / "pairs", "--max-source-tokens", "50")
    result = run_python(KILLED, *words)
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert [path.name for path in folder.iterdir()] == [".pairs.partial"]
    return folder / ".pairs.partial"


@pytest.fixture
def unfinished(killed_job, tmp_path):
    shutil.copytree(killed_job, tmp_path / ".pairs.partial")
    return tmp_path / "pairs"


def resume(model, bitext, output, *words):
    return job(model, bitext, output, "--max-source-tokens", "50", "--resume", *words)


def same_data(first, second):
    names = {name for name in files(first) if name.startswith("data/") or name == "skipped.jsonl"}
    return set(files(first)) == set(files(second)) and all(files(first)[name] == files(second)[name] for name in names)


def test_a_killed_job_that_is_resumed_gives_the_same_bytes(tiny_model, awkward_bitext, translated, unfinished, capsys):
    done = (unfinished.parent / ".pairs.partial" / "data" / "train-00000-of-00005.parquet").stat().st_mtime_ns
    assert resume(tiny_model, awkward_bitext, unfinished) == 0
    assert same_data(unfinished, translated)
    assert (unfinished / "data" / "train-00000-of-00005.parquet").stat().st_mtime_ns == done, "done twice"
    before = files(unfinished.parent)
    assert len(json.loads((unfinished / "provenance.json").read_text())["interruptions"]) == 1
    assert resume(tiny_model, awkward_bitext, unfinished) == 0
    assert "nothing is left to do, the output is finished" in capsys.readouterr().err
    assert files(unfinished.parent) == before


@pytest.mark.parametrize("damage", ["truncated", "emptied", "removed", "no report", "bad report"])
def test_a_damaged_shard_is_done_again(tiny_model, awkward_bitext, translated, unfinished, damage):
    staging = unfinished.parent / ".pairs.partial"
    path, report = staging / "data" / "train-00001-of-00005.parquet", staging / "shards" / "train-00001.json"
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    elif damage == "emptied":
        path.write_bytes(b"")
    elif damage == "removed":
        path.unlink()
    elif damage == "no report":
        report.unlink()
    else:
        report.write_text('{"rows": ')
    assert resume(tiny_model, awkward_bitext, unfinished) == 0
    assert same_data(unfinished, translated)


@pytest.mark.parametrize(
    ("words", "changed"),
    [
        (["--num-beams", "5"], "num_beams"),
        (["--max-sentences", "16"], "sentences"),
        (["--length-penalty", "0.5", "--shard-size", "3"], "length_penalty, shard_size"),
    ],
)
def test_changed_settings_are_refused_on_resume(tiny_model, awkward_bitext, unfinished, capsys, words, changed):
    before = files(unfinished.parent)
    assert resume(tiny_model, awkward_bitext, unfinished, *words) == 2
    assert f"other settings: {changed}" in capsys.readouterr().err
    assert files(unfinished.parent) == before


def test_another_model_is_refused_on_resume(tiny_model, awkward_bitext, unfinished, tmp_path, capsys):
    shutil.copytree(tiny_model, tmp_path / "other")
    config = json.loads((tmp_path / "other" / "config.json").read_text())
    (tmp_path / "other" / "config.json").write_text(json.dumps({**config, "label_smoothing": 0.5}))
    assert resume(tmp_path / "other", awkward_bitext, unfinished) == 2
    assert "other settings: model" in capsys.readouterr().err


def test_an_unfinished_job_is_neither_continued_nor_destroyed_without_a_flag(
    tiny_model, awkward_bitext, translated, unfinished, capsys
):
    before = files(unfinished.parent)
    assert job(tiny_model, awkward_bitext, unfinished, "--max-source-tokens", "50") == 2
    assert "--resume continues it" in capsys.readouterr().err and files(unfinished.parent) == before
    assert job(tiny_model, awkward_bitext, unfinished, "--max-source-tokens", "50", "--overwrite") == 0
    assert same_data(unfinished, translated)


def test_the_progress_of_a_resumed_job_starts_at_what_is_done_and_shows_rate_and_time_left(
    tiny_model, awkward_bitext, unfinished, watch
):
    watched = watch()
    assert resume(tiny_model, awkward_bitext, unfinished) == 0
    shown = [line for line in re.split(r"[\r\n]", watched.getvalue()) if line.startswith("back-translate: ")]
    # Two shards of four were done of 17 sentences.
    assert " 8/17 [" in shown[0] and " 17/17 [" in shown[-1]
    assert re.search(r"\d\d:\d\d<\d\d:\d\d, +[\d.]+sentence/s", shown[-1])


@pytest.mark.parametrize("stage", ["card", "cleaning", "moving"])
def test_a_job_killed_at_the_very_end_loses_nothing(
    tiny_model, awkward_bitext, translated, tmp_path, monkeypatch, stage
):
    class Killed(BaseException):
        pass

    def die(*arguments, **settings):
        raise Killed

    name = {
        "card": "translation.back_translation.write_card",
        "cleaning": "jobs.sharded_output.shutil.rmtree",
        "moving": "jobs.sharded_output.move_into_place",
    }[stage]
    with monkeypatch.context() as context:
        context.setattr(f"hf_paraphrase.{name}", die)
        with pytest.raises(Killed):
            job(tiny_model, awkward_bitext, tmp_path / "pairs", "--max-source-tokens", "50")
    assert not (tmp_path / "pairs").exists()

    def no_more(self, *arguments):
        raise AssertionError("the shards were finished")

    monkeypatch.setattr(TableTranslator, "translate_table", no_more)
    assert resume(tiny_model, awkward_bitext, tmp_path / "pairs") == 0
    assert same_data(tmp_path / "pairs", translated)
    assert [path.name for path in tmp_path.iterdir()] == ["pairs"]


def test_resume_without_an_unfinished_job_starts_one(tiny_model, awkward_bitext, translated, tmp_path):
    assert resume(tiny_model, awkward_bitext, tmp_path / "pairs") == 0
    assert same_data(tmp_path / "pairs", translated)


def test_the_number_of_processes_does_not_change_a_byte(tiny_model, awkward_bitext, translated, tmp_path):
    options = SearchOptions(4, 3, max_source_tokens=50)
    shards = cut("train", 17, 4)
    for rank in (2, 0, 1):
        translator = BackTranslator((str(tiny_model),), options)
        list(run_shards(ShardJob(DataFolder(awkward_bitext), {"train": translator}, 4), shards[rank::3], tmp_path))
        assert sum(shard.is_finished(tmp_path) for shard in shards) == {2: 1, 0: 3, 1: 5}[rank]
    for path in (translated / "data").iterdir():
        assert (tmp_path / "data" / path.name).read_bytes() == path.read_bytes()


PROGRAM = ("-m", "hf_paraphrase")


@pytest.mark.slow
def test_two_processes_under_accelerate_give_the_files_of_one(tiny_model, awkward_bitext, translated, tmp_path):
    words = command(tiny_model, awkward_bitext, tmp_path / "pairs", "--max-source-tokens", "50")
    result = launch(*PROGRAM, *words)
    assert result.returncode == 0, result.stderr[-3_000:]
    assert same_data(tmp_path / "pairs", translated) and result.stdout == ""
    assert result.stderr.count("load them: ") == 1


@pytest.mark.slow
def test_two_processes_of_which_one_is_killed_are_continued_by_one(tiny_model, awkward_bitext, translated, tmp_path):
    (tmp_path / "killed.py").write_text(KILLED)
    output = tmp_path / "out" / "pairs"
    result = launch(tmp_path / "killed.py", *command(tiny_model, awkward_bitext, output, "--max-source-tokens", "50"))
    assert result.returncode != 0 and [path.name for path in output.parent.iterdir()] == [".pairs.partial"]
    assert (output.parent / ".pairs.partial" / "shards" / "train-00000.json").exists()
    assert resume(tiny_model, awkward_bitext, output) == 0
    assert same_data(output, translated) and [path.name for path in output.parent.iterdir()] == ["pairs"]


@pytest.mark.slow
def test_a_killed_process_is_continued_by_two(tiny_model, awkward_bitext, translated, unfinished):
    words = command(tiny_model, awkward_bitext, unfinished, "--max-source-tokens", "50", "--resume")
    result = launch(*PROGRAM, *words)
    assert result.returncode == 0, result.stderr[-3_000:]
    assert same_data(unfinished, translated)


def test_an_output_that_an_earlier_version_finished_is_known_again(tiny_model, awkward_bitext, unfinished):
    assert resume(tiny_model, awkward_bitext, unfinished) == 0
    kept = json.loads((unfinished / "provenance.json").read_text())
    # Without what later versions added, as long as it is off.
    of_old = {
        "num_beams": 4,
        "num_return_sequences": 3,
        "length_penalty": 1.0,
        "max_source_tokens": 50,
        "bf16": False,
        "constraints": dataclasses.asdict(SearchOptions().constraints),
        "candidates_frequent": None,
        "candidates_per_unit": None,
        "candidates_from_reference": False,
        "shard_size": 4,
        "split": "train",
        "sentences": DataFolder(awkward_bitext).count("train"),
        "model": fingerprint(tiny_model),
        "lexical_table": None,
        "bitext": fingerprint(awkward_bitext),
    }
    if RnnSearchConfig.from_pretrained(tiny_model).lowercase:
        of_old["lower_case"] = True
    assert kept["job"] == job_fingerprint(of_old)
