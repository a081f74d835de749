"""What the reports on some sentences of a text share: their settings, the queries and the texts that they search."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...artefacts.provenance import inherited_metadata
from ...data.sentences import SentenceCorpus
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...data.text_files import StrictLines, read_lines
from ...encoders.known_texts import KnownTexts
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...settings import setting
from ...tables import short_names
from ..report import ReportSettings

_MOST_QUERIES = 1_000


@dataclass(kw_only=True)
class ComparisonSettings(ReportSettings):
    """What the reports on encoders share."""

    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)


@dataclass(kw_only=True)
class QuerySettings(ComparisonSettings):
    """What the reports on some queries and the sentences of a text share."""

    model: list[str] = setting("one or more folders of sentence encoders, which are shown side by side", path=True)
    text: list[str] = setting(
        f"the sentences to search: text files, one sentence a line, {PLAIN_OR_COMPRESSED}, or data folders",
        path=True,
    )
    query: list[str] = setting("one or more sentences, in quotes, that all sentences are compared with", [])
    queries: str | None = setting(
        "a text file of such sentences, one a line, 1,000 at most",
        None,
        names=["--queries", "--query-file"],
        path=True,
    )
    columns: list[str] = setting(
        "columns of the data folders to read, separated by commas or spaces; by default sentence, text, sentence1 and "
        "sentence2, as far as there are",
        [],
    )
    split: str | None = setting("split of the data folders to read [default: train]", None)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if bool(self.query) == (self.queries is not None):
            both = ", not both" if self.query else ""
            raise UsageError(f"give --query or --queries{both}", remedy="one or more sentences")
        if any(not text.strip() for text in self.query):
            raise UsageError("a --query is empty", remedy="give a sentence")

    def read_queries(self) -> list[str]:
        """Returns the distinct queries that are not empty."""
        given = list(self.query)
        for lines in [] if self.queries is None else read_lines(Path(self.queries), StrictLines()):
            given += lines.to_pylist()
        queries = list(dict.fromkeys(text.strip() for text in given if text.strip()))
        if not queries:
            raise InputError("the file contains no queries", path=self.queries, remedy="give one sentence a line")
        if len(queries) > _MOST_QUERIES:
            raise InputError(
                f"more than {_MOST_QUERIES:,} different queries",
                path=self.queries,
                remedy="give fewer; hf-paraphrase search takes any number",
            )
        return queries


def model_names(models: Sequence[str]) -> list[str]:
    """Returns a distinct short name for each model."""
    if len(set(models)) < len(models):
        raise UsageError("a model is given twice", remedy="give each model once")
    return short_names(models)


def open_encoder(model: str, device: str) -> KnownTexts:
    """Opens an encoder for comparing sentences, which computes on a device."""
    return KnownTexts(SentenceEncoder.from_pretrained(model, device=device))


def embed_queries(encoder: KnownTexts, queries: Sequence[str]) -> tuple[NDArray[np.float32], list[int]]:
    """Embeds the queries of which the encoder knows a word: unit vectors (known queries, dim) and their indices."""
    vectors = encoder.embed(queries)
    known = np.flatnonzero(vectors.any(axis=1))
    return vectors[known], known.tolist()


class Texts:
    """The sentences of several files and data folders, one after the other."""

    def __init__(self, settings: QuerySettings) -> None:
        self.corpora = [SentenceCorpus(Path(path), settings.columns, settings.split) for path in settings.text]

    @property
    def names(self) -> list[str]:
        """The names of the files and folders, with the split of a folder."""
        return [
            corpus.path.resolve().name + (f" (split {corpus.split})" if corpus.columns else "")
            for corpus in self.corpora
        ]

    def metadata(self) -> dict[str, list[str]]:
        """Returns the licences and the languages that the cards of the data folders name."""
        cards = [inherited_metadata(corpus.path) for corpus in self.corpora if corpus.columns]
        return {
            key: list(dict.fromkeys(value for card in cards for value in card[key])) for key in ("license", "language")
        }

    def blocks(self) -> Iterator[list[str | None]]:
        """Streams the sentences in blocks."""
        is_blank = True
        for corpus in self.corpora:
            for block in corpus.blocks():
                is_blank = is_blank and not any(text and text.strip() for text in block)
                yield block
        if is_blank:
            remedy = "give text that is not blank"
            raise InputError("the file contains no sentences", path=self.corpora[0].path, remedy=remedy)
