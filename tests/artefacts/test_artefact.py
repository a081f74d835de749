"""An output appears whole or not at all, whatever happens to the run that makes it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import killed_artefacts
import pytest
from killed_artefacts import made, names

from hf_paraphrase.artefacts import artefact as module
from hf_paraphrase.artefacts.artefact import Artefact, check_early, incomplete_runs
from hf_paraphrase.artefacts.files import atomic_write, atomic_write_text, locked
from hf_paraphrase.artefacts.provenance import fingerprint, read_provenance
from hf_paraphrase.errors import InputError, OutputError


def test_an_error_leaves_nothing_of_short_work_and_keeps_the_older_output(tmp_path):
    made(tmp_path / "out", "old")
    with (
        pytest.raises(KeyboardInterrupt),
        Artefact(tmp_path / "out", command="toy", settings={}, overwrite=True) as artefact,
    ):
        (artefact.staging / "text.txt").write_text("half")
        raise KeyboardInterrupt
    assert names(tmp_path) == {"out"} and (tmp_path / "out" / "text.txt").read_text() == "old"


def test_the_output_has_content_and_provenance_with_the_inputs_as_they_were_read_once(tmp_path, monkeypatch):
    data, hashed = tmp_path / "data.txt", []
    data.write_text("before")
    before = fingerprint(data)
    monkeypatch.setattr(module, "fingerprint", lambda path: hashed.append(path) or fingerprint(path))
    with Artefact(tmp_path / "out", command="toy", settings={"a": 1}, inputs=[data, str(data)], resume=False) as run:
        data.write_text("after")
        run.checkpoint("state")
        (run.staging / "text.txt").write_text("new")
        run.finish(results={"letters": 3})
    record = read_provenance(tmp_path / "out")
    assert names(tmp_path) == {"out", "data.txt"} and names(tmp_path / "out") == {"text.txt", "provenance.json"}
    assert (record["settings"], record["results"]) == ({"a": 1}, {"letters": 3})
    assert [item["sha256"] for item in record["inputs"]] == [before] and len(hashed) == 1
    with pytest.raises(InputError, match="nothing"):
        made(tmp_path / "new", inputs=[tmp_path / "nothing"])
    assert names(tmp_path) == {"out", "data.txt"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_working_folder_a_file_and_a_link_are_never_replaced(tmp_path, monkeypatch, overwrite):
    made(tmp_path / "ours")
    (tmp_path / "file").write_text("theirs")
    (tmp_path / "link").symlink_to("ours")
    (tmp_path / "broken").symlink_to("nothing")
    monkeypatch.chdir(tmp_path / "ours")
    before = names(tmp_path)
    for name in (*before, "/"):
        with pytest.raises(OutputError, match="root of a file system" if name == "/" else None):
            made(tmp_path / name, "new text", overwrite=overwrite)
    assert names(tmp_path) == before and (tmp_path / "ours" / "text.txt").read_text() == "new"


@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_a_kill_at_any_moment_leaves_the_old_or_the_new_output_and_the_next_run_goes_on(tmp_path, way):
    # A process without large libraries is forked a hundred times in a second.
    program = [sys.executable, killed_artefacts.__file__, tmp_path, way]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def incomplete(folder, settings, *, resume=False, **options):
    """Leaves an incomplete run."""
    with (
        pytest.raises(KeyboardInterrupt),
        Artefact(folder / "out", command="toy", settings=settings, resume=resume, **options) as artefact,
    ):
        atomic_write_text(artefact.checkpoint("state"), "half")
        raise KeyboardInterrupt


def test_long_work_is_neither_discarded_nor_continued_without_a_flag(tmp_path):
    incomplete(tmp_path, {"size": 3})
    for resume in (None, False):
        with pytest.raises(OutputError, match="an incomplete run for this output exists"):
            made(tmp_path / "out", resume=resume)
    (run,) = incomplete_runs(tmp_path / "out")
    (run / "job.json").write_text("{")
    with pytest.raises(OutputError, match="state of the incomplete run is damaged"):
        made(tmp_path / "out", resume=True)
    made(tmp_path / "out", overwrite=True, resume=False)
    assert names(tmp_path) == {"out"}


def test_another_job_is_not_continued_and_the_message_names_what_differs(tmp_path):
    incomplete(tmp_path, {"size": 3, "output": "out", "seed": 1, "license": "mit"})
    settings = {"size": 4, "output": "elsewhere", "seed": 1, "license": "cc0-1.0", "depth": 2}
    with (
        pytest.raises(OutputError, match=r"other settings: depth, size"),
        Artefact(tmp_path / "out", command="toy", settings=settings, resume=True),
    ):
        pass
    settings |= {"size": 3}
    del settings["depth"]
    with Artefact(tmp_path / "out", command="toy", settings=settings, resume=True) as artefact:
        assert artefact.checkpoint("state").read_text() == "half"
        artefact.finish()


def test_an_input_may_move_but_not_change_when_a_run_is_continued(tmp_path):
    first, second = tmp_path / "first.txt", tmp_path / "second.txt"
    first.write_text("data")
    incomplete(tmp_path, {"data": str(first)}, inputs=[first])
    first.rename(second)
    incomplete(tmp_path, {"data": str(second)}, inputs=[second], resume=True)
    second.write_text("other data")
    with pytest.raises(OutputError, match="other settings: data"):
        incomplete(tmp_path, {"data": str(second)}, inputs=[second], resume=True)


def test_a_finished_output_needs_no_more_work_unless_it_is_of_another_job(tmp_path, caplog):
    assert not made(tmp_path / "out", resume=False).finished
    before = (tmp_path / "out" / "text.txt").stat().st_mtime_ns
    with caplog.at_level("INFO", logger="hf_paraphrase"):
        assert made(tmp_path / "out", resume=True).finished
    assert (tmp_path / "out" / "text.txt").stat().st_mtime_ns == before and "nothing is left to do" in caplog.text
    with pytest.raises(OutputError, match="finished and was made with other settings"):
        made(tmp_path / "out", "other", resume=True)
    assert not made(tmp_path / "out", "other", resume=True, overwrite=True).finished


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a folder in which nobody can make a file")
def test_a_folder_in_which_no_file_can_be_made_is_not_taken_for_another_run():
    for wait in (False, True):
        with pytest.raises(OutputError, match="cannot write"), locked(Path("/proc/pairs"), wait=wait):
            pass


def test_two_runs_never_write_one_output_and_a_lock_that_a_killed_run_has_left_is_taken_over(tmp_path):
    (tmp_path / ".out.lock").touch()
    with Artefact(tmp_path / "out", command="toy", settings={}) as artefact:
        with pytest.raises(OutputError, match="another run is writing this output"):
            made(tmp_path / "out")
        made(tmp_path / "other")
        artefact.finish()
    assert names(tmp_path) == {"out", "other"}


def test_what_another_run_removes_while_this_one_looks_at_it_is_not_there(tmp_path, monkeypatch):
    """Files of another run may go between the listing of a folder and whatever is done next."""

    def removed_after(listing):
        def listed(folder, *pattern):
            found = list(listing(folder, *pattern))
            for path in (path for path in found if not path.name.startswith("text")):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            return found

        return listed

    (tmp_path / f".out.{'0' * 16}.partial").mkdir()
    monkeypatch.setattr(Path, "glob", removed_after(Path.glob))
    assert not incomplete_runs(tmp_path / "out") and not names(tmp_path)
    monkeypatch.undo()
    monkeypatch.setattr(Path, "rglob", removed_after(Path.rglob))
    with Artefact(tmp_path / "out", command="toy", settings={}) as run:
        (run.staging / ".text.0.partial").write_text("by another part")
        (run.staging / "text.txt").write_text("x")
        run.finish()
    assert names(tmp_path / "out") == {"text.txt", "provenance.json"}
    monkeypatch.undo()
    monkeypatch.setattr(Path, "is_dir", lambda path: True)  # as it was when it was looked at
    check_early(tmp_path / "absent")


def test_a_file_is_not_written_through_a_link(tmp_path):
    (tmp_path / "theirs.txt").write_text("theirs")
    (tmp_path / "out.txt").symlink_to(tmp_path / "theirs.txt")
    atomic_write_text(tmp_path / "out.txt", "ours")
    assert (tmp_path / "theirs.txt").read_text() == "theirs" and not (tmp_path / "out.txt").is_symlink()


def test_a_run_that_another_version_began_is_not_continued_and_a_finished_one_warns(tmp_path, monkeypatch, caplog):
    incomplete(tmp_path, {"text": "new"})
    monkeypatch.setattr(module, "__version__", "9.9")
    with pytest.raises(OutputError, match=r"begun by version 0\.\d.* this is 9\.9 .*start again with --overwrite"):
        made(tmp_path / "out", resume=True)
    monkeypatch.undo()
    made(tmp_path / "done", resume=False)
    monkeypatch.setattr(module, "__version__", "9.9")
    assert made(tmp_path / "done", resume=True).finished
    assert "made by version 0." in caplog.text


def test_inputs_are_hashed_while_other_runs_may_lock_the_output(tmp_path, monkeypatch):
    (tmp_path / "data").write_text("text")

    def hash_unlocked(path):
        with locked(tmp_path / "out"):
            return fingerprint(path)

    monkeypatch.setattr(module, "fingerprint", hash_unlocked)
    for shared in (False, True):
        with Artefact(tmp_path / "out", "toy", {}, [tmp_path / "data"], resume=shared or None, shared=shared):
            pass


def test_files_have_the_modes_of_the_umask_whatever_a_library_gave_them(tmp_path):
    before = os.umask(0o027)
    try:
        with Artefact(tmp_path / "out", "toy", {}) as artefact:
            (artefact.staging / "inner").mkdir()
            (artefact.staging / "inner" / "model.safetensors").touch(mode=0o600)
            artefact.finish()
        with atomic_write(tmp_path / "table.safetensors") as path:
            path.chmod(0o600)
    finally:
        os.umask(before)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in [*files, tmp_path / "table.safetensors"]} == {0o640}
