"""Two collections, the candidate pairs of an encoder, and their scores.

The candidates of a source sentence are the n target sentences with the highest cosine, as in section 2.2 of "BUCC 2017
Shared Task: a First Attempt Toward a Deep Learning Framework for Identifying Parallel Sentences in Comparable Corpora"
(Grégoire and Langlais 2017).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit
from tqdm.auto import tqdm

from ..classification.parallel_classifier import ParallelClassifier
from ..encoders.search_embedder import SearchEmbedder
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import InputError
from ..registry import MULTILINGUAL
from ..settings import Settings, setting
from ..text.hashing import hash_rows
from ..text.normalization import normalize_texts
from ..training.devices import DeviceSettings
from ..vectors.exact_search import find_nearest
from ..vectors.faiss_index import FaissIndex, build_faiss_index
from ..vectors.similarity import unit_row_cosines
from ..vectors.storage import npy_writer, open_vectors
from .collections import Collection
from .scores import MIN_MEAN, Curve, compute_margins, match_one_to_one

EncoderPair = tuple[SentenceEncoder, SentenceEncoder]
"""The encoders of the source and the target language, often one."""
Neighbors = tuple[NDArray[np.int64], NDArray[np.float32]]
"""Rows of the nearest sentences in the opposite language, and their cosines, each (sentences, n)."""
FILTER = "filter"
"""The name of the encoders that find the candidates."""
_PAIRS_AT_A_TIME = 1 << 16
_SENTENCES_AT_A_TIME = 16_384
_SOURCES_AT_A_TIME = 4096


@dataclass(kw_only=True)
class EncoderPairSettings(Settings):
    """One encoder of both languages, or one for each."""

    encoder: str | None = setting(
        "encoder of both languages, whose cosine finds candidates [default: multilingual, installed with this "
        "package]",
        None,
        excludes=("source_encoder", "target_encoder"),
        path=True,
    )
    source_encoder: str | None = setting(
        "instead of --encoder: the encoder of the source language", None, only_with="target_encoder", path=True
    )
    target_encoder: str | None = setting(
        "the encoder of the target language, in the same vector space", None, only_with="source_encoder", path=True
    )

    def encoder_names(self) -> list[str]:
        """Return the given encoder of both languages, or the encoders of source and target."""
        return [name for name in (self.encoder, self.source_encoder, self.target_encoder) if name is not None]


@dataclass(kw_only=True)
class CandidateSettings(EncoderPairSettings, DeviceSettings):
    """Settings of the search for candidates."""

    candidates: int = setting(
        "number of candidates per sentence: its nearest sentences in the opposite language", 40, at_least=1
    )
    neighbours: int = setting("number of nearest neighbours in the margin scores", 4, at_least=1)
    approximate: bool = setting("find neighbours approximately with faiss, for collections of millions", False)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)

    def encoder_names(self) -> list[str]:
        """Return the encoders that find the candidates."""
        return super().encoder_names() or [MULTILINGUAL]


def open_pair(names: list[str], device: str | None = None) -> EncoderPair:
    """Open one encoder of both languages or two, whose vectors must have the same components."""
    source, *others = (SentenceEncoder.from_pretrained(name, device=device) for name in names)
    target = others[0] if others else source
    if source.dimension != target.dimension:
        raise InputError(
            f"the target vectors have {target.dimension} components, and the source vectors {source.dimension}",
            path=names[1],
            remedy="give two encoders that were trained together",
        )
    return source, target


class MiningRun:
    """Two collections, their candidate pairs, and any scores of these.

    Vectors in the folder are reused, so that an interrupted run can continue.

    Args:
        both_directions: A pair is a candidate also if its source is among the nearest of its target.

    Attributes:
        source_rows: Row of the source sentence of each candidate (pairs,), int64, ascending.
        target_rows: Row of its target sentence (pairs,), int64.
    """

    def __init__(
        self,
        source: Collection,
        target: Collection,
        encoders: Mapping[str, EncoderPair],
        folder: Path,
        settings: CandidateSettings,
        classifiers: Mapping[str, ParallelClassifier] | None = None,
        *,
        both_directions: bool = False,
    ) -> None:
        self.source, self.target, self.settings, self._folder = source, target, settings, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.vectors: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
        for index, (name, pair) in enumerate(encoders.items()):
            paths = folder / f"vectors-{index}-source.npy", folder / f"vectors-{index}-target.npy"
            for encoder, collection, path in zip(pair, (source, target), paths, strict=True):
                if not path.is_file():
                    self._encode(encoder, collection, path)
            self.vectors[name] = open_vectors(paths[0]), open_vectors(paths[1])
        self._classifiers = dict(classifiers or {})
        self._classified: dict[str, tuple[NDArray[np.float32], NDArray[np.float32]]] = {}
        self._nearest: dict[tuple[str, bool], Neighbors] = {}
        pairs = _list_pairs(self._neighbors(FILTER, settings.candidates))
        if both_directions:
            reverse = _list_pairs(self._neighbors(FILTER, settings.candidates, reverse=True))
            pairs = np.unique(np.concatenate([pairs, reverse[:, ::-1]]), axis=0)
        self.source_rows, self.target_rows = np.ascontiguousarray(pairs.T)

    def _neighbors(self, encoders: str, count: int, *, reverse: bool = False) -> Neighbors:
        """Find the nearest targets of every source, or the reverse; each search runs once."""
        wanted = self.settings.neighbours if encoders != FILTER else max(self.settings.neighbours, count)
        neighbors = self._nearest.get((encoders, reverse))
        if neighbors is None or neighbors[0].shape[1] < min(count, len(self.source if reverse else self.target)):
            queries, corpus = self.vectors[encoders][::-1] if reverse else self.vectors[encoders]
            index = self._folder / f"{encoders}-{reverse}.faiss" if self.settings.approximate else None
            neighbors = self._nearest[encoders, reverse] = find_nearest_targets(queries, corpus, wanted, index)
        return neighbors[0][:, :count], neighbors[1][:, :count]

    def _mean_cosines(self, encoders: str, *, reverse: bool) -> NDArray[np.float64]:
        """Return the mean cosine of every source with its nearest distinct targets, or the reverse.

        Copies of a translation would otherwise fill the neighborhood, and the pair would have no margin.
        """
        count, repeated = self.settings.neighbours, _find_repeated(self.source if reverse else self.target)
        rows, cosines = self._neighbors(encoders, count, reverse=reverse)
        means = cosines.mean(axis=1, dtype=np.float64)
        near_copies = np.flatnonzero(repeated[rows].any(axis=1))
        if len(near_copies):
            queries, corpus = self.vectors[encoders][::-1] if reverse else self.vectors[encoders]
            distinct = np.flatnonzero(~repeated)
            means[near_copies] = find_nearest(
                queries[near_copies], corpus, count, candidate_rows=distinct, skip_zero=True
            )[1].mean(axis=1)
        return means

    def _encode(self, encoder: SentenceEncoder, collection: Collection, path: Path) -> None:
        embedder, has_words = SearchEmbedder(encoder), False
        progress = tqdm(total=len(collection), unit=" sentences", desc=f"encode {collection.path.name}")
        with npy_writer(path, encoder.dimension) as writer, progress:
            for start in range(0, len(collection), _SENTENCES_AT_A_TIME):
                texts = collection.sentences[start : start + _SENTENCES_AT_A_TIME]
                vectors = embedder.embed(texts, batch_size=self.settings.batch_size)
                has_words = has_words or bool(vectors.any())
                writer.write(vectors)
                progress.update(len(texts))
            if not has_words:
                raise InputError(
                    "the encoder's vocabulary contains no word of the sentences",
                    path=collection.path,
                    remedy="give an encoder for their language; source and target may have been exchanged",
                )

    def cosines(self, encoders: str = FILTER) -> NDArray[np.float64]:
        """Return the cosine of every candidate (pairs,)."""
        source, target = self.vectors[encoders]
        cosines = np.empty(len(self.source_rows), np.float32)
        for start in range(0, len(cosines), _PAIRS_AT_A_TIME):
            part = slice(start, start + _PAIRS_AT_A_TIME)
            cosines[part] = unit_row_cosines(source[self.source_rows[part]], target[self.target_rows[part]])
        return cosines.astype(np.float64)

    def margins(self, kind: str = "ratio", encoders: str = FILTER) -> NDArray[np.float64]:
        """Compute the margin of every candidate (pairs,)."""
        source_means, target_means = (self._mean_cosines(encoders, reverse=reverse) for reverse in (False, True))
        means = source_means[self.source_rows], target_means[self.target_rows]
        return compute_margins(self.cosines(encoders), *means, kind, min_mean=MIN_MEAN)

    def probabilities(
        self, classifier: str, rows: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
    ) -> NDArray[np.float64]:
        """Compute the probability that candidates, or other pairs of source and target rows, are parallel (pairs,)."""
        opened = self._classifiers[classifier]
        if classifier not in self._classified:
            self._classified[classifier] = (
                opened.encode_source(self.source.sentences, show_progress_bar=True),
                opened.encode_target(self.target.sentences, show_progress_bar=True),
            )
        sources, targets = self._classified[classifier]
        source_rows, target_rows = rows or (self.source_rows, self.target_rows)
        values = np.empty(len(source_rows), np.float64)
        for start in tqdm(range(0, len(values), _PAIRS_AT_A_TIME), unit="block", desc="classify"):
            part = slice(start, start + _PAIRS_AT_A_TIME)
            logits = opened.score(sources[source_rows[part]], targets[target_rows[part]])
            values[part] = expit(logits.astype(np.float64))
        return values

    def kept(self, scores: NDArray[np.float64], one_to_one: bool) -> NDArray[np.bool_]:
        """Return which candidates (pairs,) a one-to-one matching keeps; all if `one_to_one` is false."""
        if one_to_one:
            return match_one_to_one(self.source_rows, self.target_rows, scores)
        return np.ones(len(scores), bool)

    def are_gold(
        self, source_rows: NDArray[np.int64], target_rows: NDArray[np.int64], gold: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Return which pairs of rows (pairs,) are among the gold pairs (gold, 2)."""
        width = len(self.target)
        return np.isin(source_rows * width + target_rows, gold[:, 0] * width + gold[:, 1])

    def curve(self, gold: NDArray[np.int64], scores: NDArray[np.float64], one_to_one: bool = False) -> Curve:
        """Compute precision and recall of the candidates at every threshold."""
        kept = self.kept(scores, one_to_one)
        right = self.are_gold(self.source_rows[kept], self.target_rows[kept], gold)
        return Curve.of(scores[kept], right, len(gold))


