"""The corpus of one user of the page: its sentences, and an index of them for each encoder."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from threading import Lock

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
Progress = Callable[[float, str], object]


class UserCorpus:
    """A corpus that one user searches, a file or folder or None for the sample; its indexes are deleted with it."""

    def __init__(self, catalogue: ModelCatalogue, source: Path | None = None) -> None:
        self._catalogue, self.source = catalogue, source
        self.name = SAMPLE if source is None else source.name
        self.sentences = _read(source)
        self.cut = len(self.sentences) > MOST_SENTENCES
        del self.sentences[MOST_SENTENCES:]
        if not self.sentences:
            raise InputError("the corpus contains no sentences", path=self.name, remedy="give one sentence a line")
        self._folder = tempfile.TemporaryDirectory(prefix="hf-paraphrase-corpus-")
        self._indexes: dict[str, SearchIndex] = {}
        self._lock = Lock()

    def close(self) -> None:
        """Removes the indexes."""
        self._folder.cleanup()

    def search(self, query: str, model: str, *, k: int, progress: Progress) -> tuple[list[Neighbour], float]:
        """Finds the sentences nearest to a query by one encoder; returns them and the seconds that it took."""
        with self._lock:
            if model not in self._indexes:
                self._indexes[model] = self._build(model, progress)
            begin = time.perf_counter()
            (neighbours,) = self._indexes[model].neighbours([query], k)
            return neighbours, time.perf_counter() - begin

    def _build(self, model: str, progress: Progress) -> SearchIndex:
        # An encoder of its own: this may take a while, and others continue with theirs.
        encoder = self._catalogue.new_encoder(model)
        folder = Path(self._folder.name) / str(len(self._indexes))
        folder.mkdir(exist_ok=True)
        total, done = len(self.sentences), 0

        def report(rows: int) -> None:
            nonlocal done
            done += rows
            progress(done / total, f"{model}: {done:,} of {total:,} sentences read")

        blocks = (self.sentences[start : start + _BLOCK] for start in range(0, total, _BLOCK))
        build_index(encoder, blocks, folder, progress=report)
        index = SearchIndex(folder, encoder)
        # The first query opens files and starts threads, which its time should not include.
        list(index.neighbours(["a"], 1))
        return index


def _read(source: Path | None) -> list[str | None]:
    """Reads the blocks of a corpus until there is a sentence too many."""
    if source is None:
        return [pair.english for pairs in sample_bitext().values() for pair in pairs]
    sentences: list[str | None] = []
    try:
        for block in SentenceCorpus(source).blocks():
            sentences += block
            if len(sentences) > MOST_SENTENCES:
                break
    except HfParaphraseError as error:
        # The path of an upload means nothing to its sender.
        if error.path == str(source):
            error.path = source.name
        raise
    return sentences
