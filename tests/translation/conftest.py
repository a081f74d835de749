from __future__ import annotations

import pytest
import torch
from tiny_encoders import new_translator

from hf_paraphrase.tokenization.subword import train_bpe_tokenizer

WORDS = ["un", "deux", "trois", "one", "two", "three"]


@pytest.fixture(scope="session")
def tiny_tokenizer():
    """A few dozen units: letters and some words."""
    return train_bpe_tokenizer([f"{first} {second}" for first in WORDS for second in WORDS], 40)


@pytest.fixture
def make_model(tiny_tokenizer):
    """Makes an untrained model with weights large enough to prefer some words to others."""

    def make(seed=0, end_bias=0.0, **settings):
        model = new_translator(len(tiny_tokenizer), seed=seed, **settings)
        with torch.no_grad():
            model.lm_head.bias[tiny_tokenizer.eos_token_id] += end_bias
            model.lm_head.bias[tiny_tokenizer.pad_token_id] = -100.0
            model.lm_head.bias[tiny_tokenizer.bos_token_id] = -100.0
        return model

    return make
