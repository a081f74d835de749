from __future__ import annotations

import numpy as np
import pytest
import torch
from transformers import AutoModel

import hf_paraphrase  # noqa: F401  (registers the model types)
from hf_paraphrase.models.gran.configuration_gran import GranConfig
from hf_paraphrase.models.gran.modeling_gran import GranModel

ROWS = [[5, 6, 7, 5], [8], [], [1, 2, 3, 4, 9, 10, 11]]
VARIANTS = [
    {"cell": "lstm"},
    {"cell": "gru"},
    {"cell": "gru", "candidate_activation": "tanh"},
    {"cell": "gru", "negative_slope": 0.01},
]


def make(size=6, **settings):
    torch.manual_seed(3)
    model = GranModel(GranConfig(vocab_size=40, hidden_size=size, initializer_range=0.8, **settings)).eval()
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():  # biases start at zero, where a misplaced one would not be seen
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model


def padded(rows, length, *, left=False):
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    mask = torch.zeros(len(rows), length, dtype=torch.long)
    for place, row in enumerate(rows):
        span = slice(length - len(row), length) if left else slice(0, len(row))
        ids[place, span] = torch.tensor(row, dtype=torch.long)
        mask[place, span] = 1
    return ids, mask


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gated_by_hand(model, row):
    """a_t (length, size) of one sentence, one step after another, from the equations of the papers."""
    p = {name: value.detach().double().numpy() for name, value in model.state_dict().items()}
    size = model.config.hidden_size
    h = c = np.zeros(size)
    result = []
    for token in row:
        x = p["embeddings"][token]
        if model.config.cell == "lstm":
            w, u, b = (
                p["recurrent.weight_input"].reshape(4, size, size),
                p["recurrent.weight_state"].reshape(4, size, size),
                p["recurrent.bias"].reshape(4, size),
            )
            i, f, o = (sigmoid(w[k] @ x + u[k] @ h + b[k]) for k in (0, 1, 3))
            c = f * c + i * np.tanh(w[2] @ x + u[2] @ h + b[2])
            h = o * np.tanh(c)
        else:
            w = p["recurrent.weight_input"].reshape(3, size, size)
            u = p["recurrent.weight_gates"].reshape(2, size, size)
            r = sigmoid(w[0] @ x + u[0] @ h)
            z = sigmoid(w[1] @ x + u[1] @ h)
            pre = w[2] @ x + p["recurrent.weight_candidate"] @ (r * h) + p["recurrent.bias_candidate"]
            slope = model.config.negative_slope
            f = np.tanh(pre) if model.config.candidate_activation == "tanh" else np.where(pre > 0, pre, slope * pre)
            h = (1 - z) * h + z * f
        gate = sigmoid(p["gate_input.weight"] @ x + p["gate_state.weight"] @ h + p["gate_input.bias"])
        result.append(x * gate)
    return np.array(result)


@pytest.mark.parametrize("settings", VARIANTS)
@pytest.mark.parametrize("left", [False, True])
def test_output_equals_a_loop_over_the_equations(settings, left):
    model = make(**settings).double()
    ids, mask = padded(ROWS, 9, left=left)
    output = model(ids, mask)
    for place, row in enumerate(ROWS):
        span = slice(9 - len(row), 9) if left else slice(0, len(row))
        expected = gated_by_hand(model, row) if row else np.zeros((0, 6))
        np.testing.assert_allclose(output.last_hidden_state[place, span].detach().numpy(), expected, atol=1e-12)
        mean = expected.mean(0) if row else np.zeros(6)
        np.testing.assert_allclose(output.pooler_output[place].detach().numpy(), mean, atol=1e-12)
        assert not output.last_hidden_state[place, mask[place] == 0].any()


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_padding_order_and_company_change_nothing_beyond_rounding(cell):
    model = make(size=32, cell=cell)
    alone = torch.stack([model(torch.tensor([row], dtype=torch.long)).pooler_output[0] for row in ROWS])
    for length, left in ((7, False), (40, False), (40, True)):
        ids, mask = padded(ROWS, length, left=left)
        torch.testing.assert_close(model(ids, mask).pooler_output, alone, atol=1e-6, rtol=0)
        torch.testing.assert_close(model(ids).pooler_output, alone, atol=1e-6, rtol=0)
        torch.testing.assert_close(model(ids.flip(0)).pooler_output.flip(0), alone, atol=1e-6, rtol=0)


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_empty_texts_embed_to_zeros(cell):
    model = make(cell=cell)
    for shape in ((2, 0), (2, 3), (0, 3)):
        output = model(torch.zeros(shape, dtype=torch.long))
        assert torch.equal(output.pooler_output, torch.zeros(shape[0], 6))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_a_gap_in_the_mask_is_skipped_by_the_recurrence(cell):
    model = make(cell=cell)
    ids = torch.tensor([[5, 9, 6, 7]])
    mask = torch.tensor([[1, 0, 1, 1]])
    output = model(ids, mask)
    expected = model(torch.tensor([[5, 6, 7]]))
    torch.testing.assert_close(output.pooler_output, expected.pooler_output)
    torch.testing.assert_close(output.last_hidden_state[:, [0, 2, 3]], expected.last_hidden_state)
    assert not output.last_hidden_state[:, 1].any()


