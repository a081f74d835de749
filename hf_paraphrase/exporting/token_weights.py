"""Weights of tokens by frequency, and centred embeddings: changes to an average of token vectors without training.

Frequent words and punctuation say little about the meaning of a sentence, but all sentences have them, and so become
similar. Arora, Liang and Ma (2017, section 3) multiply the vector of a token with the relative frequency p by
a / (a + p). Mu and Viswanath (2018) subtract the mean vector. Both change the table of an average only.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..artefacts.provenance import PROVENANCE, SOURCE_PROVENANCE, read_provenance
from ..encoders.sentence_encoder import SentenceEncoder


@torch.no_grad()
def weight_tokens_by_frequency(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str], constant: float
) -> None:
    """Multiply the vector of each token of an average by a / (a + p), in place.

    Args:
        model: The average.
        tokenizer: Its tokenizer.
        sentences: Sentences from which the relative frequencies p are counted, with equally many tokens per language.
        constant: a. The vector of a token with p > a loses more than half of its length.
    """
    table = model.get_parameter("embeddings")
    counts = SentenceEncoder(model, tokenizer).token_ids(sentences).counts(len(table))
    frequencies = torch.from_numpy(counts / counts.sum()).to(table)
    table.mul_((constant / (constant + frequencies))[:, None])


def find_frequency_weight(folder: Path) -> Any:
    """Return the constant a with which an earlier export weighted the tokens of a folder; None for no weights."""
    for name in (PROVENANCE, SOURCE_PROVENANCE):
        record = read_provenance(folder, name)
        settings = record.get("settings", {}) if str(record.get("command")).endswith("export") else {}
        constant = record.get("results", {}).get("frequency_weight") or settings.get("frequency_weight")
        if constant is not None:
            return constant
    return None


@torch.no_grad()
def center_embeddings(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]) -> None:
    """Subtract the mean embedding of some sentences from every row of an average's table, which is changed."""
    vectors = SentenceEncoder(model, tokenizer).encode(list(sentences))
    # Sentences without known tokens have no embedding.
    embedded = vectors[vectors.any(axis=1)]
    table = model.get_parameter("embeddings")
    table.sub_(torch.from_numpy(embedded.mean(axis=0)).to(table))
