from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from hf_paraphrase.artefacts import folders
from hf_paraphrase.artefacts.folders import (
    check_output,
    check_same_job,
    check_unfinished,
    claimed_folder,
    move_into_place,
    output_folder,
    staging_path,
    write_text_whole,
)
from hf_paraphrase.errors import OutputError


def tree(folder):
    return {path.relative_to(folder).as_posix(): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def old(tmp_path):
    folder = tmp_path / "output"
    (folder / "deep").mkdir(parents=True)
    (folder / "deep" / "old.txt").write_text("old")
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
    assert tree(tmp_path) == {"output/deep/old.txt": "old"}
    assert list(tmp_path.iterdir()) == [old]


def test_a_filled_folder_is_refused_without_overwrite(tmp_path, old):
    with pytest.raises(OutputError, match=r"exists and is not empty.*--overwrite"), output_folder(old):
        raise AssertionError("the block must not run")
    assert tree(tmp_path) == {"output/deep/old.txt": "old"}


def test_overwrite_replaces_the_folder_and_leaves_nothing_beside_it(tmp_path, old):
    with output_folder(old, overwrite=True) as staging:
        (staging / "new.txt").write_text("new")
        assert tree(old) == {"deep/old.txt": "old"}
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
        assert tree(staging) == {"done.txt": "done"}
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
    with output_folder(output, overwrite=True) as staging:
        (staging / "third.txt").write_text("third")
    assert tree(tmp_path) == {"output/third.txt": "third"}


def test_an_output_that_appeared_since_the_first_look_is_not_replaced(tmp_path, monkeypatch):
    output = tmp_path / "output"

    @contextmanager
    def another_run_ends_first(folder):
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


def test_a_killed_run_keeps_nobody_from_going_on(tmp_path):
    program = (
        "import os, signal, sys\nfrom hf_paraphrase.artefacts.folders import output_folder\n"
        "with output_folder(sys.argv[1], resume=False) as staging:\n"
        "    (staging / 'first.txt').write_text('first')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    output = tmp_path / "output"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", program, str(output)]
    assert subprocess.run(words, check=False, env=environment).returncode == -signal.SIGKILL
    with output_folder(output, resume=True) as staging:
        assert tree(staging) == {"first.txt": "first"}


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
    assert tree(old) == {"deep/old.txt": "old"}


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
    record = tmp_path / "job.json"
    check_same_job(record, {"beam": 5, "model": "x"})
    check_same_job(record, {"model": "x", "beam": 5})
    with pytest.raises(OutputError, match="other settings: beam, split"):
        check_same_job(record, {"beam": 6, "model": "x", "split": "train"})
    record.write_text('{"beam"')
    with pytest.raises(OutputError, match="record of the unfinished run is damaged"):
        check_same_job(record, {"beam": 5})


def test_text_is_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "new" / "scores.json"
    write_text_whole(path, "é\n")
    assert path.read_bytes() == "é\n".encode()
    with pytest.raises(UnicodeEncodeError):
        write_text_whole(path, "\ud800")
    assert path.read_bytes() == "é\n".encode()
    (tmp_path / "folder").mkdir()
    with pytest.raises(OutputError, match="cannot write"):
        write_text_whole(tmp_path / "folder", "text")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write anywhere")
def test_a_folder_that_may_not_be_written_is_an_output_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputError, match="Permission denied"), output_folder(tmp_path / "output"):
        raise AssertionError("the block must not run")
