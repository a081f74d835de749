from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.encoders.losses import MarginLoss
from hf_paraphrase.encoders.negatives import NONE, admissible_negatives, choose_negatives


def naive_admissible(keys, sentence, mode):
    pairs = len(keys) // 2
    partner = (sentence + pairs) % (2 * pairs)
    return [
        other
        for other in range(2 * pairs)
        if other not in (sentence, partner)
        and keys[other] not in (keys[sentence], keys[partner])
        and (mode == "both" or (other < pairs) != (sentence < pairs))
    ]


def cosine(a, b):
    norms = math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(x * x for x in b))
    return sum(x * y for x, y in zip(a, b, strict=True)) / norms if norms else 0.0


def batch(pairs, kinds, seed, dim=4):
    """Vectors (2 * pairs, dim) and keys, equal vectors where keys are equal."""
    generator = torch.Generator().manual_seed(seed)
    table = torch.randn(kinds, dim, generator=generator, dtype=torch.float64)
    keys = torch.randint(kinds, (2 * pairs,), generator=generator)
    return table[keys], keys


batches = st.builds(batch, st.integers(1, 6), st.integers(1, 20), st.integers(0, 10**6))


@settings(max_examples=150, deadline=None)
@given(batches, st.sampled_from(["both", "opposite"]))
def test_hardest_negative_equals_a_plain_search(data, mode):
    vectors, keys = data
    chosen = choose_negatives(vectors, keys, negatives_from=mode).tolist()
    for sentence, found in enumerate(chosen):
        allowed = naive_admissible(keys.tolist(), sentence, mode)
        if not allowed:
            assert found == NONE
            continue
        best = max(cosine(vectors[sentence].tolist(), vectors[other].tolist()) for other in allowed)
        assert found in allowed
        assert cosine(vectors[sentence].tolist(), vectors[found].tolist()) == pytest.approx(best, abs=1e-12)


@settings(max_examples=60, deadline=None)
@given(batches, st.sampled_from(["both", "opposite"]), st.sampled_from(["random", "mix"]))
def test_drawn_negatives_are_admissible(data, mode, negatives):
    vectors, keys = data
    generator = torch.Generator().manual_seed(1)
    chosen = choose_negatives(vectors, keys, negatives=negatives, negatives_from=mode, generator=generator).tolist()
    for sentence, found in enumerate(chosen):
        allowed = naive_admissible(keys.tolist(), sentence, mode)
        assert found in allowed if allowed else found == NONE


def test_random_negatives_are_uniform_and_mix_is_half_of_each():
    vectors, keys = batch(4, 1000, 5)
    keys = torch.arange(8)
    hardest = choose_negatives(vectors, keys)
    generator = torch.Generator().manual_seed(0)
    draws = {
        mode: torch.stack([choose_negatives(vectors, keys, negatives=mode, generator=generator) for _ in range(3000)])
        for mode in ("random", "mix")
    }
    for sentence in range(8):
        allowed = naive_admissible(keys.tolist(), sentence, "both")
        shares = torch.bincount(draws["random"][:, sentence], minlength=8)[allowed] / 3000
        assert (shares - 1 / 6).abs().max() < 0.04
        share = (draws["mix"][:, sentence] == hardest[sentence]).double().mean()
        assert abs(share - (0.5 + 0.5 / 6)) < 0.04


def test_negatives_stay_away_from_the_partner_even_if_all_others_are_opposite():
    # The reference code then chose the partner, because it forbade by a distance of 1.
    vectors = torch.tensor([[1.0, 0.0], [-1.0, 0.01], [1.0, 0.1], [-1.0, 0.1]])
    chosen = choose_negatives(vectors, torch.arange(4))
    assert chosen.tolist() == [3, 2, 3, 2]


def test_duplicates_of_a_sentence_or_of_its_partner_are_never_its_negative():
    keys = torch.tensor([0, 1, 0, 2, 5, 1])  # the pairs (0, 2), (1, 5) and (0, 1)
    admissible = admissible_negatives(keys)
    assert [row.nonzero().flatten().tolist() for row in admissible] == [
        [1, 4, 5],
        [0, 2, 3],
        [3, 4],
        [1, 4, 5],
        [0, 2, 3],
        [3, 4],
    ]


def test_a_batch_of_one_pair_or_of_equal_pairs_has_no_negatives_and_no_loss():
    vectors = torch.randn(2, 3, requires_grad=True)
    chosen = choose_negatives(vectors, torch.tensor([0, 1]))
    assert chosen.tolist() == [NONE, NONE]
    loss = MarginLoss(0.4)(vectors, chosen)
    loss.backward()
    assert loss.item() == 0 and not vectors.grad.any()
    assert choose_negatives(torch.randn(4, 3), torch.tensor([7, 7, 8, 8])).tolist() == [NONE] * 4


@pytest.mark.parametrize("wrong", [{"negatives": "hardest"}, {"negatives_from": "left"}])
def test_unknown_modes_are_refused(wrong):
    with pytest.raises(ValueError, match="must be one of"):
        choose_negatives(torch.randn(4, 3), torch.arange(4), **wrong)
