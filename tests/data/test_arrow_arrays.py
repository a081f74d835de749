from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.data.arrow_arrays import bytes_of_texts, int32_values, int64_array, places_in, set_of, text_array


@given(texts=st.lists(st.text(max_size=5), max_size=6))
def test_arrays_of_texts_are_those_of_pyarrow(texts):
    found = text_array(texts)
    found.validate(full=True)
    assert found.equals(pa.array(texts, pa.large_string()))
    data, offsets = bytes_of_texts(texts)
    assert [data[first:last].decode() for first, last in pairwise(offsets)] == texts


@given(numbers=st.lists(st.integers(-(1 << 63), (1 << 63) - 1), max_size=6), step=st.sampled_from([1, 2, -1]))
def test_arrays_of_numbers_are_those_of_pyarrow_also_of_every_second_one(numbers, step):
    values = np.array(numbers, np.int64)[::step]
    assert int64_array(values).equals(pa.array(numbers[::step], pa.int64()))
    indices = int64_array(values).dictionary_encode().indices
    assert int32_values(indices).tolist() == indices.to_pylist()


@given(texts=st.lists(st.sampled_from("abcd"), max_size=6), known=st.lists(st.sampled_from("abcd"), unique=True))
def test_places_are_those_of_a_list_and_minus_one_for_what_is_not_there(texts, known):
    expected = [known.index(text) if text in known else -1 for text in texts]
    assert places_in(text_array(texts), set_of(text_array(known))).tolist() == expected


def test_pandas_is_not_imported():
    code = (
        "import sys, numpy as np\n"
        "from hf_paraphrase.data.arrow_arrays import int64_array, places_in, set_of, text_array\n"
        "assert places_in(int64_array(np.arange(3)), set_of(int64_array(np.arange(2)))).tolist() == [0, 1, -1]\n"
        "assert text_array(['a']).to_pylist() == ['a'] and 'pandas' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
