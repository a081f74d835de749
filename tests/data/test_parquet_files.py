from __future__ import annotations

import io
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_paraphrase.artefacts.parquet_pages import DICTIONARY, pages, row_groups
from hf_paraphrase.data import parquet_files
from hf_paraphrase.data.parquet_files import batches_of, open_parquet, row_groups_of, table_of
from hf_paraphrase.errors import InputError

MEBIBYTE = 1 << 20


def read(path, **options):
    """Reads a file in batches; returns the batches' sizes in rows and the most bytes that Arrow held meanwhile."""
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    rows, most = [], 0
    with open_parquet(path) as file:
        for batch in batches_of(file, path, **options):
            rows.append(batch.num_rows)
            most = max(most, pool.bytes_allocated() - before)
    return rows, most


def large_dictionary(path, length, rows, **options):
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["a" * length]))
    table = pa.table({"sentence1": text, "sentence2": text})
    pq.write_table(table.replace_schema_metadata(), path, compression="zstd", store_schema=False, **options)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_the_pages_of_a_file_are_those_that_arrow_wrote(tmp_path, compression, version):
    path = tmp_path / "a.parquet"
    texts = [f"sentence {number % 700}" for number in range(5000)]
    table = pa.table({"text": texts, "number": range(5000), "list": [[1, 2]] * 5000})
    pq.write_table(table, path, compression=compression, data_page_version=version, data_page_size=2000)
    row_group = pq.read_metadata(path).row_group(0)
    for number, values in enumerate([5000, 5000, 10_000]):
        column = row_group.column(number)
        begin = column.dictionary_page_offset or column.data_page_offset
        with path.open("rb") as stream:
            found = list(pages(stream, begin, column.total_compressed_size))
        assert sum(page.values for page in found if page.kind != DICTIONARY) == values
        assert [page.kind for page in found].count(DICTIONARY) == column.has_dictionary_page
        headers = column.total_uncompressed_size - sum(page.unpacked for page in found)
        assert 0 < headers < 300 * len(found)


@pytest.mark.parametrize("before", [0, 2])
def test_a_row_group_without_rows_is_read_as_none(tmp_path, before):
    path = tmp_path / "a.parquet"
    table = pa.table({"text": ["one", "two"], "list": [[1, 2], []]})
    with pq.ParquetWriter(path, table.schema) as writer:
        for rows in (table.slice(0, before), table.slice(0, 0), table):
            writer.write_table(rows)
    assert pq.read_metadata(path).num_row_groups == 3
    with open_parquet(path) as file:
        assert table_of(file, path, ["text", "list"]).num_rows == before + 2


def test_row_groups_are_as_large_as_arrow_says(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"text": [f"sentence {number % 700}" for number in range(5000)], "list": [[1, 2]] * 5000})
    pq.write_table(table, path, row_group_size=1700)
    footer = pq.read_metadata(path)
    expected = [footer.row_group(number) for number in range(footer.num_row_groups)]
    with open_parquet(path) as file:
        found = row_groups_of(file, path)
    assert [(group.rows, group.size) for group in found] == [(one.num_rows, one.total_byte_size) for one in expected]
    assert len(found) == 3 and all(len(group.columns) == 2 for group in found)


def test_a_footer_whose_row_groups_have_other_rows_than_the_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"text": ["a"] * 10}), path)
    with path.open("rb") as stream:
        (group,) = row_groups(stream)
    monkeypatch.setattr(parquet_files, "row_groups", lambda stream: [replace(group, rows=11)])
    with open_parquet(path) as file, pytest.raises(InputError, match="other rows than the file"):
        row_groups_of(file, path)


def test_what_is_no_page_is_an_error_of_its_own():
    generator = random.Random(1)
    for _ in range(2000):
        data = bytes(generator.randrange(256) for _ in range(generator.randrange(1, 60)))
        try:
            for page in pages(io.BytesIO(data), 0, len(data)):
                assert 0 <= page.unpacked < 1 << 64
        except ValueError:
            pass
    with pytest.raises(ValueError, match="without end"):
        list(pages(io.BytesIO(b"\x1c" * 4000), 0, 4000))
    with pytest.raises(ValueError, match="lists within lists without end"):
        list(pages(io.BytesIO(b"\x19" * 4000), 0, 4000))


def test_a_long_text_that_stands_in_many_rows_is_read_a_few_rows_at_a_time_and_not_without_end(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    large_dictionary(path, MEBIBYTE // 2, 1000)
    assert path.stat().st_size < 10_000
    with pytest.raises(InputError, match=r"a\.parquet: its [\d,]+ bytes become more than 64 MiB"):
        read(path)
    monkeypatch.setattr(parquet_files, "most_unpacked", lambda size: 1 << 40)
    with open_parquet(path) as file:
        first = next(batches_of(file, path))
    # Both columns have the text: at most 64 MiB each.
    assert first.nbytes <= 2 * 65 * MEBIBYTE and first.num_rows == 128


def test_a_page_that_unpacks_to_more_than_its_file_can_hold_is_refused_before_it_is_unpacked(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"sentence1": ["a" * (80 * MEBIBYTE)]}), path, compression="zstd", use_dictionary=False)
    pool = pa.default_memory_pool()
    before = pool.bytes_allocated()
    with open_parquet(path) as file, pytest.raises(InputError, match="become more than 64 MiB"):
        next(batches_of(file, path))
    assert pool.bytes_allocated() - before < MEBIBYTE


def test_a_row_of_very_many_values_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    values = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000_000, np.int8)), pa.array(["a"]))
    lists = pa.ListArray.from_arrays(pa.array([0, 10_000_000], pa.int32()), values.cast(pa.string()))
    pq.write_table(pa.table({"list": lists}), path, compression="zstd")
    with pytest.raises(InputError, match="become more than"):
        read(path)


def test_usual_files_are_read_in_whole_batches(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    texts = [f"{number} " + "words " * 60 for number in range(12_000)]
    languages = pa.array(["fr"] * 12_000)
    pq.write_table(pa.table({"sentence1": texts, "lang": languages}), path, row_group_size=12_000)
    column = pq.read_metadata(path).row_group(0).column(0)
    assert column.has_dictionary_page
    rows, _ = read(path)
    assert rows == [10_000, 2_000]
    # The dictionary is large, and the texts in it are not: this is what the closer look is for.
    looked = []
    original = parquet_files._longest_text
    monkeypatch.setattr(
        parquet_files, "_longest_text", lambda *arguments: looked.append(original(*arguments)) or looked[-1]
    )
    assert read(path, columns=["sentence1"])[0] == [10_000, 2_000]
    # What did not fit into the dictionary stands in the pages behind it, as it is.
    assert looked == [len(texts[1000])]
    with open_parquet(path) as file:
        assert table_of(file, path, ["lang", "sentence1"]).column_names == ["lang", "sentence1"]
        assert table_of(file, path, ["sentence1"])["sentence1"].to_pylist() == texts


def test_changed_files_give_rows_or_an_input_error_in_memory_that_fits_their_size(tmp_path):
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
            assert read(path)[1] < 300 * MEBIBYTE
        except InputError:
            refused += 1
    assert refused > 30
