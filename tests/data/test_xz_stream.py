from __future__ import annotations

import io
import lzma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.xz_stream import MOST_MEMORY_BYTES, XzStream

CONTENT = b"line\n" * 50_000


def read(data, size=-1, **options):
    with io.BufferedReader(XzStream(io.BytesIO(data), **options)) as stream:
        return stream.read() if size < 0 else b"".join(iter(lambda: stream.read(size), b""))


@settings(deadline=None, max_examples=50)
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=3), st.integers(0, 2), st.integers(1, 100))
def test_several_streams_with_filling_between_them_are_read_one_behind_the_other(parts, filling, size):
    data = b"".join(lzma.compress(part) + bytes(4 * filling) for part in parts)
    assert read(data) == read(data, size) == b"".join(parts)


@pytest.mark.parametrize("format", [lzma.FORMAT_XZ, lzma.FORMAT_ALONE])
def test_large_content_comes_whole_in_both_formats(format):
    assert read(lzma.compress(CONTENT, format=format)) == CONTENT


@pytest.mark.parametrize("cut", [0, 1, 10, -1])
def test_data_that_are_cut_off_are_an_error(cut):
    with pytest.raises((EOFError, lzma.LZMAError)):
        read(lzma.compress(CONTENT)[:cut] if cut else b"")


def test_data_that_ask_for_more_memory_than_allowed_are_an_error():
    data = lzma.compress(CONTENT, preset=0)
    with pytest.raises(lzma.LZMAError, match=r"[Mm]emory"):
        read(data, memory=1 << 14)
    # What `xz -9` needs must be allowed.
    assert MOST_MEMORY_BYTES > 65 << 20


def test_closing_it_closes_the_file():
    file = io.BytesIO(lzma.compress(b"x"))
    XzStream(file).close()
    assert file.closed
