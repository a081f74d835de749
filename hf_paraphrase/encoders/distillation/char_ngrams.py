"""Token vectors with character n-grams during training.

As in fastText (Bojanowski et al. 2017, "Enriching Word Vectors with Subword Information"), the vector of a token is
the sum of its own vector and the vectors of the character n-grams of its spelling, which are hashed into buckets:

    row(token) = E[token] + sum over its n-grams of G[bucket]

A rare or unseen token thus gets a vector from tokens with a similar spelling. After training, the sums are folded into
the table, and the finished model has one vector per token.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ...text.hashing import hash64
from ...tokenization.encoder_pieces import SPACE
from ...tokenization.ragged_ids import ends_of, ranges

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

_SIZES = (3, 4, 5)
_BEGIN, _END = "<", ">"
_INSIDE = "##"
_ROWS_PER_BLOCK = 1 << 14
_INITIAL_RANGE = 0.01


def character_ngrams(spelling: str) -> list[str]:
    """List the n-grams of a spelling with its boundary marks, shorter ones first; all of it if it is too short."""
    ngrams = [spelling[start : start + size] for size in _SIZES for start in range(len(spelling) - size + 1)]
    return ngrams or [spelling]


def spell_tokens(tokenizer: PreTrainedTokenizerFast) -> list[str | None]:
    """Spell the tokens of a vocabulary with boundary marks: `<word>`, and `ing>` for a piece `##ing` inside a word.

    In a vocabulary that marks the beginning of a word (`▁word`), a token may continue, so it has no mark at its end; a
    token without `▁` is inside a word and has no marks.

    Returns:
        The spelling of each token by its id, None for special tokens. A joint tokenizer returns the spellings of its
        first tokenizer.
    """
    size = getattr(tokenizer, "part_sizes", [len(tokenizer)])[0]
    tokens: list[str] = tokenizer.convert_ids_to_tokens(range(size))
    special = set(tokenizer.all_special_tokens)
    marked = any(token.startswith(SPACE) for token in tokens)
    spelled: list[str | None] = []
    for token in tokens:
        if token in special or token in (SPACE, _INSIDE):
            spelled.append(None)
        elif marked:
            spelled.append(f"{_BEGIN}{token.removeprefix(SPACE)}" if token.startswith(SPACE) else token)
        elif token.startswith(_INSIDE):
            spelled.append(f"{token.removeprefix(_INSIDE)}{_END}")
        else:
            spelled.append(f"{_BEGIN}{token}{_END}")
    return spelled


class CharNgramEmbeddings(nn.Module):
    """The vectors of the character n-grams of a vocabulary, `table` (buckets, dimension).

    Args:
        spelt: The spelling of each token by its id, None for a token without n-grams; further tokens have none.
        size: Number of tokens.
        dimension: Components of a vector.
        buckets: Number of vectors that the n-grams share by hashing.
        seed: Seed of the initial vectors.
    """

    def __init__(self, spelt: Sequence[str | None], size: int, dimension: int, *, buckets: int, seed: int = 0) -> None:
        super().__init__()
        grams = [[] if word is None else character_ngrams(word) for word in spelt]
        lengths = np.zeros(size, np.int64)
        lengths[: len(grams)] = [len(ngrams) for ngrams in grams]
        self._ends = ends_of(lengths)
        hashed = hash64(chain.from_iterable(grams))
        self._buckets = (hashed % np.uint64(buckets)).astype(np.int64)
        generator = torch.Generator().manual_seed(seed)
        self.table = nn.Parameter(torch.randn(buckets, dimension, generator=generator) * _INITIAL_RANGE)

    def of_rows(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the concatenated buckets of the n-grams of some tokens, and the offset of each token."""
        starts = self._ends[rows]
        lengths = self._ends[rows + 1] - starts
        return self._buckets[ranges(starts, lengths)], lengths.cumsum() - lengths

    @torch.no_grad()
    def folded(self, embeddings: Tensor) -> Tensor:
        """Return the table (vocabulary, dimension) with the n-gram vectors added."""
        table = embeddings.detach().clone()
        for start in range(0, len(table), _ROWS_PER_BLOCK):
            rows = np.arange(start, min(start + _ROWS_PER_BLOCK, len(table)))
            buckets, offsets = (torch.from_numpy(part).to(table.device) for part in self.of_rows(rows))
            if len(buckets):
                table[start : start + len(rows)] += functional.embedding_bag(buckets, self.table, offsets, mode="sum")
        return table
