"""Measures that use a model: a sentence encoder, a language model, a classifier, a translation model.

Most are defined by Wieting, Mallinson and Gimpel (2017), sections 5.6 and 5.6.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from ...artefacts.hub_models import BUILTIN, model_folder
from ...classification.references import is_seen, read_seen
from ...errors import InputError, UsageError
from ...settings import setting
from ...text.languages import open_language_identifier
from ...text.words import tokenize
from ...threads import one_thread
from ...training.devices import check_device, device_setting
from . import Measure, PairBatch, read_numeric

if TYPE_CHECKING:
    from ...classification.classifier import CrossEncoder, ReferenceScorer
    from ...encoders.sentence_encoder import SentenceEncoder


@dataclass(frozen=True)
class Similarity(Measure):
    """Compute the cosine of the sentence embeddings of a pair; 0 where a sentence embeds to zeros."""

    for_bitext = True
    needs = "encoder"
    models = ("encoder",)
    columns = ("similarity",)
    encoder: str | None = setting(
        "sentence encoder folder, for similarity; without a value builtin (English), for a bitext multilingual, both "
        "installed with this package",
        None,
        alone=BUILTIN,
        path=True,
    )
    device: str = device_setting()

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from −1 to 1."""
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
    """Compute the perplexity of the translation under a language model.

    10^(−log10 p / (tokens + 1)) of the lower-cased tokens of `sentence2` and the end of the sentence, unknown words
    included with the probability of `<unk>`; NaN for an empty `sentence2`. Estimate the language model on sentences
    that are not among the pairs.
    """

    needs = "language_model"
    columns = ("perplexity",)
    language_model: str | None = setting(
        "ARPA file of lower-cased tokens (`do n't`), or a binary file of kenlm, for perplexity", None, path=True
    )

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64."""
        perplexity = np.full(batch.num_rows, np.nan)
        for row, words in enumerate(map(tokenize, batch.lowered2)):
            if words:
                perplexity[row] = 10 ** (-self._model.score(" ".join(words)) / (len(words) + 1))
        return {"perplexity": perplexity}

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
    """Compute the probability, under a classifier, that the translation is a reference, i.e. written by a person.

    * `reference_probability`: P(reference) of `sentence2`, from 0 to 1, to six decimals.
    * `classifier_seen`: 1 where `sentence1`, ignoring case and punctuation, is a reference that the classifier was
      trained, tuned or tested on, and 0 elsewhere. Its probabilities of such pairs are not reliable;
      `filter --keep 'classifier_seen==0'` leaves them out.
    """

    needs = "classifier"
    models = ("classifier",)
    columns = ("reference_probability", "classifier_seen")
    classifier: str | None = setting(
        "reference classifier folder, for reference_probability and classifier_seen", None, path=True
    )
    device: str = device_setting()

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the two columns (pairs,): float64, int64."""
        scorer = self._scorer
        with one_thread():
            probabilities = scorer.probabilities(batch.texts("sentence2"))
        seen = is_seen(batch.texts("sentence1"), self._seen)
        return {"reference_probability": probabilities, "classifier_seen": seen.astype(np.int64)}

    @cached_property
    def _scorer(self) -> ReferenceScorer:
        from ...classification.classifier import ReferenceScorer

        return ReferenceScorer.from_pretrained(str(self.classifier), device=check_device(self.device))

    @cached_property
    def _seen(self) -> np.ndarray:
        return read_seen(model_folder(str(self.classifier)))


