"""The recurrent encoders against their equations, one word after another, in numpy."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from padded_rows import ROWS, padded
from tiny_encoders import new_model, with_all_parameters_moved
from torch import nn

from hf_paraphrase.models.configurations import GranConfig, RecurrentConfig
from hf_paraphrase.models.modeling_recurrent import make_cell
from hf_paraphrase.models.recurrent_cells import PackedSentences

LENGTHS = [3, 0, 5, 1, 5]
CELLS = [
    {"cell": "lstm"},
    {"cell": "lstm", "peepholes": False},
    {"cell": "gru"},
    {"cell": "gru", "candidate_activation": "tanh"},
    {"cell": "lstm", "output_gate": False},
]


def make(kind, **settings):
    sizes = {"vocab_size": 40, "hidden_size": 6, "initializer_range": 0.8}
    return with_all_parameters_moved(new_model(kind, seed=3, **sizes, **settings))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def parameters(module):
    return {name: value.detach().double().numpy() for name, value in module.state_dict().items()}


def run_cell(config, weights, xs, mask=1.0):
    """The states (length, size) for word vectors (length, input size); `mask` acts on the state in the products."""
    size = (weights["weight_state"] if config.cell == "lstm" else weights["weight_candidate"]).shape[1]
    h = c = np.zeros(size)
    states = []
    for x in xs:
        if config.cell == "lstm":
            w = weights["weight_input"].reshape(-1, size, len(x))
            u = weights["weight_state"].reshape(-1, size, size)
            b = weights["bias"].reshape(-1, size)
            p = weights.get("peepholes", np.zeros((3, size)))
            pre = [w[k] @ x + u[k] @ (mask * h) + b[k] for k in range(len(w))]
            i, f = sigmoid(pre[0] + p[0] * c), sigmoid(pre[1] + p[1] * c)
            c = f * c + i * np.tanh(pre[2])
            h = np.tanh(c) * (sigmoid(pre[3] + p[2] * c) if config.output_gate else 1.0)
        else:
            w = weights["weight_input"].reshape(3, size, len(x))
            u = weights["weight_gates"].reshape(2, size, size)
            r = sigmoid(w[0] @ x + u[0] @ (mask * h))
            z = sigmoid(w[1] @ x + u[1] @ (mask * h))
            pre = w[2] @ x + weights["weight_candidate"] @ (r * mask * h) + weights["bias_candidate"]
            slope = config.negative_slope
            f = np.tanh(pre) if config.candidate_activation == "tanh" else np.where(pre > 0, pre, slope * pre)
            h = (1 - z) * h + z * f
        states.append(h)
    return np.array(states)


def states_of_both(model, xs):
    """The states of each direction, in word order."""
    forward = run_cell(model.config, parameters(model.recurrent), xs)
    if not model.config.bidirectional:
        return [forward]
    return [forward, run_cell(model.config, parameters(model.recurrent_backward), xs[::-1])[::-1]]


def packed_lengths():
    return PackedSentences.of_mask(torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1))


def test_packing_is_the_order_of_torch_and_can_be_undone():
    values = torch.arange(25).view(5, 5)
    sentences = packed_lengths()
    rows = [row[:length] for row, length in zip(values, LENGTHS, strict=True) if length]
    expected = nn.utils.rnn.pack_sequence(rows, enforce_sorted=False)
    assert torch.equal(sentences.pack(values), expected.data)
    assert sentences.batch_sizes == expected.batch_sizes.tolist()
    data = expected.data.unsqueeze(1).double()
    assert torch.equal(sentences.unpad(sentences.pad(data)), data)
    unpacked, mirrored = sentences.unpack(data), sentences.unpack(data[sentences.reversal()])
    for row, length, back, other in zip(values, LENGTHS, unpacked, mirrored, strict=True):
        assert torch.equal(back[:length, 0].long(), row[:length]) and not back[length:].any()
        assert torch.equal(other[:length, 0].long(), row[:length].flip(0))


@pytest.mark.parametrize("settings", CELLS)
@pytest.mark.parametrize("masked", [False, True])
def test_a_layer_equals_the_loop_with_one_mask_per_sentence_for_all_steps(settings, masked):
    config, sentences = RecurrentConfig(**settings), packed_lengths()
    torch.manual_seed(0)
    cell = make_cell(config, 3, 4).double()
    for parameter in cell.parameters():
        nn.init.normal_(parameter)
    vectors = torch.randn(sum(LENGTHS), 3, dtype=torch.double)
    masks = torch.randint(0, 2, (4, 4)).double() * 2 if masked else None
    states = sentences.unpack(cell(vectors, sentences, masks))
    inputs = sentences.unpack(vectors)
    for place, length in enumerate(LENGTHS):
        if length:
            mask = 1.0 if masks is None else masks[sentences.ranks[place]].numpy()
            expected = run_cell(config, parameters(cell), inputs[place, :length].numpy(), mask)
            np.testing.assert_allclose(states[place, :length].detach(), expected, atol=1e-12)


@pytest.mark.parametrize(
    "settings", [{}, {"peepholes": False, "bidirectional": True}, {"bidirectional": True, "direction_merge": "sum"}]
)
def test_gran_equals_a_loop_over_the_equations(settings):
    model = make("gran", **settings).double()
    weights = parameters(model)
    ids, mask = padded(ROWS, 9)
    output = model(ids, mask, output_gates=True)
    for place, row in enumerate(ROWS):
        words = weights["embeddings"][row].reshape(len(row), 6)
        states = states_of_both(model, words) if row else [words]
        if row and model.config.direction_merge == "sum":
            states = [sum(states)]
        elif row and model.config.bidirectional:
            states = [np.tanh(np.concatenate(states, axis=1) @ weights["merge.weight"].T + weights["merge.bias"])]
        gates = words @ weights["gate_input.weight"].T + states[0] @ weights["gate_state.weight"].T
        gates = sigmoid(gates + weights["gate_input.bias"])
        span = slice(0, len(row))
        np.testing.assert_allclose(output.gates[place, span].detach(), gates, atol=1e-12)
        np.testing.assert_allclose(output.last_hidden_state[place, span].detach(), words * gates, atol=1e-12)
        mean = (words * gates).sum(0) / max(len(row), 1)
        np.testing.assert_allclose(output.pooler_output[place].detach(), mean, atol=1e-12)
        assert not output.gates[place, len(row) :].any()


@pytest.mark.parametrize(
    "settings", [{}, {"cell": "gru", "bidirectional": True}, {"bidirectional": True, "direction_merge": "sum"}]
)
@pytest.mark.parametrize("pooling", ["last", "mean"])
def test_a_recurrent_encoder_equals_a_loop_over_the_equations(settings, pooling):
    model = make("recurrent", embedding_size=4, pooling=pooling, **settings).double()
    ids, mask = padded(ROWS, 9)
    output = model(ids, mask)
    for place, row in enumerate(ROWS):
        if not row:
            continue
        both = states_of_both(model, parameters(model)["embeddings"][row])
        ends = [state[end] for state, end in zip(both, (-1, 0), strict=False)]
        merged = sum if model.config.direction_merge == "sum" else partial(np.concatenate, axis=-1)
        pooled = merged([state.mean(0) for state in both] if pooling == "mean" else ends)
        np.testing.assert_allclose(output.pooler_output[place].detach(), pooled, atol=1e-12)
        states = merged(both)
        if pooling == "last" and len(both) == 1:
            # What each word adds to the last state.
            states = len(row) * np.diff(states, axis=0, prepend=np.zeros((1, 6)))
        if pooling == "mean" or len(both) == 1:
            np.testing.assert_allclose(output.last_hidden_state[place, : len(row)].detach(), states, atol=1e-12)


def test_first_weights_follow_the_reference_code_or_wieting_and_gimpel():
    model = new_model("gran", vocab_size=400, hidden_size=100)
    matrices = ("recurrent.weight_input", "recurrent.weight_state", "gate_input.weight", "gate_state.weight")
    assert abs(model.recurrent.peepholes.std() - 0.1) < 0.015 and model.recurrent.peepholes.shape == (3, 100)
    for name, value in model.named_parameters():
        if name in matrices:
            assert 0.095 < value.std() < 0.105 and value.mean().abs() < 0.005, name
        elif name not in ("embeddings", "recurrent.peepholes"):
            assert not value.any(), name
    assert 0.0095 < model.embeddings[1:].std() < 0.0105 and not model.embeddings[0].any()
    model = new_model("gran", vocab_size=400, hidden_size=100, cell="gru")
    bound = (6 / 200) ** 0.5  # Xavier for one square matrix, not for the stacked ones
    matrices = ("weight_input", "weight_gates", "weight_candidate", "gate_input.weight", "gate_state.weight")
    for name, value in model.named_parameters():
        if name.endswith(matrices):
            assert 0.99 * bound < value.abs().max() <= bound, name
        elif name != "embeddings":
            assert not value.any(), name
    assert 0.0099 < model.embeddings.abs().max() <= 0.01


@pytest.mark.parametrize("settings", CELLS[:3:2])
def test_variational_dropout_of_the_network_leaves_the_averaged_words_whole(settings):
    model = make("gran", variational_dropout=0.5, variational_dropout_of="network", **settings).train()
    ids, mask = padded(ROWS, 8)
    output = model(ids, mask, output_gates=True)
    words = model.embeddings[ids] * (output.gates != 0)
    torch.testing.assert_close(output.last_hidden_state, words * output.gates)
    # If words are dropped, too, half of the averaged components are zero, and the rest twice as large.
    model.config.variational_dropout_of = "words"
    torch.manual_seed(0)
    output = model(ids, mask, output_gates=True)
    counted = output.gates.any(-1)
    dropped = output.last_hidden_state[counted] == 0
    assert 0.3 < dropped.float().mean() < 0.7
    whole = (2 * model.embeddings[ids] * output.gates)[counted]
    torch.testing.assert_close(output.last_hidden_state[counted][~dropped], whole[~dropped])


def test_a_gran_of_an_old_folder_that_names_no_peepholes_has_none():
    saved = GranConfig(vocab_size=9, hidden_size=4, peepholes=False).to_dict()
    del saved["peepholes"]
    assert GranConfig.from_dict(saved).peepholes is False and GranConfig(vocab_size=9, hidden_size=4).peepholes
