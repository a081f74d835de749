from __future__ import annotations

import json
import os
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest

from hf_paraphrase.artefacts import folders
from hf_paraphrase.artefacts.claims import claimed_folder
from hf_paraphrase.artefacts.folders import (
    check_output,
    check_unfinished,
    move_into_place,
    output_folder,
    staging_path,
    was_finished,
)
from hf_paraphrase.artefacts.provenance import write_provenance
from hf_paraphrase.artefacts.unfinished import JOB, check_same_job
from hf_paraphrase.artefacts.whole_files import write_text_whole
from hf_paraphrase.errors import OutputError

RECORD = json.dumps({"command": "hf-paraphrase filter", "settings": {}})
OLD = {"deep/old.txt": "old", "provenance.json": RECORD}


def below(name, files):
    return {f"{name}/{path}": text for path, text in files.items()}


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "output"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "old.txt").write_text("old")
    (folder / "provenance.json").write_text(RECORD)
    return folder


def test_the_output_appears_only_when_the_block_has_ended(tmp_path):
    output = tmp_path / "parent" / "output"
    with output_folder(output) as staging:
        (staging / "a.txt").write_text("a")
        assert staging.parent == output.parent
        assert not output.exists()
    assert tree(tmp_path) == {"parent/output/a.txt": "a"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_failure_leaves_the_old_folder_untouched_and_nothing_half_written(tmp_path, old, error):
    with pytest.raises(error), output_folder(old, overwrite=True) as staging:
        (staging / "new.txt").write_text("new")
        raise error
    assert tree(tmp_path) == below("output", OLD)
    assert list(tmp_path.iterdir()) == [old]


def test_a_filled_folder_is_refused_without_overwrite(tmp_path, old):
    with pytest.raises(OutputError, match=r"exists and is not empty.*--overwrite"), output_folder(old):
        raise AssertionError("the block must not run")
    assert tree(tmp_path) == below("output", OLD)


def test_overwrite_replaces_the_folder_and_leaves_nothing_beside_it(tmp_path, old):
    with output_folder(old, overwrite=True) as staging:
        (staging / "new.txt").write_text("new")
        assert tree(old) == OLD
    assert tree(tmp_path) == {"output/new.txt": "new"}
    assert list(tmp_path.iterdir()) == [old]


def test_an_empty_folder_is_no_obstacle(tmp_path):
    (tmp_path / "output").mkdir()
    with output_folder(tmp_path / "output") as staging:
        (staging / "a.txt").write_text("a")
    assert tree(tmp_path) == {"output/a.txt": "a"}


def test_a_file_in_the_way_is_refused_even_with_overwrite(tmp_path):
    (tmp_path / "output").write_text("precious")
    for overwrite in (False, True):
        with pytest.raises(OutputError, match="is a file"), output_folder(tmp_path / "output", overwrite=overwrite):
            raise AssertionError("the block must not run")
    assert tree(tmp_path) == {"output": "precious"}


def test_a_file_in_place_of_the_parent_is_an_output_error(tmp_path):
    (tmp_path / "file").write_text("precious")
    with pytest.raises(OutputError, match="cannot create the folder"), output_folder(tmp_path / "file" / "output"):
        raise AssertionError("the block must not run")
    assert tree(tmp_path) == {"file": "precious"}


@pytest.mark.parametrize("name", [".", "..", "../.."])
def test_the_current_folder_and_those_that_hold_it_are_refused(tmp_path, monkeypatch, name):
    (tmp_path / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "a" / "b")
    with pytest.raises(OutputError):
        check_output(name, overwrite=True)
    assert (tmp_path / "a" / "b").is_dir()


def test_what_a_killed_short_run_left_is_thrown_away(tmp_path):
    output = tmp_path / "output"
    staging_path(output).mkdir()
    (staging_path(output) / "stale.txt").write_text("stale")
    with output_folder(output) as staging:
        (staging / "new.txt").write_text("new")
    assert tree(tmp_path) == {"output/new.txt": "new"}


def interrupted(output):
    with pytest.raises(KeyboardInterrupt), output_folder(output, resume=False) as staging:
        (staging / "done.txt").write_text("done")
        raise KeyboardInterrupt


def test_unfinished_long_work_is_kept_and_continued_with_resume(tmp_path):
    interrupted(tmp_path / "output")
    with output_folder(tmp_path / "output", resume=True) as staging:
        assert (staging / "done.txt").read_text() == "done"
        (staging / "rest.txt").write_text("rest")
    assert tree(tmp_path) == {"output/done.txt": "done", "output/rest.txt": "rest"}


def test_unfinished_long_work_is_never_destroyed_without_a_flag(tmp_path):
    interrupted(tmp_path / "output")
    with pytest.raises(OutputError, match="--resume continues it"), output_folder(tmp_path / "output", resume=False):
        raise AssertionError("the block must not run")
    with pytest.raises(OutputError, match="unfinished run"):
        check_unfinished(tmp_path / "output", overwrite=False, resume=False)
    assert tree(staging_path(tmp_path / "output")) == {"done.txt": "done"}
    with output_folder(tmp_path / "output", resume=False, overwrite=True) as staging:
        assert tree(staging) == {}


def test_long_work_that_fails_before_it_wrote_anything_leaves_nothing(tmp_path):
    with pytest.raises(ValueError, match="bad input"), output_folder(tmp_path / "output", resume=False):
        raise ValueError("bad input")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("resume", [None, True, False])
def test_two_runs_for_one_output_do_not_write_into_each_others_work(tmp_path, resume):
    output = tmp_path / "output"
    with output_folder(output, resume=False) as staging:
        (staging / "first.txt").write_text("first")
        with (
            pytest.raises(OutputError, match="another run is at work"),
            output_folder(output, overwrite=resume is False, resume=resume),
        ):
            pytest.fail("two runs share a folder")
        with pytest.raises(OutputError, match="another run is at work"):
            check_unfinished(output, overwrite=False, resume=False)
    assert tree(tmp_path) == {"output/first.txt": "first"}


def test_a_run_that_failed_or_ended_keeps_nobody_from_the_output(tmp_path):
    output = tmp_path / "output"
    with pytest.raises(ZeroDivisionError), output_folder(output, resume=False) as staging:
        (staging / "first.txt").write_text("first")
        raise ZeroDivisionError
    with output_folder(output, resume=True) as staging:
        (staging / "second.txt").write_text("second")
    (output / "provenance.json").write_text(RECORD)
    with output_folder(output, overwrite=True) as staging:
        (staging / "third.txt").write_text("third")
    assert tree(tmp_path) == {"output/third.txt": "third"}


def test_an_output_that_appeared_since_the_first_look_is_not_replaced(tmp_path, monkeypatch):
    output = tmp_path / "output"

    @contextmanager
    def another_run_ends_first(folder, **shared):
        with claimed_folder(folder):
            output.mkdir()
            (output / "theirs.txt").write_text("theirs")
            yield

    monkeypatch.setattr(folders, "claimed_folder", another_run_ends_first)
    with pytest.raises(OutputError, match="exists and is not empty"), output_folder(output):
        pytest.fail("the output would be replaced")
    assert tree(tmp_path) == {"output/theirs.txt": "theirs"}


def test_what_a_link_in_place_of_the_unfinished_work_points_to_is_left_alone(tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "a.txt").write_text("a")
    staging_path(tmp_path / "output").symlink_to(tmp_path / "precious")
    with pytest.raises(OutputError, match="is a link"), output_folder(tmp_path / "output"):
        pytest.fail("a link is followed")
    assert (tmp_path / "precious" / "a.txt").read_text() == "a"


def test_a_killed_run_keeps_nobody_from_going_on(tmp_path, run_python):
    program = (
        "import os, signal, sys\nfrom hf_paraphrase.artefacts.folders import output_folder\n"
        "with output_folder(sys.argv[1], resume=False) as staging:\n"
        "    (staging / 'first.txt').write_text('first')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    output = tmp_path / "output"
    assert run_python(program, output).returncode == -signal.SIGKILL
    with output_folder(output, resume=True) as staging:
        assert (staging / "first.txt").read_text() == "first"


def test_a_rename_that_fails_puts_the_old_folder_back(tmp_path, old, monkeypatch):
    staging = staging_path(old)
    staging.mkdir()
    rename = Path.rename

    def failing(self, target):
        if self == staging:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OutputError, match="No space left"):
        move_into_place(staging, old)
    assert tree(old) == OLD


def test_the_last_copy_of_the_old_folder_outlives_a_kill_between_the_two_renames(tmp_path):
    # As a kill leaves it: the old folder moved aside, the new one not yet in place.
    previous, output = tmp_path / ".output.previous", tmp_path / "output"
    previous.mkdir()
    (previous / "old.txt").write_text("old")
    with pytest.raises(ValueError, match="again"), output_folder(output):
        raise ValueError("again")
    assert tree(tmp_path) == {".output.previous/old.txt": "old"}
    with output_folder(output) as staging:
        (staging / "new.txt").write_text("new")
    assert tree(output) == {"new.txt": "new"}


def test_the_record_of_a_job_is_written_once_and_compared_afterwards(tmp_path):
    check_same_job(tmp_path, {"beam": 5, "model": "x"})
    check_same_job(tmp_path, {"model": "x", "beam": 5})
    with pytest.raises(OutputError, match="other settings: beam, split"):
        check_same_job(tmp_path, {"beam": 6, "model": "x", "split": "train"})
    (tmp_path / JOB).write_text('{"beam"')
    with pytest.raises(OutputError, match="record of the unfinished run is damaged"):
        check_same_job(tmp_path, {"beam": 5})


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("/dev/null")], ids=["pipe", "device"])
def test_what_is_neither_file_nor_folder_is_no_output_even_with_overwrite(tmp_path, make):
    make(tmp_path / "output")
    with pytest.raises(OutputError, match="a device, pipe or socket, not a folder"):
        check_output(tmp_path / "output", overwrite=True)


