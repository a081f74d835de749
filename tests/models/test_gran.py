from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from padded_rows import padded
from recurrent_by_hand import ROWS, parameters, sigmoid, states_of_both, with_all_parameters_moved

import hf_paraphrase  # noqa: F401  (registers the model types)
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_gran import GranModel

VARIANTS = [
    {"cell": "lstm"},
    {"cell": "lstm", "peepholes": False},
    {"cell": "lstm", "output_gate": False},
    {"cell": "lstm", "output_gate": False, "peepholes": False},
    {"cell": "lstm", "bidirectional": True},
    {"cell": "lstm", "peepholes": False, "bidirectional": True, "direction_merge": "sum"},
    {"cell": "gru"},
    {"cell": "gru", "candidate_activation": "tanh"},
    {"cell": "gru", "negative_slope": 0.01, "bidirectional": True},
]
CELLS = [{"cell": "lstm"}, {"cell": "lstm", "peepholes": False}, {"cell": "gru"}]


def make(size=6, **settings):
    torch.manual_seed(3)
    model = GranModel(GranConfig(vocab_size=40, hidden_size=size, initializer_range=0.8, **settings))
    return with_all_parameters_moved(model)


def gates_by_hand(model, row):
    """x_t and its gate (length, size) of one sentence, one step after another, from the equations of the papers."""
    p = parameters(model)
    xs = p["embeddings"][row]
    states = states_of_both(model, xs)
    if model.config.bidirectional and model.config.direction_merge == "concat":
        states = [np.tanh(np.concatenate(states, axis=1) @ p["merge.weight"].T + p["merge.bias"])]
    gates = sigmoid(xs @ p["gate_input.weight"].T + sum(states) @ p["gate_state.weight"].T + p["gate_input.bias"])
    return xs, gates


@pytest.mark.parametrize("settings", VARIANTS)
@pytest.mark.parametrize("left", [False, True])
def test_output_equals_a_loop_over_the_equations(settings, left):
    model = make(**settings).double()
    ids, mask = padded(ROWS, 9, left=left)
    output = model(ids, mask, output_gates=True)
    for place, row in enumerate(ROWS):
        span = slice(9 - len(row), 9) if left else slice(0, len(row))
        words, gates = gates_by_hand(model, row) if row else (np.zeros((0, 6)), np.zeros((0, 6)))
        np.testing.assert_allclose(output.gates[place, span].detach().numpy(), gates, atol=1e-12)
        np.testing.assert_allclose(output.last_hidden_state[place, span].detach().numpy(), words * gates, atol=1e-12)
        mean = (words * gates).mean(0) if row else np.zeros(6)
        np.testing.assert_allclose(output.pooler_output[place].detach().numpy(), mean, atol=1e-12)
        assert not output.last_hidden_state[place, mask[place] == 0].any()
        assert not output.gates[place, mask[place] == 0].any()


def test_lstm_starts_as_the_reference_code_does():
    torch.manual_seed(0)
    model = GranModel(GranConfig(vocab_size=400, hidden_size=100))
    matrices = ("recurrent.weight_input", "recurrent.weight_state", "gate_input.weight", "gate_state.weight")
    assert abs(model.recurrent.peepholes.std() - 0.1) < 0.015 and model.recurrent.peepholes.shape == (3, 100)
    for name, value in model.named_parameters():
        if name in matrices:
            assert 0.095 < value.std() < 0.105 and value.mean().abs() < 0.005, name
        elif name not in ("embeddings", "recurrent.peepholes"):
            assert not value.any(), name
    assert 0.0095 < model.embeddings[1:].std() < 0.0105 and not model.embeddings[0].any()


def test_gru_starts_as_paper_003_says():
    torch.manual_seed(0)
    model = GranModel(GranConfig(vocab_size=400, hidden_size=100, cell="gru"))
    bound = (6 / 200) ** 0.5  # Xavier for one square matrix, not for the stacked ones
    matrices = ("weight_input", "weight_gates", "weight_candidate", "gate_input.weight", "gate_state.weight")
    for name, value in model.named_parameters():
        if name.endswith(matrices):
            assert 0.99 * bound < value.abs().max() <= bound, name
        elif name != "embeddings":
            assert not value.any(), name
    assert 0.0099 < model.embeddings.abs().max() <= 0.01


@pytest.mark.parametrize("settings", CELLS)
def test_variational_dropout_of_the_network_leaves_the_averaged_words_whole(settings):
    model = make(variational_dropout=0.5, variational_dropout_of="network", **settings).train()
    ids, mask = padded(ROWS, 8)
    output = model(ids, mask, output_gates=True)
    words = model.embeddings[ids] * (output.gates != 0)
    torch.testing.assert_close(output.last_hidden_state, words * output.gates)
    # Where words are dropped too, half of the components of what is averaged are zero, and the others twice as large.
    model.config.variational_dropout_of = "words"
    torch.manual_seed(0)
    output = model(ids, mask, output_gates=True)
    counted = output.gates.any(-1)
    dropped = output.last_hidden_state[counted] == 0
    assert 0.3 < dropped.float().mean() < 0.7
    whole = (2 * model.embeddings[ids] * output.gates)[counted]
    torch.testing.assert_close(output.last_hidden_state[counted][~dropped], whole[~dropped])


def test_a_folder_from_before_peepholes_keeps_its_network_without_them(tmp_path):
    model = make(peepholes=False)
    model.save_pretrained(tmp_path)
    path = tmp_path / "config.json"
    settings = json.loads(path.read_text())
    assert settings.pop("peepholes") is False
    path.write_text(json.dumps(settings))
    loaded = GranModel.from_pretrained(tmp_path)
    assert loaded.config.peepholes is False
    torch.testing.assert_close(loaded(torch.tensor([[5, 6]]))[1], model(torch.tensor([[5, 6]]))[1])
    assert GranConfig().peepholes is True and GranConfig(cell="gru").peepholes is False
