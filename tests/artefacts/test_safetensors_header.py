from __future__ import annotations

import contextlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import save

from hf_paraphrase.artefacts.untrusted_models import TensorEntry, read_header
from hf_paraphrase.errors import ModelError


def packed(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def test_the_header_of_a_real_file_gives_types_and_shapes(tmp_path):
    arrays = {"a": np.zeros((3, 4), np.float32), "b": np.ones(7, np.float16), "c": np.array(3, np.int64)}
    path = tmp_path / "model.safetensors"
    path.write_bytes(save(arrays, metadata={"format": "pt"}))
    assert read_header(path) == {
        "a": TensorEntry("F32", (3, 4)),
        "b": TensorEntry("F16", (7,)),
        "c": TensorEntry("I64", ()),
    }
    assert read_header(path)["a"].elements == 12


ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
BAD = {
    "empty": b"",
    "cut off in the length": b"\x01\x02",
    "a header of gigabytes": packed({}, length=8 << 30),
    "a header of exabytes": packed({}, length=(1 << 64) - 1),
    "not JSON": packed(b"{nonsense"),
    "not UTF-8": packed(b"\xff\xff"),
    "nested without end": packed(b"[" * 100_000),
    "a list": packed([ONE]),
    "an entry that is a list": packed({"a": [1]}),
    "an entry without a shape": packed({"a": {"dtype": "F32", "data_offsets": [0, 8]}}, bytes(8)),
    "an unknown type": packed({"a": {**ONE, "dtype": "PICKLE"}}, bytes(8)),
    "a type that is a list": packed({"a": {**ONE, "dtype": []}}, bytes(8)),
    "a shape of text": packed({"a": {**ONE, "shape": "22"}}, bytes(8)),
    "a negative shape": packed({"a": {**ONE, "shape": [-2]}}, bytes(8)),
    "a shape of trillions": packed({"a": {**ONE, "shape": [10**12, 300]}}, bytes(8)),
    "offsets behind the end": packed({"a": {**ONE, "data_offsets": [0, 8]}}, bytes(4)),
    "offsets of gigabytes": packed({"a": {**ONE, "shape": [1 << 31], "data_offsets": [0, 1 << 33]}}, bytes(8)),
    "offsets the wrong way round": packed({"a": {**ONE, "data_offsets": [8, 0]}}, bytes(8)),
    "shape and offsets that differ": packed({"a": {**ONE, "shape": [3]}}, bytes(12)),
    "a pickle": b"\x80\x04\x95\x10\x00\x00\x00\x00\x00\x00\x00\x8c\x05posix.",
}


@pytest.mark.parametrize("content", BAD.values(), ids=BAD)
def test_a_damaged_or_lying_file_is_a_model_error_that_names_it(tmp_path, content):
    path = tmp_path / "model.safetensors"
    path.write_bytes(content)
    with pytest.raises(ModelError, match="damaged weights") as caught:
        read_header(path)
    assert caught.value.path == str(path)


@settings(deadline=None, max_examples=60)
@given(st.binary(max_size=200))
def test_no_bytes_raise_anything_else(tmp_path_factory, content):
    path = tmp_path_factory.mktemp("fuzz") / "x.safetensors"
    for data in (content, packed(content)):
        path.write_bytes(data)
        with contextlib.suppress(ModelError):
            read_header(path)


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(
        st.text(max_size=3),
        st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=3), st.lists, max_leaves=4)
        | st.fixed_dictionaries(
            {
                "dtype": st.sampled_from(["F32", "I8", "X"]),
                "shape": st.lists(st.integers(-1, 4) | st.none(), max_size=3),
                "data_offsets": st.lists(st.integers(-4, 20), max_size=3),
            }
        ),
        max_size=3,
    )
)
def test_no_header_raises_anything_else_and_what_passes_lies_in_the_file(tmp_path_factory, header):
    path = tmp_path_factory.mktemp("fuzz") / "x.safetensors"
    path.write_bytes(packed(header, bytes(16)))
    try:
        found = read_header(path)
    except ModelError:
        return
    assert all(item.elements * {"F32": 4, "I8": 1}[item.dtype] <= 16 for item in found.values())
