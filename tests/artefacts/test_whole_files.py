from __future__ import annotations

import errno

import pytest

from hf_paraphrase.artefacts.folders import write_parts_whole, written_whole
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
