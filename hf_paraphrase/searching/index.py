"""An index folder: a corpus of encoded sentences that grows, searched by meaning, by words and by filters."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.artefact import Artefact, has_own_provenance
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
from ..vectors.exact_search import Pairs, ScoredPairs, find_similar_pairs, keep_best_pairs
from ..vectors.faiss_index import KINDS
from ..vectors.similarity import unit_row_cosines
from .bm25 import reciprocal_rank_fusion
from .filters import select_rows
from .manifest import MANIFEST_FILE, Manifest
from .segments import ID, POSITION, SENTENCE, SegmentWriter
from .snapshot import Snapshot
from .snippets import best_passages
from .writing import (
    Blocks,
    RowBuilder,
    card_of_index,
    copy_encoder,
    iterate_blocks,
    merged_segment,
    new_segment_folder,
    remove_leftovers,
    tail_to_merge,
)

ENCODER_FOLDER = "encoder"
_QUERIES_PER_BLOCK = 1024
_QUERIES_WITH_SNIPPETS = 64
_HYBRID_DEPTH = 100
_CHECKED_SENTENCES = 8
_SAME_VECTOR = 0.99


@dataclass(frozen=True)
class Neighbour:
    """A sentence of the corpus that is near a query.

    Attributes:
        sentence: The text.
        score: Its cosine with the query; in a hybrid search the sum of 1 / (60 + rank) over both rankings.
        row: Its row in the index, from 0; rows keep their numbers until segments are merged.
        position: Its line or row in the input of the index, from 1; rows that are added later are counted on.
        columns: Its values in the other columns of the input.
        snippet: Its passage that answers the query best; None without snippets.
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

    Rows, vectors and words are mapped into memory, and the encoder is opened at first use. Several processes may
    search and change one folder at the same time: a change is made under a lock and appears in one step. This object
    shows the state that it opened; `add` and `remove` show the new one, and so does `refresh`.

    Args:
        folder: The index folder.
        encoder: The encoder of the queries, or its name; by default the copy in the folder.
        device: Where the encoder computes if it is opened here, for instance `cuda`; None for the CPU.

    Attributes:
        num_replaced: How many rows the last `add` replaced because an added row has their id.

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
        self.reopen()

    def reopen(self) -> None:
        """Reads the folder again."""
        self._version = self._version_on_disk()
        self._snapshot = Snapshot.open(self.folder)

    def refresh(self) -> bool:
        """Reads the folder again if it has changed, and returns whether it has."""
        is_new = self._version_on_disk() != self._version
        if is_new:
            self.reopen()
        return is_new

    def _version_on_disk(self) -> tuple[int, ...]:
        try:
            status = (self.folder / MANIFEST_FILE).stat()
        except OSError:
            return ()
        return status.st_mtime_ns, status.st_ino, status.st_size

    def __reduce__(self) -> tuple[Any, ...]:
        encoder, device = self._given
        return partial(SearchIndex, device=device), (self.folder, encoder)

    def __len__(self) -> int:
        return len(self._snapshot)

    @property
    def settings(self) -> Manifest:
        """What the index contains: counts, method, names of corpora and encoder."""
        return self._snapshot.manifest

    @property
    def sentences(self) -> pa.Table:
        """The rows, with the columns `sentence` and `position` and the columns of the corpora."""
        return self._snapshot.table

    @property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors (rows, dim) of length 1 or 0, to be read in slices; removed rows are included."""
        return self._snapshot.vectors  # type: ignore[return-value]

    def sentences_of(self, rows: NDArray[np.int64]) -> pa.Table:
        """Returns some rows (rows,) in their order, with all columns."""
        return self._snapshot.take(rows)

    @cached_property
    def encoder(self) -> SentenceEncoder:
        """The encoder of the queries. An encoder from outside the folder must give the vectors of the index."""
        given, device = self._given
        encoder = self.folder / ENCODER_FOLDER if given is None else given
        if not isinstance(encoder, SentenceEncoder):
            encoder = SentenceEncoder.from_pretrained(encoder, device=device)
        if given is not None:
            snapshot = self._snapshot
            rows = np.unique(np.linspace(0, len(snapshot.vectors) - 1, _CHECKED_SENTENCES).astype(np.int64))
            stored = snapshot.vectors[rows]
            now = SearchEmbedder(encoder.for_task("document")).embed(snapshot.take(rows)[SENTENCE].to_pylist())
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

    def search(
        self,
        queries: str | Sequence[str],
        k: int = 10,
        *,
        method: str | None = None,
        nprobe: int | None = None,
        filters: str | Sequence[str] = (),
        hybrid: bool = False,
        snippets: bool = False,
        batch_size: int = 256,
        prompt_name: str | None = None,
        prompt: str | None = None,
    ) -> Iterator[list[Neighbour]]:
        """Finds the sentences of the corpus that are nearest to each query.

        Args:
            queries: One sentence or several.
            k: Neighbors per query; there are fewer where the corpus has fewer.
            method: `exact` or `approximate`; by default approximate where the index is built for it and nothing is
                filtered.
            nprobe: How many inverted lists an approximate search reads.
            filters: Conditions on the columns, for instance `year>=2020`; all must hold. See
                :func:`~.filters.select_rows`.
            hybrid: Rank the sentences by their words too, and fuse the two rankings.
            snippets: Return with each neighbor its passage that is nearest to the query, a sentence or about 200
                characters; see :func:`~.snippets.passages`.
            batch_size: Queries in a padded batch of the encoder.
            prompt_name: The name of a prompt to put before each query; `query` by default, if the encoder has it.
            prompt: A text to put before each query.

        Yields:
            For each query its neighbors, the nearest first; none if the encoder has none of its words, and in a hybrid
            search the corpus has none of them either.
        """
        queries = list_of_texts(queries)
        if prompt_name is not None:
            prompt = self.encoder.choose_prompt(prompt, prompt_name)
        snapshot = self._snapshot
        candidates = self._selected(snapshot, filters) if filters else None
        depth = max(k, _HYBRID_DEPTH) if hybrid else k
        options: dict[str, Any] = {"method": method, "nprobe": nprobe, "candidate_rows": candidates}

        def search_block(block: Sequence[str], vectors: NDArray[np.float32]) -> Iterator[list[Neighbour]]:
            found = zip(*snapshot.search_vectors(vectors, depth, **options), strict=True)
            for query, (rows, scores) in zip(block, found, strict=True):
                rows, scores = rows[rows >= 0], scores[rows >= 0]
                if hybrid:
                    allowed = snapshot.live_rows if candidates is None else candidates
                    rows, scores = reciprocal_rank_fusion([rows, snapshot.bm25.best(query, depth, allowed)], k)
                records = snapshot.take(rows).to_pylist()
                yield [
                    Neighbour(record.pop(SENTENCE), score, row, record.pop(POSITION), record)
                    for record, score, row in zip(records, scores.tolist(), rows.tolist(), strict=True)
                ]

        step = _QUERIES_WITH_SNIPPETS if snippets else _QUERIES_PER_BLOCK
        for first in range(0, len(queries), step):
            block = queries[first : first + step]
            vectors = self._queries.embed(block, prompt=prompt, batch_size=batch_size)
            if not snippets:
                yield from search_block(block, vectors)
                continue
            hits = list(search_block(block, vectors))
            texts = [[neighbor.sentence for neighbor in neighbors] for neighbors in hits]
            best = best_passages(block, vectors, texts, partial(self._documents.embed, batch_size=batch_size))
            for neighbors, parts in zip(hits, best, strict=True):
                yield [replace(neighbor, snippet=part) for neighbor, part in zip(neighbors, parts, strict=True)]

    def neighbours(self, *args: Any, probes: int | None = None, **options: Any) -> Iterator[list[Neighbour]]:
        """Calls :meth:`search`; this is its former name."""
        warn_renamed("SearchIndex.neighbours", "SearchIndex.search")
        return self.search(*args, nprobe=probes, **options)

    def open_all(self) -> None:
        """Opens every file of the current state, so that the folder may disappear."""
        self._snapshot.open_all()

    def search_vectors(
        self, vectors: NDArray[np.float32], k: int, **options: Any
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Finds the rows of the highest cosine to each unit or zero vector; see :meth:`.Snapshot.search_vectors`."""
        return self._snapshot.search_vectors(vectors, k, **options)

    def nearest(self, *args: Any, probes: int | None = None, **options: Any) -> Any:
        """Calls :meth:`search_vectors`; this is its former name."""
        warn_renamed("SearchIndex.nearest", "SearchIndex.search_vectors")
        return self.search_vectors(*args, nprobe=probes, **options)

    def select(self, filters: str | Sequence[str]) -> NDArray[np.int64]:
        """Returns the rows that pass all filters, ascending; see :func:`~.filters.select_rows`."""
        return self._selected(self._snapshot, filters)

    @staticmethod
    def _selected(snapshot: Snapshot, filters: str | Sequence[str]) -> NDArray[np.int64]:
        rows = select_rows(snapshot.table, filters)
        return rows if snapshot.live_rows is None else snapshot.live_rows[rows]

    def mine(
        self, threshold: float = 0.8, *, max_pairs: int = 1_000_000, show_progress_bar: bool = False
    ) -> ScoredPairs:
        """Finds all pairs of sentences of the corpus whose embeddings have at least a given cosine.

        All rows are compared with all. Pairs that differ in case and spacing only are left out. At most
        `max_pairs` pairs are kept, the pairs of the highest cosine; memory is 48 bytes per pair.

        Args:
            threshold: Minimum cosine, above 0 and at most 1.
            max_pairs: Maximum number of pairs.
            show_progress_bar: Whether to show a progress bar.

        Returns:
            Each unordered pair once, the highest cosine first, equal ones in the order of their rows.
        """
        Option(above=0, at_most=1).check("threshold", threshold)
        snapshot = self._snapshot
        is_live = np.ones(len(snapshot.vectors), bool)
        if snapshot.live_rows is not None:
            is_live[:] = False
            is_live[snapshot.live_rows] = True

        def pairs() -> Iterator[Pairs]:
            vectors: Any = snapshot.vectors
            for first, second, scores in find_similar_pairs(vectors, threshold, show_progress_bar=show_progress_bar):
                kept = (snapshot.text_keys[first] != snapshot.text_keys[second]) & is_live[first] & is_live[second]
                yield first[kept], second[kept], scores[kept]

        return keep_best_pairs(pairs(), max_pairs)

    def add(
        self,
        sentences: str | Sequence[str] | pa.Table | SentenceCorpus,
        *,
        ids: Sequence[Any] | None = None,
        columns: dict[str, Sequence[Any]] | None = None,
        unique: bool = False,
        batch_size: int = 256,
        progress: Progress = no_progress,
    ) -> int:
        """Adds rows. Rows that have the id of an added row and other values are replaced.

        Rows that are equal to a row of the index in all columns, and blank sentences, are left out. The time grows
        with the added rows only, and a killed process leaves the index unchanged.

        Args:
            sentences: Texts, a table with a column `sentence`, or a corpus.
            ids: An id for each text.
            columns: Values of other columns for each text.
            unique: Leave out sentences that the index has already, whatever their other columns.
            batch_size: Sentences in a padded batch of the encoder.
            progress: Called with the number of sentences that were read.

        Returns:
            How many rows the index has more than before.
        """
        source = None
        blocks: Blocks
        if isinstance(sentences, SentenceCorpus):
            blocks, source = sentences.tables(), sentences
        elif isinstance(sentences, pa.Table):
            blocks = [sentences]
        else:
            texts = list_of_texts(sentences)
            values = {**({} if ids is None else {ID: list(ids)}), **(columns or {})}
            for name, column in values.items():
                if len(column) != len(texts):
                    raise UsageError(
                        f"{len(column)} values of {name} for {len(texts)} sentences", remedy="give as many"
                    )
            blocks = iterate_blocks(texts, values)
        documents = self._documents
        with self._changing() as snapshot:
            builder = RowBuilder(documents, snapshot, unique=unique, batch_size=batch_size, progress=progress)
            manifest, folder = snapshot.manifest, new_segment_folder(self.folder)
            with SegmentWriter(folder, manifest.dimension) as writer:
                builder.write(blocks, writer)
                entry = writer.finish(manifest.method) if writer.rows else None
            replaced = builder.replaced_rows()
            manifest = _without(snapshot, replaced)
            counts = {name: getattr(manifest, name) + builder.counts[name] for name in ("empty", "repeated")}
            manifest = replace(manifest, read=builder.counts["read"], **counts)
            if entry is None:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                if (folder / "index.faiss").exists():
                    entry = builder.with_recall(entry, folder, manifest)
                manifest = replace(manifest, segments=(*manifest.segments, entry))
            if source is not None:
                sources = dict.fromkeys([*manifest.sources, source.path.resolve().name])
                manifest = replace(manifest, sources=list(sources))
            self._commit(manifest, builder, None if source is None else source.path)
            before, self.num_replaced = len(snapshot), len(replaced)
        return len(self) - before

    def remove(
        self,
        sentences: str | Sequence[str] = (),
        *,
        ids: Sequence[Any] = (),
        filters: str | Sequence[str] = (),
    ) -> int:
        """Removes the rows with one of the sentences, but for case and spacing, with one of the ids, or by filters.

        Args:
            sentences: Texts.
            ids: Values of the column `id`.
            filters: Conditions on the columns, all of which must hold; see :func:`~.filters.select_rows`.

        Returns:
            How many rows the index has fewer than before.
        """
        texts = list_of_texts(sentences)
        with self._changing() as snapshot:
            by_text, _ = snapshot.find("text", hash_rows(normalize_texts(pa.array(texts, pa.string()))))
            by_id, _ = snapshot.find("id", hash64(map(str, ids)))
            by_filter = self._selected(snapshot, filters) if filters else by_id[:0]
            rows = np.unique(np.concatenate([by_text, by_id, by_filter]))
            if not len(rows):
                return 0
            if len(rows) == len(snapshot):
                what = "nothing would be left: the corpus contains no sentences then"
                raise InputError(what, path=self.folder, remedy="remove the folder instead")
            self._commit(_without(snapshot, rows))
        return len(rows)

    @contextmanager
    def _changing(self) -> Iterator[Snapshot]:
        """Locks the folder and yields its newest state; an index of version 0.1 or 0.2 is converted first."""
        if not has_own_provenance(self.folder):
            raise OutputError("not made by hf-paraphrase search", path=self.folder, remedy="build the index again")
        try:
            with locked(self.folder.resolve(), wait=True):
                snapshot = Snapshot.open(self.folder)
                remove_leftovers(self.folder, snapshot.manifest)
                if not snapshot.manifest.segments[0].name:
                    snapshot = self._converted(snapshot)
                yield snapshot
                self.reopen()
        except OSError as error:
            raise OutputError(f"cannot change the index: {error.strerror or error}", path=self.folder) from error

    def _converted(self, snapshot: Snapshot) -> Snapshot:
        manifest = snapshot.manifest
        record = read_provenance(self.folder)
        # Version 0.1 had these names in its settings alone.
        asked, names = record.get("settings", {}), record.get("results", {})
        entry = merged_segment(snapshot, 0, new_segment_folder(self.folder), manifest.method)
        recall = manifest.segments[0].recall
        manifest = Manifest(
            manifest.dimension,
            (replace(entry, recall=recall),),
            manifest.method,
            manifest.read or int(snapshot.table[POSITION][-1].as_py()),
            manifest.empty,
            manifest.repeated,
            names.get("sources") or [Path(asked.get("corpus") or self.folder.resolve()).name],
            names.get("encoder") or Path(asked.get("model") or "encoder").name,
            names.get("columns") or asked.get("columns") or [],
        )
        manifest.write(self.folder)
        shutil.rmtree(self.folder / "data", ignore_errors=True)
        for name in ("vectors.npy", "index.faiss"):
            (self.folder / name).unlink(missing_ok=True)
        return Snapshot.open(self.folder)

    def _commit(self, manifest: Manifest, builder: RowBuilder | None = None, source: Path | None = None) -> None:
        """Merges small segments, replaces the manifest, and brings card and provenance up to date."""
        segments = tuple(entry for entry in manifest.segments if entry.live_rows)
        manifest = replace(manifest, segments=segments)
        first = tail_to_merge(segments)
        is_worn = 2 * segments[first].num_removed > segments[first].rows
        if first < len(segments) - 1 or is_worn:
            folder = new_segment_folder(self.folder)
            entry = merged_segment(Snapshot(self.folder, manifest), first, folder, manifest.method)
            if (folder / "index.faiss").exists():
                builder = builder or RowBuilder(self._documents)
                entry = builder.with_recall(entry, folder, manifest)
            manifest = replace(manifest, segments=(*segments[:first], entry))
        manifest.write(self.folder)
        remove_leftovers(self.folder, manifest)
        record = read_provenance(self.folder)
        record["results"] = manifest.results()
        if source is not None:
            added = {**origin_of(source), "name": source.name, "sha256": fingerprint(source)}
            record["inputs"] = [*record.get("inputs", []), added]
        card = card_of_index(manifest, [self.folder, *([] if source is None else [source])])
        atomic_write_text(self.folder / PROVENANCE, record_text(record))
        write_card(self.folder, card)


