from __future__ import annotations

import os

import numpy as np
import pytest

from hf_paraphrase.artefacts.array_files import ArrayFile
from hf_paraphrase.errors import InputError


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12, dtype=np.float32).reshape(3, 4),
        np.ones((2, 0), np.float16),
        np.array(7, np.uint64),
        np.arange(5, dtype=np.int8),
        np.zeros((2, 3, 4), bool),
    ],
)
def test_what_numpy_saved_is_read_as_numpy_reads_it(tmp_path, array):
    np.save(tmp_path / "a.npy", array)
    file = ArrayFile.open(tmp_path / "a.npy")
    assert (file.kind, file.shape) == (array.dtype, array.shape)
    np.testing.assert_array_equal(file.read(), array)


def with_header(text, version=b"\1\0", data=b"\0" * 64):
    width = 2 if version == b"\1\0" else 4
    return b"\x93NUMPY" + version + len(text).to_bytes(width, "little") + text.encode() + data


HEADER = "{'descr': '%s', 'fortran_order': %s, 'shape': %s, } \n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a readable"),
        (b"\x93NUMPY\1\0", "not a readable"),
        (b"PK\3\4" + bytes(100), "not a readable"),
        (with_header(HEADER % ("<f4", "False", "(17,)")), "64|claim to hold 68"),
        (with_header(HEADER % ("<f4", "False", "(99999999999, 99999999999)")), "claim to hold"),
        (with_header(HEADER % ("<f4", "True", "(2, 2)")), "not a readable"),
        (with_header(HEADER % ("|O", "False", "(2, 2)")), "not a readable"),
        (with_header(HEADER % (">f4", "False", "(2, 2)")), "not a readable"),
        (with_header(HEADER % ("<f3", "False", "(2, 2)")), "not a readable"),
        (with_header(HEADER % ("<f4", "False", "(-2, 2)")), "not a readable"),
        (with_header(HEADER % ("<f4", "False", "(2 2,)")), "not a readable"),
        (with_header(HEADER % ("<f4", "False", "(" * 3000)), "not a readable"),
        (with_header("[" * 4000), "not a readable"),
        (with_header(" " * 5000), "not a readable"),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff" + bytes(64), "not a readable"),
    ],
)
def test_what_is_no_array_or_claims_more_than_its_file_holds_is_refused(tmp_path, content, message):
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(InputError, match=message):
        ArrayFile.open(tmp_path / "a.npy")


def test_pipes_devices_and_missing_files_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path / "absent", tmp_path):
        with pytest.raises(InputError, match=r"not a plain file|cannot read"):
            ArrayFile.open(path)