def test_links_in_a_circle_are_no_output(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(OutputError):
        check_output(tmp_path / "a", overwrite=True)


@pytest.mark.parametrize("record", [None, "{", "[]", '{"command": "make all"}', '{"command": 3}'])
def test_overwrite_replaces_nothing_that_another_program_made(tmp_path, record):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter1.txt").write_text("years of work")
    if record is not None:
        (folder / "provenance.json").write_text(record)
    before = tree(tmp_path)
    with (
        pytest.raises(OutputError, match=r"replaces only what hf-paraphrase made.*by hand"),
        output_folder(folder, overwrite=True),
    ):
        pytest.fail("the folder would be replaced")
    assert tree(tmp_path) == before


def test_overwrite_throws_away_the_unfinished_work_of_an_earlier_run(tmp_path):
    interrupted(tmp_path / "output")
    with output_folder(tmp_path / "output", overwrite=True, resume=False) as staging:
        assert tree(staging) == {}


def test_unfinished_work_with_a_link_in_it_is_not_continued(tmp_path):
    interrupted(tmp_path / "output")
    (tmp_path / "precious").write_text("precious")
    (staging_path(tmp_path / "output") / "config.json").symlink_to(tmp_path / "precious")
    with pytest.raises(OutputError, match=r"config\.json: a link"), output_folder(tmp_path / "output", resume=True):
        pytest.fail("a library would write through the link")


def test_unfinished_work_of_another_user_is_not_continued(tmp_path, monkeypatch):
    interrupted(tmp_path / "output")
    monkeypatch.setattr(os, "geteuid", lambda: staging_path(tmp_path / "output").stat().st_uid + 1)
    with pytest.raises(OutputError, match="another user's"), output_folder(tmp_path / "output", resume=True):
        pytest.fail("who knows what is in it")


def test_a_file_in_place_of_the_unfinished_work_is_an_output_error(tmp_path):
    staging_path(tmp_path / "output").write_text("text")
    with pytest.raises(OutputError, match="is a file"), output_folder(tmp_path / "output"):
        pytest.fail("there is no folder to write to")


def test_what_a_killed_run_left_of_its_files_does_not_come_into_the_output(tmp_path):
    interrupted(tmp_path / "output")
    (staging_path(tmp_path / "output") / "data").mkdir()
    (staging_path(tmp_path / "output") / "data" / ".a.parquet.0123456789abcdef.partial").write_text("half")
    with output_folder(tmp_path / "output", resume=True):
        pass
    assert tree(tmp_path) == {"output/done.txt": "done"}


def finished(output, **job):
    with output_folder(output, resume=False) as staging:
        check_same_job(staging, job)
        write_provenance(staging, command="score", settings=job)


def test_a_folder_that_another_run_moves_while_it_is_looked_at_is_not_filled(tmp_path, monkeypatch):
    folder = tmp_path / "moved"
    folder.mkdir()
    (folder / "file").touch()

    def moved_meanwhile(path):
        path.rename(tmp_path / "elsewhere")
        raise FileNotFoundError(path)

    monkeypatch.setattr(type(folder), "iterdir", moved_meanwhile)
    assert not folders.is_filled(folder)


def test_a_folder_that_another_run_moves_while_it_is_claimed_is_made_again(tmp_path, monkeypatch):
    folder = tmp_path / "moved"
    look, moves = type(folder).lstat, []

    def moved_first(path):
        if path == folder and not moves:
            moves.append(path.rename(tmp_path / "elsewhere"))
        return look(path)

    monkeypatch.setattr(type(folder), "lstat", moved_first)
    with claimed_folder(folder):
        assert folder.is_dir() and len(moves) == 1


def test_a_run_goes_on_with_work_of_a_version_that_lacked_a_setting_which_is_off(tmp_path):
    check_same_job(tmp_path, {"beam": 5})
    check_same_job(tmp_path, {"beam": 5, "tf32": False})
    with pytest.raises(OutputError, match="other settings: tf32"):
        check_same_job(tmp_path, {"beam": 5, "tf32": True})
    with pytest.raises(OutputError, match="other settings: beam"):
        check_same_job(tmp_path, {"tf32": False})


def test_a_finished_output_is_known_again_by_a_run_that_is_resumed(tmp_path, capsys):
    output = tmp_path / "output"
    finished(output, seed=1)
    # As a kill leaves it that comes after the last rename.
    (tmp_path / ".output.previous").mkdir()
    assert sorted(path.name for path in output.iterdir()) == ["provenance.json"]
    flags = {"overwrite": False, "resume": True}
    assert was_finished(output, lambda: {"seed": 1}, **flags)
    assert [path.name for path in tmp_path.iterdir()] == ["output"]
    with pytest.raises(OutputError, match="finished, and was made with other settings or inputs"):
        was_finished(output, lambda: {"seed": 2}, **flags)
    assert not was_finished(output, lambda: {"seed": 2}, overwrite=True, resume=True)
    assert not was_finished(output, lambda: {"seed": 1}, overwrite=False, resume=False)


def test_unfinished_work_for_another_job_than_the_output_is_continued(tmp_path):
    output = tmp_path / "output"
    finished(output, seed=1)
    interrupted_again = pytest.raises(KeyboardInterrupt)
    with interrupted_again, output_folder(output, overwrite=True, resume=False) as staging:
        check_same_job(staging, {"seed": 2})
        raise KeyboardInterrupt
    assert not was_finished(output, lambda: {"seed": 2}, overwrite=True, resume=True)


def test_whole_work_whose_job_is_forgotten_is_not_taken_for_that_of_another_one(tmp_path):
    staging = staging_path(tmp_path / "output")
    finished(tmp_path / "output", seed=1)
    # As a kill leaves it between the last event but one and the last, the rename.
    (tmp_path / "output").rename(staging)
    with pytest.raises(OutputError, match="other settings or inputs"):
        check_same_job(staging, {"seed": 2})
    check_same_job(staging, {"seed": 1})


def test_the_record_of_a_resumed_run_differs_by_its_interruptions_alone(tmp_path):
    finished(tmp_path / "undisturbed", seed=1)
    for resume in (False, True):
        with pytest.raises(KeyboardInterrupt), output_folder(tmp_path / "output", resume=resume) as staging:
            check_same_job(staging, {"seed": 1})
            raise KeyboardInterrupt
    # A command with a mistake in it is no interruption.
    with pytest.raises(OutputError), output_folder(tmp_path / "output", resume=True) as staging:
        check_same_job(staging, {"seed": 2})
    with output_folder(tmp_path / "output", resume=True) as staging:
        check_same_job(staging, {"seed": 1})
        write_provenance(staging, command="score", settings={"seed": 1})
    record = json.loads((tmp_path / "output" / "provenance.json").read_text())
    assert len(record.pop("interruptions")) == 2
    assert record == json.loads((tmp_path / "undisturbed" / "provenance.json").read_text())
    assert [path.name for path in (tmp_path / "output").iterdir()] == ["provenance.json"]


def test_text_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "scores.json"
    write_text_whole(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    # Half a character, which no file can hold, ends no finished work.
    write_text_whole(path, "\ud800\n")
    assert path.read_bytes() == b"\\ud800\n"
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="cannot write"):
        write_text_whole(tmp_path / "folder", "text")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_is_an_output_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied"), output_folder(tmp_path / "output"):
        raise AssertionError("the block must not run")
