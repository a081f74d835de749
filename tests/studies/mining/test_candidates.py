from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.encoders.search.vector_file import VectorFile
from hf_paraphrase.studies.mining import candidates
from hf_paraphrase.studies.mining.candidates import best_candidates, candidate_blocks
from hf_paraphrase.studies.mining.exact_best import _keys_below, _sortable, best_on_device


def by_hand(sources, targets, n):
    """All cosines in double precision, sorted; of equal ones the lower row."""
    unit = [
        side.astype(float) / np.maximum(np.linalg.norm(side.astype(float), axis=1), 1e-99)[:, None]
        for side in (sources, targets)
    ]
    cosines = np.einsum("id,jd->ij", *unit).round(14)
    rows = np.argsort(-cosines, axis=1, kind="stable")[:, :n]
    return rows, np.take_along_axis(cosines, rows, 1)


def vectors(rows, dimension, seed, scale=1.0):
    random = np.random.default_rng(seed)
    return (scale * random.normal(size=(rows, dimension))).astype(np.float32)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(candidates, "SOURCES_PER_BLOCK", 24)
    monkeypatch.setattr(candidates, "_SOURCES_AT_A_TIME", 10)
    monkeypatch.setattr(candidates, "_TARGETS_AT_A_TIME", 32)


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
@pytest.mark.parametrize("n", [1, 5, 40, 300, 1000])
def test_candidates_are_those_of_all_cosines_sorted(small_blocks, precision, n):
    sources, targets = vectors(53, 12, 0), vectors(301, 12, 1)
    sources[3], sources[7] = targets[9], 0
    targets[100:140] = targets[9]
    targets[200] = 0
    rows, cosines = best_candidates(sources, targets, n, precision=precision)
    wanted, values = by_hand(sources, targets, n)
    np.testing.assert_array_equal(rows, wanted)
    np.testing.assert_allclose(cosines, values, atol=1e-6)
    assert rows.dtype == np.int64 and cosines.dtype == np.float32 and cosines.max() <= 1


def test_real_block_sizes_give_the_same_as_all_cosines_sorted():
    sources, targets = vectors(1100, 20, 2), vectors(9000, 20, 3)
    rows, _ = best_candidates(sources, targets, 7)
    np.testing.assert_array_equal(rows, by_hand(sources, targets, 7)[0])


@pytest.mark.parametrize("precision", ["bfloat16", "float32"])
def test_negative_cosines_are_in_order_too(small_blocks, precision):
    sources = np.abs(vectors(15, 6, 4))
    targets = -np.abs(vectors(100, 6, 5))
    rows, cosines = best_candidates(sources, targets, 10, precision=precision)
    np.testing.assert_array_equal(rows, by_hand(sources, targets, 10)[0])
    assert cosines.max() < 0


def test_of_identical_targets_the_lower_rows_come_first(small_blocks):
    sources = vectors(30, 8, 6)
    targets = np.repeat(vectors(1, 8, 7), 200, axis=0)
    rows, _ = best_candidates(sources, targets, 9)
    np.testing.assert_array_equal(rows, np.tile(np.arange(9), (30, 1)))


def test_targets_that_differ_less_than_bfloat16_can_represent_are_distinguished(small_blocks):
    targets = np.repeat(vectors(1, 16, 8), 90, axis=0) + vectors(90, 16, 9, scale=1e-3)
    sources = targets[::-1] + vectors(90, 16, 10, scale=1e-3)
    rows, _ = best_candidates(sources, targets, 3, precision="bfloat16")
    np.testing.assert_array_equal(rows, by_hand(sources, targets, 3)[0])


def test_zero_vectors_are_not_compared_with_anything(small_blocks, monkeypatch):
    sources, targets = vectors(50, 8, 23), vectors(90, 8, 24)
    sources[::2] = 0
    compared = []
    real = candidates._best_of_block
    monkeypatch.setattr(
        candidates, "_best_of_block", lambda block, *rest: compared.append(len(block)) or real(block, *rest)
    )
    rows, cosines = best_candidates(sources, targets, 4)
    assert sum(compared) == 25
    np.testing.assert_array_equal(rows, by_hand(sources, targets, 4)[0])
    assert not cosines[::2].any() and cosines[1::2].all()


def test_length_of_the_vectors_does_not_matter(small_blocks):
    sources, targets = vectors(30, 8, 11), vectors(80, 8, 12)
    lengths = np.exp2(np.arange(80) % 9 - 4).astype(np.float32)[:, None]
    longer = best_candidates(8 * sources, targets * lengths, 5)
    for one, other in zip(best_candidates(sources, targets, 5), longer, strict=True):
        np.testing.assert_array_equal(one, other)


