from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa
import pytest
from peak_memory import ROWS_AT_A_TIME, bytes_a_row, peak_bytes
from small_runs import random_sentences

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.filtering.filter_pipeline import FilterPipeline, choose_rows, draw_shared, kept_batches


@pytest.fixture(scope="module")
def table():
    rows = range(300)
    columns = {"id": [f"r{row % 60}" for row in rows], "sentence1": [f"reference {row % 60}" for row in rows]}
    columns |= {"sentence2": random_sentences(300, shortest=1), "rank": pa.array([row // 60 for row in rows])}
    return pa.table({**columns, "note": list(map(str, rows))})


@pytest.fixture(scope="module")
def folder(table, tmp_path_factory):
    """Shards and row groups of odd sizes, so that batch borders fall everywhere."""
    folder = tmp_path_factory.mktemp("pairs")
    write_split(folder, "train", table.to_batches(max_chunksize=37), table.schema, rows_per_shard=100)
    return folder


def kept(folder, options):
    folder = DataFolder(folder)
    choice = choose_rows(folder, "train", options)
    tables = list(kept_batches(folder, "train", choice.kept, options))
    return pa.concat_tables(tables), choice


def test_selected_rows_are_exactly_those_a_loop_would_keep_in_their_order(table, folder):
    result, choice = kept(folder, FilterPipeline(keep=["3<=length<=6", "rank<4"]))
    expected = [row for row in table.to_pylist() if 3 <= len(row["sentence2"].split()) <= 6 and row["rank"] < 4]
    assert [{key: row[key] for key in table.column_names} for row in result.to_pylist()] == expected
    assert result.column("length").to_pylist() == [len(row["sentence2"].split()) for row in expected]
    assert list(choice.funnel) == ["read", "3<=length<=6", "rank<4"]
    assert choice.funnel["rank<4"] == len(expected)


def test_best_keeps_the_lowest_rank_that_survived_the_selections(folder):
    result, _ = kept(folder, FilterPipeline(keep=["rank>=1"], one_per_reference="best"))
    assert result.num_rows == 60 == len(set(result.column("id").to_pylist()))
    assert set(result.column("rank").to_pylist()) == {1}
    assert kept(folder, FilterPipeline(one_per_reference="best", first=2))[0].column("rank").to_pylist() == [0, 0]


def test_the_pairs_of_a_filter_stream_so_that_its_memory_grows_by_a_few_numbers_a_row(tmp_path, monkeypatch):
    batches = functools.partialmethod(DataFolder.batches, batch_size=ROWS_AT_A_TIME)
    monkeypatch.setattr("hf_paraphrase.filtering.filter_pipeline.DataFolder.batches", batches)
    options = FilterPipeline(keep=["note>=0"], max_tokens=1_000_000)

    def filtered(path):
        folder = DataFolder(path)
        choice = choose_rows(folder, "train", options)
        assert choice.kept.all() and sum(
            table.num_rows for table in kept_batches(folder, "train", choice.kept, options)
        )

    # A pair has 2,000 bytes of text.
    assert bytes_a_row(lambda folder: peak_bytes(lambda: filtered(folder)), tmp_path) < 400


@pytest.mark.parametrize("limit", [5, 40, 900])
def test_the_first_pairs_are_taken_until_their_tokens_reach_the_limit(table, folder, limit):
    expected, tokens = [], 0
    for row in table.to_pylist():
        if tokens >= limit:
            break
        expected.append(row["note"])
        tokens += len(row["sentence1"].split()) + len(row["sentence2"].split())
    assert kept(folder, FilterPipeline(max_tokens=limit))[0].column("note").to_pylist() == expected
    assert kept(folder, FilterPipeline(first=limit))[0].num_rows == min(limit, 300)


def test_draws_with_one_seed_share_all_that_both_may_take_and_those_with_others_what_chance_gives():
    every, some = np.arange(10_000), np.arange(0, 10_000, 2)
    first, filtered, other = (
        draw_shared(rows, 2_000, 10_000, seed) for rows, seed in ((every, 3), (some, 3), (every, 4))
    )
    assert len(first) == len(set(first)) == len(filtered) == 2_000 and (np.diff(first) > 0).all()
    # Of the draw from all rows, those that the filter keeps are in the filtered draw, every one of them.
    assert set(first[first % 2 == 0]) <= set(filtered)
    # Two seeds share what is drawn of the pool, a fifth.
    assert 0.17 < np.isin(first, other).mean() < 0.23
    assert set(draw_shared(some, 9_999, 10_000, 3)) == set(some) and len(draw_shared(some[:0], 5, 10_000, 3)) == 0
