from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
from contextlib import contextmanager

import pytest

from hf_paraphrase.artefacts import whole_files
from hf_paraphrase.artefacts.whole_files import (
    output_file,
    output_files,
    write_parts_whole,
    write_text_whole,
    written_whole,
)
from hf_paraphrase.errors import OutputError


def test_a_file_of_parts_appears_whole_in_a_new_folder(tmp_path):
    path = tmp_path / "new" / "file.txt"

    def parts():
        yield "un\n"
        assert not path.exists()
        yield "déjà\n"

    write_parts_whole(path, parts())
    assert path.read_bytes() == "un\ndéjà\n".encode()
    assert list(path.parent.iterdir()) == [path]


def test_a_full_disk_leaves_the_old_file_and_no_temporary_one(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    with pytest.raises(OutputError, match="cannot write: No space left on device") as caught:  # noqa: SIM117
        with written_whole(path) as temporary:
            temporary.write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")
    assert caught.value.path == str(path) and isinstance(caught.value.__cause__, OSError)
    assert [item.name for item in tmp_path.iterdir()] == ["file.txt"] and path.read_text() == "old"


def test_a_folder_that_is_a_file_is_an_output_error(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot write"):
        write_parts_whole(tmp_path / "file" / "inner.txt", ["text"])


@pytest.mark.parametrize("name", [".file.txt.partial", ".file.txt.lock"])
def test_a_link_that_lies_where_a_temporary_file_might_come_is_not_followed(tmp_path, name):
    (tmp_path / "precious").write_text("precious")
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / name).symlink_to(tmp_path / "precious")
    write_text_whole(folder / "file.txt", "text")
    assert (tmp_path / "precious").read_text() == "precious"
    assert (folder / "file.txt").read_text() == "text"


def test_a_link_in_place_of_the_file_is_replaced_and_not_followed(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "README.md").symlink_to("../precious")
    write_text_whole(tmp_path / "model" / "README.md", "text")
    assert (tmp_path / "precious").read_text() == "precious"
    assert not (tmp_path / "model" / "README.md").is_symlink()


def test_temporary_files_have_names_that_nobody_can_foresee_and_are_always_new(tmp_path, monkeypatch):
    names = []
    for _ in range(2):
        with written_whole(tmp_path / "file.txt") as temporary:
            names.append(temporary.name)
    assert len(set(names)) == 2 and len(names[0]) > len("..partial") + 16
    # Even one who foresees it does not get what is written.
    (tmp_path / "precious").write_text("precious")
    (tmp_path / ".file.txt.00.partial").symlink_to("precious")
    drawn = iter([b"\0"])
    monkeypatch.setattr(whole_files.os, "urandom", lambda _: next(drawn))
    with pytest.raises(OutputError, match="File exists"):
        write_text_whole(tmp_path / "file.txt", "text")
    assert (tmp_path / "precious").read_text() == "precious"


def test_an_error_that_is_none_of_the_system_leaves_no_temporary_file_either(tmp_path):
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "file.txt"):
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_the_rights_are_those_of_any_new_file(tmp_path):
    (tmp_path / "usual").write_text("")
    write_text_whole(tmp_path / "file.txt", "text")
    assert (tmp_path / "file.txt").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_what_killed_runs_have_left_goes_with_the_next_one_and_nothing_else_does(tmp_path):
    left = tmp_path / ".file.txt.0123456789abcdef.partial"
    others = (
        ".file.txt.gz.0123456789abcdef.partial",
        ".file.txt.partial",
        ".file.txt.0123.partial",
        "file.txt.partial",
    )
    for name in (left.name, *others):
        (tmp_path / name).write_text("half")
    with written_whole(tmp_path / "file.txt") as temporary:
        assert not left.exists()
        # What another run holds is not a leftover.
        write_text_whole(tmp_path / "file.txt", "text")
        assert temporary.exists()
    assert {path.name for path in tmp_path.iterdir()} == {"file.txt", *others}


def test_a_name_of_the_greatest_length_can_be_written(tmp_path):
    name = "é" * 127
    (tmp_path / f".{'é' * 100}.0123456789abcdef.partial").write_text("half")
    write_text_whole(tmp_path / name, "text")
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("overwrite", [False, True])
def test_two_runs_do_not_share_an_output_file(tmp_path, overwrite):
    path = tmp_path / "new" / "file.txt"
    with output_file(path, overwrite=overwrite):
        with pytest.raises(OutputError, match="another run is at work on this output"):  # noqa: SIM117
            with output_file(path, overwrite=True):
                pytest.fail("two runs share a file")
        with output_file(tmp_path / "new" / "other.txt"):
            write_text_whole(path, "text")
    assert [item.name for item in path.parent.iterdir()] == ["file.txt"]


def test_an_output_file_that_appeared_since_the_first_look_is_not_replaced(tmp_path, monkeypatch):
    @contextmanager
    def another_run_ends_first(path):
        path.write_text("theirs")
        yield

    monkeypatch.setattr(whole_files, "claimed_file", another_run_ends_first)
    with pytest.raises(OutputError, match="the output file exists"), output_file(tmp_path / "file.txt"):
        pytest.fail("the file would be replaced")


def test_a_killed_run_keeps_nobody_from_its_output_file(tmp_path):
    program = (
        "import os, signal, sys\nfrom hf_paraphrase.artefacts.whole_files import output_file, written_whole\n"
        "with output_file(sys.argv[1]) as path, written_whole(path) as temporary:\n"
        "    temporary.write_text('half')\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", program, str(tmp_path / "file.txt")]
    assert subprocess.run(words, check=False, env=environment).returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2
    with output_file(tmp_path / "file.txt") as path:
        write_text_whole(path, "text")
    assert [item.name for item in tmp_path.iterdir()] == ["file.txt"]


def test_output_files_are_plain_files_or_nothing(tmp_path):
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "nowhere").symlink_to("absent")
    os.mkfifo(tmp_path / "pipe")
    for name, what in (
        ("link", "is a link"),
        ("nowhere", "is a link"),
        ("pipe", "is a device, pipe or socket"),
        (".", "is a folder"),
    ):
        with pytest.raises(OutputError, match=what), output_files(None, tmp_path / name, overwrite=True):
            pytest.fail("something is destroyed")
    with pytest.raises(OutputError, match="the output file exists"), output_files(tmp_path / "file"):
        pytest.fail("something is destroyed")
    with output_files(None, tmp_path / "file", overwrite=True):
        pass
    assert (tmp_path / "file").read_text() == "precious" and (tmp_path / "link").is_symlink()


def test_a_link_in_place_of_the_claim_is_refused(tmp_path):
    (tmp_path / "precious").write_text("precious")
    (tmp_path / ".file.txt.lock").symlink_to("precious")
    with pytest.raises(OutputError, match=r"\.file\.txt\.lock: cannot write"), output_file(tmp_path / "file.txt"):
        pytest.fail("a link is followed")
    assert (tmp_path / "precious").read_text() == "precious"


def test_without_locks_two_that_write_one_file_do_not_take_it_from_each_other(tmp_path, monkeypatch):
    monkeypatch.setattr("hf_paraphrase.artefacts.claims.fcntl", None)
    with written_whole(tmp_path / "model") as first:
        first.write_text("one")
        with written_whole(tmp_path / "model") as second:
            second.write_text("two")
    assert (tmp_path / "model").read_text() == "one"
    leftover = tmp_path / f".model.{'0' * 16}.partial"
    leftover.write_text("of a run that was killed yesterday")
    os.utime(leftover, (0, 0))
    write_text_whole(tmp_path / "model", "three")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
