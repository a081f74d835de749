"""Measures that ask a sentence encoder, a language model or a reference classifier.

The latter two are those of Wieting, Mallinson and Gimpel (2017), sections 5.6 and 5.6.1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from ...artefacts.hub_models import BUILTIN, model_folder
from ...errors import InputError, UsageError
from ...settings import setting
from ...training.devices import check_device, device_setting
from ...training.threads import one_thread
from ..pair_batch import PairBatch
from ..reference_classifier.references import is_seen, read_seen
from ..tokens import tokenize
from .base import Measure

if TYPE_CHECKING:
    from ...encoders.sentence_encoder import SentenceEncoder
    from ..reference_classifier.reference_classification import ReferenceScorer


@dataclass(frozen=True)
class Similarity(Measure):
    """Computes the cosine of the sentence embeddings of the two sides; 0 where a side embeds to zeros."""

    unit = "−1 to 1"
    for_bitext = True
    needs = "encoder"
    models = ("encoder",)
    columns = ("similarity",)
    encoder: str | None = setting(
        "sentence encoder folder, for similarity; --encoder alone is builtin, the one for English that is installed "
        "with this package, and for a bitext multilingual, the other one",
        None,
        alone=BUILTIN,
        path=True,
    )
    device: str = device_setting()

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the column (pairs,), float64 from −1 to 1."""
        encoder = self._encoder
        with one_thread():
            vectors = encoder.encode([*batch.texts("sentence1"), *batch.texts("sentence2")], normalize=True)
        first, second = vectors[: batch.num_rows].astype(np.float64), vectors[batch.num_rows :]
        return {"similarity": np.clip(np.einsum("nd,nd->n", first, second), -1.0, 1.0)}

    @cached_property
    def _encoder(self) -> SentenceEncoder:
        from ...encoders.sentence_encoder import SentenceEncoder

        return SentenceEncoder.from_pretrained(str(self.encoder), device=check_device(self.device))


@dataclass(frozen=True)
class Perplexity(Measure):
    """Computes the perplexity of the translation under a language model, and the share of words it does not know.

    * `perplexity`: 10^(−log10 p / (tokens + 1)) of the lower-cased tokens of `sentence2` and the end of the sentence,
      unknown words included with the probability of `<unk>`; NaN for an empty `sentence2`.
    * `unknown_rate`: the share of its tokens that the language model does not know; NaN for an empty `sentence2`.

    The language model is best one of sentences that are not among the pairs.
    """

    needs = "language_model"
    files = ("language_model",)
    columns = ("perplexity", "unknown_rate")
    language_model: str | None = setting(
        "ARPA file of lower-cased tokens (`do n't`), or a binary file of kenlm, for perplexity", None, path=True
    )

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the two columns (pairs,), float64."""
        model = self._model
        perplexity, unknown = np.full((2, batch.num_rows), np.nan)
        for row, words in enumerate(map(tokenize, batch.texts("sentence2"))):
            if words:
                perplexity[row] = 10 ** (-model.score(" ".join(words)) / (len(words) + 1))
                unknown[row] = sum(word not in model for word in words) / len(words)
        return {"perplexity": perplexity, "unknown_rate": unknown}

    @cached_property
    def _model(self) -> Any:
        try:
            import kenlm
        except ImportError as error:
            remedy = "pip install 'hf-paraphrase[perplexity]'"
            raise UsageError("perplexity needs the package kenlm", remedy=remedy) from error
        config = kenlm.Config()
        config.show_progress = False
        config.arpa_complain = kenlm.ARPALoadComplain.NONE
        try:
            return kenlm.Model(str(self.language_model), config)
        except (OSError, RuntimeError, ValueError) as error:
            remedy = "give an ARPA file, as lmplz, SRILM or score --language-model-text write it"
            problem = f"kenlm cannot read the language model: {error}"
            raise InputError(problem, path=str(self.language_model), remedy=remedy) from error


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
