from __future__ import annotations

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_paraphrase.data.parquet_files import batches_of, open_parquet, table_of
from hf_paraphrase.errors import InputError


def test_a_file_is_read_in_whole_batches_and_columns_in_the_order_asked_for(tmp_path):
    path = tmp_path / "a.parquet"
    texts = [f"{number} " + "words " * 60 for number in range(12_000)]
    pq.write_table(pa.table({"sentence1": texts, "lang": ["fr"] * 12_000}), path, row_group_size=12_000)
    with open_parquet(path) as file:
        assert [batch.num_rows for batch in batches_of(file, path)] == [10_000, 2_000]
        assert table_of(file, path, ["lang", "sentence1"]).column_names == ["lang", "sentence1"]
        assert table_of(file, path, ["sentence1"])["sentence1"].to_pylist() == texts


@pytest.mark.parametrize("before", [0, 2])
def test_a_row_group_without_rows_is_read_as_none(tmp_path, before):
    path = tmp_path / "a.parquet"
    table = pa.table({"text": ["one", "two"], "list": [[1, 2], []]})
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table.slice(0, before))
        writer.write_table(table)
    with open_parquet(path) as file:
        assert sum(batch.num_rows for batch in batches_of(file, path)) == before + 2


def test_changed_files_give_rows_or_an_input_error(tmp_path):
    path = tmp_path / "a.parquet"
    texts = [f"sentence {number % 50}" for number in range(3000)]
    pq.write_table(pa.table({"sentence1": texts, "score": np.arange(3000.0)}), path, compression="zstd")
    content = path.read_bytes()
    generator = random.Random(5)
    refused = 0
    for _ in range(150):
        data = bytearray(content)
        for _ in range(generator.choice([1, 2, 8])):
            data[generator.randrange(len(data))] = generator.randrange(256)
        path.write_bytes(data)
        try:
            with open_parquet(path) as file:
                list(batches_of(file, path))
        except InputError as error:
            assert error.path == str(path) and "\n" not in str(error)
            refused += 1
    assert refused > 30
