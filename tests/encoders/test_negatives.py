from __future__ import annotations

import math

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_negatives import chosen_negative

from hf_paraphrase.encoders.losses import MarginLoss
from hf_paraphrase.encoders.negatives import NONE, Relations, admissible_negatives, choose_negatives


def cosine(a, b):
    norms = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / norms if norms else 0.0


def batch(pairs, kinds, seed, dim=4):
    """Vectors (2 * pairs, dim) and keys, equal vectors where keys are equal."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(kinds, dim, generator=generator, dtype=torch.float64)
    keys = torch.randint(kinds, (2 * pairs,), generator=generator)
    return table[keys], keys.numpy()


def pool(pairs, kinds, further, seed):
    """Vectors (2 * pairs + further, 5) without ties, and keys of which many are equal."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(2 * pairs + further, 5, generator=generator, dtype=torch.float64)
    return vectors, torch.randint(kinds, (len(vectors),), generator=generator).numpy(), pairs


pools = st.builds(pool, st.integers(1, 9), st.integers(1, 30), st.integers(0, 4), st.integers(0, 10**6))
modes = st.sampled_from(["both", "opposite"])


@settings(max_examples=300, deadline=None)
@given(data=pools, cells=st.integers(1, 400), mode=modes)
def test_choice_in_blocks_of_any_size_equals_a_plain_loop(data, cells, mode):
    vectors, keys, pairs = data
    rows = vectors.tolist()
    expected = [
        chosen_negative(sentence, keys.tolist(), pairs, lambda one, other: cosine(rows[one], rows[other]), mode)
        for sentence in range(2 * pairs)
    ]
    found = choose_negatives(vectors, keys, pairs=pairs, negatives_from=mode, block_cells=cells)
    assert found.tolist() == expected


def test_siblings_of_a_pair_and_every_copy_of_their_texts_are_not_its_negatives():
    # The pairs (ref, a), (ref, b), (other, b) and (far, near), and given negatives that repeat a and far.
    ref, a, b, other, far, near = range(6)
    keys = np.array([ref, ref, other, far, a, b, b, near, a, far])
    found = admissible_negatives(Relations(keys, 4), 10, 0, 8, negatives_from="both", device=torch.device("cpu"))
    allowed = [{int(keys[row]) for row in mask.nonzero().flatten()} for mask in found]
    of_pairs = [
        {other, far, near},  # (other, b) has no text of (ref, a), though ref has b as well
        {far, near},
        {a, far, near},
        {ref, a, b, other},
    ]
    assert allowed == of_pairs * 2


def test_a_batch_of_one_pair_or_of_equal_pairs_has_no_negatives_and_no_loss():
    vectors = torch.randn(2, 3, requires_grad=True)
    chosen = choose_negatives(vectors, np.array([0, 1]))
    assert chosen.tolist() == [NONE, NONE]
    loss = MarginLoss(0.4)(vectors, chosen)
    loss.backward()
    assert loss.item() == 0 and not vectors.grad.any()
    assert choose_negatives(torch.randn(4, 3), np.array([7, 7, 8, 8])).tolist() == [NONE] * 4
