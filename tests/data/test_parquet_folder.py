from __future__ import annotations

import pyarrow as pa
from datasets import load_dataset

from hf_paraphrase.data.parquet import write_split

SCHEMA = pa.schema([("sentence1", pa.string()), ("rank", pa.int32())])


def test_empty_batches_make_no_row_group_that_load_dataset_cannot_read(tmp_path):
    rows = pa.Table.from_pydict({"sentence1": ["a", "b"], "rank": [0, 1]}, schema=SCHEMA)
    empty = rows.slice(0, 0)
    assert write_split(tmp_path / "data folder", "train", [empty, rows, empty, rows], SCHEMA, rows_per_shard=2) == 4
    found = load_dataset(str(tmp_path / "data folder"), split="train", cache_dir=str(tmp_path / "cache"))
    assert found["rank"][:] == [0, 1, 0, 1]
