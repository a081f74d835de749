from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.parquet import write_split
from hf_paraphrase.data.row_ranges import iterate_rows
from hf_paraphrase.errors import InputError


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """100 rows in shards of 30 and 40 with row groups of 1 to 7 rows."""
    table = pa.table({"number": list(range(100))})
    sizes = [1, 7, 3, 5] * 20
    batches, start = [], 0
    while start < 100:
        size = sizes[len(batches)]
        batches.append(table.slice(start, size))
        start += size
    folder = tmp_path_factory.mktemp("rows")
    write_split(folder, "train", batches, table.schema, rows_per_shard=30)
    return folder


@settings(deadline=None, max_examples=60)
@given(start=st.integers(0, 110), length=st.integers(0, 110), size=st.integers(1, 50))
def test_the_rows_asked_for_come_in_order_in_tables_of_the_size_asked_for(folder, start, length, size):
    tables = list(iterate_rows(folder, "train", start, start + length, batch_size=size))
    numbers = [number for table in tables for number in table.column("number").to_pylist()]
    assert numbers == list(range(100))[start : start + length]
    assert all(table.num_rows == size for table in tables[:-1])


def test_a_damaged_shard_is_an_input_error_that_names_it(tmp_path):
    write_split(tmp_path, "train", [pa.table({"number": [1]})], pa.schema([("number", pa.int64())]))
    shard = next((tmp_path / "data").glob("*.parquet"))
    shard.write_bytes(b"no parquet")
    with pytest.raises(InputError) as caught:
        list(iterate_rows(tmp_path, "train", 0, 1))
    assert caught.value.path == str(shard)
