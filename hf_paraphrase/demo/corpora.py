"""The corpus of one user of the page: its sentences, and an index and a map of them for each encoder."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from ..data.sample import sample_bitext
from ..data.sentences import SentenceCorpus
from ..encoders.search.build import build_index
from ..encoders.search.index import Neighbour, SearchIndex
from ..errors import HfParaphraseError, InputError
from .model_catalogue import ModelCatalogue

MOST_SENTENCES = 1_000_000
"""The first sentences of a corpus that are used."""
_BLOCK = 8_192
"""Sentences between two updates of the progress bar."""
SAMPLE = "the English sentences of the built-in sample"
_MOST_POINTS = 2_000
_LONGEST_LABEL = 160
Progress = Callable[[float, str], object]


def no_progress(share: float, text: str) -> None:
    """Ignores progress."""


class SentenceMap:
    """Sentences of an index on the first two principal components of their vectors."""

    def __init__(self, index: SearchIndex) -> None:
        self._index = index
        rows = np.arange(len(index))
        if len(rows) > _MOST_POINTS:
            rows = np.sort(np.random.default_rng(0).choice(len(index), _MOST_POINTS, replace=False))
        vectors = index.vectors.take(rows).astype(np.float64)
        nonzero = vectors.any(1)
        rows, vectors = rows[nonzero], vectors[nonzero]
        self._centre = vectors.mean(0)
        variances, directions = np.linalg.eigh((vectors - self._centre).T @ (vectors - self._centre))
        self._axes = np.zeros((len(variances), 2))
        self._axes[:, : min(2, len(variances))] = directions[:, ::-1][:, :2]
        total = float(variances.sum())
        self.kept = float(variances[-2:].sum()) / total if total > 0 else 1.0
        self.num_points = len(rows)
        self._sentences = self._points("sentence", vectors, index.sentences_of(rows)["sentence"].to_pylist())

    def points(self, query: str, vector: NDArray[np.floating], neighbours: Sequence[Neighbour]) -> pd.DataFrame:
        """Returns the points of the map, of a query and of its neighbours: columns `x`, `y`, `kind` and `text`."""
        rows = np.array([item.row for item in neighbours], np.int64)
        vectors = self._index.vectors.take(rows) if len(rows) else np.empty((0, len(self._centre)))
        texts = [f"{item.score:.3f} {item.sentence}" for item in neighbours]
        near = self._points("neighbour", vectors, texts)
        return pd.concat([self._sentences, near, self._points("query", vector[None], [query])], ignore_index=True)

    def _points(self, kind: str, vectors: NDArray[np.floating], texts: Sequence[str]) -> pd.DataFrame:
        x, y = ((vectors - self._centre) @ self._axes).T
        labels = [text[:_LONGEST_LABEL] for text in texts]
        return pd.DataFrame({"x": x, "y": y, "kind": [kind] * len(labels), "text": labels})


@dataclass(frozen=True)
class SearchResult:
    """What a search with one encoder found."""

    neighbours: list[Neighbour]
    seconds: float
    points: pd.DataFrame
    caption: str


@dataclass(frozen=True)
class _Indexed:
    index: SearchIndex
    map: SentenceMap
    lock: Lock


class UserCorpus:
    """A corpus that one user searches; its indexes are in a temporary folder that is deleted with it.

    Attributes:
        source: The file or data folder; None for the built-in sample.
        count: How many sentences it has, including empty and repeated ones.
        cut: Whether it had more than :data:`MOST_SENTENCES`.
    """

    def __init__(self, catalogue: ModelCatalogue, source: Path | None = None) -> None:
        self._catalogue, self.source = catalogue, source
        self.name = SAMPLE if source is None else source.name
        count = 0
        with _named_shortly(source):
            for block in self._all_blocks():
                count += len(block)
                if count > MOST_SENTENCES:
                    break
        if not count:
            raise InputError("the corpus contains no sentences", path=self.name, remedy="give one sentence a line")
        self.count, self.cut = min(count, MOST_SENTENCES), count > MOST_SENTENCES
        self._folder = tempfile.TemporaryDirectory(prefix="hf-paraphrase-corpus-")
        self._indexes: dict[str, _Indexed] = {}
        self._lock = Lock()

    def close(self) -> None:
        """Removes the indexes."""
        self._folder.cleanup()

    def search(self, query: str, model: str, *, k: int, progress: Progress = no_progress) -> SearchResult:
        """Finds the sentences nearest to a query, by one encoder."""
        indexed = self._indexed(model, progress)
        index, shown = indexed.index, indexed.map
        with indexed.lock:
            begin = time.perf_counter()
            (neighbours,) = index.neighbours([query], k)
            seconds = time.perf_counter() - begin
            points = shown.points(query, index.encoder.encode(query, normalize=True), neighbours)
        some = "all" if shown.num_points == len(index) else f"{shown.num_points:,} of the {len(index):,}"
        caption = f"{some} sentences on two principal components, {shown.kept:.0%} of the variance"
        return SearchResult(neighbours, seconds, points, caption)

    def _indexed(self, model: str, progress: Progress) -> _Indexed:
        with self._lock:
            if model not in self._indexes:
                self._indexes[model] = self._build(model, progress)
            return self._indexes[model]

    def _build(self, model: str, progress: Progress) -> _Indexed:
        # An encoder of its own: this may take a while, and others continue with theirs.
        encoder = self._catalogue.new_encoder(model)
        folder = Path(self._folder.name) / str(len(self._indexes))
        folder.mkdir(exist_ok=True)
        done = 0

        def report(rows: int) -> None:
            nonlocal done
            done += rows
            progress(done / self.count, f"{model}: {done:,} of {self.count:,} sentences read")

        with _named_shortly(self.source):
            build_index(encoder, self._blocks(), folder, progress=report)
        index = SearchIndex(folder, encoder)
        # The first query opens files and starts threads, which its time should not include.
        list(index.neighbours(["a"], 1))
        return _Indexed(index, SentenceMap(index), Lock())

    def _blocks(self) -> Iterator[list[str | None]]:
        """Streams the first sentences, at most :data:`MOST_SENTENCES`, in small blocks."""
        left = self.count
        for block in self._all_blocks():
            block = block[:left]
            left -= len(block)
            for start in range(0, len(block), _BLOCK):
                yield block[start : start + _BLOCK]
            if not left:
                return

    def _all_blocks(self) -> Iterator[list[str | None]]:
        if self.source is None:
            yield [pair.english for pairs in sample_bitext().values() for pair in pairs]
        else:
            yield from SentenceCorpus(self.source).blocks()


@contextmanager
def _named_shortly(source: Path | None) -> Iterator[None]:
    """Names a file in errors without its folder: the path of an upload means nothing to its sender."""
    try:
        yield
    except HfParaphraseError as error:
        if source is not None and error.path == str(source):
            error.path = source.name
        raise
