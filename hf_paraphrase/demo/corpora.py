"""The corpus of one user of the page: its sentences, and an index of them for each encoder that is asked."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock

from ..data.sample import sample_bitext
from ..data.sentences import SentenceCorpus
from ..encoders.search.build import build_index
from ..encoders.search.index import Neighbour, SearchIndex
from ..errors import HfParaphraseError, InputError
from .model_catalogue import ModelCatalogue
from .sentence_map import SentenceMap, map_of

MOST_SENTENCES = 1_000_000
"""Sentences of a corpus at most; those behind are left out."""
_EXACT_UP_TO = 100_000
"""Of more sentences an index gets inverted lists, which find nearly all neighbours in a fraction of the time."""
_BLOCK = 8_192
"""Sentences between two signs of progress."""
SAMPLE = "the English sentences of the built-in sample"
Progress = Callable[[float, str], object]


@dataclass(frozen=True)
class Found:
    """What one encoder finds.

    Attributes:
        seconds: How long the query took, its embedding included.
        recall: The share of the true neighbours that the index finds; None where it finds all.
        picture: The map of the corpus with the query and its neighbours, as HTML.
    """

    neighbours: list[Neighbour]
    seconds: float
    recall: float | None
    picture: str


@dataclass
class _Indexed:
    index: SearchIndex
    map: SentenceMap
    lock: Lock = field(default_factory=Lock)


class UserCorpus:
    """A corpus that one user searches; its indexes are in a temporary folder that is deleted with it.

    Attributes:
        count: How many sentences it has, empty ones and repeated ones among them.
        cut: Whether it had more than :data:`MOST_SENTENCES`.
    """

    def __init__(self, catalogue: ModelCatalogue, source: Path | None = None) -> None:
        self._catalogue, self._source = catalogue, source
        self.name = SAMPLE if source is None else source.name
        self.count, self.cut = 0, False
        with _named_shortly(source):
            for block in self._blocks():
                self.count += len(block)
        if not self.count:
            raise InputError("the corpus contains no sentences", path=self.name, remedy="give one sentence a line")
        self._folder = tempfile.TemporaryDirectory(prefix="hf-paraphrase-corpus-")
        self._indexes: dict[str, _Indexed] = {}
        self._lock = Lock()

    def close(self) -> None:
        """Removes the indexes."""
        self._folder.cleanup()

    def read(self, model: str, progress: Progress = lambda share, text: None) -> None:
        """Builds the index for an encoder, if there is none yet."""
        self._indexed(model, progress)

    def search(self, query: str, model: str, *, k: int, progress: Progress = lambda share, text: None) -> Found:
        """Finds the sentences nearest to a query, by one encoder."""
        indexed = self._indexed(model, progress)
        with self._catalogue.work(), indexed.lock:
            begin = time.perf_counter()
            (neighbours,) = indexed.index.neighbours([query], k)
            seconds = time.perf_counter() - begin
            vector = indexed.index.encoder.encode(query, normalize=True)
            picture = indexed.map.draw(query, vector, neighbours, indexed.index.vectors)
        return Found(neighbours, seconds, indexed.index.settings.recall, picture)

    def _indexed(self, model: str, progress: Progress) -> _Indexed:
        with self._catalogue.work(), self._lock:
            if model not in self._indexes:
                self._indexes[model] = self._build(model, progress)
            return self._indexes[model]

    def _build(self, model: str, progress: Progress) -> _Indexed:
        # An encoder of its own: this may take a while, and others continue with theirs.
        encoder = self._catalogue.new_encoder(model)
        folder = Path(self._folder.name) / str(len(self._indexes))
        folder.mkdir(exist_ok=True)
        many = self.count > _EXACT_UP_TO
        share = 0.5 if many else 1.0
        read = placed = 0

        def progress_of_reading(sentences: int) -> None:
            nonlocal read
            self._catalogue.check_open()
            read += sentences
            progress(share * read / self.count, f"{model}: {read:,} of {self.count:,} sentences read")

        def progress_of_placing(rows: int) -> None:
            nonlocal placed
            self._catalogue.check_open()
            placed += rows
            progress(min(1.0, share + share * placed / self.count), f"{model}: {placed:,} vectors put into lists")

        with _named_shortly(self._source):
            build_index(
                encoder,
                self._blocks(),
                folder,
                approximate=many,
                progress=progress_of_reading,
                place_progress=progress_of_placing,
            )
        index = SearchIndex(folder, encoder)
        # The first query opens files and starts threads; the time that is shown shall be that of any.
        list(index.neighbours(["a"], 1))
        return _Indexed(index, map_of(index))

    def _blocks(self) -> Iterator[list[str | None]]:
        """Streams the first sentences, at most :data:`MOST_SENTENCES`."""
        left = MOST_SENTENCES
        for block in _all_blocks(self._source):
            if len(block) > left:
                self.cut = True
                block = block[:left]
            left -= len(block)
            for start in range(0, len(block), _BLOCK):
                yield block[start : start + _BLOCK]
            if self.cut:
                return


def _all_blocks(source: Path | None) -> Iterator[list[str | None]]:
    if source is None:
        yield [pair.english for pairs in sample_bitext().values() for pair in pairs]
    else:
        yield from SentenceCorpus(source).blocks()


@contextmanager
def _named_shortly(source: Path | None) -> Iterator[None]:
    """Calls a file in errors by its name alone: the path of an upload means nothing to its sender."""
    try:
        yield
    except HfParaphraseError as error:
        if source is not None and error.path == str(source):
            error.path = source.name
        raise
