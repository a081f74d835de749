"""The translation model's own cost of the translation (Wieting, Mallinson and Gimpel 2017, section 5.6)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from ...settings import setting
from ..pair_batch import PairBatch
from .base import Measure


@dataclass(frozen=True)
class TranslationCost(Measure):
    """Computes the negative log-likelihood of the translation, its end included, per token of the translation.

    * `cost`: −`log_prob` / `num_tokens`, in nats per token.
    * `cost_with_end`: −`log_prob` / (`num_tokens` + 1), which counts the end of the sentence as a token as well.

    Tokens are the units of the translation model. NaN where `num_tokens` is 0 or a value is missing. With a
    translation model, pairs that lack the two columns or a value in them are scored with it; such a translation is cut
    into units as the model's tokenizer cuts it.
    """

    unit = "nats per token"
    models = ("translation_model",)
    columns = ("cost", "cost_with_end")
    translation_model: str | None = setting(
        "translation model, a folder or a name on the Hub, for the cost of pairs that have no log_prob and "
        "num_tokens; needs source",
        None,
        path=True,
    )
    model_source_lang: str | None = setting(
        "language of the sources, by the code of a translation model that knows several", None
    )
    model_target_lang: str | None = setting("language of the translations, likewise", None)
    task_prefix: str | None = setting("what stands before every source, as T5 models need it", None)

    @property
    def requires(self) -> tuple[str, ...]:
        """The columns it reads: with a translation model `source`, else those that back-translation leaves."""
        return ("log_prob", "num_tokens") if self.translation_model is None else ("source", "sentence2")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Computes the two columns (pairs,), float64."""
        log_prob, tokens = self._given(batch)
        if self.translation_model is not None:
            missing = np.flatnonzero(np.isnan(log_prob) | np.isnan(tokens))
            log_prob[missing], tokens[missing] = self._rescored(batch.table.take(pa.array(missing)))
        costs = []
        for end in (0, 1):
            cost = np.full(batch.num_rows, np.nan)
            np.divide(-log_prob, tokens + end, out=cost, where=tokens > 0)
            costs.append(cost)
        return dict(zip(self.columns, costs, strict=True))

    @staticmethod
    def _given(batch: PairBatch) -> tuple[np.ndarray, np.ndarray]:
        if {"log_prob", "num_tokens"} <= set(batch.table.schema.names):
            return batch.numbers("log_prob").copy(), batch.numbers("num_tokens").copy()
        return np.full(batch.num_rows, np.nan), np.full(batch.num_rows, np.nan)

    @cached_property
    def _opened(self) -> tuple[Any, Any]:
        from ...translation.loading import load_translation_model

        model, tokenizer = load_translation_model(
            str(self.translation_model),
            source_lang=self.model_source_lang,
            target_lang=self.model_target_lang,
            task_prefix=self.task_prefix,
        )
        return model.eval(), tokenizer

    def _rescored(self, table: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        from ...translation.bitext import normalized_sources
        from ...translation.scoring import score_translations

        batch = PairBatch(table)
        languages = batch.texts("source_lang") if "source_lang" in table.schema.names else ["en"] * table.num_rows
        sources = [
            normalized_sources(self._opened[0], [text], language)[0]
            for text, language in zip(batch.texts("source"), languages, strict=True)
        ]
        scores = score_translations(*self._opened, sources, batch.texts("sentence2"))
        return scores.log_probs, scores.num_tokens.astype(np.float64)
