from __future__ import annotations

import numpy as np
import pytest
import torch
from padded_rows import padded
from recurrent_by_hand import ROWS, parameters, states_of_both, with_all_parameters_moved

import hf_paraphrase  # noqa: F401  (registers the model types)
from hf_paraphrase.models.configuration_recurrent import RecurrentConfig
from hf_paraphrase.models.modeling_recurrent import RecurrentModel

CELLS = [
    {"cell": "lstm"},
    {"cell": "lstm", "peepholes": False},
    {"cell": "lstm", "output_gate": False},
    {"cell": "gru"},
]
DIRECTIONS = [{}, {"bidirectional": True}, {"bidirectional": True, "direction_merge": "sum"}]
VARIANTS = [
    {**cell, **direction, "pooling": pooling}
    for cell in CELLS
    for direction in DIRECTIONS
    for pooling in ("last", "mean")
]


def make(size=6, embedding_size=4, **settings):
    torch.manual_seed(3)
    size = {"hidden_size": size, "embedding_size": embedding_size}
    model = RecurrentModel(RecurrentConfig(vocab_size=40, initializer_range=0.8, **size, **settings))
    return with_all_parameters_moved(model)


def embedded_by_hand(model, row):
    """States (length, size) of one sentence and its embedding (size,)."""
    config = model.config
    both = states_of_both(model, parameters(model)["embeddings"][row])
    pooled = [
        state.mean(0) if config.pooling == "mean" else state[end] for state, end in zip(both, (-1, 0), strict=False)
    ]
    if config.direction_merge == "sum":
        return sum(both), sum(pooled)
    return np.concatenate(both, axis=1), np.concatenate(pooled)


@pytest.mark.parametrize("settings", VARIANTS)
@pytest.mark.parametrize("left", [False, True])
def test_output_equals_a_loop_over_the_equations(settings, left):
    model = make(**settings).double()
    ids, mask = padded(ROWS, 9, left=left)
    output = model(ids, mask)
    assert output.last_hidden_state.shape == (len(ROWS), 9, 6)
    for place, row in enumerate(ROWS):
        if not row:
            assert not output.pooler_output[place].any() and not output.last_hidden_state[place].any()
            continue
        span = slice(9 - len(row), 9) if left else slice(0, len(row))
        states, pooled = embedded_by_hand(model, row)
        np.testing.assert_allclose(output.pooler_output[place].detach(), pooled, atol=1e-12)
        if model.config.pooling == "mean":
            np.testing.assert_allclose(output.last_hidden_state[place, span].detach(), states, atol=1e-12)
        assert not output.last_hidden_state[place, mask[place] == 0].any()


def test_token_vectors_of_the_last_state_are_what_each_word_adds():
    model = make(peepholes=False).double()
    states, _ = embedded_by_hand(model, [5, 6, 7])
    added = np.diff(states, axis=0, prepend=np.zeros((1, 6)))
    vectors = model(torch.tensor([[5, 6, 7]])).last_hidden_state[0].detach()
    np.testing.assert_allclose(vectors, 3 * added, atol=1e-12)
