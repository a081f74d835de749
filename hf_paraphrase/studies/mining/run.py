"""The candidates of two collections and their scores, each computed once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

from ...encoders.sentence_encoder import SentenceEncoder
from .candidates import approximate_candidates, kept_candidates
from .collections import Collection
from .embedding import EncodedSides, EncoderFolders, encode_sides
from .parallel_classification import ParallelClassifier, sigmoid
from .scoring import CandidatePairs, combined_scores, known_rows, margin_scores, neighbourhood_means, pair_cosines

_PAIRS_AT_A_TIME = 1 << 16


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
        self._means: dict[tuple[EncoderFolders, int], list[NDArray[np.float64]]] = {}
        self._classifiers: dict[str, tuple[ParallelClassifier, NDArray[np.float32], NDArray[np.float32]]] = {}
        self._probabilities: dict[str, NDArray[np.float64]] = {}
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

    def scores(self, options: ScoreOptions) -> NDArray[np.float64]:
        """Computes the score that the options describe for every pair (pairs,)."""
        parts: list[NDArray[np.float64]] = []
        if options.margin is not None or options.encoders is not None or options.classifier is None:
            encoders = options.encoders or self.encoders
            sides = self.sides(encoders)
            is_filter = encoders == self.encoders
            cosines = self.pairs.cosine if is_filter else pair_cosines(self.pairs, sides.source, sides.target)
            if options.margin is None:
                parts.append(cosines.astype(np.float64))
            else:
                means = self._neighbourhoods(encoders, options.neighbours)
                of_pairs = means[0][self.pairs.source], means[1][self.pairs.target]
                parts.append(margin_scores(cosines, *of_pairs, options.margin))
        if options.classifier is not None:
            if options.classifier not in self._probabilities:
                self._probabilities[options.classifier] = self.probabilities(
                    options.classifier, self.pairs.source, self.pairs.target
                )
            parts.append(self._probabilities[options.classifier])
        return combined_scores(parts, options.combine)

    def probabilities(
        self, classifier: str, source: NDArray[np.int64], target: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Computes the probability of pairs of places (pairs,) that they are parallel (paper 002, equation 1)."""
        if classifier not in self._classifiers:
            opened = ParallelClassifier.from_pretrained(classifier, device=self.options.device)
            self._classifiers[classifier] = (
                opened,
                opened.encode_source(self.source.sentences, show_progress_bar=self._progress),
                opened.encode_target(self.target.sentences, show_progress_bar=self._progress),
            )
        opened, sources, targets = self._classifiers[classifier]
        values = np.empty(len(source), np.float64)
        with tqdm(total=len(source), unit=" pairs", desc="classify", disable=not self._progress or None) as progress:
            for start in range(0, len(source), _PAIRS_AT_A_TIME):
                part = slice(start, start + _PAIRS_AT_A_TIME)
                values[part] = sigmoid(opened.score(sources[source[part]], targets[target[part]]))
                progress.update(len(values[part]))
        return values

    def _neighbourhoods(self, encoders: EncoderFolders, neighbours: int) -> list[NDArray[np.float64]]:
        """Returns the mean cosine of each source, and of each target, with its neighbourhood."""
        key = (encoders, neighbours)
        if key not in self._means:
            sides = self.sides(encoders)
            name = f"near-{list(self._sides).index(encoders)}-{neighbours}"
            directions = {"source": (sides.source, sides.target), "target": (sides.target, sides.source)}
            means = []
            for direction, (one, two) in directions.items():
                _, cosines = kept_candidates(
                    self.folder, f"{name}-{direction}", one, two, neighbours, show_progress_bar=self._progress
                )
                means.append(neighbourhood_means(cosines, neighbours))
            self._means[key] = means
        return self._means[key]
