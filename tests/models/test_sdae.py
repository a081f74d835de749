from __future__ import annotations

import pytest
import torch
from padded_rows import labels_of, padded
from tiny_encoders import new_model, with_all_parameters_moved
from torch import nn
from torch.nn import functional

ROWS = [[5, 6, 7], [8], [], [9, 5, 5, 11, 3, 2], [1, 4], [7, 7, 7, 7, 7]]
SAID = [[5, 6, 7, 4], [8, 2], [3], [9, 5, 11, 3], [], [7, 7]]


def make(size=6, embedding_size=4, vocab_size=20, **settings):
    sizes = {"vocab_size": vocab_size, "hidden_size": size, "embedding_size": embedding_size}
    return with_all_parameters_moved(new_model("sdae", seed=3, initializer_range=0.5, **sizes, **settings))


def torch_gru(layer, vectors, initial=None, context=None):
    """States (length, size) by `torch.nn.GRU`, which has a second bias and sees the context as part of its input."""
    weight = layer.weight_input
    if context is not None:
        weight = torch.cat([weight, layer.weight_context], dim=1)
        vectors = torch.cat([vectors, context.expand(len(vectors), -1)], dim=1)
    gru = nn.GRU(weight.shape[1], layer.size).to(vectors.dtype)
    names = {"weight_ih_l0": weight, "weight_hh_l0": layer.weight_state, "bias_ih_l0": layer.bias}
    named = {**names, "bias_hh_l0": torch.zeros_like(layer.bias)}
    start = vectors.new_zeros(1, layer.size) if initial is None else initial.unsqueeze(0)
    return torch.func.functional_call(gru, named, (vectors, start))[0]


def loss_by_hand(model, rows, said):
    """The mean over the sentences of what saying each of them costs, one at a time, all by PyTorch's own layers."""
    total = torch.zeros((), dtype=model.dtype)
    decoder, end = model.decoder, model.config.pad_token_id
    table = model.embeddings if decoder.embeddings is None else decoder.embeddings
    for row, words in zip(rows, said, strict=True):
        embedding = torch.zeros(model.config.hidden_size, dtype=model.dtype)
        if row:
            embedding = torch_gru(model.recurrent, model.embeddings[row])[-1]
        read = torch.cat([torch.zeros_like(table[:1]), table[words]])
        states = torch_gru(decoder.recurrent, read, torch.tanh(decoder.start(embedding)), embedding)
        if decoder.readout is not None:
            states = states @ decoder.readout.weight.T
        logits = states @ decoder.output.weight.T + decoder.output.bias
        total = total + functional.cross_entropy(logits, torch.tensor([*words, end]), reduction="sum")
    return total / len(said)


@pytest.mark.parametrize("settings", [{}, {"readout_size": 3, "share_embeddings": False}])
@pytest.mark.parametrize("left", [False, True])
def test_loss_and_gradients_are_those_of_pytorchs_own_layers_sentence_by_sentence(settings, left):
    model = make(**settings).double()
    ids, mask = padded(ROWS, 8, left=left)
    found = model(ids, mask, labels=labels_of(SAID, 7, left=left), return_token_vectors=False).loss
    expected = loss_by_hand(model, ROWS, SAID)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=0)
    parameters = list(model.parameters())
    pairs = zip(torch.autograd.grad(found, parameters), torch.autograd.grad(expected, parameters), strict=True)
    for (name, _), (mine, theirs) in zip(model.named_parameters(), pairs, strict=True):
        assert theirs.any(), name
        torch.testing.assert_close(mine, theirs, rtol=1e-9, atol=1e-12, msg=name)


def test_initial_weights_follow_the_authors_code_or_xavier():
    sizes = {"vocab_size": 200, "hidden_size": 32, "embedding_size": 16}
    model = new_model("sdae", **sizes)
    for layer in (model.recurrent, model.decoder.recurrent):
        for block in layer.weight_state.chunk(3):
            torch.testing.assert_close(block @ block.T, torch.eye(32), atol=1e-5, rtol=0)
        assert 0.009 < layer.weight_input.std() < 0.011 and not layer.bias.any()
    reset, update, candidate = model.decoder.recurrent.weight_context.chunk(3)
    assert 0.008 < reset.std() < 0.012 and 0.008 < update.std() < 0.012
    for square in (candidate, model.decoder.start.weight):
        torch.testing.assert_close(square @ square.T, torch.eye(32), atol=1e-5, rtol=0)
    assert 0.009 < model.decoder.output.weight.std() < 0.011 and not model.embeddings[0].any()
    model = new_model("sdae", initialization="xavier", **sizes)
    bound = (6 / (32 + 16)) ** 0.5
    assert 0.9 * bound < model.recurrent.weight_input.abs().max() <= bound
