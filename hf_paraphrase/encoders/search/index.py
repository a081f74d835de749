"""A corpus of encoded sentences on disk: nearest neighbours of any sentence, and all pairs of paraphrases in it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...artefacts.files import open_array, read_json_object
from ...errors import InputError, ModelError, UsageError
from ...settings import Constraints, check_count
from ...tokenization.token_lookup import list_of_texts
from ..known_texts import KnownTexts
from ..sentence_encoder import SentenceEncoder
from .inverted_lists import InvertedLists
from .nearest_neighbours import nearest_neighbours
from .paraphrase_mining import BestPairs, MinedPairs, mine_exactly, mine_lists
from .sentence_table import SentenceTable, text_keys
from .vector_file import VectorFile, cosine_of_rows

SETTINGS_FILE = "index.json"
VECTORS_FILE = "vectors.npy"
KEYS_FILE = "keys.npy"
ENCODER_FOLDER = "encoder"
METHODS = ("exact", "approximate")
_FORMAT = 1
_QUERIES_PER_BLOCK = 1024
_EXACT_QUERIES = 256
_SPARE = 8
_MOST_SPARE = 4096
_ROUNDING = 1e-5
"""More than the rounding of a float32 product of unit vectors."""
_CHECKED_SENTENCES = 8
_SAME_VECTOR = 0.99
_SAME_COSINE = 0.01
_Candidates = tuple[NDArray[np.int64], NDArray[np.float32], bool]
"""Rows that are near a query, their cosines up to rounding, and whether there are no more."""


@dataclass(frozen=True)
class IndexSettings:
    """The settings stored in an index folder.

    Attributes:
        zero_rows: Sentences without a word in the encoder's vocabulary, with zero vectors; no search finds them.
        lists: The number of inverted lists; 0 for an index that is searched exactly only.
        probes: How many of them a query reads by default.
        recall: The share of the true ten nearest neighbours that the lists find, measured on a sample when the index
            was built; None without lists.
    """

    rows: int
    dimension: int
    zero_rows: int
    lists: int = 0
    probes: int = 0
    recall: float | None = None
    format: int = _FORMAT

    def write(self, folder: Path) -> None:
        """Writes them to `index.json`."""
        (folder / SETTINGS_FILE).write_text(json.dumps(asdict(self), indent=2) + "\n", encoding="utf-8")

    @classmethod
    def read(cls, folder: Path) -> IndexSettings:
        """Reads `index.json`."""
        path, remedy = folder / SETTINGS_FILE, "make one with hf-paraphrase search --model … --corpus … --output …"
        if not folder.is_dir():
            what = "this is a file, not an index folder" if folder.exists() else "no such index folder"
            raise InputError(what, path=folder, remedy=remedy)
        if not path.exists():
            raise InputError(f"not an index folder: it has no {SETTINGS_FILE}", path=folder, remedy=remedy)
        content = read_json_object(path)
        if content.get("format") != _FORMAT:
            raise InputError(f"an index of format {_FORMAT} is expected", path=path, remedy=remedy)
        try:
            settings = cls(**content)
            whole = [settings.rows, settings.dimension, settings.zero_rows, settings.lists, settings.probes]
        except TypeError as error:
            raise InputError(f"damaged: {error}", path=path, remedy=remedy) from error
        if not all(type(value) is int and value >= 0 for value in whole):
            raise InputError("a size in it is not a number", path=path, remedy=remedy)
        if settings.lists and not 1 <= settings.probes <= settings.lists:
            raise InputError(f"{settings.probes} of {settings.lists} lists cannot be read", path=path, remedy=remedy)
        return settings


@dataclass(frozen=True)
class Neighbour:
    """A sentence of the corpus that is near a query.

    Attributes:
        sentence: Its text.
        score: The cosine of the two embeddings.
        row: Its row in the index, from 0.
        position: Its line or row in the input that the index was built from, from 1.
    """

    sentence: str
    score: float
    row: int
    position: int


class SearchIndex:
    """An index folder that `hf-paraphrase search` or :func:`~.build.build_index` made.

    Searching reads vectors and sentences from the disk as they are needed; memory does not grow with the corpus but
    for 8 bytes a sentence where it reads lists, and as many when identical texts are to be left out.

    Args:
        folder: The index folder.
        encoder: The encoder of the queries, or its name; by default the one that the folder holds.
        device: Where it computes if it is opened here, e.g. `cuda`; None for the CPU.

    Raises:
        InputError: If the folder is not an index, incomplete or damaged.
        ModelError: If the encoder gives other vectors than those in the index.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        encoder: SentenceEncoder | str | os.PathLike[str] | None = None,
        *,
        device: str | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.settings = IndexSettings.read(self.folder)
        self.vectors = VectorFile(self.folder / VECTORS_FILE)
        self.sentences = SentenceTable(self.folder)
        expected = (self.settings.rows, self.settings.dimension)
        if self.vectors.shape != expected or len(self.sentences) != self.settings.rows:
            raise InputError(
                f"{len(self.sentences)} sentences and vectors of shape {self.vectors.shape}, where {expected} is "
                "expected",
                path=self.folder,
                remedy="build the index again",
            )
        if encoder is None:
            encoder = self.folder / ENCODER_FOLDER
        if isinstance(encoder, str | os.PathLike):
            encoder = SentenceEncoder.from_pretrained(encoder, device=device)
        self.encoder = encoder
        self._texts = KnownTexts(self.encoder)
        self._check_encoder()
        self._lists: InvertedLists | None = None
        self._keys: NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return self.settings.rows

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
            nearest = self.nearest(vectors, k, method=method, probes=probes, without_keys=keys)
            rows = np.concatenate([item[0] for item in nearest]) if nearest else np.empty(0, np.int64)
            table = self.sentences.take(rows)
            sentences, positions = table.column("sentence").to_pylist(), table.column("position").to_pylist()
            place = 0
            for numbers, scores in nearest:
                part = slice(place, place + len(numbers))
                place += len(numbers)
                yield [
                    Neighbour(*item)
                    for item in zip(sentences[part], scores.tolist(), numbers.tolist(), positions[part], strict=True)
                ]

    def nearest(
        self,
        vectors: NDArray[np.float32],
        k: int,
        *,
        method: str | None = None,
        probes: int | None = None,
        without_keys: NDArray[np.uint64] | None = None,
    ) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Finds the rows of the greatest cosine to each vector, as :meth:`neighbours` does for texts.

        Of equal cosines the earlier row comes first. Cosines of the rows found are computed again in double precision,
        so that a query gives the same answer whatever others are searched with it.

        Args:
            vectors: Unit (or zero) vectors (queries, dim), float32.
            k: As for :meth:`neighbours`.
            method: As for :meth:`neighbours`.
            probes: As for :meth:`neighbours`.
            without_keys: For each query the key of a text that is left out (queries,).

        Returns:
            For each query the rows (found,), int64, and their cosines (found,), float64; zero vectors are not found.
        """
        probes = self._probes(probes) if self.uses_lists(method) else None
        check_count("k", k)
        empty = np.empty(0, np.int64), np.empty(0, np.float64)
        nearest = [empty] * len(vectors)
        waiting = np.flatnonzero(vectors.any(axis=1))
        spare = _SPARE
        while len(waiting):
            again = []
            # Those that need many more candidates are few: memory must not grow with both.
            step = max(1, _QUERIES_PER_BLOCK * _SPARE // spare)
            for first in range(0, len(waiting), step):
                part = waiting[first : first + step]
                for query, candidates in zip(part, self._candidates(vectors[part], k + spare, probes), strict=True):
                    key = None if without_keys is None else without_keys[query]
                    rows, scores, enough = self._choose(vectors[query], candidates, k, key)
                    nearest[query] = rows, scores
                    if not enough and spare < _MOST_SPARE:
                        again.append(query)
            waiting, spare = np.array(again, np.int64), spare * 8
        return nearest

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

    @property
    def lists(self) -> InvertedLists:
        """The inverted lists, opened at first use."""
        if self._lists is None:
            rows, dimension = self.vectors.shape
            self._lists = InvertedLists(self.folder, rows=rows, dimension=dimension)
            if self._lists.count != self.settings.lists:
                raise InputError(
                    f"it has {self._lists.count} lists, where {self.settings.lists} are expected",
                    path=self._lists.path,
                    remedy="build the index again",
                )
        return self._lists

    @property
    def keys(self) -> NDArray[np.uint64]:
        """A number for each sentence (rows,), the same for those that differ in case and spacing only."""
        if self._keys is None:
            path = self.folder / KEYS_FILE
            keys = open_array(path)
            if keys.shape != (self.settings.rows,) or keys.dtype != np.uint64:
                raise InputError("not one key a sentence", path=path, remedy="build the index again")
            self._keys = np.array(keys)
        return self._keys

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
            method: `exact` compares all with all; `approximate` the members of near lists only.
            probes: How many lists near a list the approximate method reads, itself included.
            keep_identical: Keep pairs whose sides are the same but for case and spacing.
            show_progress_bar: Show the progress on standard error.

        Returns:
            Each unordered pair once, the greatest cosine first, equal ones in the order of their rows.
        """
        Constraints(above=0, at_most=1).check("threshold", threshold)
        best = BestPairs(max_pairs)
        keys = None if keep_identical else self.keys
        if self.uses_lists(method):
            blocks = mine_lists(self.lists, threshold, self._probes(probes), show_progress_bar=show_progress_bar)
        else:
            blocks = mine_exactly(self.vectors, threshold, show_progress_bar=show_progress_bar)
        for first, second, scores in blocks:
            if keys is not None:
                kept = keys[first] != keys[second]
                first, second, scores = first[kept], second[kept], scores[kept]
            best.add(first, second, scores)
        return best.result()

    def _candidates(self, vectors: NDArray[np.float32], count: int, probes: int | None) -> list[_Candidates]:
        """Finds for each vector at least `count` rows that are nearest up to rounding."""
        if probes is None:
            rows, cosines = nearest_neighbours(vectors, self.vectors, count, query_block=_EXACT_QUERIES)
            return [(row, values, count >= len(self)) for row, values in zip(rows, cosines, strict=True)]
        rows, cosines = self.lists.search(vectors, min(count, len(self)), probes)
        return [
            (row[row >= 0], values[row >= 0], bool((row < 0).any()) or count >= len(self))
            for row, values in zip(rows, cosines, strict=True)
        ]

    def _choose(
        self,
        query: NDArray[np.float32],
        candidates: _Candidates,
        k: int,
        without_key: np.uint64 | None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64], bool]:
        """Chooses the k best of the candidates; false if some that were not among them might be as good."""
        rows, cosines, all_there = candidates
        vectors = self.vectors.take(rows)
        scores = cosine_of_rows(np.broadcast_to(query, vectors.shape), vectors)
        # Also false where one is not a number.
        if not (np.abs(scores - cosines) <= _SAME_COSINE).all():
            raise InputError(
                "damaged: its vectors are not of length 1, or not those of its lists",
                path=self.folder,
                remedy="build the index again",
            )
        lowest = scores.min(initial=1.0)
        kept = vectors.any(axis=1)
        if without_key is not None:
            kept &= self.keys[rows] != without_key
        rows, scores = rows[kept], scores[kept]
        order = np.lexsort((rows, -scores))[:k]
        enough = all_there or (len(order) == k and scores[order[-1]] > lowest + _ROUNDING)
        return rows[order], scores[order], enough

    def _probes(self, probes: int | None) -> int:
        if probes is None:
            return self.settings.probes
        check_count("probes", probes)
        return probes

    def _check_encoder(self) -> None:
        if self.encoder.dimension != self.settings.dimension:
            raise ModelError(
                f"the encoder gives {self.encoder.dimension} components, the index has {self.settings.dimension}",
                path=self.folder,
                remedy="search with the encoder that the index was built with, or build it again",
            )
        rows = np.unique(np.linspace(0, len(self) - 1, _CHECKED_SENTENCES).astype(np.int64))
        stored = self.vectors.take(rows)
        now = self._texts.embed(self.sentences.sentences(rows))
        # Zero vectors have cosine 0 with themselves.
        same = (cosine_of_rows(stored, now) >= _SAME_VECTOR) | ~(stored.any(axis=1) | now.any(axis=1))
        if not same.all():
            raise ModelError(
                "the encoder gives other vectors than those in the index: it is another one",
                path=self.folder,
                remedy="search with the encoder that the index was built with, or build it again",
            )
