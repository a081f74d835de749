"""An index folder: a corpus of encoded sentences that grows, the nearest of them to any text, and all paraphrases."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.artefact import Artefact, Card, is_ours
from ..artefacts.files import read_json_object
from ..artefacts.provenance import inherited_metadata, read_provenance
from ..data.batch_function import Progress, no_progress
from ..data.folder import DataFolder, write_split
from ..data.schema import int64_array
from ..data.sentences import SentenceCorpus
from ..encoders.search_embedder import SearchEmbedder
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import InputError, ModelError, OutputError, UsageError
from ..settings import Constraints, Settings
from ..text.hashing import hash_rows
from ..text.normalization import is_blank, normalize_texts
from ..tokenization.fast_tokenize import list_of_texts
from ..vectors.checks import check_counts
from ..vectors.exact_search import Pairs, ScoredPairs, find_nearest, find_similar_pairs, keep_best_pairs
from ..vectors.faiss_index import LISTS_FILE, InvertedLists, build_lists
from ..vectors.files import NpyWriter, npy_writer, open_vectors
from ..vectors.similarity import unit_row_cosines
from .bm25 import Bm25, reciprocal_rank_fusion
from .filters import passing_rows
from .snippets import best_passages

ENCODER_FOLDER = "encoder"
SETTINGS_FILE = "index.json"
VECTORS_FILE = "vectors.npy"
SENTENCES = pa.schema([("sentence", pa.string()), ("position", pa.int64())])
"""A corpus: each sentence, and its place in the input, from 1; other columns of the input come after them."""
_ROWS_PER_GROUP = 10_000
_QUERIES_PER_BLOCK = 1024
_QUERIES_WITH_SNIPPETS = 64
_HYBRID_DEPTH = 100
_CHECKED_SENTENCES = 8
_SAME_VECTOR = 0.99
Blocks = Iterable[pa.Table | list[str | None]]


@dataclass(frozen=True)
class IndexSettings:
    """The settings stored in an index folder.

    Attributes:
        zero_rows: Sentences without a word in the encoder's vocabulary, with zero vectors; no search finds them.
        lists: The number of inverted lists; 0 for an index that is searched exactly only.
        probes: How many of them a query reads by default.
        recall: The share of the true ten nearest neighbours that the lists find, measured on a sample when the index
            was built; None without lists.
        read: How many sentences were read so far; 0 in a folder of version 0.1.
        empty: How many of them had no character but space, and were left out.
        repeated: How many of them had been there before.
    """

    rows: int
    dimension: int
    zero_rows: int
    lists: int = 0
    probes: int = 0
    recall: float | None = None
    format: int = 1
    read: int = 0
    empty: int = 0
    repeated: int = 0

    @classmethod
    def read_from(cls, folder: Path) -> IndexSettings:
        """Reads `index.json`."""
        path, remedy = folder / SETTINGS_FILE, "make one with hf-paraphrase search --model … --corpus … --output …"
        if not path.exists():
            what = f"not an index folder: it has no {SETTINGS_FILE}" if folder.exists() else "no such index folder"
            raise InputError(what, path=folder, remedy=remedy)
        try:
            return cls(**read_json_object(path))
        except TypeError as error:
            raise InputError(f"damaged: {error}", path=path, remedy=remedy) from error


def text_keys(texts: Sequence[str]) -> NDArray[np.int64]:
    """Computes a number for each text (texts,), the same for texts that are equal after `normalize_text`."""
    return hash_rows(normalize_texts(pa.array(texts, pa.string()))).view(np.int64)


@dataclass(frozen=True)
class Neighbour:
    """A sentence of the corpus that is near a query.

    Attributes:
        score: Its cosine with the query; of a hybrid search the sum of 1 / (60 + rank) over both rankings.
        row: Its row in the index, from 0.
        position: Its line or row in the input of the index, from 1; what was added later is counted on.
        columns: Its values in the other columns of that input.
        snippet: Its passage that answers the query best; None where none was asked for.
    """

    sentence: str
    score: float
    row: int
    position: int
    columns: dict[str, Any] = field(default_factory=dict, hash=False)
    snippet: str | None = None

    def record(self) -> dict[str, Any]:
        """Returns the fields that have a value, for JSON."""
        return {name: value for name, value in vars(self).items() if value or name not in ("columns", "snippet")}


class SearchIndex:
    """An index folder that `hf-paraphrase search` or :func:`build_index` made.

    Its sentences are in memory; the vectors, which are far more, are mapped, and the encoder is opened at first use.
    An index can be pickled and copied: the copy opens the folder again.

    Args:
        folder: The index folder.
        encoder: The encoder of the queries, or its name; by default the one that the folder holds.
        device: Where it computes if it is opened here, e.g. `cuda`; None for the CPU.

    Attributes:
        settings: What is in it.
        vectors: The vectors of the sentences (rows, dim), mapped from their file.
        sentences: A table with the columns `sentence` and `position` and the others of the corpus.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        encoder: SentenceEncoder | str | os.PathLike[str] | None = None,
        *,
        device: str | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._given = encoder, device
        self.reopen()

    def reopen(self) -> None:
        """Reads the folder again, after it has changed."""
        for name in ("lists", "keys", "words"):
            self.__dict__.pop(name, None)
        self.settings = IndexSettings.read_from(self.folder)
        self.vectors = open_vectors(self.folder / VECTORS_FILE)
        data = DataFolder(self.folder)
        data.require(*SENTENCES.names)
        # Of many chunks a few rows are not taken without copying all.
        self.sentences = data.table().combine_chunks()
        expected = (self.settings.rows, self.settings.dimension)
        if not self.vectors.shape == expected == (len(self.sentences), self.settings.dimension):
            what = f"{len(self.sentences)} sentences and vectors of shape {self.vectors.shape}, where {expected} is"
            raise InputError(f"{what} expected", path=self.folder, remedy="build the index again")

    def __reduce__(self) -> tuple[Any, ...]:
        encoder, device = self._given
        return partial(SearchIndex, device=device), (self.folder, encoder)

    def __len__(self) -> int:
        return self.settings.rows

    def sentences_of(self, rows: NDArray[np.int64]) -> pa.Table:
        """Takes some rows (rows,) in their order."""
        return self.sentences.take(int64_array(rows))

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The encoder of the queries; one that is not in the folder must give its vectors."""
        given, device = self._given
        encoder = self.folder / ENCODER_FOLDER if given is None else given
        if not isinstance(encoder, SentenceEncoder):
            encoder = SentenceEncoder.from_pretrained(encoder, device=device)
        if given is not None:
            rows = np.unique(np.linspace(0, len(self) - 1, _CHECKED_SENTENCES).astype(np.int64))
            stored = self.vectors[rows]
            now = SearchEmbedder(encoder.for_task("document")).embed(self.sentences_of(rows)["sentence"].to_pylist())
            is_same = now.shape == stored.shape
            if is_same:
                # Zero vectors have cosine 0 with themselves.
                are_zero = ~(stored.any(axis=1) | now.any(axis=1))
                is_same = bool(((unit_row_cosines(stored, now) >= _SAME_VECTOR) | are_zero).all())
            if not is_same:
                remedy = "search with the encoder that the index was built with, or build it again"
                what = "the encoder gives other vectors than those in the index"
                raise ModelError(what, path=self.folder, remedy=remedy)
        return encoder

    @cached_property
    def _queries(self) -> SearchEmbedder:
        return SearchEmbedder(self.encoder.for_task("query"))

    @cached_property
    def _documents(self) -> SearchEmbedder:
        return SearchEmbedder(self.encoder.for_task("document"))

    @cached_property
    def lists(self) -> InvertedLists:
        """The inverted lists."""
        return InvertedLists(self.folder / LISTS_FILE, self.vectors)

    @cached_property
    def keys(self) -> NDArray[np.int64]:
        """A number for each sentence (rows,), the same for those that differ in case and spacing only."""
        return text_keys(self.sentences["sentence"].to_pylist())

    @cached_property
    def words(self) -> Bm25:
        """The words of the sentences, which a hybrid search ranks as well."""
        return Bm25(self.sentences["sentence"].to_pylist())

    def neighbours(
        self,
        queries: str | Sequence[str],
        k: int = 10,
        *,
        method: str | None = None,
        probes: int | None = None,
        filters: str | Sequence[str] = (),
        hybrid: bool = False,
        snippets: bool = False,
        batch_size: int = 256,
    ) -> Iterator[list[Neighbour]]:
        """Finds the sentences of the corpus that are nearest to each query.

        Args:
            queries: One sentence or several.
            k: How many neighbours of each; fewer are given where the corpus has fewer.
            method: `exact` or `approximate`; by default approximate where the index has lists and nothing is filtered.
            probes: How many lists the approximate search reads.
            filters: What the columns of a neighbour must be, e.g. `year>=2020`; see :func:`~.filters.passing_rows`.
            hybrid: Rank the sentences by their words too, and fuse the two rankings.
            snippets: Give with each neighbour the passage of it that is nearest to the query: a sentence, or about 200
                characters; see :func:`~.snippets.passages`.
            batch_size: Queries in a padded batch of the encoder.

        Yields:
            For each query its neighbours, the nearest first; none if no word is in the encoder's vocabulary, and in a
            hybrid search none in the corpus either.
        """
        queries = list_of_texts(queries)
        among = passing_rows(self.sentences, filters) if filters else None
        depth = max(k, _HYBRID_DEPTH) if hybrid else k

        def hits_of(block: Sequence[str], vectors: NDArray[np.float32]) -> Iterator[list[Neighbour]]:
            found = zip(*self.nearest(vectors, depth, method=method, probes=probes, among=among), strict=True)
            for query, (rows, scores) in zip(block, found, strict=True):
                rows, scores = rows[rows >= 0], scores[rows >= 0]
                if hybrid:
                    rows, scores = reciprocal_rank_fusion([rows, self.words.best(query, depth, among)], k)
                records = self.sentences_of(rows).to_pylist()
                yield [
                    Neighbour(record.pop("sentence"), score, row, record.pop("position"), record)
                    for record, score, row in zip(records, scores.tolist(), rows.tolist(), strict=True)
                ]

        step = _QUERIES_WITH_SNIPPETS if snippets else _QUERIES_PER_BLOCK
        for first in range(0, len(queries), step):
            block = queries[first : first + step]
            vectors = self._queries.embed(block, batch_size=batch_size)
            if not snippets:
                yield from hits_of(block, vectors)
                continue
            hits = list(hits_of(block, vectors))
            texts = [[neighbour.sentence for neighbour in neighbours] for neighbours in hits]
            best = best_passages(block, vectors, texts, partial(self._documents.embed, batch_size=batch_size))
            for neighbours, parts in zip(hits, best, strict=True):
                yield [replace(item, snippet=part) for item, part in zip(neighbours, parts, strict=True)]

    def nearest(
        self,
        vectors: NDArray[np.float32],
        k: int,
        *,
        method: str | None = None,
        probes: int | None = None,
        among: NDArray[np.int64] | None = None,
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Finds the rows of the greatest cosine to each unit or zero vector (queries, dim) and these cosines.

        Rows (queries, k) are -1 where there are fewer. Of equal cosines the earlier row comes first. Cosines are those
        of double precision, so that a query gives the same answer whatever others are searched with it. Only rows of
        `among` are found, which are all compared.
        """
        check_counts(k=k)
        Constraints(choices=["exact", "approximate"]).check("method", method)
        if method == "approximate" and among is not None:
            raise UsageError("a filtered search compares all rows that pass", remedy="leave --method out")
        if method == "approximate" or (method is None and among is None and self.settings.lists):
            lists, probes = self.lists, self.settings.probes if probes is None else probes
            check_counts(probes=probes)
            return lists.search(vectors, min(k, len(self)), probes)
        names = "queries", "the vectors of the index"
        return find_nearest(vectors, self.vectors, k, candidate_rows=among, skip_zero=True, are_unit=True, names=names)

    def mine(
        self, threshold: float = 0.8, *, max_pairs: int = 1_000_000, show_progress_bar: bool = False
    ) -> ScoredPairs:
        """Finds all pairs of sentences of the corpus whose embeddings have at least a given cosine, above 0 to 1.

        All are compared with all. Pairs whose sides are the same but for case and spacing are left out. Of more than
        `max_pairs` those of the greatest cosine are kept; memory is 48 bytes for each.

        Returns:
            Each unordered pair once, the greatest cosine first, equal ones in the order of their rows.
        """
        Constraints(above=0, at_most=1).check("threshold", threshold)

        def pairs() -> Iterator[Pairs]:
            for first, second, scores in find_similar_pairs(
                self.vectors, threshold, show_progress_bar=show_progress_bar
            ):
                differ = self.keys[first] != self.keys[second]
                yield first[differ], second[differ], scores[differ]

        return keep_best_pairs(pairs(), max_pairs)

    def add(
        self,
        sentences: str | Sequence[str] | SentenceCorpus,
        *,
        batch_size: int = 256,
        progress: Progress = no_progress,
        settings: Settings | None = None,
    ) -> int:
        """Adds sentences at the end; those that are there are not encoded again.

        The folder is replaced in one step, and this object then reads the new one. Sentences that the index has and
        empty ones are left out. The name and licence of a corpus are put on the card, `settings` into the record.
        Returns how many the index has more than before.
        """
        options: dict[str, Any] = {"batch_size": batch_size, "progress": progress}
        if isinstance(sentences, SentenceCorpus):
            return self._rewrite(sentences.tables(), sentences.path, settings, **options)
        return self._rewrite([[*list_of_texts(sentences)]], **options)

    def remove(self, sentences: str | Sequence[str]) -> int:
        """Takes sentences out, and those that are the same but for case and spacing; the others are not encoded again.

        Returns:
            How many the index has fewer than before; rows of later sentences get smaller numbers.
        """
        without = np.isin(self.keys, text_keys(list_of_texts(sentences)))
        return -self._rewrite([], without=without) if without.any() else 0

    def _rewrite(
        self, blocks: Blocks, added: Path | None = None, settings: Settings | None = None, **options: Any
    ) -> int:
        """Replaces the folder by one with other sentences, and reads it; returns how many more there are."""
        before = len(self)
        if not is_ours(self.folder):
            raise OutputError("not made by hf-paraphrase search", path=self.folder, remedy="build the index again")
        record = read_provenance(self.folder)
        # Version 0.1 had these names in its settings alone.
        asked, names = record.get("settings", {}), record.get("results", {})
        sources = names.get("sources") or [Path(asked.get("corpus") or self.folder.resolve()).name]
        given = [self.folder, *([] if added is None else [added])]
        with Artefact(
            self.folder, command="search", settings=settings or {}, inputs=given, overwrite=True
        ) as artefact:
            made = build_index(self.encoder, blocks, artefact.staging, earlier=self, **options)
            finish_index(
                artefact,
                made,
                given,
                encoder=self.folder / ENCODER_FOLDER,
                encoder_name=names.get("encoder") or Path(asked.get("model") or "encoder").name,
                sources=[*sources, *(path.resolve().name for path in given[1:])],
                columns=names.get("columns") or asked.get("columns"),
            )
        self.reopen()
        return len(self) - before


