"""Word dropout of the translation model."""

from __future__ import annotations

import pytest
import torch

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration, RnnSearchWordDropout


def test_word_dropout_leaves_out_whole_words_and_scales_up_the_others() -> None:
    torch.manual_seed(0)
    dropped = RnnSearchWordDropout(0.25)(torch.ones(200, 50, 3))
    assert dropped.unique().tolist() == pytest.approx([0.0, 1 / 0.75])
    assert (dropped == dropped[..., :1]).all()
    assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.02)


def test_word_dropout_does_nothing_outside_training() -> None:
    embedded = torch.randn(2, 3, 4)
    assert torch.equal(RnnSearchWordDropout(0.5).eval()(embedded), embedded)
    assert torch.equal(RnnSearchWordDropout(0.0)(embedded), embedded)


@pytest.mark.parametrize("side", ["source", "target"])
def test_word_dropout_acts_on_both_sides_of_the_model(side: str) -> None:
    """With all words of a side left out, other words on that side cannot change the logits."""
    torch.manual_seed(0)
    config = RnnSearchConfig(
        vocab_size=11, embedding_size=4, hidden_size=6, initialization="xavier", word_dropout=1 - 1e-7
    )
    model = RnnSearchForConditionalGeneration(config).train()
    (model.decoder if side == "source" else model.encoder).word_dropout.rate = 0.0
    source = torch.tensor([[3, 4, 5]]), torch.tensor([[6, 7, 8]])
    target = torch.tensor([[1, 4, 5]]), torch.tensor([[1, 9, 10]])
    first, second = (
        model(
            input_ids=source[number if side == "source" else 0],
            decoder_input_ids=target[number if side == "target" else 0],
        ).logits
        for number in (0, 1)
    )
    assert torch.equal(first, second)
    model.eval()
    assert not torch.equal(
        model(input_ids=source[0], decoder_input_ids=target[0]).logits,
        model(
            input_ids=source[1 if side == "source" else 0], decoder_input_ids=target[1 if side == "target" else 0]
        ).logits,
    )
