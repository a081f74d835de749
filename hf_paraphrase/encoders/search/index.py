"""A corpus of encoded sentences on disk: nearest neighbours of any sentence, and all pairs of paraphrases in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...artefacts.artefact import Artefact, Card, is_ours
from ...artefacts.provenance import inherited_metadata, read_provenance
from ...data.folder import DataFolder
from ...data.schema import int64_array
from ...data.sentences import SentenceCorpus
from ...errors import InputError, ModelError, OutputError, UsageError
from ...settings import Constraints, Settings
from ...tokenization.token_lookup import list_of_texts
from ..known_texts import KnownTexts
from ..sentence_encoder import SentenceEncoder
from ..vectors import check_count, open_vectors
from .approximate import LISTS_FILE, InvertedLists
from .bm25 import Bm25, reciprocal_rank_fusion
from .build import SENTENCES, VECTORS_FILE, IndexSettings, build_index, text_keys
from .filters import passing_rows
from .nearest_neighbours import cosine_of_rows, nearest_neighbours
from .semantic_search import MinedPairs, Pairs, best_pairs, similar_pairs

METHODS = ("exact", "approximate")
ENCODER_FOLDER = "encoder"
_QUERIES_PER_BLOCK = 1024
_HYBRID_DEPTH = 100
_CHECKED_SENTENCES = 8
_SAME_VECTOR = 0.99
_OTHER_ENCODER = "search with the encoder that the index was built with, or build it again"


@dataclass(frozen=True)
class Neighbour:
    """A sentence of the corpus that is near a query.

    Attributes:
        score: Its cosine with the query; of a hybrid search the sum of 1 / (60 + rank) over both rankings.
        row: Its row in the index, from 0.
        position: Its line or row in the input that the index was built from, from 1; what was added later is counted
            on.
        columns: Its values in the other columns of that input.
    """

    sentence: str
    score: float
    row: int
    position: int
    columns: dict[str, Any] = field(default_factory=dict, hash=False)

    def record(self) -> dict[str, Any]:
        """Returns the fields that have a value, for JSON."""
        return {name: value for name, value in vars(self).items() if name != "columns" or value}


class SearchIndex:
    """An index folder that `hf-paraphrase search` or :func:`~.build.build_index` made.

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
        if self.vectors.shape != expected or len(self.sentences) != self.settings.rows:
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
        """The encoder of the queries."""
        given, device = self._given
        encoder = self.folder / ENCODER_FOLDER if given is None else given
        if not isinstance(encoder, SentenceEncoder):
            encoder = SentenceEncoder.from_pretrained(encoder, device=device)
        if encoder.dimension != self.settings.dimension:
            raise ModelError(
                f"the encoder gives {encoder.dimension} components, the index has {self.settings.dimension}",
                path=self.folder,
                remedy=_OTHER_ENCODER,
            )
        if given is not None:
            self._check_vectors(encoder)
        return encoder

    def _check_vectors(self, encoder: SentenceEncoder) -> None:
        """Compares a few vectors of the index with those of an encoder that is not the one in it."""
        rows = np.unique(np.linspace(0, len(self) - 1, _CHECKED_SENTENCES).astype(np.int64))
        stored = self.vectors[rows]
        now = KnownTexts(encoder).embed(self.sentences_of(rows)["sentence"].to_pylist())
        # Zero vectors have cosine 0 with themselves.
        same = (cosine_of_rows(stored, now) >= _SAME_VECTOR) | ~(stored.any(axis=1) | now.any(axis=1))
        if not same.all():
            raise ModelError(
                "the encoder gives other vectors than those in the index", path=self.folder, remedy=_OTHER_ENCODER
            )

    @cached_property
    def _texts(self) -> KnownTexts:
        return KnownTexts(self.encoder)

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
            batch_size: Queries in a padded batch of the encoder.

        Yields:
            For each query its neighbours, the nearest first; none if no word is in the encoder's vocabulary, and in a
            hybrid search none in the corpus either.
        """
        queries = list_of_texts(queries)
        among = passing_rows(self.sentences, filters) if filters else None
        depth = max(k, _HYBRID_DEPTH) if hybrid else k
        for first in range(0, len(queries), _QUERIES_PER_BLOCK):
            block = queries[first : first + _QUERIES_PER_BLOCK]
            vectors = self._texts.embed(block, batch_size=batch_size)
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
        check_count("k", k)
        if among is not None and method == "approximate":
            raise UsageError("a filtered search compares all rows that pass", remedy="leave --method out")
        if among is None and self.uses_lists(method):
            probes = self.settings.probes if probes is None else probes
            check_count("probes", probes)
            return self.lists.search(vectors, min(k, len(self)), probes)
        names = "queries", "the vectors of the index"
        return nearest_neighbours(vectors, self.vectors, k, among=among, skip_zero=True, are_units=True, names=names)

    def uses_lists(self, method: str | None) -> bool:
        """Returns whether a search by this method reads inverted lists."""
        Constraints(choices=METHODS).check("method", method)
        if method == "approximate" and not self.settings.lists:
            raise UsageError(
                "the index has no lists for an approximate search",
                path=self.folder,
                remedy="search exactly, or build it with --method approximate",
            )
        return bool(self.settings.lists) and method != "exact"

    def mine(
        self, threshold: float = 0.8, *, max_pairs: int = 1_000_000, show_progress_bar: bool = False
    ) -> MinedPairs:
        """Finds all pairs of sentences of the corpus whose embeddings have at least a given cosine, above 0 to 1.

        All are compared with all. Pairs whose sides are the same but for case and spacing are left out. Of more than
        `max_pairs` those of the greatest cosine are kept; memory is 48 bytes for each.

        Returns:
            Each unordered pair once, the greatest cosine first, equal ones in the order of their rows.
        """
        Constraints(above=0, at_most=1).check("threshold", threshold)

        def pairs() -> Iterator[Pairs]:
            for first, second, scores in similar_pairs(self.vectors, threshold, show_progress_bar=show_progress_bar):
                differ = self.keys[first] != self.keys[second]
                yield first[differ], second[differ], scores[differ]

        return best_pairs(pairs(), max_pairs)

    def add(self, sentences: str | Sequence[str], *, batch_size: int = 256) -> int:
        """Adds sentences at the end; those that are there are not encoded again.

        The folder is replaced in one step, and this object then reads the new one. Sentences that the index has and
        empty ones are left out. Returns how many the index has more than before.
        """
        texts: list[str | None] = [*list_of_texts(sentences)]
        return self.rewrite(
            lambda folder: build_index(self.encoder, [texts], folder, earlier=self, batch_size=batch_size)
        )

    def remove(self, sentences: str | Sequence[str]) -> int:
        """Takes sentences out, and those that are the same but for case and spacing; the others are not encoded again.

        Returns:
            How many the index has fewer than before; rows of later sentences get smaller numbers.
        """
        without = np.isin(self.keys, text_keys(list_of_texts(sentences)))
        if not without.any():
            return 0
        return -self.rewrite(lambda folder: build_index(self.encoder, [], folder, earlier=self, without=without))

    def rewrite(
        self,
        build: Callable[[Path], IndexSettings],
        corpus: SentenceCorpus | None = None,
        settings: Settings | Mapping[str, Any] | None = None,
    ) -> int:
        """Replaces the folder by what `build` writes into another one, and reads it.

        The name and licence of the corpus that sentences were added from are put on the card. Returns how many
        sentences the index has more than before.
        """
        before = len(self)
        if not is_ours(self.folder):
            raise OutputError("only an index that `hf-paraphrase search` made can be changed", path=self.folder)
        names = read_provenance(self.folder)["results"]
        sources, inputs = names.get("sources") or [self.folder.resolve().name], [self.folder]
        metadata = inherited_metadata(self.folder)
        if corpus is not None:
            sources, inputs = [*sources, corpus.path.resolve().name], [*inputs, corpus.path]
            metadata = {key: [*values, *metadata_of(corpus)[key]] for key, values in metadata.items()}
        with Artefact(
            self.folder, command="search", settings=settings or {}, inputs=inputs, overwrite=True
        ) as artefact:
            made = build(artefact.staging)
            if (self.folder / ENCODER_FOLDER).is_dir():
                copy_encoder(self.folder / ENCODER_FOLDER, artefact.staging)
            encoder = names.get("encoder") or "encoder"
            finish_index(artefact, made, metadata, sources=sources, encoder=encoder, columns=names.get("columns"))
        self.reopen()
        return len(self) - before


def metadata_of(corpus: SentenceCorpus) -> dict[str, list[str]]:
    """Returns the licences and languages of a corpus, as far as its card names them."""
    return inherited_metadata(corpus.path) if corpus.columns else {"license": [], "language": []}


def finish_index(
    artefact: Artefact,
    made: IndexSettings,
    metadata: Mapping[str, Sequence[str]],
    *,
    sources: Sequence[str],
    encoder: str,
    columns: Sequence[str] | None,
) -> None:
    """Writes the card and record of an index folder."""
    sources = list(dict.fromkeys(sources))
    results = {**vars(made), "sources": sources, "encoder": encoder, "columns": columns}
    values = {
        **{key: list(dict.fromkeys(values)) for key, values in metadata.items()},
        "title": f"Search index of {', '.join(sources)}",
        "source": ", ".join(sources),
        "splits": DataFolder(artefact.staging).sizes(),
        **results,
    }
    artefact.finish(results=results, card=Card("search_index", values))


def copy_encoder(model: Path, folder: Path) -> None:
    """Copies the encoder into the index, so that the folder is complete in itself."""
    ignored = shutil.ignore_patterns(".*", "checkpoint-*", "__pycache__")
    try:
        shutil.copytree(model, folder / ENCODER_FOLDER, ignore=ignored)
    except (OSError, shutil.Error) as error:
        raise ModelError(f"the encoder cannot be copied into the index: {error}", path=model) from error
