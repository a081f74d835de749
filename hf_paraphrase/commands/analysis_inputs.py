"""What the analyses of sentences share: their models, their queries and the texts that they search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.inherited_cards import inherited_metadata
from ..data.sentences import Corpus, StrictLines
from ..data.text_files import read_lines
from ..errors import InputError, UsageError
from ..evaluation.report import short_names

if TYPE_CHECKING:
    from ..encoders.sentence_encoder import KnownTexts

MOST_QUERIES = 1_000
"""Queries of an analysis; a report is for reading, and memory grows with their number."""


def check_numbers(kind: str, arguments: Any, **least: int) -> None:
    """Refuses numbers that are too small.

    Raises:
        UsageError: Naming the flag.
    """
    for name, lowest in least.items():
        value = getattr(arguments, name)
        if value is not None and value < lowest:
            raise UsageError(f"analyze {kind}: --{name.replace('_', '-')} is {value}", remedy=f"give {lowest} or more")


def model_names(kind: str, models: Sequence[str]) -> list[str]:
    """Gives each model a short name of its own.

    Raises:
        UsageError: If one is given twice.
    """
    twice = next((model for place, model in enumerate(models) if model in models[:place]), None)
    if twice is not None:
        raise UsageError(f"analyze {kind}: the model {twice} is given twice", remedy="give each model once")
    return short_names(models)


def read_queries(kind: str, queries: Sequence[str], path: str | None) -> list[str]:
    """Collects the different queries from the command line or a file of one a line; empty lines do not count.

    Raises:
        UsageError: If both or none are given, or one on the command line is empty.
        InputError: If the file is missing, malformed or has no query, or there are more than 1,000.
    """
    if bool(queries) == (path is not None):
        raise UsageError(
            f"analyze {kind}: give --query or --queries" + (", not both" if queries else ""),
            remedy=f"see hf-paraphrase analyze {kind} --help",
        )
    if any(not text.strip() for text in queries):
        raise UsageError(f"analyze {kind}: a --query is empty", remedy="give a sentence")
    found = dict.fromkeys(text.strip() for text in queries)
    for lines in [] if path is None else read_lines(Path(path), StrictLines()):
        found |= dict.fromkeys(text.strip() for text in lines.to_pylist() if text.strip())
        if len(found) > MOST_QUERIES:
            break
    if not found:
        raise InputError("there is no query in it", path=path, remedy="give one sentence a line")
    if len(found) > MOST_QUERIES:
        raise InputError(
            f"more than {MOST_QUERIES:,} different queries",
            path=path,
            remedy="give fewer; hf-paraphrase search takes any number",
        )
    return list(found)


class Texts:
    """The sentences of several files and data folders, one after the other.

    Args:
        paths: Text files, one sentence a line, or data folders.
        columns: Columns of the data folders to read; by default those of sentences.
        split: The split of the data folders to read.

    Raises:
        InputError: If one is missing or empty, or has no such column.
    """

    def __init__(self, paths: Sequence[str], columns: Sequence[str], split: str | None) -> None:
        self.corpora = [Corpus(Path(path), columns, split) for path in paths]

    @property
    def names(self) -> list[str]:
        """The names of the files and folders, with the split of a folder."""
        return [
            corpus.path.resolve().name + (f" (split {corpus.split})" if corpus.columns else "")
            for corpus in self.corpora
        ]

    def metadata(self) -> dict[str, list[str]]:
        """Returns the licences and the languages that the cards of the data folders name."""
        found: dict[str, list[str]] = {"license": [], "language": []}
        for corpus in self.corpora:
            known = inherited_metadata(corpus.path) if corpus.columns else {}
            for key, values in known.items():
                found[key] += [value for value in values if value not in found[key]]
        return found

    def blocks(self) -> Iterator[list[str | None]]:
        """Streams the sentences in blocks."""
        for corpus in self.corpora:
            yield from corpus.blocks()


def open_encoder(model: str, device: str) -> KnownTexts:
    """Opens an encoder for comparing sentences, which computes on a device.

    Raises:
        ModelError: If the folder is not a sentence encoder.
    """
    from ..encoders.sentence_encoder import KnownTexts, SentenceEncoder

    return KnownTexts(SentenceEncoder.from_pretrained(model, device=device))


def embed_queries(
    encoder: KnownTexts, queries: Sequence[str], batch_size: int
) -> tuple[NDArray[np.float32], list[int]]:
    """Embeds the queries of which the encoder knows a word.

    Returns:
        Their unit vectors (known queries, dim), float32, and their numbers, from 0.
    """
    vectors = encoder.embed(queries, batch_size=batch_size)
    known = np.flatnonzero(vectors.any(axis=1))
    return vectors[known], known.tolist()
