"""What the analyses of sentences share: their models, their queries and the texts that they search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...artefacts.provenance import inherited_metadata
from ...data.sentences import SentenceCorpus
from ...data.text_files import StrictLines, read_lines
from ...encoders.known_texts import KnownTexts
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...settings import setting
from ...tables import short_names
from ...training.devices import DeviceSettings

MOST_QUERIES = 1_000
"""Queries of an analysis; a report is for reading, and memory grows with their number."""


@dataclass(kw_only=True)
class ComparisonSettings(DeviceSettings):
    """What the reports on encoders share."""

    output: str = setting("the folder to make; the report is its README.md")
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)
    overwrite: bool = setting("replace an existing output folder", False)


@dataclass(kw_only=True)
class QuerySettings(ComparisonSettings):
    """What the reports on some queries and the sentences of a text share; the field `text` is the subclass's own."""

    query: list[str] = setting("one or more sentences, in quotes, that all sentences are compared with", [])
    queries: str | None = setting(
        "a text file of such sentences, one a line, 1,000 at most",
        None,
        names=["--queries", "--query-file"],
        path=True,
    )
    neighbours: int = setting(
        "how many nearest sentences of each query to list", 10, names=["--neighbours", "--top-k"], at_least=1
    )
    columns: list[str] = setting(
        "columns of the data folders to read, separated by commas or spaces; by default sentence, text, sentence1 and "
        "sentence2, as far as there are",
        [],
        only_with="text",
    )
    split: str | None = setting("split of the data folders to read [default: train]", None, only_with="text")

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if bool(self.query) == (self.queries is not None):
            raise UsageError(
                "give --query or --queries" + (", not both" if self.query else ""), remedy="one or more sentences"
            )
        if any(not text.strip() for text in self.query):
            raise UsageError("a --query is empty", remedy="give a sentence")


def model_names(models: Sequence[str]) -> list[str]:
    """Returns a distinct short name for each model."""
    twice = next((model for place, model in enumerate(models) if model in models[:place]), None)
    if twice is not None:
        raise UsageError(f"the model {twice} is given twice", remedy="give each model once")
    return short_names(models)


def read_queries(settings: QuerySettings) -> list[str]:
    """Collects the different queries from the settings or a file of one a line; empty lines do not count."""
    path = settings.queries
    queries = dict.fromkeys(text.strip() for text in settings.query)
    for lines in [] if path is None else read_lines(Path(path), StrictLines()):
        queries |= dict.fromkeys(text.strip() for text in lines.to_pylist() if text.strip())
        if len(queries) > MOST_QUERIES:
            break
    if not queries:
        raise InputError("the file contains no queries", path=path, remedy="give one sentence a line")
    if len(queries) > MOST_QUERIES:
        raise InputError(
            f"more than {MOST_QUERIES:,} different queries",
            path=path,
            remedy="give fewer; hf-paraphrase search takes any number",
        )
    return list(queries)


class Texts:
    """The sentences of several files and data folders, one after the other."""

    def __init__(self, paths: Sequence[str], columns: Sequence[str], split: str | None) -> None:
        self.corpora = [SentenceCorpus(Path(path), columns, split) for path in paths]

    @property
    def names(self) -> list[str]:
        """The names of the files and folders, with the split of a folder."""
        return [
            corpus.path.resolve().name + (f" (split {corpus.split})" if corpus.columns else "")
            for corpus in self.corpora
        ]

    def metadata(self) -> dict[str, list[str]]:
        """Returns the licences and the languages that the cards of the data folders name."""
        values_by_key: dict[str, list[str]] = {"license": [], "language": []}
        for corpus in self.corpora:
            inherited = inherited_metadata(corpus.path) if corpus.columns else {}
            for key, values in inherited.items():
                values_by_key[key] += [value for value in values if value not in values_by_key[key]]
        return values_by_key

    def blocks(self) -> Iterator[list[str | None]]:
        """Streams the sentences in blocks."""
        blank = True
        for corpus in self.corpora:
            for block in corpus.blocks():
                blank = blank and not any(text and text.strip() for text in block)
                yield block
        if blank:
            raise InputError(
                "the file contains no sentences", path=self.corpora[0].path, remedy="give text that is not blank"
            )


def open_encoder(model: str, device: str) -> KnownTexts:
    """Opens an encoder for comparing sentences, which computes on a device."""
    return KnownTexts(SentenceEncoder.from_pretrained(model, device=device))


def embed_queries(
    encoder: KnownTexts, queries: Sequence[str], batch_size: int
) -> tuple[NDArray[np.float32], list[int]]:
    """Embeds the queries of which the encoder knows a word.

    Returns:
        Their unit vectors (known queries, dim), float32, and their numbers, from 0.
    """
    vectors = encoder.embed(queries, batch_size=batch_size)
    nonzero = np.flatnonzero(vectors.any(axis=1))
    return vectors[nonzero], nonzero.tolist()