def finish_index(
    artefact: Artefact,
    made: IndexSettings,
    inputs: Sequence[Path],
    *,
    encoder: Path,
    encoder_name: str,
    sources: Sequence[str],
    columns: Sequence[str] | None,
) -> None:
    """Copies the encoder into an index, so that the folder is complete in itself, and writes card and record."""
    try:
        ignored = shutil.ignore_patterns(".*", "checkpoint-*", "__pycache__")
        if encoder.is_dir():
            shutil.copytree(encoder, artefact.staging / ENCODER_FOLDER, ignore=ignored)
    except (OSError, shutil.Error) as error:
        raise ModelError(f"the encoder cannot be copied into the index: {error}", path=encoder) from error
    inherited = [inherited_metadata(path) for path in inputs]
    sources = list(dict.fromkeys(sources))
    results = {**vars(made), "sources": sources, "encoder": encoder_name, "columns": columns}
    values = {
        **{key: list(dict.fromkeys(chain(*(item[key] for item in inherited)))) for key in ("license", "language")},
        "title": f"Search index of {', '.join(sources)}",
        "source": ", ".join(sources),
        "splits": DataFolder(artefact.staging).sizes(),
        **results,
    }
    artefact.finish(results=results, card=Card("search_index", values))


def build_index(
    encoder: SentenceEncoder,
    blocks: Blocks,
    folder: Path,
    *,
    approximate: bool = False,
    keep_repeated: bool = False,
    batch_size: int = 256,
    earlier: SearchIndex | None = None,
    without: NDArray[np.bool_] | None = None,
    progress: Progress = no_progress,
) -> IndexSettings:
    """Encodes sentences and writes all parts of an index folder but the encoder, the card and the provenance.

    The sentences come in blocks of any size, or in tables whose column `sentence` holds them; None and empty texts are
    left out. The other columns of the first table are kept. `approximate` makes inverted lists as well, and
    `keep_repeated` keeps a sentence that comes several times as often. The sentences of an `earlier` index of the same
    encoder, but those that are `without` (rows,), come first and are not encoded again; its columns are those that are
    kept. `progress` is called with the number of sentences that were read.
    """
    with npy_writer(folder / VECTORS_FILE, encoder.dimension) as writer:
        builder = _Builder(encoder, writer, keep_repeated, batch_size)
        known = () if earlier is None else builder.earlier_tables(earlier, without)
        tables = chain(known, builder.tables(blocks, progress))
        if (first := next(tables, None)) is None:
            raise InputError("the corpus contains no sentences", remedy="give one sentence per line")
        write_split(folder, "train", chain([first], tables), first.schema, repeating=())
    settings = IndexSettings(writer.rows, encoder.dimension, **builder.counts)
    if settings.zero_rows == settings.rows:
        what = f"no word of the {settings.rows:,} sentences is in the encoder's vocabulary"
        raise InputError(what, remedy="give text in the language and the script that the encoder was trained on")
    if approximate or (earlier is not None and earlier.settings.lists):
        lists, probes, recall = build_lists(open_vectors(folder / VECTORS_FILE), folder / LISTS_FILE)
        settings = replace(settings, lists=lists, probes=probes, recall=recall)
    (folder / SETTINGS_FILE).write_text(json.dumps(asdict(settings), indent=2) + "\n", encoding="utf-8")
    return settings


