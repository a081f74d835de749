"""Expansions of the sentences of paraphrase pairs as token ids: made once, before training.

Beyond paper 004, which trains an autoencoder, a sentence and its expansion are taken for a pair of paraphrases, and
its compositionality loss is added to the margin loss.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformers import PreTrainedTokenizerFast

from ...encoders.augmentation import Augmentation
from ...encoders.encoded_pairs import EncodedPairs, Sentences, TokenArrays
from ...encoders.negatives import normalize_rows
from ...errors import InputError
from ...tokenization.token_ids import TokenIds
from ...tokenization.token_lookup import ids_of, lookup_for
from .expander import Expander

VARIANTS = 4
"""How many expansions a sentence has; the epochs take them in turn."""
_STREAM = 4


@dataclass
class ExpandedTraining(Augmentation):
    """Trains an encoder on expansions too: some join the pairs, and all draw their sentences' embeddings to theirs.

    The rows of the pairs are numbered as in :class:`~...encoders.encoded_pairs.EncodedPairs`: 2 * pair + side.

    Attributes:
        tokens: The ids of all expansions laid end to end (total,), int32.
        offsets: Where each expansion begins, and the end (sentences * variants + 1,), int64. Variant v of the n-th
            expanded sentence is number n * variants + v.
        numbers: For every row of the pairs which expanded sentence it is (rows,), int64; -1 if it is none.
        joined: The rows that join the training as pairs of themselves and their expansion (joined,), int64.
        weight: The weight of the compositionality loss.
    """

    tokens: NDArray[np.integer]
    offsets: NDArray[np.int64]
    numbers: NDArray[np.int64]
    joined: NDArray[np.int64]
    weight: float = 0.0
    variants: int = VARIANTS

    def __post_init__(self) -> None:
        self.size = len(self.joined)

    @property
    def num_expanded(self) -> int:
        """How many sentences have expansions."""
        return (len(self.offsets) - 1) // self.variants

    def variant(self, rows: NDArray[np.int64], epochs: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the number of the expansion that each row has in an epoch; below 0 where it has none."""
        numbers = self.numbers[rows]
        return np.where(numbers < 0, -1, numbers * self.variants + epochs % self.variants)

    def further(self, pairs: EncodedPairs, numbers: NDArray[np.int64], epochs: NDArray[np.int64]) -> Sentences:
        """Returns sentences and their expansions of the epoch.

        An expansion has the key of its sentence: neither is the other's negative.
        """
        origins = self.joined[numbers]
        sentences = pairs.sentences(origins)
        expanded = self._sentences(self.variant(origins, epochs))
        return sentences.followed_by(Sentences(expanded.tokens, expanded.offsets, sentences.keys))

    def batch(
        self, pairs: EncodedPairs, numbers: NDArray[np.int64], epochs: NDArray[np.int64], pad_token_id: int | None
    ) -> dict[str, Tensor]:
        """Looks up the expansions of the sentences of a batch; those that joined as pairs have theirs already.

        Returns:
            `expanded_rows` (expanded,), which of the sentences have one, and the expansions' `expanded_input_ids` and
            `expanded_attention_mask` (expanded, expanded length), int64, which are not scrambled; nothing where no
            sentence of the batch has one.
        """
        own = numbers < len(pairs)
        rows = np.where(own, 2 * numbers, 0)
        variants = self.variant(np.concatenate([rows, rows + own]), np.tile(epochs, 2))
        places = np.flatnonzero(np.tile(own, 2) & (variants >= 0))
        if not len(places):
            return {}
        ids, mask = self._sentences(variants[places]).padded(np.arange(len(places)), pad_token_id)
        return {
            "expanded_rows": torch.from_numpy(places),
            "expanded_input_ids": ids,
            "expanded_attention_mask": mask,
        }

    def loss(self, embed: Callable[[Tensor, Tensor], Tensor], inputs: Mapping[str, Any], vectors: Tensor) -> Tensor:
        """Computes the compositionality loss of the sentences of a batch."""
        if "expanded_rows" not in inputs:
            return 0.0 * vectors.sum()
        expanded = embed(inputs["expanded_input_ids"], inputs["expanded_attention_mask"])
        return compositionality_loss(vectors, expanded, inputs["expanded_rows"])

    def _sentences(self, variants: NDArray[np.int64]) -> Sentences:
        """Returns some of the expansions by their numbers; they have no keys."""
        keys = np.broadcast_to(np.zeros(1, np.int64), len(self.offsets) - 1)
        return Sentences(self.tokens, self.offsets, keys).take(variants)


