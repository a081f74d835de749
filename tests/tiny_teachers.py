"""Teachers small enough to be created again: a BERT with random weights, as a folder."""

from __future__ import annotations

import numpy as np
import torch
from transformers import BertConfig, BertModel

from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"{letter}{number}" for letter in "abc" for number in range(14)]


def write_teacher(folder, seed=0, size=16, words=WORDS):
    """Writes a BERT over some words into a folder."""
    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(words) + 2,
        hidden_size=size,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=32,
        initializer_range=0.5,
    )
    model = BertModel(config)
    # What an average can learn: the order of words does not matter.
    model.embeddings.position_embeddings.weight.data.zero_()
    model.save_pretrained(folder)
    save_tokenizer(build_word_level_tokenizer(words), folder)
    return folder


def sentences(count, seed=0, words=WORDS):
    """Draws sentences of two to eight words."""
    generator = np.random.default_rng(seed)
    return [" ".join(generator.choice(words, generator.integers(2, 9))) for _ in range(count)]


class Recorder:
    """An encoder that records the texts it encodes, and may stop early."""

    def __init__(self, encoder, fail_after=None, spoil=None):
        self.encoder, self.fail_after, self.spoil, self.asked = encoder, fail_after, spoil, []

    @property
    def dimension(self):
        return self.encoder.dimension

    def encode(self, texts, *, show_progress_bar=False):
        if self.fail_after is not None and len(self.asked) + len(texts) > self.fail_after:
            raise KeyboardInterrupt
        self.asked += texts
        found = self.encoder.encode(texts)
        if self.spoil is not None and self.spoil in texts:
            found[texts.index(self.spoil), 3] = np.nan
        return found
