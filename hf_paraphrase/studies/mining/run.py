"""Two collections, the candidate pairs of an encoder, and their scores.

The candidate filter is that of section 2.2 of "BUCC 2017 Shared Task: a First Attempt Toward a Deep Learning Framework
for Identifying Parallel Sentences in Comparable Corpora" (Grégoire and Langlais 2017): for every source sentence the n
target sentences of the greatest cosine.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from tqdm.auto import tqdm

from ...encoders.known_texts import KnownTexts
from ...encoders.search.nearest_neighbours import nearest_neighbours
from ...encoders.search.vector_file import VectorFile, npy_writer
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError
from ...registry import MULTILINGUAL
from ...settings import Settings, setting
from ...training.devices import DeviceSettings
from .collections import Collection
from .measures import Curve
from .parallel_classification import ParallelClassifier
from .scoring import CandidatePairs, margin_scores, one_to_one_pairs, pair_cosines

EncoderPair = tuple[str, str]
"""The names of the encoders of the source and the target language, often one."""
_PAIRS_AT_A_TIME = 1 << 16
_SENTENCES_AT_A_TIME = 16_384
_SOURCES_AT_A_TIME = 4096


@dataclass(kw_only=True)
class EncoderPairSettings(Settings):
    """One encoder of both languages, or one for each."""

    encoder: str | None = setting(
        "encoder of both languages, by whose cosine candidates are found; multilingual, which is installed with this "
        "package, if none is given",
        None,
        excludes=("source_encoder", "target_encoder"),
        path=True,
    )
    source_encoder: str | None = setting(
        "instead of --encoder: that of the source language", None, only_with="target_encoder", path=True
    )
    target_encoder: str | None = setting(
        "that of the target language, in the same space", None, only_with="source_encoder", path=True
    )

    def encoder_pair(self) -> EncoderPair | None:
        """Returns the encoders of both languages; None if none was given."""
        source, target = self.source_encoder or self.encoder, self.target_encoder or self.encoder
        return None if source is None or target is None else (source, target)


@dataclass(kw_only=True)
class CandidateSettings(EncoderPairSettings, DeviceSettings):
    """How candidates are found."""

    candidates: int = setting(
        "target sentences of the greatest cosine that are considered for a source sentence", 40, at_least=1
    )
    neighbours: int = setting("sentences in a neighbourhood of the margin scores", 4, at_least=1)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)

    def filter_pair(self) -> EncoderPair:
        """Returns the encoders that find the candidates."""
        return self.encoder_pair() or (MULTILINGUAL, MULTILINGUAL)

    def run(self, source: Collection, target: Collection, folder: Path) -> MiningRun:
        """Finds the candidates of two collections; the folder keeps their vectors."""
        return MiningRun(
            source,
            target,
            self.filter_pair(),
            folder,
            candidates=self.candidates,
            neighbours=self.neighbours,
            batch_size=self.batch_size,
            device=self.device,
        )


def open_pair(encoders: EncoderPair, device: str | None = None) -> tuple[SentenceEncoder, SentenceEncoder]:
    """Opens the encoders of both languages, whose vectors must have the same components."""
    source = SentenceEncoder.from_pretrained(encoders[0], device=device)
    target = source if encoders[0] == encoders[1] else SentenceEncoder.from_pretrained(encoders[1], device=device)
    if source.dimension != target.dimension:
        raise InputError(
            f"vectors of {target.dimension} components, those of the source side have {source.dimension}",
            path=encoders[1],
            remedy="give two encoders that were trained together",
        )
    return source, target


def check_models(encoders: Iterable[EncoderPair], classifiers: Iterable[str], device: str | None = None) -> None:
    """Opens what will be needed late once before any long work."""
    for pair in encoders:
        open_pair(pair, device)
    for folder in classifiers:
        ParallelClassifier.from_pretrained(folder, device=device)


class MiningRun:
    """Two collections, their candidate pairs, and any scores of these.

    Vectors that are in the folder already are taken as they are, so that a run can be continued.
    """

    def __init__(
        self,
        source: Collection,
        target: Collection,
        encoders: EncoderPair,
        folder: Path,
        *,
        candidates: int = 40,
        neighbours: int = 4,
        batch_size: int = 256,
        device: str | None = None,
    ) -> None:
        self.source, self.target = source, target
        self.encoders, self.folder = encoders, folder
        self.neighbours, self.batch_size, self.device = neighbours, batch_size, device
        self._numbers: dict[EncoderPair, int] = {}
        self._classifiers: dict[str, tuple[ParallelClassifier, NDArray[np.float32], NDArray[np.float32]]] = {}
        self.pairs = CandidatePairs.of(*nearest_targets(*self.vectors(encoders), candidates))

    def vectors(self, encoders: EncoderPair) -> tuple[VectorFile, VectorFile]:
        """Returns the vectors of both collections."""
        number = self._numbers.setdefault(encoders, len(self._numbers))
        paths = [self.folder / f"vectors-{number}-{side}.npy" for side in ("source", "target")]
        if not all(path.is_file() for path in paths):
            self.folder.mkdir(parents=True, exist_ok=True)
            opened = open_pair(encoders, self.device)
            for encoder, collection, path in zip(opened, (self.source, self.target), paths, strict=True):
                self._encode(encoder, collection, path)
        return VectorFile(paths[0]), VectorFile(paths[1])

    def _encode(self, encoder: SentenceEncoder, collection: Collection, path: Path) -> None:
        embedder, is_known = KnownTexts(encoder), False
        progress = tqdm(total=len(collection), unit=" sentences", desc=f"encode {collection.path.name}")
        with npy_writer(path, encoder.dimension) as writer, progress:
            for start in range(0, len(collection), _SENTENCES_AT_A_TIME):
                texts = collection.sentences[start : start + _SENTENCES_AT_A_TIME]
                vectors = embedder.embed(texts, batch_size=self.batch_size)
                is_known = is_known or bool(vectors.any())
                writer.write(vectors)
                progress.update(len(texts))
            if not is_known:
                raise InputError(
                    "no word of the sentences is in the encoder's vocabulary",
                    path=collection.path,
                    remedy="give an encoder for their language; source and target may have been exchanged",
                )

    def cosines(self, encoders: EncoderPair | None = None) -> NDArray[np.float64]:
        """Returns the cosine of every pair (pairs,), under the encoders of the filter or others."""
        if encoders in (None, self.encoders):
            return self.pairs.cosine.astype(np.float64)
        return pair_cosines(self.pairs, *self.vectors(encoders or self.encoders)).astype(np.float64)

    def margins(self, kind: str = "ratio", encoders: EncoderPair | None = None) -> NDArray[np.float64]:
        """Computes the margin of every pair (pairs,)."""
        source, target = self.vectors(encoders or self.encoders)
        means = [
            nearest_targets(one, two, self.neighbours)[1].mean(axis=1, dtype=np.float64)
            for one, two in ((source, target), (target, source))
        ]
        of_pairs = means[0][self.pairs.source], means[1][self.pairs.target]
        return margin_scores(self.cosines(encoders), *of_pairs, kind)

    def probabilities(
        self, classifier: str, source: NDArray[np.int64] | None = None, target: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Computes the probability of the candidates, or pairs of places (pairs,), that they are parallel."""
        if classifier not in self._classifiers:
            opened = ParallelClassifier.from_pretrained(classifier, device=self.device)
            self._classifiers[classifier] = (
                opened,
                opened.encode_source(self.source.sentences, show_progress_bar=True),
                opened.encode_target(self.target.sentences, show_progress_bar=True),
            )
        opened, sources, targets = self._classifiers[classifier]
        source, target = (
            (self.pairs.source, self.pairs.target) if source is None or target is None else (source, target)
        )
        values = np.empty(len(source), np.float64)
        for start in tqdm(range(0, len(source), _PAIRS_AT_A_TIME), unit="block", desc="classify", disable=None):
            part = slice(start, start + _PAIRS_AT_A_TIME)
            logits = opened.score(sources[source[part]], targets[target[part]])
            values[part] = expit(logits.astype(np.float64))
        return values

    def kept(self, scores: NDArray[np.float64], one_to_one: bool) -> NDArray[np.bool_]:
        """Returns which candidates (pairs,) are left by a one-to-one matching; all without it."""
        if one_to_one:
            return one_to_one_pairs(self.pairs.source, self.pairs.target, scores)
        return np.ones(len(scores), bool)

    def are_gold(
        self, source: NDArray[np.int64], target: NDArray[np.int64], gold: NDArray[np.int64]
    ) -> NDArray[np.bool_]:
        """Returns which pairs of places (pairs,) are among the gold pairs (gold, 2)."""
        return np.isin(source * len(self.target) + target, gold[:, 0] * len(self.target) + gold[:, 1])

    def curve(self, gold: NDArray[np.int64], scores: NDArray[np.float64], one_to_one: bool = False) -> Curve:
        """Computes precision and recall of the candidates at every threshold."""
        kept = self.kept(scores, one_to_one)
        right = self.are_gold(self.pairs.source[kept], self.pairs.target[kept], gold)
        return Curve.of(scores[kept], right, len(gold))


def product(scores: NDArray[np.float64], probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Multiplies cosines or margins (pairs,) with probabilities; negative scores count as 0."""
    return np.maximum(scores, 0.0) * probabilities


def nearest_targets(source: VectorFile, target: VectorFile, n: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Finds the n best targets by cosine for every source; zero vectors have none and are none.

    Returns:
        The rows of the targets (sources, n), -1 where there are fewer, and their cosines.
    """
    size = min(n, len(target))
    rows, cosines = np.empty((len(source), size), np.int64), np.empty((len(source), size), np.float32)
    names = "the source vectors", "the target vectors"
    for start in tqdm(range(0, len(rows), _SOURCES_AT_A_TIME), unit="block", desc="candidates", disable=None):
        part = slice(start, start + _SOURCES_AT_A_TIME)
        rows[part], cosines[part] = nearest_neighbours(source[part], target, size, skip_zero=True, names=names)
    return rows, cosines
