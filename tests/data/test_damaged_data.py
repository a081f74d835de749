"""Damaged data folders: one clear error each."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.errors import InputError

READERS = {
    "table": lambda folder: DataFolder(folder).table("train", ["sentence1"]),
    "batches": lambda folder: list(DataFolder(folder).batches("train")),
    "row_range": lambda folder: list(DataFolder(folder).row_range("train", 0, 10_000)),
    "count": lambda folder: DataFolder(folder).count("train"),
}
WHOLE = ("table", "batches", "row_range")


@pytest.fixture
def folder(tmp_path):
    texts = [f"sentence number {index} {index * 7919 % 1009}" for index in range(5_000)]
    table = pa.table({"sentence1": texts, "sentence2": texts[::-1]}, schema=PAIRS)
    write_split(tmp_path / "pairs", "train", [table], PAIRS)
    return tmp_path / "pairs"


def shard(folder):
    (path,) = (folder / "data").glob("*.parquet")
    return path


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kept", [0, -1])
def test_a_truncated_shard_is_an_input_error_that_names_it(folder, reader, kept):
    path = shard(folder)
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(InputError) as caught:
        READERS[reader](folder)
    assert caught.value.path == str(path)


@pytest.mark.parametrize("reader", WHOLE)
def test_damage_behind_a_whole_footer_is_an_input_error_too(folder, reader):
    path = shard(folder)
    content = bytearray(path.read_bytes())
    content[4:2_000] = bytes(byte ^ 0xFF for byte in content[4:2_000])
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a readable Parquet file") as caught:
        READERS[reader](folder)
    assert caught.value.path == str(path) and len(str(caught.value)) < 600


@pytest.mark.parametrize("reader", WHOLE)
def test_text_that_is_not_utf_8_is_reported_with_its_file_and_not_where_it_is_wanted(folder, reader):
    offsets, letters = pa.py_buffer(np.array([0, 1, 3], np.int32).tobytes()), pa.py_buffer(b"a\xff\xfe")
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, letters])
    pq.write_table(pa.table({"sentence1": broken, "sentence2": ["b", "c"]}), shard(folder))
    with pytest.raises(InputError, match="Invalid UTF8") as refused:
        READERS[reader](folder)
    assert refused.value.path == str(shard(folder))