def test_threads_and_the_other_sentences_do_not_change_a_result(small_blocks):
    sources, targets = vectors(130, 10, 13), vectors(300, 10, 14)
    rows, cosines = best_candidates(sources, targets, 6)
    threads = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with_threads = best_candidates(sources, targets, 6)
    finally:
        torch.set_num_threads(threads)
    np.testing.assert_array_equal(with_threads[0], rows)
    np.testing.assert_array_equal(with_threads[1], cosines)
    alone = best_candidates(sources[77:78], targets, 6)
    np.testing.assert_array_equal(alone[0][0], rows[77])
    np.testing.assert_array_equal(alone[1][0], cosines[77])


def test_files_of_vectors_and_mapped_arrays_give_what_arrays_give(small_blocks, tmp_path):
    sources, targets = vectors(60, 5, 15), vectors(70, 5, 16)
    for name, array in (("sources.npy", sources), ("targets.npy", targets)):
        np.save(tmp_path / name, array)
    rows, _ = best_candidates(sources, targets, 4)
    files = [VectorFile(tmp_path / name) for name in ("sources.npy", "targets.npy")]
    np.testing.assert_array_equal(best_candidates(*files, 4)[0], rows)
    mapped = [np.load(tmp_path / name, mmap_mode="r") for name in ("sources.npy", "targets.npy")]
    np.testing.assert_array_equal(best_candidates(*mapped, 4)[0], rows)


def test_blocks_are_those_of_the_whole_and_can_begin_later(small_blocks):
    sources, targets = vectors(60, 5, 17), vectors(70, 5, 18)
    rows, cosines = best_candidates(sources, targets, 4)
    blocks = list(candidate_blocks(sources, targets, 4))
    assert [part for part, _, _ in blocks] == [slice(0, 24), slice(24, 48), slice(48, 60)]
    for part, block_rows, block_cosines in candidate_blocks(sources, targets, 4, first_block=1):
        assert part.start >= 24
        np.testing.assert_array_equal(block_rows, rows[part])
        np.testing.assert_array_equal(block_cosines, cosines[part])


def test_empty_sides_give_no_candidates():
    assert best_candidates(vectors(3, 4, 0), vectors(0, 4, 0), 5)[0].shape == (3, 0)
    assert best_candidates(vectors(0, 4, 0), vectors(3, 4, 0), 2)[0].shape == (0, 2)


@pytest.mark.parametrize(
    ("dimension", "n"), [(3, 0), (3, -1), (5, 1)], ids=["none wanted", "fewer than none", "another dimension"]
)
def test_senseless_arguments_are_refused(dimension, n):
    with pytest.raises(ValueError, match="must be"):
        best_candidates(vectors(2, 3, 0), vectors(2, dimension, 0), n)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("side", [0, 1])
def test_vectors_that_are_not_finite_are_refused(side, value):
    sides = [vectors(4, 3, 0), vectors(4, 3, 1)]
    sides[side][2, 1] = value
    with pytest.raises(ValueError, match="not finite"), np.errstate(all="ignore"):
        best_candidates(*sides, 2)


@pytest.mark.parametrize("block", [7, 64, 1000])
def test_the_way_of_a_gpu_finds_the_same(monkeypatch, block):
    monkeypatch.setattr("hf_paraphrase.studies.mining.exact_best._TARGETS_AT_A_TIME", block)
    sources, targets = vectors(20, 8, 19), vectors(400, 8, 20)
    (rows, cosines), sure = best_on_device(sources, targets, 6, "cpu")
    wanted, values = by_hand(sources, targets, 6)
    assert sure.all()
    np.testing.assert_array_equal(rows, wanted)
    np.testing.assert_allclose(cosines, values, atol=1e-6)


def test_the_way_of_a_gpu_says_where_it_is_not_sure():
    sources = vectors(5, 8, 21)
    targets = np.concatenate([vectors(50, 8, 22), np.repeat(sources[:1], 100, axis=0)])
    _, sure = best_on_device(sources, targets, 4, "cpu")
    assert not sure[0] and sure.sum() >= 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(-1, 1, width=32), min_size=1, max_size=20), st.sampled_from(["bfloat16", "float32"]))
def test_limits_in_bits_let_through_every_product_that_reaches_the_value(values, precision):
    kind = getattr(torch, precision)
    key_type = np.int16 if precision == "bfloat16" else np.int32
    numbers = np.array(values)
    products = torch.tensor([0.0, -0.0, *values]).to(kind)
    keys = _sortable(products.view(getattr(torch, np.dtype(key_type).name)).numpy())
    limits = _sortable(_keys_below(numbers, kind, key_type))
    reached = products.double().numpy()[None] >= numbers[:, None]
    assert (keys[None] >= limits[:, None])[reached].all()
