"""A corpus of encoded sentences on disk: nearest neighbours of any sentence, and all pairs of paraphrases in it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError, UsageError
from ...settings import Constraints
from ...tokenization.token_lookup import list_of_texts
from ..known_texts import KnownTexts
from ..sentence_encoder import SentenceEncoder
from ..vectors import check_count
from .build import build_index
from .nearest_neighbours import nearest_neighbours
from .semantic_search import BestPairs, MinedPairs, similar_pairs
from .stored_index import ENCODER_FOLDER, StoredIndex, rewrite_index, text_keys
from .vector_file import cosine_of_rows

METHODS = ("exact", "approximate")
_QUERIES_PER_BLOCK = 1024
_SPARE = 64
_CHECKED_SENTENCES = 8
_SAME_VECTOR = 0.99
Nearest = list[tuple[NDArray[np.int64], NDArray[np.float64]]]
"""For each query the rows and their cosines, each (found,)."""


@dataclass(frozen=True)
class Neighbour:
    """A sentence of the corpus that is near a query, with their cosine and its row in the index, from 0.

    `position` is its line or row in the input that the index was built from, from 1; what was added later is counted
    on.
    """

    sentence: str
    score: float
    row: int
    position: int


class SearchIndex(StoredIndex):
    """An index folder that `hf-paraphrase search` or :func:`~.build.build_index` made.

    Its vectors are mapped into memory. An index can be pickled and copied: the copy opens the folder again.

    Args:
        folder: The index folder.
        encoder: The encoder of the queries, or its name; by default the one that the folder holds.
        device: Where it computes if it is opened here, e.g. `cuda`; None for the CPU.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        encoder: SentenceEncoder | str | os.PathLike[str] | None = None,
        *,
        device: str | None = None,
    ) -> None:
        super().__init__(Path(folder))
        self._given = encoder, device
        if encoder is None:
            encoder = self.folder / ENCODER_FOLDER
        if isinstance(encoder, str | os.PathLike):
            encoder = SentenceEncoder.from_pretrained(encoder, device=device)
        self.encoder = encoder
        self._texts = KnownTexts(self.encoder)
        self._check_encoder()

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopened, (self.folder, *self._given)

    def neighbours(
        self,
        queries: str | Sequence[str],
        k: int = 10,
        *,
        method: str | None = None,
        probes: int | None = None,
        drop_identical: bool = False,
        batch_size: int = 256,
    ) -> Iterator[list[Neighbour]]:
        """Finds the sentences of the corpus that are nearest to each query.

        Args:
            queries: One sentence or several.
            k: How many neighbours of each; fewer are given where the corpus has fewer.
            method: `exact` or `approximate`; by default approximate where the index has lists.
            probes: How many lists the approximate search reads.
            drop_identical: Leave out sentences that are the query itself but for case and spacing.
            batch_size: Queries in a padded batch of the encoder.

        Yields:
            For each query its neighbours, the nearest first; none if no word is in the encoder's vocabulary.
        """
        queries = list_of_texts(queries)
        for first in range(0, len(queries), _QUERIES_PER_BLOCK):
            texts = queries[first : first + _QUERIES_PER_BLOCK]
            vectors = self._texts.embed(texts, batch_size=batch_size)
            keys = text_keys(texts) if drop_identical else None
            for rows, scores in self.nearest(vectors, k, method=method, probes=probes, without_keys=keys):
                found = self.sentences_of(rows)
                columns = found["sentence"].to_pylist(), scores.tolist(), rows.tolist(), found["position"].to_pylist()
                yield [Neighbour(*values) for values in zip(*columns, strict=True)]

    def nearest(
        self,
        vectors: NDArray[np.float32],
        k: int,
        *,
        method: str | None = None,
        probes: int | None = None,
        without_keys: NDArray[np.uint64] | None = None,
    ) -> Nearest:
        """Finds the rows of the greatest cosine to each vector, as :meth:`neighbours` does for texts.

        Of equal cosines the earlier row comes first. Cosines are those of double precision, so that a query gives the
        same answer whatever others are searched with it.

        Args:
            vectors: Unit (or zero) vectors (queries, dim), float32.
            k: How many of each.
            method: As for :meth:`neighbours`.
            probes: As for :meth:`neighbours`.
            without_keys: For each query the key of a text that is left out (queries,).
        """
        check_count("k", k)
        if self.uses_lists(method):
            return self._nearest_in_lists(vectors, k, self._probes(probes), without_keys)
        keys = None if without_keys is None else (without_keys, self.keys)
        rows, cosines = nearest_neighbours(
            vectors, self.vectors, k, keys=keys, skip_zero=True, names=("queries", "the vectors of the index")
        )
        return [(row[row >= 0], values[row >= 0]) for row, values in zip(rows, cosines, strict=True)]

    def _nearest_in_lists(
        self, vectors: NDArray[np.float32], k: int, probes: int, without_keys: NDArray[np.uint64] | None
    ) -> Nearest:
        """Looks for a few more than k where rows are left out."""
        spare = 0 if without_keys is None else _SPARE
        rows, cosines = self.lists.search(vectors, min(k + spare, len(self)), probes)
        kept = (rows >= 0) & np.any(vectors, axis=1, keepdims=True)
        if without_keys is not None:
            kept &= self.keys[rows] != without_keys[:, None]
        return [(row[own][:k], values[own][:k]) for row, values, own in zip(rows, cosines, kept, strict=True)]

    def uses_lists(self, method: str | None) -> bool:
        """Returns whether a search by this method reads inverted lists."""
        Constraints(choices=METHODS).check("method", method)
        if method == "approximate" and not self.settings.lists:
            raise UsageError(
                "the index has no lists for an approximate search",
                path=self.folder,
                remedy="search exactly, or build it with --method approximate",
            )
        return bool(self.settings.lists) and method != "exact"

    def mine(
        self,
        threshold: float = 0.8,
        *,
        max_pairs: int = 1_000_000,
        method: str | None = None,
        probes: int | None = None,
        keep_identical: bool = False,
        show_progress_bar: bool = False,
    ) -> MinedPairs:
        """Finds all pairs of sentences of the corpus whose embeddings have at least a given cosine.

        Args:
            threshold: The least cosine, above 0 to 1.
            max_pairs: How many pairs are kept, those of the greatest cosine; memory is 48 bytes for each.
            method: `exact` compares all with all; `approximate` each sentence with those of the lists near it.
            probes: How many lists the approximate method reads for a sentence.
            keep_identical: Keep pairs whose sides are the same but for case and spacing.
            show_progress_bar: Show the progress on standard error.

        Returns:
            Each unordered pair once, the greatest cosine first, equal ones in the order of their rows.
        """
        Constraints(above=0, at_most=1).check("threshold", threshold)
        best = BestPairs(max_pairs)
        keys = None if keep_identical else self.keys
        if self.uses_lists(method):
            blocks = self.lists.similar_pairs(threshold, self._probes(probes), show_progress_bar=show_progress_bar)
        else:
            blocks = similar_pairs(self.vectors, threshold, show_progress_bar=show_progress_bar)
        for first, second, scores in blocks:
            kept = slice(None) if keys is None else keys[first] != keys[second]
            best.add(first[kept], second[kept], scores[kept])
        return best.result()

    def add(self, sentences: str | Sequence[str], *, keep_repeated: bool = False, batch_size: int = 256) -> int:
        """Adds sentences at the end; those that are there are not encoded again.

        The folder is replaced in one step, and this object then reads the new one. A sentence that the index has is
        added once more with `keep_repeated`; empty ones are left out. Returns how many the index has more than before.
        """
        texts = list_of_texts(sentences)
        return self._rewritten([texts], keep_repeated=keep_repeated, batch_size=batch_size)

    def remove(self, sentences: str | Sequence[str]) -> int:
        """Takes sentences out, and those that are the same but for case and spacing; the others are not encoded again.

        Returns:
            How many the index has fewer than before; rows of later sentences get smaller numbers.
        """
        without = np.isin(self.keys, text_keys(list_of_texts(sentences)))
        return -self._rewritten([], without=without) if without.any() else 0

    def _rewritten(self, blocks: list[Any], **options: Any) -> int:
        return rewrite_index(self, lambda folder: build_index(self.encoder, blocks, folder, earlier=self, **options))

    def _probes(self, probes: int | None) -> int:
        if probes is None:
            return self.settings.probes
        check_count("probes", probes)
        return probes

    def _check_encoder(self) -> None:
        remedy = "search with the encoder that the index was built with, or build it again"
        if self.encoder.dimension != self.settings.dimension:
            raise ModelError(
                f"the encoder gives {self.encoder.dimension} components, the index has {self.settings.dimension}",
                path=self.folder,
                remedy=remedy,
            )
        rows = np.unique(np.linspace(0, len(self) - 1, _CHECKED_SENTENCES).astype(np.int64))
        stored = self.vectors.take(rows)
        now = self._texts.embed(self.sentences_of(rows)["sentence"].to_pylist())
        # Zero vectors have cosine 0 with themselves.
        same = (cosine_of_rows(stored, now) >= _SAME_VECTOR) | ~(stored.any(axis=1) | now.any(axis=1))
        if not same.all():
            raise ModelError(
                "the encoder gives other vectors than those in the index: it is another one",
                path=self.folder,
                remedy=remedy,
            )


def _reopened(
    folder: Path, encoder: SentenceEncoder | str | os.PathLike[str] | None, device: str | None
) -> SearchIndex:
    return SearchIndex(folder, encoder, device=device)
