from __future__ import annotations

import numpy as np
import pytest
import torch
from recurrent_by_hand import run_cell, with_all_parameters_moved
from torch import nn

from hf_paraphrase.models.configuration_recurrent import RecurrentConfig
from hf_paraphrase.models.packed_sentences import PackedSentences
from hf_paraphrase.models.recurrent_layers import initialize_layer, make_cell

LENGTHS = [3, 0, 5, 1, 5]
CELLS = [
    {"cell": "lstm"},
    {"cell": "lstm", "peepholes": False},
    {"cell": "lstm", "output_gate": False},
    {"cell": "lstm", "output_gate": False, "peepholes": False},
    {"cell": "gru"},
]


def packed_lengths(lengths=LENGTHS):
    return PackedSentences.of_mask(torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1))


def layer(size=4, inputs=3, **settings):
    torch.manual_seed(0)
    cell = make_cell(RecurrentConfig(**settings), inputs, size).double()
    initialize_layer(cell, xavier=True)
    return with_all_parameters_moved(cell)


def test_packing_is_the_order_of_torch_and_can_be_undone():
    values = torch.arange(25).view(5, 5)
    sentences = packed_lengths()
    rows = [row[:length] for row, length in zip(values, LENGTHS, strict=True) if length]
    expected = nn.utils.rnn.pack_sequence(rows, enforce_sorted=False)
    assert torch.equal(sentences.pack(values), expected.data)
    assert sentences.batch_sizes == expected.batch_sizes.tolist()
    unpacked = sentences.unpack(expected.data.unsqueeze(1).double())
    for row, length, back in zip(values, LENGTHS, unpacked, strict=True):
        assert torch.equal(back[:length, 0].long(), row[:length]) and not back[length:].any()
    assert torch.equal(sentences.unpad(sentences.pad(expected.data.unsqueeze(1))), expected.data.unsqueeze(1))
    mirrored = sentences.unpack(expected.data[sentences.reversal()].unsqueeze(1).double())
    for row, length, back in zip(values, LENGTHS, mirrored, strict=True):
        assert torch.equal(back[:length, 0].long(), row[:length].flip(0))


@pytest.mark.parametrize("settings", CELLS)
@pytest.mark.parametrize("masked", [False, True])
def test_a_layer_equals_the_loop_with_one_mask_per_sentence_for_all_steps(settings, masked):
    cell, sentences = layer(**settings), packed_lengths()
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(sum(LENGTHS), 3, generator=generator, dtype=torch.double)
    masks = torch.randint(0, 2, (4, 4), generator=generator).double() * 2 if masked else None
    states = sentences.unpack(cell(vectors, sentences, masks))
    inputs = sentences.unpack(vectors)
    weights = {name: value.detach().numpy() for name, value in cell.named_parameters()}
    config = RecurrentConfig(**settings)
    for place, length in enumerate(LENGTHS):
        if length:
            mask = 1.0 if masks is None else masks[sentences.ranks[place]].numpy()
            expected = run_cell(config, weights, inputs[place, :length].numpy(), mask)
            np.testing.assert_allclose(states[place, :length].detach(), expected, atol=1e-12)
