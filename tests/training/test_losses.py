from __future__ import annotations

import pytest
import torch
from test_negatives import batch, cosine

from hf_paraphrase.training.losses import compositional_penalty, drift_penalty, margin_loss
from hf_paraphrase.training.negatives import NONE, choose_negatives


@pytest.mark.parametrize("pairs", [2, 3, 7])
@pytest.mark.parametrize("kinds", [5, 100])
def test_loss_equals_a_loop_over_the_pairs(pairs, kinds):
    for seed in range(20):
        vectors, keys = batch(pairs, kinds, seed)
        chosen = choose_negatives(vectors, keys)
        rows = vectors.tolist()
        total = 0.0
        for s, t in zip(range(pairs), range(pairs, 2 * pairs), strict=True):
            for sentence in (s, t):
                negative = int(chosen[sentence])
                if negative != NONE:
                    total += max(0.0, 0.4 - cosine(rows[s], rows[t]) + cosine(rows[sentence], rows[negative]))
        assert margin_loss(vectors, chosen, margin=0.4).item() == pytest.approx(total / pairs, abs=1e-12)


def test_gradient_agrees_with_finite_differences_and_flows_through_the_negatives():
    vectors, keys = batch(3, 100, 11)
    vectors = vectors.requires_grad_()
    chosen = choose_negatives(vectors, keys)
    assert torch.autograd.gradcheck(lambda x: margin_loss(x, chosen, margin=1.5), (vectors,))
    used = chosen[0].item()
    hinge = torch.tensor([used, NONE, NONE, NONE, NONE, NONE])
    margin_loss(vectors, hinge, margin=1.5).backward()
    assert vectors.grad[used].abs().sum() > 0


def test_zero_vectors_have_cosine_zero_and_no_gradient():
    vectors = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], requires_grad=True)
    loss = margin_loss(vectors, torch.tensor([1, 0, 3, 2]), margin=0.4)
    loss.backward()
    assert loss.isfinite() and vectors.grad.isfinite().all() and not vectors.grad[0].any()


def test_a_loss_within_the_margin_is_zero():
    vectors = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    assert margin_loss(vectors, torch.tensor([1, 0, 3, 2]), margin=0.9).item() == 0
    assert margin_loss(vectors, torch.tensor([1, 0, 3, 2]), margin=1.5).item() == pytest.approx(1.0)


def test_penalties_have_the_factor_one_half():
    assert compositional_penalty([torch.tensor([1.0, 2.0]), torch.tensor([[3.0]])], 0.1).item() == pytest.approx(0.7)
    assert compositional_penalty([], 0.1) == 0
    assert drift_penalty(torch.tensor([[1.0, 2.0]]), torch.tensor([[0.0, 4.0]]), 0.1).item() == pytest.approx(0.25)
