from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils._python_dispatch import TorchDispatchMode

from hf_paraphrase.encoders.negatives import NONE, choose_negatives, search_negatives


def naive(vectors, keys, negatives, mode, seed):
    """The definition, sentence by sentence, with Python's own arithmetic."""
    size = len(keys)
    pairs = size // 2
    generator = torch.Generator().manual_seed(seed)
    draws = torch.rand(size, generator=generator, dtype=torch.float64).tolist()
    coins = (torch.rand(size, generator=generator) < 0.5).tolist()
    rows, chosen = vectors.tolist(), []
    for sentence in range(size):
        partner = (sentence + pairs) % size
        allowed = [
            other
            for other in range(size)
            if other not in (sentence, partner)
            and keys[other] not in (keys[sentence], keys[partner])
            and (mode == "both" or (other < pairs) != (sentence < pairs))
        ]
        if not allowed:
            chosen.append(NONE)
        elif negatives == "max" or (negatives == "mix" and coins[sentence]):
            cosine = [
                sum(x * y for x, y in zip(rows[sentence], rows[other], strict=True))
                / sum(y * y for y in rows[other]) ** 0.5
                for other in allowed
            ]
            chosen.append(allowed[cosine.index(max(cosine))])
        else:
            by_key = sorted(allowed, key=lambda other: (keys[other], other))
            chosen.append(by_key[int(draws[sentence] * len(by_key))])
    return chosen


def pool(pairs, kinds, seed):
    """Vectors (2 * pairs, 5) without ties, and keys of which many are equal."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(2 * pairs, 5, generator=generator, dtype=torch.float64)
    return vectors, torch.randint(kinds, (2 * pairs,), generator=generator)


pools = st.builds(pool, st.integers(1, 9), st.integers(1, 30), st.integers(0, 10**6))
modes = {"negatives": st.sampled_from(["max", "random", "mix"]), "mode": st.sampled_from(["both", "opposite"])}


@settings(max_examples=300, deadline=None)
@given(data=pools, cells=st.integers(1, 400), seed=st.integers(0, 99), **modes)
def test_search_in_blocks_of_any_size_equals_a_plain_loop(data, cells, seed, negatives, mode):
    vectors, keys = data
    found = search_negatives(
        vectors,
        keys,
        negatives=negatives,
        negatives_from=mode,
        generator=torch.Generator().manual_seed(seed),
        block_cells=cells,
    )
    assert found.tolist() == naive(vectors, keys.tolist(), negatives, mode, seed)


@settings(max_examples=60, deadline=None)
@given(data=pools, parts=st.integers(1, 5), **modes)
def test_processes_that_share_the_rows_find_what_one_finds(data, parts, negatives, mode):
    vectors, keys = data

    def search(rows):
        generator = torch.Generator().manual_seed(3)
        return search_negatives(
            vectors, keys, negatives=negatives, negatives_from=mode, generator=generator, rows=rows, block_cells=50
        )

    size = len(keys)
    shares = [range(size * part // parts, size * (part + 1) // parts) for part in range(parts)]
    assert torch.cat([search(rows) for rows in shares]).tolist() == search(None).tolist()


@pytest.mark.parametrize("mode", ["both", "opposite"])
def test_hardest_negatives_of_one_batch_are_those_of_the_search_in_a_batch(mode):
    vectors, keys = pool(100, 150, 7)
    assert torch.equal(
        search_negatives(vectors, keys, negatives_from=mode), choose_negatives(vectors, keys, negatives_from=mode)
    )


def test_of_equally_near_sentences_the_first_is_taken_for_every_block_size():
    vectors = torch.eye(3).repeat(8, 1)
    expected = choose_negatives(vectors, torch.arange(24))
    for cells in (1, 24, 100, 10**6):
        assert torch.equal(search_negatives(vectors, torch.arange(24), block_cells=cells), expected)


def test_drawn_negatives_are_uniform_over_the_admissible():
    keys = torch.tensor([4, 1, 2, 1, 9, 3, 2, 8])  # the pairs (4, 9), (1, 3), (2, 2), (1, 8)
    generator = torch.Generator().manual_seed(0)
    draws = torch.stack(
        [
            search_negatives(torch.ones(8, 2), keys, negatives="random", generator=generator, block_cells=9)
            for _ in range(2048)
        ]
    )
    for sentence, allowed in ((1, [0, 2, 4, 6, 7]), (2, [0, 1, 3, 4, 5, 7]), (5, [0, 2, 4, 6, 7])):
        shares = torch.bincount(draws[:, sentence], minlength=8) / 2048
        assert shares[allowed].sum() == 1 and (shares[allowed] - 1 / len(allowed)).abs().max() < 0.04


class Largest(TorchDispatchMode):
    """Notes the number of cells of the largest tensor that comes into being."""

    cells = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        for item in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(item, torch.Tensor):
                self.cells = max(self.cells, item.numel())
        return result


@pytest.mark.parametrize("negatives", ["max", "random", "mix"])
@pytest.mark.parametrize("kinds", [1, 10**9])
def test_no_tensor_outgrows_the_block_or_the_vectors(negatives, kinds):
    vectors, keys = pool(1000, kinds, 1)
    with Largest() as largest:
        search_negatives(vectors, keys, negatives=negatives, block_cells=12_000)
    assert largest.cells <= 12_000 < len(keys) ** 2 / 300
    with Largest() as largest:
        choose_negatives(vectors, keys)
    assert largest.cells == len(keys) ** 2  # so the measurement sees the search in a batch


@pytest.mark.parametrize("wrong", [{"negatives": "hardest"}, {"negatives_from": "left"}])
def test_unknown_modes_of_the_search_are_refused(wrong):
    with pytest.raises(ValueError, match="must be one of"):
        search_negatives(torch.randn(4, 3), torch.arange(4), **wrong)
