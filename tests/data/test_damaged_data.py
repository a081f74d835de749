"""Damaged data folders and raw files: one clear error each."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import sys
import tarfile
import zipfile
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_paraphrase.data import sentences, text_files
from hf_paraphrase.data.evaluation_sets import load_fingerprints
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.data.sentences import lines_of_standard_input
from hf_paraphrase.errors import HfParaphraseError, InputError

READERS = {
    "read_table": lambda folder: DataFolder(folder).table("train", ["sentence1"]),
    "iterate_batches": lambda folder: list(DataFolder(folder).batches("train")),
    "iterate_rows": lambda folder: list(DataFolder(folder).row_range("train", 0, 10_000)),
    "read_schema": lambda folder: DataFolder(folder).schema("train"),
    "count_rows": lambda folder: DataFolder(folder).count("train"),
    "split_sizes": lambda folder: DataFolder(folder).sizes(),
}
WHOLE = ("read_table", "iterate_batches", "iterate_rows")


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
@pytest.mark.parametrize("kept", [0, 100, 0.5, -1])
def test_a_truncated_shard_is_an_input_error_that_names_it(folder, reader, kept):
    path = shard(folder)
    content = path.read_bytes()
    path.write_bytes(content[: int(kept * len(content)) if isinstance(kept, float) else kept])
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


@pytest.mark.parametrize("reader", READERS)
def test_sentences_that_are_no_text_are_refused_by_name(folder, reader):
    table = pa.table({"sentence1": [1, 2], "sentence2": ["a", "b"]})
    pq.write_table(table, shard(folder))
    with pytest.raises(InputError, match="the column sentence1 is of type int64, not text"):
        READERS[reader](folder)


@pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int32(), pa.string()), pa.null(), pa.string()])
def test_every_kind_of_text_is_text(folder, kind):
    column = pa.nulls(2) if kind == pa.null() else pa.array(["a", "b"]).cast(kind)
    pq.write_table(pa.table({"sentence1": column, "sentence2": ["a", "b"]}), shard(folder))
    assert DataFolder(folder).schema("train").names == ["sentence1", "sentence2"]


def test_a_column_of_sentences_that_is_there_twice_is_refused(folder):
    column = pa.array(["a"])
    pq.write_table(pa.table([column, column, column], names=["sentence1", "sentence1", "sentence2"]), shard(folder))
    with pytest.raises(InputError, match="sentence1 occurs twice"):
        DataFolder(folder).table("train")


@pytest.mark.parametrize("content", ["[]", "{", "[" * 100_000])
def test_a_damaged_provenance_is_found_when_the_data_are_opened_not_when_the_work_is_done(folder, content):
    (folder / "provenance.json").write_text(content)
    with pytest.raises(InputError, match=r"damaged") as caught:
        DataFolder(folder).schema("train")
    assert caught.value.path == str(folder / "provenance.json")


def archive(kind, name):
    buffer = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(buffer, "w") as file:
            file.writestr(name, "a\tb\n")
        return buffer.getvalue()
    with tarfile.open(fileobj=buffer, mode="w") as file:
        entry = tarfile.TarInfo(name)
        entry.size = 4
        file.addfile(entry, io.BytesIO(b"a\tb\n"))
    return buffer.getvalue()


PACKERS = {"": lambda data: data, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("member", ["pairs.tsv", "../../escaped.tsv"])
@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_an_archive_is_refused_and_no_member_of_it_is_unpacked(tmp_path, kind, member, suffix):
    path = tmp_path / "work" / f"pairs.{kind}{suffix}"
    path.parent.mkdir()
    path.write_bytes(PACKERS[suffix](archive(kind, member)))
    with pytest.raises(InputError, match=f"a {kind} archive, not text"):
        list(text_files.read_lines(path, text_files.LineErrors()))
    assert [item for item in tmp_path.rglob("*") if item.is_file()] == [path]


@pytest.mark.parametrize("content", ["[" * 100_000, json.dumps({"a": "one two three four five"})])
def test_evaluation_sets_of_endless_lists_are_read_without_a_traceback(tmp_path, content):
    (tmp_path / "set.json").write_text(content)
    with contextlib.suppress(HfParaphraseError):
        load_fingerprints([str(tmp_path)])


def test_text_that_is_not_utf_8_is_reported_with_its_file_and_not_where_it_is_wanted(tmp_path):
    offsets, letters = pa.py_buffer(np.array([0, 1, 3], np.int32).tobytes()), pa.py_buffer(b"a\xff\xfe")
    broken = pa.Array.from_buffers(pa.string(), 2, [None, offsets, letters])
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "train-00000-of-00001.parquet"
    pq.write_table(pa.table({"sentence1": broken, "sentence2": ["b", "c"]}), path)
    folder = DataFolder(tmp_path)
    for read in (lambda: list(folder.batches()), folder.table, lambda: list(folder.row_range("train", 0, 2))):
        with pytest.raises(InputError, match="Invalid UTF8") as refused:
            read()
        assert refused.value.path == str(path)


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz"])
def test_compressed_text_that_is_cut_off_is_an_error_with_its_line(tmp_path, suffix):
    path = tmp_path / f"text{suffix}"
    lines = b"".join(b"%d %d\n" % (number, number * 7919 % 1009) for number in range(400_000))
    packed = PACKERS[suffix](lines)
    path.write_bytes(packed + PACKERS[suffix](lines))
    assert sum(map(len, text_files.read_lines(path, text_files.LineErrors()))) == 800_000
    path.write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"damaged or truncated \w+ data after \d+ whole lines"):
        list(text_files.read_lines(path, text_files.LineErrors()))


def test_a_line_of_standard_input_has_an_end(monkeypatch):
    monkeypatch.setattr(sentences, "LONGEST_LINE_BYTES", 1000)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a" * 999 + b"\n" + b"b" * 1001)))
    with pytest.raises(InputError, match="standard input:2: a line of more than"):
        list(lines_of_standard_input())
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"a\r\nb")))
    assert list(lines_of_standard_input()) == [["a", "b"]]
