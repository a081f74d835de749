"""Small encoders in folders."""

from __future__ import annotations

import torch

from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"w{number}" for number in range(10)]


def write_average(folder, words=WORDS, *, seed=0, classes=(AvgModel, AvgConfig), **settings):
    """Writes an average over words or a tokenizer, or another model, of 5 components; returns the folder."""
    tokenizer = build_word_level_tokenizer(words) if isinstance(words, list) else words
    torch.manual_seed(seed)
    sizes = {"hidden_size": 5, "initializer_range": 0.5, "unk_token_id": tokenizer.unk_token_id}
    sizes |= {} if "vocab_sizes" in settings else {"vocab_size": len(tokenizer)}
    model, config = classes
    model(config(**{**sizes, **settings})).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    return folder
