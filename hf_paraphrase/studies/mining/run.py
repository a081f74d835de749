"""The candidates of two collections and their scores, each computed once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...encoders.sentence_encoder import SentenceEncoder
from .candidates import approximate_candidates, kept_candidates
from .collections import Collection
from .embedding import EncodedSides, EncoderFolders, encode_sides
from .parallel_classification import ParallelClassifier
from .scoring import (
    CandidatePairs,
    ClassifiedSides,
    combined_scores,
    known_rows,
    margin_scores,
    neighbourhood_means,
    pair_cosines,
)


@dataclass(frozen=True)
class FilterOptions:
    """How candidates are found."""

    candidates: int = 40
    approximate: bool = False
    probes: int = 0
    seed: int = 0
    batch_size: int = 256
    device: str | None = None


@dataclass(frozen=True)
class ScoreOptions:
    """What the score of a pair is made of; with nothing chosen it is the cosine under the filter's encoder.

    Attributes:
        encoders: The encoders of cosine or margin, if not those of the filter.
        margin: The kind of margin score; None for the cosine.
        neighbours: The size of the neighbourhoods of the margin.
        classifier: The folder of a classifier whose probability counts; None for none.
        combine: How the classifier's probability and the cosine or margin are put together; without encoders and
            margin the probability counts alone.
    """

    encoders: EncoderFolders | None = None
    margin: str | None = None
    neighbours: int = 4
    classifier: str | None = None
    combine: str = "product"


def check_models(encoders: Iterable[EncoderFolders], classifiers: Iterable[str], device: str | None = None) -> None:
    """Opens what will be needed late once before any long work."""
    for folder in [folder for item in encoders for folder in item.folders]:
        SentenceEncoder.from_pretrained(folder, device=device)
    for folder in classifiers:
        ParallelClassifier.from_pretrained(folder, device=device)


class MiningRun:
    """Two collections, their candidate pairs, and any scores of these.

    Attributes:
        approximate_recall: The share of the true candidates that the approximate filter found on a sample; None for
            the exact one.
    """

    def __init__(
        self,
        collections: Sequence[Collection],
        encoders: EncoderFolders,
        options: FilterOptions,
        folder: Path,
        *,
        show_progress_bar: bool = False,
    ) -> None:
        self.source, self.target = collections
        self.encoders = encoders
        self.options = options
        self.folder = folder
        self.approximate_recall: float | None = None
        self._progress = show_progress_bar
        self._sides: dict[EncoderFolders, EncodedSides] = {}
        self._means: dict[tuple[EncoderFolders, int], tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
        self._classified: dict[str, ClassifiedSides] = {}
        folder.mkdir(parents=True, exist_ok=True)
        sides = self.sides(encoders)
        if options.approximate:
            rows, cosines, self.approximate_recall = approximate_candidates(
                sides.source,
                sides.target,
                options.candidates,
                folder,
                probes=options.probes,
                seed=options.seed,
                show_progress_bar=show_progress_bar,
            )
        else:
            rows, cosines = kept_candidates(
                folder, "best", sides.source, sides.target, options.candidates, show_progress_bar=show_progress_bar
            )
        self.pairs = CandidatePairs.of(rows, cosines, known_rows(sides.source), known_rows(sides.target))

    def sides(self, encoders: EncoderFolders) -> EncodedSides:
        """Returns the vectors of both collections by some encoders."""
        if encoders not in self._sides:
            self._sides[encoders] = encode_sides(
                encoders,
                (self.source, self.target),
                self.folder,
                f"vectors-{len(self._sides)}",
                batch_size=self.options.batch_size,
                device=self.options.device,
                show_progress_bar=self._progress,
            )
        return self._sides[encoders]

    def cosines(self, encoders: EncoderFolders | None = None) -> NDArray[np.float32]:
        """Computes the cosine of every pair (pairs,), by default under the encoders of the filter."""
        if encoders is None or encoders == self.encoders:
            return self.pairs.cosine
        sides = self.sides(encoders)
        return pair_cosines(self.pairs, sides.source, sides.target)

    def margins(self, kind: str, neighbours: int, encoders: EncoderFolders | None = None) -> NDArray[np.float64]:
        """Computes the margin score of every pair (pairs,), by default under the encoders of the filter."""
        chosen = encoders or self.encoders
        source_means, target_means = self._neighbourhoods(chosen, neighbours)
        sides = source_means[self.pairs.source], target_means[self.pairs.target]
        return margin_scores(self.cosines(chosen), *sides, kind)

    def probabilities(self, classifier: str) -> NDArray[np.float64]:
        """Computes the probability of every pair by a classifier (pairs,)."""
        return self.classified(classifier).probabilities(self.pairs.source, self.pairs.target)

    def classified(self, classifier: str) -> ClassifiedSides:
        """Returns both collections as a classifier sees them."""
        if classifier not in self._classified:
            self._classified[classifier] = ClassifiedSides.from_pretrained(
                classifier,
                self.source.sentences,
                self.target.sentences,
                device=self.options.device,
                show_progress_bar=self._progress,
            )
        return self._classified[classifier]

    def scores(self, options: ScoreOptions) -> NDArray[np.float64]:
        """Computes the score that the options describe for every pair (pairs,)."""
        parts: list[NDArray[np.float64]] = []
        if options.margin is not None:
            parts.append(self.margins(options.margin, options.neighbours, options.encoders))
        elif options.encoders is not None or options.classifier is None:
            parts.append(self.cosines(options.encoders).astype(np.float64))
        if options.classifier is not None:
            parts.append(self.probabilities(options.classifier))
        return combined_scores(parts, options.combine)

    def _neighbourhoods(
        self, encoders: EncoderFolders, neighbours: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        key = (encoders, neighbours)
        if key not in self._means:
            sides = self.sides(encoders)
            name = f"near-{list(self._sides).index(encoders)}-{neighbours}"
            means = []
            for direction, one, two in (
                ("source", sides.source, sides.target),
                ("target", sides.target, sides.source),
            ):
                _, cosines = kept_candidates(
                    self.folder, f"{name}-{direction}", one, two, neighbours, show_progress_bar=self._progress
                )
                means.append(neighbourhood_means(cosines, neighbours))
            self._means[key] = (means[0], means[1])
        return self._means[key]
