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
FEW = [VARIANTS[0], VARIANTS[9], VARIANTS[14], VARIANTS[20], VARIANTS[23]]


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
    output = model(ids, mask, output_hidden_states=True)
    assert output.last_hidden_state.shape == output.hidden_states[0].shape == (len(ROWS), 9, 6)
    for place, row in enumerate(ROWS):
        if not row:
            assert not output.pooler_output[place].any() and not output.hidden_states[0][place].any()
            continue
        span = slice(9 - len(row), 9) if left else slice(0, len(row))
        states, pooled = embedded_by_hand(model, row)
        np.testing.assert_allclose(output.hidden_states[0][place, span].detach(), states, atol=1e-12)
        np.testing.assert_allclose(output.pooler_output[place].detach(), pooled, atol=1e-12)
        assert not output.hidden_states[0][place, mask[place] == 0].any()


@pytest.mark.parametrize("settings", VARIANTS)
def test_mean_pooling_of_the_token_vectors_gives_the_embedding(settings):
    model = make(**settings).double()
    ids, mask = padded(ROWS, 9, left=True)
    output = model(ids, mask)
    mean = (output.last_hidden_state * mask.unsqueeze(2)).sum(1) / mask.sum(1, keepdim=True).clamp_min(1)
    torch.testing.assert_close(mean, output.pooler_output, atol=1e-12, rtol=0)
    assert not output.last_hidden_state[mask == 0].any()
    if settings["pooling"] == "mean":
        assert torch.equal(output.last_hidden_state, model(ids, mask, output_hidden_states=True).hidden_states[0])


def test_token_vectors_of_the_last_state_are_what_each_word_adds():
    model = make(peepholes=False).double()
    states, _ = embedded_by_hand(model, [5, 6, 7])
    added = np.diff(states, axis=0, prepend=np.zeros((1, 6)))
    vectors = model(torch.tensor([[5, 6, 7]])).last_hidden_state[0].detach()
    np.testing.assert_allclose(vectors, 3 * added, atol=1e-12)


@pytest.mark.parametrize("settings", VARIANTS)
def test_padding_order_and_company_change_nothing_beyond_rounding(settings):
    model = make(size=32, **settings)
    alone = torch.stack([model(torch.tensor([row], dtype=torch.long)).pooler_output[0] for row in ROWS])
    for length, left in ((7, False), (20, False), (20, True)):
        ids, mask = padded(ROWS, length, left=left)
        torch.testing.assert_close(model(ids, mask).pooler_output, alone, atol=1e-6, rtol=0)
        torch.testing.assert_close(model(ids.flip(0)).pooler_output.flip(0), alone, atol=1e-6, rtol=0)


@pytest.mark.parametrize("settings", FEW)
def test_empty_texts_embed_to_zeros(settings):
    model = make(**settings)
    for shape in ((2, 0), (2, 3), (0, 3)):
        output = model(torch.zeros(shape, dtype=torch.long), output_hidden_states=True)
        assert torch.equal(output.pooler_output, torch.zeros(shape[0], 6))
        assert output.last_hidden_state.shape == output.hidden_states[0].shape == (*shape, 6)


@pytest.mark.parametrize("settings", FEW)
def test_a_gap_in_the_mask_is_skipped_by_the_recurrence(settings):
    model = make(**settings)
    output = model(torch.tensor([[5, 9, 6, 7]]), torch.tensor([[1, 0, 1, 1]]))
    expected = model(torch.tensor([[5, 6, 7]]))
    torch.testing.assert_close(output.pooler_output, expected.pooler_output)
    torch.testing.assert_close(output.last_hidden_state[:, [0, 2, 3]], expected.last_hidden_state)
    assert not output.last_hidden_state[:, 1].any()


@pytest.mark.parametrize("settings", FEW)
@pytest.mark.parametrize("sparse", [False, True])
def test_every_parameter_gets_a_finite_gradient_and_the_switch_makes_that_of_words_sparse(settings, sparse):
    model = make(variational_dropout=0.3, **settings).train()
    model.sparse_gradients = sparse
    model(*padded(ROWS, 9), return_token_vectors=False).pooler_output.square().sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad.is_sparse == (sparse and name == "embeddings"), name
        gradient = parameter.grad.to_dense()
        assert gradient.isfinite().all() and gradient.any(), name


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("settings", VARIANTS)
def test_dtype_follows_the_model(settings, dtype):
    model = make(**settings).to(dtype)
    exact = make(**settings)(torch.tensor([[5, 6]])).pooler_output
    output = model(torch.tensor([[5, 6]]))
    assert output.pooler_output.dtype == output.last_hidden_state.dtype == dtype
    torch.testing.assert_close(output.pooler_output.float(), exact, atol=0.05, rtol=0)


@pytest.mark.parametrize("kind", ["dropout", "word_dropout", "variational_dropout"])
@pytest.mark.parametrize("settings", FEW)
def test_dropout_acts_in_training_only(kind, settings):
    model = make(**{kind: 0.5}, **settings)
    ids = torch.tensor([[5, 6, 7, 8, 9, 10]]).expand(50, -1)
    assert torch.equal(model(ids).pooler_output, model(ids).pooler_output)
    model.train()
    assert model(ids).pooler_output.std(0).min() > 0.01


def test_unknown_words_are_skipped_like_padding_unless_nothing_else_is_left():
    model = make(skip_unknown=True, unk_token_id=3, peepholes=False).double()
    ids, mask = padded([[5, 3, 6, 3], [3, 3]], 5)
    output = model(ids, mask)
    np.testing.assert_allclose(output.pooler_output[0].detach(), embedded_by_hand(model, [5, 6])[1], atol=1e-12)
    np.testing.assert_allclose(output.pooler_output[1].detach(), embedded_by_hand(model, [3, 3])[1], atol=1e-12)
    mean = output.last_hidden_state.sum(1) / mask.sum(1, keepdim=True)
    torch.testing.assert_close(mean, output.pooler_output, atol=1e-12, rtol=0)
    assert not output.last_hidden_state[0, [1, 3]].any()
    model.config.skip_unknown = False
    everything = model(ids, mask).pooler_output[0].detach()
    np.testing.assert_allclose(everything, embedded_by_hand(model, [5, 3, 6, 3])[1], atol=1e-12)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cell": "rnn"},
        {"pooling": "max"},
        {"direction_merge": "max"},
        {"candidate_activation": "relu"},
        {"word_dropout": -0.1},
        {"word_dropout": 0.1, "variational_dropout": 0.1},
        {"cell": "gru", "peepholes": True},
        {"skip_unknown": True, "unk_token_id": None},
        {"hidden_size": 5, "bidirectional": True},
    ],
)
def test_senseless_settings_are_refused(wrong):
    with pytest.raises(ValueError):
        RecurrentConfig(**wrong)