def test_order_of_words_matters():
    model = make()
    output = model(torch.tensor([[5, 6, 7], [7, 6, 5]])).pooler_output
    assert (output[0] - output[1]).abs().max() > 1e-3


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_gate_fully_open_reduces_to_the_plain_mean(cell):
    model = make(cell=cell)
    with torch.no_grad():
        model.gate_input.bias.fill_(60.0)
    ids = torch.tensor([[5, 6, 7]])
    torch.testing.assert_close(model(ids).pooler_output[0], model.embeddings[[5, 6, 7]].mean(0))


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_dtype_follows_the_model(cell, dtype):
    assert make(cell=cell).to(dtype)(torch.tensor([[5, 6]])).pooler_output.dtype == dtype


def test_lstm_starts_as_the_reference_code_does():
    torch.manual_seed(0)
    model = GranModel(GranConfig(vocab_size=400, hidden_size=100))
    matrices = ("recurrent.weight_input", "recurrent.weight_state", "gate_input.weight", "gate_state.weight")
    for name, value in model.named_parameters():
        if name in matrices:
            assert 0.095 < value.std() < 0.105 and value.mean().abs() < 0.005, name
        elif name != "embeddings":
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


@pytest.mark.parametrize("settings", VARIANTS)
def test_saved_model_opens_with_auto_model_and_gives_equal_vectors(settings, tmp_path):
    model = make(**settings)
    model.save_pretrained(tmp_path)
    loaded = AutoModel.from_pretrained(tmp_path)
    ids, mask = padded(ROWS, 9)
    assert type(loaded) is GranModel and all(item.requires_grad for item in loaded.parameters())
    assert torch.equal(loaded(ids, mask)[0], model(ids, mask)[0])


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_gradient_agrees_with_finite_differences(cell):
    model = make(size=3, cell=cell).double()
    ids, mask = padded(ROWS, 8)
    names = [name for name, _ in model.named_parameters()]

    def function(*values):
        return torch.func.functional_call(model, dict(zip(names, values, strict=True)), (ids, mask)).pooler_output

    values = tuple(item.detach().requires_grad_() for item in model.parameters())
    assert torch.autograd.gradcheck(function, values, fast_mode=True)


@pytest.mark.parametrize("kind", ["dropout", "word_dropout"])
def test_dropout_acts_in_training_only(kind):
    model = make(**{kind: 0.5})
    ids = torch.tensor([[5, 6, 7, 8, 9, 10]]).expand(50, -1)
    assert torch.equal(model(ids).pooler_output, model(ids).pooler_output)
    model.train()
    assert model(ids).pooler_output.std(0).min() > 0.01


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_ten_thousand_tokens_give_finite_vectors(cell):
    ids = torch.randint(2, 40, (1, 10_000), generator=torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    model = GranModel(GranConfig(vocab_size=40, hidden_size=8, cell=cell)).eval()
    with torch.inference_mode():
        assert model(ids).pooler_output.isfinite().all()


@pytest.mark.parametrize("wrong", [{"cell": "rnn"}, {"candidate_activation": "relu"}, {"dropout": 2.0}])
def test_senseless_settings_are_refused(wrong):
    with pytest.raises(ValueError):
        GranConfig(**wrong)
