"""How human the translation looks to a classifier (Wieting, Mallinson and Gimpel 2017, sections 5.6 and 5.6.1)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from ...artefacts.hub_models import model_folder
from ...settings import setting
from ...training.devices import check_device, device_setting
from ...training.threads import one_thread
from ..pair_batch import PairBatch
from ..reference_classifier.references import is_seen, read_seen
from .base import Measure

if TYPE_CHECKING:
    from ..reference_classifier.reference_classification import ReferenceScorer


@dataclass(frozen=True)
class ReferenceProbability(Measure):
    """Computes the probability, under a classifier, that the translation is a reference, i.e. written by a person.

    * `reference_probability`: P(reference) of `sentence2`, from 0 to 1, to six decimals.
    * `classifier_seen`: 1 where `sentence1`, whatever its case and punctuation, is a reference that the classifier was
      trained, tuned or tested on, and 0 elsewhere. Its probabilities of such pairs say little;
      `filter --keep 'classifier_seen==0'` leaves them out.
    """

    unit = "0 to 1"
    needs = "classifier"
    models = ("classifier",)
    columns = ("reference_probability", "classifier_seen")
    classifier: str | None = setting(
        "reference classifier folder, for reference_probability and classifier_seen",
        None,
        path=True,
    )
    device: str = device_setting()

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the two columns (pairs,): float64, int64."""
        scorer = self._scorer
        with one_thread():
            probabilities = scorer.probabilities(batch.texts("sentence2"))
        return {
            "reference_probability": probabilities,
            "classifier_seen": is_seen(batch.texts("sentence1"), self._seen).astype(np.int64),
        }

    @cached_property
    def _scorer(self) -> ReferenceScorer:
        from ..reference_classifier.reference_classification import ReferenceScorer

        return ReferenceScorer.from_pretrained(str(self.classifier), device=check_device(self.device))

    @cached_property
    def _seen(self) -> np.ndarray:
        return read_seen(model_folder(str(self.classifier)))