def find_nearest_targets(
    source: NDArray[np.float32], target: NDArray[np.float32], n: int, index: Path | None = None
) -> Neighbors:
    """Find the n best targets by cosine for every source (sources, n), -1 where there are fewer.

    With the path of an index file, faiss proposes the targets.
    """
    size = min(n, len(target))
    rows, cosines = np.empty((len(source), size), np.int64), np.empty((len(source), size), np.float32)
    names = "the source vectors", "the target vectors"
    if index is not None:
        build_faiss_index(target, index, "ivf")
        lists = FaissIndex(index, target, "ivf")
    for start in tqdm(range(0, len(rows), _SOURCES_AT_A_TIME), unit="block", desc="candidates"):
        part = slice(start, start + _SOURCES_AT_A_TIME)
        if index is None:
            rows[part], cosines[part] = find_nearest(source[part], target, size, skip_zero=True, names=names)
        else:
            rows[part], cosines[part] = lists.search(source[part], size)
    return rows, cosines


def _find_repeated(collection: Collection) -> NDArray[np.bool_]:
    """Return which sentences repeat an earlier one, up to case and spacing (sentences,)."""
    _, first = np.unique(hash_rows(normalize_texts(pa.array(collection.sentences, pa.string()))), return_index=True)
    repeated = np.ones(len(collection), np.bool_)
    repeated[first] = False
    return repeated


def _list_pairs(neighbors: Neighbors) -> NDArray[np.int64]:
    """List queries and their neighbours (pairs, 2)."""
    queries, column = np.nonzero(neighbors[0] >= 0)
    return np.stack([queries, neighbors[0][queries, column]], axis=1)
