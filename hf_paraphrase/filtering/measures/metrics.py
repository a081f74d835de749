"""Measures of translation and of question answering that others report: chrF and TER of sacrebleu, F1, Kendall's tau.

They are computed where they are asked for, by `--measures` or `--keep`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...text.words import tokenize
from ..pair_batch import PairBatch
from . import Measure


@dataclass(frozen=True)
class CharacterFScore(Measure):
    """Compute chrF (Popović 2015), as sacrebleu does by default: character 6-grams, beta 2, cased, without spaces.

    `chrf` runs from 0 to 1; the hypothesis is `sentence2`, the reference `sentence1`.
    """

    by_default = False
    columns = ("chrf",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0 to 1."""
        return {"chrf": _scores("CHRF", batch.texts("sentence1"), batch.texts("sentence2"))}


@dataclass(frozen=True)
class TranslationEditRate(Measure):
    """Compute TER (Snover et al. 2006), as sacrebleu does, over lower-cased tokens of all scripts.

    `ter` is the number of edits, shifts of phrases included, per token of the reference `sentence1`; it can exceed 1.
    """

    by_default = False
    columns = ("ter",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0."""
        sides = ([" ".join(tokenize(text)) for text in batch.texts(side)] for side in ("sentence1", "sentence2"))
        return {"ter": _scores("TER", *sides)}


@dataclass(frozen=True)
class TokenFScore(Measure):
    """Compute the F1 of the lower-cased tokens that the sides share (as SQuAD does, Rajpurkar et al. 2016).

    Each token is shared as often as the side has it that has it less often; 0 where both sides are empty.
    """

    by_default = False
    columns = ("token_f1",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0 to 1."""
        counts = batch.ngrams.shared(1)
        return {"token_f1": 2 * counts.clipped / np.maximum(counts.total1 + counts.total2, 1)}


@dataclass(frozen=True)
class WordOrder(Measure):
    """Compute Kendall's tau of the order of the tokens that both sides have once (Birch and Osborne 2010).

    1 for the same order, −1 for the reverse one; NaN where fewer than two tokens can be compared.
    """

    by_default = False
    columns = ("kendall_tau",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from −1 to 1."""
        pairs = zip(batch.texts("sentence1"), batch.texts("sentence2"), strict=True)
        return {"kendall_tau": np.array([_kendall_tau(tokenize(one), tokenize(two)) for one, two in pairs], float)}


def _kendall_tau(first: list[str], second: list[str]) -> float:
    single = [{token for token in side if side.count(token) == 1} for side in (first, second)]
    places = np.array([second.index(token) for token in first if token in single[0] & single[1]])
    if len(places) < 2:
        return float("nan")
    later = np.triu(np.sign(places[None, :] - places[:, None]), 1)
    return float(later.sum() / (len(places) * (len(places) - 1) / 2))


def _scores(metric: str, references: list[str], hypotheses: list[str]) -> np.ndarray:
    score = _metric(metric).sentence_score
    pairs = zip(references, hypotheses, strict=True)
    return np.array([score(hypothesis, [reference]).score / 100 for reference, hypothesis in pairs], float)


@cache
def _metric(name: str) -> Any:
    from sacrebleu import metrics

    return getattr(metrics, name)()
