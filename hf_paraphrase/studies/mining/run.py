"""Two collections, the candidate pairs of an encoder, and their scores, each computed once.

The candidate filter is that of section 2.2 of "BUCC 2017 Shared Task: a First Attempt Toward a Deep Learning Framework
for Identifying Parallel Sentences in Comparable Corpora" (Grégoire and Langlais 2017): for every source sentence the n
target sentences of the greatest cosine. The vectors are in indexes, and a run that is continued takes them.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from tqdm.auto import tqdm

from ...encoders.search.build import build_index
from ...encoders.search.index import SearchIndex
from ...encoders.search.nearest_neighbours import nearest_neighbours
from ...encoders.search.vector_file import VectorFile
from ...encoders.sentence_encoder import SentenceEncoder
from ...errors import InputError, UsageError
from ...settings import setting
from ...training.devices import DeviceSettings
from .collections import Collection
from .parallel_classification import ParallelClassifier
from .scoring import CandidatePairs, margin_scores, pair_cosines

Nearest = tuple[NDArray[np.int64], NDArray[np.float32]]
"""For every source the rows of its nearest targets (sources, n), -1 where there are fewer, and their cosines."""
_PAIRS_AT_A_TIME = 1 << 16
_SENTENCES_AT_A_TIME = 16_384
_SOURCES_AT_A_TIME = 4096


@dataclass(frozen=True)
class EncoderFolders:
    """The folders of the encoders of both sides."""

    source: str
    target: str

    @classmethod
    def parse(cls, text: str) -> EncoderFolders:
        """Reads `DIR` or `SOURCE_DIR:TARGET_DIR`."""
        if ":" in text and not os.path.isdir(text):  # noqa: PTH112
            source, _, target = text.partition(":")
            return cls(source, target)
        return cls(text, text)

    @property
    def names(self) -> str:
        """How the encoders are called in a table: the name of the folder, or of the one that contains both."""
        one, two = Path(self.source).resolve(), Path(self.target).resolve()
        return one.name if one == two or one.parent != two.parent else one.parent.name

    @property
    def folders(self) -> list[str]:
        """The folders, each once."""
        return list(dict.fromkeys([self.source, self.target]))


@dataclass(kw_only=True)
class CandidateSettings(DeviceSettings):
    """How candidates are found."""

    encoder: str | None = setting(
        "folder of an encoder of both languages, which finds the candidates", None, path=True
    )
    source_encoder: str | None = setting(
        "with --target-encoder: folder of an encoder of the source language", None, path=True
    )
    target_encoder: str | None = setting(
        "folder of an encoder of the target language, in the same space", None, path=True
    )
    candidates: int = setting(
        "target sentences of the greatest cosine that are considered for a source sentence", 40, at_least=1
    )
    neighbours: int = setting("sentences in a neighbourhood of the margin scores", 4, at_least=1)
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256, at_least=1)

    def filter_encoders(self) -> EncoderFolders:
        """Returns the folders of the encoders that find candidates."""
        sides = self.source_encoder, self.target_encoder
        if self.encoder is not None and sides == (None, None):
            return EncoderFolders(self.encoder, self.encoder)
        if self.encoder is not None or sides[0] is None or sides[1] is None:
            raise UsageError(
                "candidates need an encoder", remedy="give either --encoder, or --source-encoder and --target-encoder"
            )
        return EncoderFolders(sides[0], sides[1])


@dataclass(frozen=True)
class ScoreOptions:
    """What the score of a pair is made of; with nothing chosen it is the cosine under the filter's encoder.

    The probability of a classifier is multiplied with the cosine or margin; without encoders and margin it counts
    alone.
    """

    encoders: EncoderFolders | None = None
    margin: str | None = None
    neighbours: int = 4
    classifier: str | None = None


def check_models(encoders: Iterable[EncoderFolders], classifiers: Iterable[str], device: str | None = None) -> None:
    """Opens what will be needed late once before any long work."""
    for item in encoders:
        source, target = (SentenceEncoder.from_pretrained(path, device=device) for path in (item.source, item.target))
        if source.dimension != target.dimension:
            raise InputError(
                f"vectors of {target.dimension} components, those of the source side have {source.dimension}",
                path=item.target,
                remedy="give two encoders that were trained together",
            )
    for folder in classifiers:
        ParallelClassifier.from_pretrained(folder, device=device)


class MiningRun:
    """Two collections, their candidate pairs, and any scores of these.

    `approximate_recall` is the share of the true ten nearest neighbours that the lists find on a sample of the target
    collection; None where all targets are compared.
    """

    def __init__(
        self,
        collections: Sequence[Collection],
        encoders: EncoderFolders,
        folder: Path,
        *,
        candidates: int = 40,
        approximate: bool = False,
        seed: int = 0,
        batch_size: int = 256,
        device: str | None = None,
    ) -> None:
        self.source, self.target = collections
        self.encoders = encoders
        self.folder = folder
        self.seed, self.batch_size, self.device = seed, batch_size, device
        self._sides: dict[EncoderFolders, tuple[SearchIndex, SearchIndex]] = {}
        self._means: dict[tuple[EncoderFolders, int], list[NDArray[np.float64]]] = {}
        self._classifiers: dict[str, tuple[ParallelClassifier, NDArray[np.float32], NDArray[np.float32]]] = {}
        self._probabilities: dict[str, NDArray[np.float64]] = {}
        source, target = self.sides(encoders, approximate=approximate)
        self.approximate_recall = target.settings.recall
        self.pairs = CandidatePairs.of(*nearest_targets(source.vectors, target, candidates))

    def sides(self, encoders: EncoderFolders, *, approximate: bool = False) -> tuple[SearchIndex, SearchIndex]:
        """Returns indexes of both collections; one that is in the folder is taken as it is."""
        if encoders not in self._sides:
            name = f"vectors-{len(self._sides)}"
            source = self._index(encoders.source, self.source, self.folder / f"{name}-source")
            target = self._index(encoders.target, self.target, self.folder / f"{name}-target", approximate)
            self._sides[encoders] = source, target
        return self._sides[encoders]

    def _index(self, encoder: str, collection: Collection, folder: Path, approximate: bool = False) -> SearchIndex:
        if not folder.is_dir():
            part = folder.with_name(f"{folder.name}.part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir(parents=True)
            opened = SentenceEncoder.from_pretrained(encoder, device=self.device)
            blocks: Iterator[list[str | None]] = (
                list(collection.sentences[start : start + _SENTENCES_AT_A_TIME])
                for start in range(0, len(collection), _SENTENCES_AT_A_TIME)
            )
            with tqdm(total=len(collection), unit=" sentences", desc=f"encode {collection.path.name}") as progress:
                try:
                    build_index(
                        opened,
                        blocks,
                        part,
                        approximate=approximate,
                        seed=self.seed,
                        keep_repeated=True,
                        batch_size=self.batch_size,
                        progress=progress.update,
                    )
                except InputError as error:
                    remedy = "give an encoder for their language; source and target may have been exchanged"
                    raise InputError(error.message, path=collection.path, remedy=remedy) from error
            part.rename(folder)
        return SearchIndex(folder)

    def scores(self, options: ScoreOptions) -> NDArray[np.float64]:
        """Computes the score that the options describe for every pair (pairs,)."""
        probabilities = None
        if options.classifier is not None:
            if options.classifier not in self._probabilities:
                self._probabilities[options.classifier] = self.probabilities(
                    options.classifier, self.pairs.source, self.pairs.target
                )
            probabilities = self._probabilities[options.classifier]
            if options.margin is None and options.encoders is None:
                return probabilities
        encoders = options.encoders or self.encoders
        is_filter = encoders == self.encoders
        source, target = self.sides(encoders)
        cosines = self.pairs.cosine if is_filter else pair_cosines(self.pairs, source.vectors, target.vectors)
        scores = cosines.astype(np.float64)
        if options.margin is not None:
            means = self._neighbourhoods(encoders, options.neighbours)
            of_pairs = means[0][self.pairs.source], means[1][self.pairs.target]
            scores = margin_scores(cosines, *of_pairs, options.margin)
        return scores if probabilities is None else np.maximum(scores, 0.0) * probabilities

    def probabilities(
        self, classifier: str, source: NDArray[np.int64], target: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Computes the probability of pairs of places (pairs,) that they are parallel (paper 002, equation 1)."""
        if classifier not in self._classifiers:
            opened = ParallelClassifier.from_pretrained(classifier, device=self.device)
            self._classifiers[classifier] = (
                opened,
                opened.encode_source(self.source.sentences, show_progress_bar=True),
                opened.encode_target(self.target.sentences, show_progress_bar=True),
            )
        opened, sources, targets = self._classifiers[classifier]
        values = np.empty(len(source), np.float64)
        for start in tqdm(range(0, len(source), _PAIRS_AT_A_TIME), unit="block", desc="classify", disable=None):
            part = slice(start, start + _PAIRS_AT_A_TIME)
            logits = opened.score(sources[source[part]], targets[target[part]])
            values[part] = expit(logits.astype(np.float64))
        return values

    def _neighbourhoods(self, encoders: EncoderFolders, neighbours: int) -> list[NDArray[np.float64]]:
        """Returns the mean cosine of each source, and of each target, with its neighbourhood."""
        key = (encoders, neighbours)
        if key not in self._means:
            source, target = self.sides(encoders)
            self._means[key] = [
                nearest_targets(one.vectors, two, neighbours, exact=True)[1].mean(axis=1, dtype=np.float64)
                for one, two in ((source, target), (target, source))
            ]
        return self._means[key]


def nearest_targets(source: VectorFile, target: SearchIndex, n: int, *, exact: bool = False) -> Nearest:
    """Finds the n best targets by cosine for every source, in lists if the index has some; zero vectors have none."""
    size = min(n, len(target))
    rows, cosines = np.empty((len(source), size), np.int64), np.empty((len(source), size), np.float32)
    for start in tqdm(range(0, len(rows), _SOURCES_AT_A_TIME), unit="block", desc="candidates", disable=None):
        part = slice(start, start + _SOURCES_AT_A_TIME)
        vectors = source[part]
        if exact or not target.settings.lists:
            names = "the source vectors", "the target vectors"
            found = nearest_neighbours(vectors, target.vectors, size, skip_zero=True, names=names)
        else:
            found = target.lists.search(vectors, size, target.settings.probes)
            found[0][~vectors.any(axis=1)] = -1
        rows[part], cosines[part] = found
    return rows, cosines