@dataclass(frozen=True)
class CrossEncoderScore(Measure):
    """Compute the score of a cross-encoder from 0 to 1, the mean over both orders of the sentences.

    The score is the probability of `--label`, or the sigmoid of the output of a model with a single label.
    """

    for_bitext = True
    needs = "cross_encoder"
    models = ("cross_encoder",)
    columns = ("cross_encoder",)
    cross_encoder: str | None = setting(
        "cross-encoder for the measure cross_encoder: a sequence-classification model of transformers that reads "
        "pairs, a folder or a name on the Hub",
        None,
        path=True,
    )
    label: str | None = setting(
        "label of the cross-encoder whose probability is the score, e.g. entailment [default: the only label]", None
    )
    device: str = device_setting()

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0 to 1."""
        first, second = batch.texts("sentence1"), batch.texts("sentence2")
        with one_thread():
            scores = self._opened.scores([*first, *second], [*second, *first])
        return {"cross_encoder": scores.reshape(2, -1).mean(0)}

    @cached_property
    def _opened(self) -> CrossEncoder:
        from ...classification.classifier import CrossEncoder

        return CrossEncoder.from_pretrained(
            str(self.cross_encoder), label=self.label, device=check_device(self.device)
        )


@dataclass(frozen=True)
class TranslationCost(Measure):
    """Compute the negative log-likelihood of the translation, its end included, per token of the translation.

    * `cost`: −`log_prob` / `num_tokens`, in nats per token.
    * `cost_with_end`: −`log_prob` / (`num_tokens` + 1), which counts the end of the sentence as a token as well.

    Tokens are the subwords of the translation model. NaN where `num_tokens` is 0 or a value is missing. A given
    translation model scores the pairs that lack a value of `log_prob` or `num_tokens`.
    """

    models = ("translation_model",)
    columns = ("cost", "cost_with_end")
    translation_model: str | None = setting(
        "translation model, a folder or a name on the Hub, for the cost of pairs without log_prob and num_tokens; "
        "needs the column source",
        None,
        path=True,
    )
    model_source_lang: str | None = setting(
        "language of the sources: its code in a multilingual translation model", None
    )
    model_target_lang: str | None = setting("language of the translations: its code in a multilingual model", None)
    task_prefix: str | None = setting("text to put before every source, as T5 models need it", None)
    device: str = device_setting()

    @property
    def requires(self) -> tuple[str, ...]:
        """The columns it reads: `source` with a translation model, else the columns written by back-translation."""
        return ("log_prob", "num_tokens") if self.translation_model is None else ("source", "sentence2")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the two columns (pairs,), float64."""
        columns = ("log_prob", "num_tokens")
        if set(columns) <= set(batch.table.schema.names):
            log_prob, tokens = (read_numeric(batch.table, name).copy() for name in columns)
        else:
            log_prob, tokens = np.full((2, batch.num_rows), np.nan)
        if self.translation_model is not None:
            missing = np.flatnonzero(np.isnan(log_prob) | np.isnan(tokens))
            log_prob[missing], tokens[missing] = self._rescored(batch.table.take(pa.array(missing)))
        costs = []
        for end in (0, 1):
            cost = np.full(batch.num_rows, np.nan)
            np.divide(-log_prob, tokens + end, out=cost, where=tokens > 0)
            costs.append(cost)
        return dict(zip(self.columns, costs, strict=True))

    @cached_property
    def _opened(self) -> tuple[Any, Any]:
        from ...translation.loading import load_translation_model

        model, tokenizer = load_translation_model(
            str(self.translation_model),
            device=check_device(self.device),
            source_lang=self.model_source_lang,
            target_lang=self.model_target_lang,
            task_prefix=self.task_prefix,
        )
        return model.eval(), tokenizer

    def _rescored(self, table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        from ...translation.bitext import normalized_sources
        from ...translation.forced_decoding import score_translations

        batch = PairBatch(table)
        languages = batch.texts("source_lang") if "source_lang" in table.schema.names else ["en"] * table.num_rows
        sources = [
            normalized_sources(self._opened[0], [text], language)[0]
            for text, language in zip(batch.texts("source"), languages, strict=True)
        ]
        scores = score_translations(*self._opened, sources, batch.texts("sentence2"))
        return scores.log_probs, scores.num_tokens.astype(np.float64)


@dataclass(frozen=True)
class LanguageIdentification(Measure):
    """Identify the language of the translation with the library py3langid and its built-in model.

    * `language`: the ISO 639 code of the most probable language of `sentence2`; `und` for a text without a letter.
    * `language_probability`: the probability of the expected language, from 0 to 1; NaN for a text without a letter.

    Short sentences are often assigned to a related language.
    """

    texts = ("language",)
    for_bitext = True
    by_default = False
    columns = ("language", "language_probability")
    language: str | None = setting(
        "expected language of sentence2, ISO 639; adds the measure language, whose default is en",
        None,
        names=["--language", "--lang"],
    )

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the two columns (pairs,): text, float64."""
        return _identify(self, batch.lowered2, self.language or "en", "--language")


@dataclass(frozen=True)
class SourceLanguageIdentification(Measure):
    """Identify the language of the source; see `language`.

    * `language_source`, `language_probability_source`: as `language` and `language_probability`, of `source`.
    """

    texts = ("language_source",)
    for_bitext = True
    by_default = False
    needs = "source_language"
    requires = ("source",)
    columns = ("language_source", "language_probability_source")
    source_language: str | None = setting(
        "expected language of source, ISO 639; adds the measure language_source", None
    )

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the two columns (pairs,): text, float64."""
        sources = batch.lowered("source")
        return _identify(self, sources, str(self.source_language), "--source-language")


def _identify(measure: Measure, texts: Sequence[str], expected: str, option: str) -> dict[str, np.ndarray]:
    """Compute the columns of a measure: languages of lower-cased texts, and the probabilities of the expected one."""
    model = open_language_identifier()
    if expected not in model.labels:
        problem = f"{option}: `{expected}` is not a language that py3langid knows"
        raise UsageError(problem, remedy=f"one of {', '.join(sorted(model.labels))}")
    rankings = [model.rank(text) if any(map(str.isalpha, text)) else [("und", np.nan)] for text in texts]
    codes = np.array([ranking[0][0] for ranking in rankings], dtype=np.str_)
    probabilities = np.array([dict(ranking).get(expected, np.nan) for ranking in rankings], dtype=np.float64)
    return dict(zip(measure.columns, (codes, probabilities), strict=True))
