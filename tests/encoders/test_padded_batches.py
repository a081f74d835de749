from __future__ import annotations

import numpy as np
import pytest
import torch

from hf_paraphrase.encoders.padded_batches import TOKENS_PER_BATCH, batches_of_like_length, embed_in_padded_batches
from hf_paraphrase.tokenization.token_ids import TokenIds


def test_batches_group_like_lengths_and_bound_the_padded_tokens():
    lengths = [3, 0, TOKENS_PER_BATCH + 5, 1, 2, TOKENS_PER_BATCH // 2, TOKENS_PER_BATCH // 2 - 1]
    assert list(batches_of_like_length(lengths, 3)) == [[2], [5, 6], [0, 4, 3]]
    assert list(batches_of_like_length([3, 0, 9, 1, 2], 3, tokens=6)) == [[2], [0, 4], [3]]


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("finish", [None, np.negative])
def test_vectors_are_those_of_each_text_alone_whatever_shares_its_batch(monkeypatch, threads, finish):
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    generator = np.random.default_rng(0)
    texts = [generator.integers(1, 50, size).tolist() for size in [4, 0, 17, 1, 1, 9, 0, 3, 30, 2]]

    def forward(ids, mask):
        assert not torch.is_grad_enabled() and (ids[~mask] == 7).all()
        kept = ids * mask
        return torch.stack([kept.sum(1), (kept**2).sum(1)], 1).to(torch.bfloat16 if finish is None else torch.float32)

    vectors = np.zeros((len(texts), 2), np.float32)
    ids, device = TokenIds.of_lists(texts), torch.device("cpu")
    steps = list(
        embed_in_padded_batches(forward, ids, vectors, batch_size=3, pad_token_id=7, device=device, finish=finish)
    )
    assert sum(steps) == 8 and max(steps) <= 3
    expected = np.array([[sum(ids), sum(number**2 for number in ids)] for ids in texts], np.float32)
    np.testing.assert_allclose(vectors, expected if finish is None else -expected, rtol=0.01 if finish is None else 0)
