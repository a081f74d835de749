"""Weights of tokens by frequency, and centred embeddings: changes to an average of token vectors without training.

Frequent words and punctuation say little about the meaning of a sentence, but all sentences have them, and so become
similar. Arora, Liang and Ma (2017, section 3) multiply the vector of a token with the relative frequency p by
a / (a + p). Mu and Viswanath (2018) subtract the mean vector. Both change the table of an average only.

Words of several tokens are rare, but their tokens belong to many words and have learned short vectors. Longer ones
let such words count as much as other rare words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import UsageError
from ..models.joined_tokenizers import JoinedTokenizers
from ..text.words import python_class, unspaced_letters

_SENTENCES_AT_ONCE = 10_000


@torch.no_grad()
def weight_tokens_by_frequency(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str], constant: float
) -> None:
    """Multiply the vector of each token of an average, which changes, by a / (a + p).

    Args:
        model: The average.
        tokenizer: Its tokenizer.
        sentences: Text to count the relative frequencies p in, with equally many tokens per language.
        constant: a. The vector of a token with p > a loses more than half of its length.
    """
    table = model.get_parameter("embeddings")
    counts = SentenceEncoder(model, tokenizer).token_ids(sentences).counts(len(table))
    frequencies = torch.from_numpy(counts / counts.sum()).to(table)
    table.mul_((constant / (constant + frequencies))[:, None])


@torch.no_grad()
def weight_subwords(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str], weight: float
) -> None:
    """Multiply the vector of each token by 1 + weight · s, in place.

    Args:
        model: An average, or joined averages.
        tokenizer: Its tokenizer.
        sentences: Text to count s in: the fraction of a token's occurrences that are in words of several tokens. It
            is 0 for tokens of scripts without spaces, and in tables of whole words or trigrams.
        weight: How much longer the vector of a token becomes that occurs in such words only.
    """
    table = model.get_parameter("embeddings")
    letter = re.compile(f"[{python_class(unspaced_letters())}]")
    start, is_changed, backend = 0, False, tokenizer.backend_tokenizer
    for part in backend.parts if isinstance(backend, JoinedTokenizers) else [backend]:
        names = part.get_vocab()
        size = 1 + max(names.values())
        fractions = _measure_split_fractions(part, sentences, size)
        fractions[[token_id for name, token_id in names.items() if letter.search(name)]] = 0
        table[start : start + size].mul_(1 + weight * torch.from_numpy(fractions).to(table)[:, None])
        is_changed |= bool(fractions.any())
        start += size
    if not is_changed:
        what = "--subword-weight changes nothing: the tokenizer splits no word of the sentences into several tokens"
        raise UsageError(what, remedy="leave it out, or give sentences with rare words")


def _measure_split_fractions(part: Tokenizer, sentences: Sequence[str], size: int) -> NDArray[np.float64]:
    """Return for each id (size,) the fraction of its occurrences in words of several tokens, 0 without occurrence."""
    counts, split = np.zeros(size), np.zeros(size)
    part = Tokenizer.from_str(part.to_str())
    part.no_padding()
    part.no_truncation()
    for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
        batch = list(sentences[start : start + _SENTENCES_AT_ONCE])
        for encoding in part.encode_batch(batch, add_special_tokens=False):
            ids, words = np.array(encoding.ids, np.int64), np.array(encoding.word_ids, np.int64)
            np.add.at(counts, ids, 1)
            np.add.at(split, ids, np.bincount(words)[words] > 1)
    return split / np.maximum(counts, 1)


@torch.no_grad()
def center_embeddings(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, sentences: Sequence[str]) -> None:
    """Subtract the mean embedding of some sentences from every row of an average's table, in place."""
    vectors = SentenceEncoder(model, tokenizer).encode(list(sentences))
    # Sentences without known tokens have no embedding.
    embedded = vectors[vectors.any(axis=1)]
    table = model.get_parameter("embeddings")
    table.sub_(torch.from_numpy(embedded.mean(axis=0)).to(table))
