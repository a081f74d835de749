"""What the reports on some sentences of a text share: their settings, the queries, and an index of the texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tqdm.auto import tqdm

from ...artefacts.provenance import inherited_metadata
from ...data.sentences import SentenceCorpus
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...data.text_files import StrictLines, read_lines
from ...encoders.search.build import build_index, text_keys
from ...encoders.search.index import SearchIndex
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

    def inputs(self) -> list[str]:
        """Lists the files and folders that are read."""
        return [*self.model, *self.text, *([] if self.queries is None else [self.queries])]

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


class IndexedTexts:
    """The sentences of several files and data folders, and indexes of them.

    Attributes:
        read: What each model has read, for the record and the card.
    """

    def __init__(self, settings: QuerySettings) -> None:
        self.settings = settings
        self.corpora = [SentenceCorpus(Path(path), settings.columns, settings.split) for path in settings.text]
        self.read: dict[str, dict[str, int]] = {}
        # A wrong one is reported now, not after an hour with the first one.
        for model in settings.model:
            SentenceEncoder.from_pretrained(model, device=settings.device)

    def indexes(self, work: Path, *, keep_repeated: bool) -> Iterator[tuple[str, SearchIndex]]:
        """Encodes the sentences with one model after the other; an index is there until the next is asked for."""
        for name, model in zip(model_names(self.settings.model), self.settings.model, strict=True):
            encoder = SentenceEncoder.from_pretrained(model, device=self.settings.device)
            sentences = (block for corpus in self.corpora for block in corpus.blocks())
            blocks = sentences if keep_repeated else _first_spellings(sentences)
            with TemporaryDirectory(dir=work) as folder, tqdm(unit=" sentences", desc=name) as progress:
                try:
                    made = build_index(
                        encoder,
                        blocks,
                        Path(folder),
                        keep_repeated=keep_repeated,
                        batch_size=self.settings.batch_size,
                        progress=progress.update,
                    )
                except InputError as error:
                    path = error.path or self.corpora[0].path
                    raise InputError(error.message, path=path, remedy=error.remedy) from error
                compared = made.rows - made.zero_rows
                self.read[name] = {
                    "read": made.read,
                    "empty": made.empty,
                    "unknown": made.zero_rows,
                    "compared": compared,
                }
                yield name, SearchIndex(folder, encoder)

    def card(self) -> dict[str, Any]:
        """Returns what the card says of texts and models: with the licences and languages of the data folders."""
        heads = [inherited_metadata(corpus.path) for corpus in self.corpora if corpus.columns]
        return {
            **{
                key: list(dict.fromkeys(value for head in heads for value in head[key]))
                for key in ("license", "language")
            },
            "texts": [
                corpus.path.resolve().name + (f" (split {corpus.split})" if corpus.columns else "")
                for corpus in self.corpora
            ],
            "models": model_names(self.settings.model),
            "read": self.read,
        }


def _first_spellings(blocks: Iterable[list[str | None]]) -> Iterator[list[str | None]]:
    """Gives sentences that differ in case and spacing only the spelling of the first of them."""
    first: dict[int, str] = {}
    for block in blocks:
        keys = text_keys([text or "" for text in block]).tolist()
        yield [text and first.setdefault(key, text) for key, text in zip(keys, block, strict=True)]
