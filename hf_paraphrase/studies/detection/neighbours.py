"""The command `analyze neighbours`, and the settings that reports on queries share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ...data.sentences import SentenceCorpus, naming
from ...data.text_blocks import PLAIN_OR_COMPRESSED
from ...data.text_files import StrictLines, read_lines
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...searching.index import Neighbour, SearchIndex, build_index
from ...settings import recipe, setting
from ...tables import format_table, plain_markdown, short_names
from ...text.hashing import hash_rows
from ...text.normalization import normalize_texts
from ...text.words import tokenize
from ..report import ReportSettings, report

_MOST_ROWS = 50
_SHOWN = 20
_LONGEST = 160
Lists = dict[str, list[list[Neighbour]]]
"""The neighbours of every query, nearest first, by encoder name; empty for a query of unknown words."""


@dataclass(kw_only=True)
class ComparisonSettings(ReportSettings):
    """The settings that all reports on encoders share."""

    model: list[str] = setting("one or more folders of sentence encoders, which are shown side by side", path=True)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)

    def encoders(self) -> dict[str, SentenceEncoder]:
        """Open the encoders, by short names."""
        names = distinct_names(self.model, "model")
        opened = [SentenceEncoder.from_pretrained(model, device=self.device) for model in self.model]
        return dict(zip(names, opened, strict=True))


@dataclass(kw_only=True)
class QuerySettings(ComparisonSettings):
    """The settings that reports on queries and the sentences of a text share."""

    text: list[str] = setting(
        f"the sentences to search: text files, {PLAIN_OR_COMPRESSED}, or data folders", path=True, dataset=True
    )
    query: list[str] = setting("one or more sentences, in quotes, to compare with all sentences", [])
    queries: str | None = setting("file with a query per line", None, names=["--queries", "--query-file"], path=True)

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if bool(self.query) == (self.queries is not None):
            both = ", not both" if self.query else ""
            raise UsageError(f"give --query or --queries{both}", remedy="one or more sentences")

    def inputs(self) -> list[str]:
        """List the files and folders that are read."""
        return [*self.model, *self.text, *([] if self.queries is None else [self.queries])]

    def read_queries(self) -> list[str]:
        """Return the distinct queries that are not empty."""
        given = list(self.query)
        for lines in [] if self.queries is None else read_lines(Path(self.queries), StrictLines()):
            given += lines.to_pylist()
        queries = list(dict.fromkeys(text.strip() for text in given if text.strip()))
        if not queries:
            raise InputError("there are no queries", path=self.queries, remedy="give one or more sentences")
        return queries

    def unknown_words_error(self, problem: str) -> InputError:
        """Make the error for queries of unknown words only."""
        remedy = "give sentences in the language that the encoders were trained on"
        reason = "no word of the queries is in the encoders' vocabularies"
        return InputError(f"{problem}: {reason}", path=self.text[0], remedy=remedy)

    def indexes(self, work: Path, *, keep_repeated: bool) -> Iterator[tuple[str, SearchIndex]]:
        """Encode the sentences with each model in turn; an index exists until the next one is requested."""
        corpora = [SentenceCorpus(path) for path in self.text]
        build = partial(build_index, keep_repeated=keep_repeated, batch_size=self.batch_size)
        for name, encoder in self.encoders().items():
            sentences = (block for corpus in corpora for block in corpus.blocks())
            blocks = sentences if keep_repeated else _first_spellings(sentences)
            with TemporaryDirectory(dir=work) as folder, tqdm(unit=" sentences", desc=name) as progress:
                with naming(self.text[0]):
                    build(encoder, blocks, Path(folder), progress=progress.update)
                yield name, SearchIndex(folder, encoder)


def distinct_names(paths: Sequence[str], kind: str) -> list[str]:
    """Return a short name for each path; refuse repeated paths."""
    if len(set(paths)) < len(paths):
        raise UsageError(f"a {kind} is given twice", remedy="give each once")
    return short_names(paths)


def _first_spellings(blocks: Iterable[list[str | None]]) -> Iterator[list[str | None]]:
    """Replace sentences that differ from an earlier one in case and spacing only by the earlier spelling."""
    first: dict[int, str] = {}
    for block in blocks:
        keys = _text_keys([text or "" for text in block]).tolist()
        yield [text and first.setdefault(key, text) for key, text in zip(keys, block, strict=True)]


@dataclass(kw_only=True)
class NeighbourSettings(QuerySettings):
    """Show the nearest sentences to a query under several encoders (Sjöblom et al. 2018, tables 4, 5, 10, 11).

    Every sentence is compared. Sentences that differ only in case and spacing count as one; the query is left out.
    """

    neighbours: int = setting("nearest sentences per query", 10, names=["--neighbours", "--top-k"], at_least=1)


@recipe(NeighbourSettings)
def analyze_neighbours(settings: NeighbourSettings) -> Lists:
    """Show the nearest sentences to a query under several encoders (Sjöblom et al. 2018, tables 4, 5, 10, 11).

    Returns:
        For each encoder by its name the neighbours of every query.
    """
    queries = settings.read_queries()
    lists: Lists = {}
    with report("neighbours", settings, settings.inputs(), card="analysis_neighbours") as output:
        for name, index in settings.indexes(output.artefact.work, keep_repeated=False):
            # The index has each sentence once, so the query itself is at most one of the neighbours.
            nearest = index.search(queries, settings.neighbours + 1)
            lists[name] = [_others(*each)[: settings.neighbours] for each in zip(queries, nearest, strict=True)]
        if not any(any(nearest) for nearest in lists.values()):
            raise settings.unknown_words_error("no neighbour of any query")
        rows = (
            [query, name, rank, f"{neighbour.score:.6f}", neighbour.position, neighbour.sentence]
            for row, query in enumerate(queries)
            for name, nearest in lists.items()
            for rank, neighbour in enumerate(nearest[row], start=1)
        )
        output.table("neighbours", ["query", "model", "rank", "cosine", "position", "sentence"], rows)
        shown = [
            {
                "query": plain_markdown(query, _LONGEST),
                "table": _side_by_side({name: nearest[row] for name, nearest in lists.items()}),
                "unknown": [name for name, nearest in lists.items() if not nearest[row]],
            }
            for row, query in enumerate(queries[:_SHOWN])
        ]
        summary = {name: _means(queries, nearest) for name, nearest in lists.items()}
        table = _summary_table(summary)
        values = {
            "models": list(lists),
            "texts": short_names(settings.text),
            "k": settings.neighbours,
            "rows": _MOST_ROWS,
            "total": len(queries),
            "shown": shown,
            "summary": table,
        }
        output.finish({"queries": len(queries), "summary": summary}, values, table)
    return lists


def _text_keys(texts: Sequence[str]) -> NDArray[np.uint64]:
    return hash_rows(normalize_texts(pa.array(texts, pa.string())))


def _others(query: str, neighbours: list[Neighbour]) -> list[Neighbour]:
    """Drop neighbours that equal the query, ignoring case and spacing."""
    keys = _text_keys([query, *(neighbour.sentence for neighbour in neighbours)])
    return [neighbour for neighbour, key in zip(neighbours, keys[1:], strict=True) if key != keys[0]]


def _means(queries: Sequence[str], lists: Sequence[Sequence[Neighbour]]) -> dict[str, float | None]:
    """Average the lists of a model over the queries that have neighbours; None without any.

    `shared_words` is the percentage of words that query and neighbour have in common (Jaccard): the paper calls the
    neighbours by word averaging "bags of synonyms" (section 4.2.1). `first` and `last` are cosines.
    """
    shared = [
        100 * _jaccard(_words_of(query), _words_of(neighbour.sentence))
        for query, nearest in zip(queries, lists, strict=True)
        for neighbour in nearest
    ]
    values = {
        "first": [nearest[0].score for nearest in lists if nearest],
        "last": [nearest[-1].score for nearest in lists if nearest],
        "shared_words": shared,
    }
    return {name: fmean(measured) if measured else None for name, measured in values.items()}


def _words_of(text: str) -> set[str]:
    return {token for token in tokenize(text) if any(letter.isalnum() for letter in token)}


def _jaccard(first: set[str], second: set[str]) -> float:
    return len(first & second) / len(first | second) if first | second else 0.0


def _side_by_side(lists: Mapping[str, Sequence[Neighbour]]) -> str:
    """Format the neighbours of one query, a pair of columns for each model."""
    rows = []
    for rank in range(min(_MOST_ROWS, max(map(len, lists.values())))):
        row = [str(rank + 1)]
        for nearest in lists.values():
            is_listed = rank < len(nearest)
            row.append(plain_markdown(nearest[rank].sentence, _LONGEST) if is_listed else "")
            row.append(f"{nearest[rank].score:.2f}" if is_listed else "")
        rows.append(row)
    return format_table(["rank", *(cell for name in lists for cell in (name, "cosine"))], rows)


def _summary_table(summary: Mapping[str, Mapping[str, float | None]]) -> str:
    rows = []
    for name, means in summary.items():
        cells = [(means["first"], 2), (means["last"], 2), (means["shared_words"], 1)]
        rows.append([name, *("–" if value is None else f"{value:.{digits}f}" for value, digits in cells)])
    return format_table(["", "nearest: cosine", "last: cosine", "words shared with the query (%)"], rows)
