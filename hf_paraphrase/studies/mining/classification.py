"""Scores of pairs by a classifier of parallel sentences: every sentence is encoded once, then pairs are scored."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from tqdm.auto import tqdm

if TYPE_CHECKING:
    from .parallel_classification import ParallelClassifier

_PAIRS_AT_A_TIME = 1 << 16


class ClassifiedSides:
    """Two collections as a classifier sees them.

    Args:
        classifier: The classifier.
        sources: The source sentences.
        targets: The target sentences.
        show_progress_bar: Show the progress on standard error.
    """

    def __init__(
        self,
        classifier: ParallelClassifier,
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        show_progress_bar: bool = False,
    ) -> None:
        self.classifier = classifier
        self._progress = show_progress_bar
        self._source = classifier.encode_source(sources, show_progress_bar=show_progress_bar)
        self._target = classifier.encode_target(targets, show_progress_bar=show_progress_bar)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | os.PathLike[str],
        sources: Sequence[str],
        targets: Sequence[str],
        *,
        device: str | None = None,
        show_progress_bar: bool = False,
    ) -> ClassifiedSides:
        """Opens a classifier, on the CPU if no device is named, and encodes both sides.

        Raises:
            ModelError: If the folder is missing, damaged, or a model of another type.
        """
        from .parallel_classification import ParallelClassifier

        classifier = ParallelClassifier.from_pretrained(folder, device=device)
        return cls(classifier, sources, targets, show_progress_bar=show_progress_bar)

    def probabilities(self, source: NDArray[np.int64], target: NDArray[np.int64]) -> NDArray[np.float64]:
        """Computes the probability of pairs of places (pairs,) that they are parallel, float64 (pairs,).

        Equation (1) of paper 002 (Grégoire and Langlais 2017).
        """
        from .parallel_classification import sigmoid

        values = np.empty(len(source), np.float64)
        with tqdm(total=len(source), unit=" pairs", desc="classify", disable=not self._progress) as progress:
            for start in range(0, len(source), _PAIRS_AT_A_TIME):
                part = slice(start, start + _PAIRS_AT_A_TIME)
                values[part] = sigmoid(self.classifier.score(self._source[source[part]], self._target[target[part]]))
                progress.update(len(values[part]))
        return values