class _Builder:
    """Counts the sentences of an index that is being built, and writes their vectors."""

    def __init__(self, encoder: SentenceEncoder, writer: NpyWriter, keep_repeated: bool, batch_size: int) -> None:
        self.counts = Counter(read=0, empty=0, repeated=0, zero_rows=0)
        self._embedder, self._writer = SearchEmbedder(encoder.for_task("document")), writer
        self._seen: set[int] = set()
        self._keep_repeated, self._batch_size = keep_repeated, batch_size
        self._schema: pa.Schema | None = None

    def tables(self, blocks: Blocks, progress: Progress) -> Iterator[pa.Table]:
        """Encodes sentences and gives the rows of the table of sentences."""
        for block in blocks:
            given = block if isinstance(block, pa.Table) else pa.table({"sentence": pa.array(block, pa.string())})
            texts = given["sentence"].to_pylist()
            kept = np.flatnonzero([self._is_kept(text) for text in texts])
            if len(kept):
                rows = given.take(int64_array(kept))
                vectors = self._embedder.embed([texts[place] for place in kept], batch_size=self._batch_size)
                positions = int64_array(kept + self.counts["read"] + 1)
                others = {name: rows[name] for name in rows.column_names if name not in SENTENCES.names}
                yield self._written(pa.table({"sentence": rows["sentence"], "position": positions, **others}), vectors)
            self.counts["read"] += len(texts)
            progress(len(texts))

    def earlier_tables(self, earlier: SearchIndex, without: NDArray[np.bool_] | None) -> Iterator[pa.Table]:
        """Takes over the rows of an index, but those that are left out."""
        kept = np.arange(len(earlier.vectors)) if without is None else np.flatnonzero(~without)
        for start in range(0, len(kept), _ROWS_PER_GROUP):
            rows = kept[start : start + _ROWS_PER_GROUP]
            table = earlier.sentences_of(rows)
            self._seen.update(map(hash, table["sentence"].to_pylist()))
            yield self._written(table, earlier.vectors[rows])
        before = earlier.settings
        # Version 0.1 did not store how many were read.
        self.counts["read"] = before.read or earlier.sentences["position"][-1].as_py()
        self.counts["empty"], self.counts["repeated"] = before.empty, before.repeated

    def _is_kept(self, text: str | None) -> bool:
        if text is None or is_blank(text):
            self.counts["empty"] += 1
            return False
        key = hash(text)
        is_repeated = key in self._seen
        self._seen.add(key)
        self.counts["repeated"] += is_repeated
        return self._keep_repeated or not is_repeated

    def _written(self, table: pa.Table, vectors: NDArray[np.float32]) -> pa.Table:
        """Writes the vectors of a table, and gives it the columns of the first one; those that it lacks are null."""
        self.counts["zero_rows"] += int((~vectors.any(axis=1)).sum())
        self._writer.write(vectors)
        if self._schema is None:
            self._schema = pa.schema([*SENTENCES, *list(table.schema)[len(SENTENCES) :]])
        given = {name: table[name] for name in table.column_names}
        columns = [given.get(field.name, pa.nulls(len(table), field.type)) for field in self._schema]
        try:
            return pa.table(columns, names=self._schema.names).cast(self._schema)
        except pa.ArrowException as error:
            what = f"the types of the columns are not those of the index: {error}"
            raise InputError(what, remedy="give columns of the same types, or build the index again") from error
