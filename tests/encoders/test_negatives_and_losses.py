"""Negatives and losses by their definitions, one sentence after another."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from naive_negatives import chosen_negative

from hf_paraphrase.encoders import negatives
from hf_paraphrase.encoders.losses import (
    ContrastiveLoss,
    CosentLoss,
    MarginLoss,
    MatryoshkaLoss,
    RankingLoss,
    SymmetricRankingLoss,
    TripletLoss,
)
from hf_paraphrase.encoders.negatives import NO_NEGATIVE, PairGroups, choose_negatives


def pool(pairs, kinds, further, seed):
    """Vectors (2 * pairs + further, 5) without ties, and keys, many of them equal."""
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.randn(2 * pairs + further, 5, generator=generator, dtype=torch.float64)
    return vectors, torch.randint(kinds, (len(vectors),), generator=generator).numpy(), pairs


pools = st.builds(pool, st.integers(1, 9), st.integers(1, 30), st.integers(0, 4), st.integers(0, 10**6))
modes = st.sampled_from(["both", "opposite"])


@settings(max_examples=100, deadline=None)
@given(data=pools, cells=st.integers(1, 400), mode=modes)
def test_choice_in_blocks_of_any_size_equals_a_plain_loop(data, cells, mode):
    vectors, keys, pairs = data
    cosines = torch.nn.functional.cosine_similarity(vectors.unsqueeze(1), vectors, dim=2).tolist()
    expected = [
        chosen_negative(sentence, keys.tolist(), pairs, lambda one, other: cosines[one][other], mode)
        for sentence in range(2 * pairs)
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(negatives, "_BLOCK_CELLS", cells)
        found = choose_negatives(vectors, keys, pairs=pairs, negatives_from=mode)
    assert found.tolist() == expected


def test_siblings_of_a_pair_and_every_copy_of_their_texts_are_not_its_negatives():
    # The pairs (ref, a), (ref, b), (other, b) and (far, near), and given negatives that repeat a and far.
    ref, a, b, other, far, near = range(6)
    keys = np.array([ref, ref, other, far, a, b, b, near, a, far])
    found = PairGroups(keys, 4).admissible(range(8), torch.device("cpu"))
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
    assert chosen.tolist() == [NO_NEGATIVE, NO_NEGATIVE]
    loss = MarginLoss(0.4)(vectors, chosen)
    loss.backward()
    assert loss.item() == 0 and not vectors.grad.any()
    assert choose_negatives(torch.randn(4, 3), np.array([7, 7, 8, 8])).tolist() == [NO_NEGATIVE] * 4


def test_zero_vectors_have_cosine_zero_and_no_gradient():
    vectors = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], requires_grad=True)
    loss = MarginLoss(0.4)(vectors, torch.tensor([1, 0, 3, 2]))
    loss.backward()
    assert loss.isfinite() and vectors.grad.isfinite().all() and not vectors.grad[0].any()


def test_contrastive_loss_is_the_formula_of_sjoblom_et_al_with_only_the_hinge_squared():
    torch.manual_seed(0)
    vectors, labels = torch.randn(12, 5, dtype=torch.float64), torch.tensor([1, 0, 1, 0, 0, 1])
    expected = 0.0
    for row, label in enumerate(labels.tolist()):
        distance = 1 - torch.cosine_similarity(vectors[row], vectors[6 + row], dim=0).item()
        expected += distance if label else max(0.0, 0.9 - distance) ** 2
    assert ContrastiveLoss(0.9)(vectors, labels).item() == pytest.approx(expected / 6, abs=1e-12)
    vectors.requires_grad_()
    assert torch.autograd.gradcheck(lambda x: ContrastiveLoss(1.7)(x, labels), (vectors,))


def test_the_ranking_loss_is_a_cross_entropy_without_related_partners_and_with_given_negatives():
    torch.manual_seed(0)
    vectors = torch.randn(8, 5, dtype=torch.float64, requires_grad=True)  # 3 pairs and 2 negatives
    keys = np.array([0, 0, 1, 2, 3, 4, 5, 6])  # the first two pairs are siblings
    candidates = PairGroups(keys, 3).admissible(range(6), torch.device("cpu"))
    expected = 0.0
    for pair, others in ((0, [3, 5, 6, 7]), (1, [4, 5, 6, 7]), (2, [3, 4, 5, 6, 7])):
        scores = {row: 20 * torch.cosine_similarity(vectors[pair], vectors[row], dim=0) for row in others}
        expected = expected - scores[pair + 3] + torch.logsumexp(torch.stack(list(scores.values())), 0)
    loss = RankingLoss()
    torch.testing.assert_close(loss(vectors, candidates), expected / 3)
    assert torch.autograd.gradcheck(lambda x: loss(x, candidates), (vectors,))


class Given(torch.nn.Module):
    """Gives a loss of sentence-transformers the embeddings that are its features."""

    def forward(self, features):
        return {"sentence_embedding": features["vectors"]}


@pytest.mark.parametrize("name", ["ranking", "symmetric", "cosent", "triplet", "matryoshka"])
def test_losses_are_those_of_sentence_transformers(name):
    theirs = pytest.importorskip("sentence_transformers.sentence_transformer.losses")
    vectors = torch.randn(15, 6, generator=torch.Generator().manual_seed(0))
    first, second, negatives = ({"vectors": part} for part in vectors.chunk(3))
    candidates = PairGroups(np.arange(15), 5).admissible(range(10), torch.device("cpu"))
    labels, rows, model = torch.tensor([0.1, 0.9, 0.5, 0.5, 0.0]), torch.arange(10, 15), Given()
    ours, expected = {
        "ranking": lambda: (
            RankingLoss()(vectors, candidates),
            theirs.MultipleNegativesRankingLoss(model)([first, second, negatives], None),
        ),
        "symmetric": lambda: (
            SymmetricRankingLoss()(vectors, candidates),
            theirs.MultipleNegativesSymmetricRankingLoss(model)([first, second, negatives], None),
        ),
        "cosent": lambda: (CosentLoss()(vectors, labels), theirs.CoSENTLoss(model)([first, second], labels)),
        "triplet": lambda: (TripletLoss()(vectors, rows), theirs.TripletLoss(model)([first, second, negatives], None)),
        "matryoshka": lambda: (
            2 * MatryoshkaLoss(CosentLoss(), [3])(vectors, labels=labels),
            CosentLoss()(vectors, labels) + CosentLoss()(vectors[:, :3], labels),
        ),
    }[name]()
    torch.testing.assert_close(ours, expected)
