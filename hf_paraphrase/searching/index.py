"""An index folder: a corpus of encoded sentences that grows, searched by meaning, by words and by filters."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ..artefacts.artefact import has_own_provenance
from ..artefacts.cards import write_card
from ..artefacts.files import atomic_write_text, locked
from ..artefacts.provenance import PROVENANCE, fingerprint, origin_of, read_provenance, record_text
from ..data.batch_function import Progress, no_progress
from ..data.sentences import SentenceCorpus
from ..encoders.search_embedder import SearchEmbedder
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import InputError, ModelError, OutputError, UsageError
from ..messages import warn_renamed
from ..settings import Option
from ..text.hashing import hash64, hash_rows
from ..text.normalization import normalize_texts
from ..tokenization.fast_tokenize import list_of_texts
from ..training.devices import CPU
from ..vectors.exact_search import Pairs, ScoredPairs, find_similar_pairs, keep_best_pairs
from ..vectors.similarity import unit_row_cosines
from .bm25 import fuse_rankings
from .building import Blocks, RowEncoder, build_index, find_first_to_merge, make_index_card
from .manifest import Manifest
from .segments import ID, POSITION, SENTENCE, remove_leftovers, write_segment
from .snapshot import Snapshot, Vectors
from .snippets import find_best_passages

if TYPE_CHECKING:
    from ..classification.classifier import CrossEncoder

__all__ = ["Neighbour", "SearchIndex", "build_index"]
ENCODER_FOLDER = "encoder"
_QUERIES_PER_BLOCK, _QUERIES_WITH_SNIPPETS = 1024, 64
_NUM_CANDIDATES = 100
"""Candidates of each ranking in a hybrid search, and of a reranker."""
_CHECKED_SENTENCES = 8
_SAME_VECTOR = 0.99


@dataclass(frozen=True)
class Neighbour:
    """A sentence of the corpus that is near a query.

    Attributes:
        sentence: The text.
        score: The cosine with the query; the sum of 1 / (60 + rank) over both rankings in a hybrid search; the score
            of the reranker if one is given.
        row: The row in the index, from 0; it changes when segments are merged.
        position: The line or row in the input of the index, from 1; the count continues in inputs added later.
        columns: The values in the other columns of the input.
        snippet: The passage that answers the query best; None without snippets.
    """

    sentence: str
    score: float
    row: int
    position: int
    columns: dict[str, Any] = field(default_factory=dict, hash=False)
    snippet: str | None = None

    def record(self) -> dict[str, Any]:
        """Return the fields that have a value, for JSON."""
        return {name: value for name, value in vars(self).items() if value or name not in ("columns", "snippet")}


class SearchIndex:
    """An index folder that `hf-paraphrase search` or :func:`build_index` made.

    Rows, vectors and words are mapped into memory, and the encoder is opened at first use. Several processes may
    search and change one folder at the same time: a change is made under a lock and appears in one step. This object
    shows the state that it opened, until its `add`, `remove` or `refresh` opens the newest one.

    Args:
        folder: The index folder.
        encoder: The encoder of the queries, or its name; by default the copy in the folder.
        device: Where the encoder computes if it is opened here, for instance `cuda`; None for the CPU.

    Attributes:
        snapshot: The open state of the folder.
        num_replaced: Number of rows that the last `add` replaced by rows with the same id.

    Example:
        >>> index = SearchIndex("index")
        >>> index.add(["The physician purchased a vehicle."])
        >>> next(index.search("The doctor bought a car.", 1))[0].sentence
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        encoder: SentenceEncoder | str | os.PathLike[str] | None = None,
        *,
        device: str | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._given, self.num_replaced = (encoder, device), 0
        self.snapshot = Snapshot.open(self.folder)

    def refresh(self) -> bool:
        """Read the folder again if it has changed, and return whether it has."""
        is_new = Manifest.read_from(self.folder) != self.snapshot.manifest
        if is_new:
            self.snapshot = Snapshot.open(self.folder)
        return is_new

    def __reduce__(self) -> tuple[Any, ...]:
        encoder, device = self._given
        return partial(SearchIndex, device=device), (self.folder, encoder)

    def __len__(self) -> int:
        return len(self.snapshot)

    @property
    def settings(self) -> Manifest:
        """The counts, the method, and the names of corpora and encoder."""
        return self.snapshot.manifest

    @property
    def sentences(self) -> pa.Table:
        """The rows, with the columns `sentence` and `position` and the columns of the corpora."""
        rows, table = self.snapshot.live_rows, self.snapshot.table
        return table if rows is None else table.take(pa.array(rows))

    @property
    def vectors(self) -> Vectors:
        """The vectors (rows, dim) of length 1 or 0, to be read in slices; removed rows are included."""
        return self.snapshot.vectors

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The encoder of the queries. An encoder from outside the folder must give the vectors of the index."""
        given, device = self._given
        encoder = self.folder / ENCODER_FOLDER if given is None else given
        if not isinstance(encoder, SentenceEncoder):
            encoder = SentenceEncoder.from_pretrained(encoder, device=device)
        if given is not None and not self._is_encoder(encoder):
            remedy = "search with the encoder that the index was built with, or build it again"
            what = "the encoder gives other vectors than those in the index"
            raise ModelError(what, path=self.folder, remedy=remedy)
        return encoder

    def _is_encoder(self, encoder: SentenceEncoder) -> bool:
        """Return whether an encoder computes the stored vectors of some rows."""
        rows = np.unique(np.linspace(0, len(self.vectors) - 1, _CHECKED_SENTENCES).astype(np.int64))
        stored, texts = self.vectors[rows], self.snapshot.take(rows)[SENTENCE].to_pylist()
        computed = SearchEmbedder(encoder.for_task("document")).embed(texts)
        if computed.shape != stored.shape:
            return False
        # Zero vectors have cosine 0 with themselves.
        are_zero = ~(stored.any(axis=1) | computed.any(axis=1))
        return bool(((unit_row_cosines(stored, computed) >= _SAME_VECTOR) | are_zero).all())

    @cached_property
    def _queries(self) -> SearchEmbedder:
        return SearchEmbedder(self.encoder.for_task("query"))

    @cached_property
    def _documents(self) -> SearchEmbedder:
        return SearchEmbedder(self.encoder.for_task("document"))

    def search(
        self,
        queries: str | Sequence[str],
        k: int = 10,
        *,
        method: str | None = None,
        nprobe: int | None = None,
        filters: str | Sequence[str] = (),
        hybrid: bool = False,
        reranker: CrossEncoder | str | os.PathLike[str] | None = None,
        snippets: bool = False,
        batch_size: int = 256,
        prompt_name: str | None = None,
        prompt: str | None = None,
    ) -> Iterator[list[Neighbour]]:
        """Find the sentences of the corpus that are nearest to each query.

        Args:
            queries: One sentence or several.
            k: Maximum number of neighbours per query.
            method: `exact` or `approximate`; by default approximate if the index is built for it and there are no
                filters.
            nprobe: Number of inverted lists that an approximate search reads.
            filters: Conditions on the columns, for instance `year>=2020`; all must hold. See
                :func:`~.filters.select_rows`.
            hybrid: Rank the sentences by their words too, and fuse the two rankings.
            reranker: A cross-encoder, or its folder or name on the Hub, that ranks the best 100 candidates again.
            snippets: Return with each neighbour its passage that is nearest to the query, a sentence or about 200
                characters; see :func:`~.snippets.split_passages`.
            batch_size: Queries in a padded batch of the encoder.
            prompt_name: The name of a prompt to put before each query; `query` by default, if the encoder has it.
            prompt: A text to put before each query.

        Yields:
            For each query its neighbours, the nearest first. A query without a word that the encoder knows has no
            neighbours, except in a hybrid search if the corpus contains one of its words.
        """
        queries, snapshot = list_of_texts(queries), self.snapshot
        if prompt_name is not None:
            prompt = self.encoder.choose_prompt(prompt, prompt_name)
        candidates = snapshot.select(filters) if filters or filters == "" else None
        if isinstance(reranker, str | os.PathLike):
            reranker = _open_reranker(reranker, self._given[1] or CPU)
        num_ranked = k if reranker is None else max(k, _NUM_CANDIDATES)
        depth = max(num_ranked, _NUM_CANDIDATES) if hybrid else num_ranked
        options: dict[str, Any] = {"method": method, "nprobe": nprobe, "candidate_rows": candidates}
        allowed = snapshot.live_rows if candidates is None else candidates
        step = _QUERIES_WITH_SNIPPETS if snippets else _QUERIES_PER_BLOCK
        for first in range(0, len(queries), step):
            block = queries[first : first + step]
            vectors = self._queries.embed(block, prompt=prompt, batch_size=batch_size)
            hits = []
            for query, rows, scores in zip(block, *snapshot.search_vectors(vectors, depth, **options), strict=True):
                rows, scores = rows[rows >= 0], scores[rows >= 0]
                if hybrid:
                    rows, scores = fuse_rankings([rows, snapshot.bm25.best(query, depth, allowed)], num_ranked)
                records = zip(snapshot.take(rows).to_pylist(), scores.tolist(), rows.tolist(), strict=True)
                neighbors = [
                    Neighbour(values.pop(SENTENCE), score, row, values.pop(POSITION), values)
                    for values, score, row in records
                ]
                if reranker is not None:
                    scores = reranker.scores([query] * len(rows), [neighbor.sentence for neighbor in neighbors])
                    order = np.argsort(-scores, kind="stable")[:k].tolist()
                    neighbors = [replace(neighbors[position], score=float(scores[position])) for position in order]
                hits.append(neighbors)
            if snippets:
                embed = partial(self._documents.embed, batch_size=batch_size)
                texts = [[neighbor.sentence for neighbor in neighbors] for neighbors in hits]
                passages = find_best_passages(block, vectors, texts, embed)
                hits = [
                    [replace(neighbor, snippet=passage) for neighbor, passage in zip(*pair, strict=True)]
                    for pair in zip(hits, passages, strict=True)
                ]
            yield from hits

    def neighbours(self, *args: Any, probes: int | None = None, **options: Any) -> Iterator[list[Neighbour]]:
        """Call :meth:`search` by its former name."""
        warn_renamed("SearchIndex.neighbours", "SearchIndex.search")
        return self.search(*args, nprobe=probes, **options)

    def mine(
        self, threshold: float = 0.8, *, max_pairs: int = 1_000_000, show_progress_bar: bool = False
    ) -> ScoredPairs:
        """Find all pairs of sentences of the corpus whose embeddings have at least a given cosine.

        All rows are compared with all. Pairs that differ in case and spacing only are left out. The `max_pairs` pairs
        with the highest cosine are kept; memory is 48 bytes per pair.

        Args:
            threshold: Minimum cosine, above 0 and at most 1.
            max_pairs: Maximum number of pairs.
            show_progress_bar: Whether to show a progress bar.

        Returns:
            Each unordered pair once, the highest cosine first, equal ones in the order of their rows.
        """
        Option(above=0, at_most=1).check("threshold", threshold)
        vectors: Any = self.vectors
        keys = self.snapshot.text_keys
        is_live = np.ones(len(vectors), bool)
        is_live[self.snapshot.removed] = False

        def pairs() -> Iterator[Pairs]:
            for first, second, scores in find_similar_pairs(vectors, threshold, show_progress_bar=show_progress_bar):
                kept = (keys[first] != keys[second]) & is_live[first] & is_live[second]
                yield first[kept], second[kept], scores[kept]

        return keep_best_pairs(pairs(), max_pairs)

    def add(
        self,
        sentences: str | Sequence[str] | pa.Table | SentenceCorpus,
        *,
        ids: Any = None,
        columns: Mapping[str, Any] | None = None,
        unique: bool = False,
        batch_size: int = 256,
        progress: Progress = no_progress,
    ) -> int:
        """Add rows, and replace rows that have the id of an added row and other values.

        Rows that are equal to a row of the index in all columns, and blank sentences, are left out. The time grows
        with the added rows only, and a killed process leaves the index unchanged.

        Args:
            sentences: Texts, a table with a column `sentence`, or a corpus.
            ids: An id for each text, or a single id for a single text.
            columns: Values of other columns for each text.
            unique: Leave out sentences that the index has already, whatever their other columns.
            batch_size: Sentences in a padded batch of the encoder.
            progress: Called with the number of sentences that were read.

        Returns:
            The number of added rows, including those that replace others.
        """
        source = sentences.path if isinstance(sentences, SentenceCorpus) else None
        if ids is not None and ID in (columns or {}):
            raise UsageError(f"ids and the column {ID} are both given", remedy="give one of them")
        blocks: Blocks
        if isinstance(sentences, SentenceCorpus):
            blocks = sentences.tables()
        elif isinstance(sentences, pa.Table):
            blocks = [sentences]
        else:
            blocks = [_as_table(list_of_texts(sentences), {**({} if ids is None else {ID: ids}), **(columns or {})})]
        documents = self._documents
        with self._changing() as snapshot:
            rows = RowEncoder(documents, snapshot, unique=unique, batch_size=batch_size, progress=progress)
            entry = write_segment(self.folder, rows.encode(blocks), snapshot.manifest, documents)
            replaced = rows.replaced_rows()
            manifest = replace(snapshot.without(replaced), **rows.counts)
            if entry is not None:
                manifest = replace(manifest, segments=(*manifest.segments, entry))
            if source is not None:
                sources = dict.fromkeys([*manifest.sources, source.resolve().name])
                manifest = replace(manifest, sources=list(sources))
            self._commit(manifest, source)
        self.num_replaced = len(replaced)
        return 0 if entry is None else entry.rows

    def remove(
        self,
        sentences: str | Sequence[str] = (),
        *,
        ids: Any = (),
        filters: str | Sequence[str] = (),
    ) -> int:
        """Remove the rows that have one of the sentences or ids, or pass all filters.

        Args:
            sentences: Texts, compared without case and spacing.
            ids: A value of the column `id`, or several.
            filters: Conditions on the columns; a row must fulfil all. See :func:`~.filters.select_rows`.

        Returns:
            The number of removed rows.
        """
        texts = pa.array(list_of_texts(sentences), pa.string())
        given = [] if ids is None else _as_values(ids)
        with self._changing() as snapshot:
            if given and ID not in snapshot.table.column_names:
                raise UsageError(f"the index has no column {ID!r}", remedy="remove rows by text or by a condition")
            by_text, _ = snapshot.find("text", hash_rows(normalize_texts(texts)))
            by_id, _ = snapshot.find("id", hash64(map(str, given)))
            by_filter = snapshot.select(filters) if filters or filters == "" else by_id[:0]
            rows = np.unique(np.concatenate([by_text, by_id, by_filter]))
            if len(rows) == len(snapshot):
                what = "nothing would be left: this removes all sentences"
                raise InputError(what, path=self.folder, remedy="remove the folder instead")
            if len(rows):
                self._commit(snapshot.without(rows))
        return len(rows)

    @contextmanager
    def _changing(self) -> Iterator[Snapshot]:
        """Lock the folder, yield its newest state, and open the changed one."""
        if not has_own_provenance(self.folder):
            raise OutputError("not made by hf-paraphrase search", path=self.folder, remedy="build the index again")
        try:
            with locked(self.folder.resolve(), wait=True):
                snapshot = Snapshot(self.folder, Manifest.read_from(self.folder))
                remove_leftovers(self.folder, snapshot.manifest)
                yield snapshot
                self.snapshot = Snapshot.open(self.folder)
        except OSError as error:
            raise OutputError(f"cannot change the index: {error.strerror or error}", path=self.folder) from error

    def _commit(self, manifest: Manifest, source: Path | None = None) -> None:
        """Merge small segments, replace the manifest, and update card and provenance."""
        segments = tuple(entry for entry in manifest.segments if entry.live_rows)
        manifest = replace(manifest, segments=segments)
        first = find_first_to_merge(segments)
        if first < len(segments):
            parts = Snapshot(self.folder, manifest).live_parts(first)
            # An exact index needs no encoder to remove rows.
            embedder = None if manifest.method == "exact" else self._documents
            merged = write_segment(self.folder, parts, manifest, embedder, is_first=first == 0)
            assert merged is not None
            manifest = replace(manifest, segments=(*segments[:first], merged))
        manifest.write(self.folder)
        remove_leftovers(self.folder, manifest)
        record = read_provenance(self.folder)
        record["results"] = manifest.results()
        if source is not None:
            added = {**origin_of(source), "name": source.name, "sha256": fingerprint(source)}
            record["inputs"] = [*record.get("inputs", []), added]
        card = make_index_card(manifest, [self.folder, *([] if source is None else [source])])
        atomic_write_text(self.folder / PROVENANCE, record_text(record))
        write_card(self.folder, card)


def _open_reranker(name: str | os.PathLike[str], device: str) -> CrossEncoder:
    # It imports torch, which other searches do not need.
    from ..classification.classifier import CrossEncoder

    try:
        return CrossEncoder.from_pretrained(name, device=device)
    except ModelError as error:
        error.remedy = "give a cross-encoder with one label, such as cross-encoder/ms-marco-MiniLM-L6-v2"
        raise


def _as_values(values: Any) -> list[Any]:
    """Return one value or several as a list; a text is a single value."""
    return list(values) if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]


def _as_table(texts: Sequence[str], given: Mapping[str, Any]) -> pa.Table:
    """Return texts, and values of other columns for each text, as one table."""
    columns = {name: _as_values(values) for name, values in given.items()}
    if reserved := {SENTENCE, POSITION} & {*columns}:
        raise UsageError(f"the index reserves the column {min(reserved)}", remedy="give the column another name")
    for name, values in columns.items():
        if len(values) != len(texts):
            raise UsageError(f"{len(values)} values of {name} for {len(texts)} sentences", remedy="give as many")
    try:
        return pa.table({SENTENCE: pa.array(texts, pa.string()), **columns})
    except (pa.ArrowException, UnicodeEncodeError, OverflowError) as error:
        what = f"values of a column differ in type, or exceed 64 bits: {error}"
        raise UsageError(what, remedy="give values of one type, or texts") from error