def _without(snapshot: Snapshot, rows: NDArray[np.int64]) -> Manifest:
    """Returns the manifest without some rows (rows,); each segment that loses rows gets a new list of removed ones."""
    entries = list(snapshot.manifest.segments)
    for number, segment in enumerate(snapshot.segments):
        first, stop = np.searchsorted(rows, snapshot.starts[number : number + 2])
        if first == stop:
            continue
        own = rows[first:stop] - snapshot.starts[number]
        removed = np.union1d(segment.removed, own)
        name = f"removed-{len(removed)}.npy"
        np.save(segment.folder / name, removed)
        zero_rows = segment.entry.zero_rows - int((~segment.vectors[own].any(axis=1)).sum())
        entries[number] = replace(segment.entry, removed=name, num_removed=len(removed), zero_rows=zero_rows)
    return replace(snapshot.manifest, segments=tuple(entries))


def build_index(
    encoder: SentenceEncoder,
    blocks: Blocks,
    folder: Path,
    *,
    method: str = "exact",
    unique: bool = False,
    keep_repeated: bool = False,
    batch_size: int = 256,
    progress: Progress = no_progress,
) -> Manifest:
    """Encodes sentences and writes all parts of an index folder but the encoder, the card and the provenance.

    Args:
        encoder: The encoder.
        blocks: Lists of texts, or tables whose column `sentence` has them; their other columns are kept. None and
            blank texts are left out.
        folder: A new or empty folder.
        method: `exact`, or the kind of approximate search: `ivf`, `hnsw`, `int8` or `binary`.
        unique: Leave out a sentence that repeats an earlier one, whatever its other columns.
        keep_repeated: Keep a row that repeats an earlier one in all columns.
        batch_size: Sentences in a padded batch of the encoder.
        progress: Called with the number of sentences that were read.

    Returns:
        The manifest.
    """
    method = "ivf" if method == "approximate" else method
    Option(choices=["exact", *KINDS]).check("method", method)
    documents = SearchEmbedder(encoder.for_task("document"))
    builder = RowBuilder(
        documents, unique=unique, keep_repeated=keep_repeated, batch_size=batch_size, progress=progress
    )
    segment_folder = new_segment_folder(folder)
    with SegmentWriter(segment_folder, encoder.dimension) as writer:
        builder.write(blocks, writer)
        if not writer.rows:
            raise InputError("the corpus contains no sentences", remedy="give one sentence per line")
        if writer.zero_rows == writer.rows:
            what = f"no word of the {writer.rows:,} sentences is in the encoder's vocabulary"
            raise InputError(what, remedy="give text in the language and the script that the encoder was trained on")
        entry = writer.finish(method, is_first=True)
    manifest = Manifest(encoder.dimension, (entry,), method, **dict[str, Any](builder.counts))
    if method != "exact":
        entry = builder.with_recall(entry, segment_folder, manifest)
        manifest = replace(manifest, segments=(entry,))
    manifest.write(folder)
    return manifest


def finish_index(
    artefact: Artefact,
    made: Manifest,
    inputs: Sequence[Path],
    *,
    encoder: Path,
    encoder_name: str,
    sources: Sequence[str],
    columns: Sequence[str],
) -> None:
    """Copies the encoder into an index, and writes the names into manifest, card and record."""
    try:
        copy_encoder(encoder, artefact.staging / ENCODER_FOLDER)
    except (OSError, shutil.Error) as error:
        raise ModelError(f"the encoder cannot be copied into the index: {error}", path=encoder) from error
    made = replace(made, sources=list(dict.fromkeys(sources)), encoder=encoder_name, columns=list(columns))
    made.write(artefact.staging)
    artefact.finish(results=made.results(), card=card_of_index(made, inputs))