class ExpansionWriter:
    """Expands and tokenises the sentences of pairs as they come.

    Args:
        expander: Expands; it should expand at least one word of a sentence where it can.
        share: How many pairs of a sentence and its expansion shall join, for each of the pairs, from 0 to 2; every
            sentence is drawn with half this probability, and those with nothing to expand fall out.
        weight: The weight of the compositionality loss; above 0 all sentences are expanded.
        scratch: A folder on the disk that is to hold the ids; None for the system's temporary folder.
    """

    def __init__(
        self,
        expander: Expander,
        tokenizer: PreTrainedTokenizerFast,
        *,
        share: float,
        weight: float,
        seed: int = 0,
        scratch: str | os.PathLike[str] | None = None,
    ) -> None:
        self.expander, self.share, self.weight = expander, share, weight
        self._backend = tokenizer.backend_tokenizer
        self._lookup = lookup_for(self._backend)
        self._draws = np.random.default_rng([seed, _STREAM])
        self._arrays = TokenArrays(scratch)
        self._numbers: list[NDArray[np.int64]] = []
        self._joined: list[NDArray[np.int64]] = []
        self._sentences = self._rows = 0

    def add(self, texts: list[str]) -> None:
        """Takes the sentences of the next rows of the pairs."""
        joins = self._draws.random(len(texts)) < self.share / 2
        wanted = np.flatnonzero(joins | (self.weight > 0))
        sentences = [texts[place] for place in wanted]
        parts = []
        usable = np.ones(len(wanted), bool)
        for variant in range(VARIANTS):
            expanded = self.expander.expand_counted(sentences, variant)
            encoded = ids_of(self._backend, expanded.texts, self._lookup)
            parts.append(encoded)
            usable &= (expanded.expanded > 0) & (np.diff(encoded.offsets) > 0)
        rows = np.flatnonzero(usable)[:, None] + len(wanted) * np.arange(VARIANTS)
        self._arrays.append(TokenIds.joined(parts).take(rows.ravel()))
        numbers = np.full(len(texts), -1, np.int64)
        kept = wanted[usable]
        numbers[kept] = self._sentences + np.arange(len(kept))
        self._numbers.append(numbers)
        self._joined.append(self._rows + kept[joins[kept]])
        self._sentences += len(kept)
        self._rows += len(texts)

    def finish(self) -> ExpandedTraining:
        """Returns the expansions of all sentences that were added."""
        if not self._arrays.rows:
            remedy = "expansion is for English; leave it out"
            raise InputError("no sentence of the pairs can be expanded", remedy=remedy)
        token_ids = self._arrays.finish()
        numbers, joined = np.concatenate(self._numbers), np.concatenate(self._joined)
        return ExpandedTraining(token_ids.tokens, token_ids.offsets, numbers, joined, self.weight)


def compositionality_loss(vectors: Tensor, expanded: Tensor, rows: Tensor) -> Tensor:
    """Computes the compositionality loss of paper 004, section 2.1: the mean of 1 - cos(original, expanded).

    The mean is over all sentences of the batch. One with nothing to expand is its own expansion and adds 0.

    Args:
        vectors: Sentence embeddings (sentences, dim).
        expanded: The embeddings of expansions (expanded, dim).
        rows: The sentence that each of them expands (expanded,).
    """
    cosines = (normalize_rows(vectors)[rows] * normalize_rows(expanded)).sum(1)
    return (1.0 - cosines).sum() / max(len(vectors), 1)
