"""How a model is scored while it is trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..data.pair_rows import PairRows
from ..errors import InputError
from .encoded_pairs import LABEL, SCORE
from .sentence_encoder import SentenceEncoder
from .vectors import normalized

DEV_SCORE = "dev_mean"
"""The score that chooses the weights, where an evaluator gives several and none is named."""
Evaluator = Callable[[SentenceEncoder], Mapping[str, float] | float]
"""Gets an encoder; returns scores by name, or one number."""


def scores_of(evaluator: Evaluator, encoder: SentenceEncoder) -> dict[str, float]:
    """Asks an evaluator; a single number is called by :data:`DEV_SCORE`."""
    result = evaluator(encoder)
    if not isinstance(result, Mapping):
        result = {DEV_SCORE: result}
    return {str(name).removeprefix("eval_"): float(value) for name, value in result.items()}


def pair_scores(encoder: SentenceEncoder, pairs: Any) -> dict[str, float]:
    """Scores the cosines of pairs against their `label` (average precision × 100) or `score` (Pearson × 100)."""
    from ..evaluation.correlation import average_precision, pearson

    rows = PairRows(pairs)
    column = next((name for name in (LABEL, SCORE) if name in rows.columns), None)
    if column is None:
        raise InputError("the pairs of eval_dataset have no column label or score", remedy="give graded pairs")
    sides: tuple[list[str], list[str]] = [], []
    labels: list[float] = []
    for _, batch in rows.batches([*rows.sides, column]):
        for all_texts, texts in zip(sides, rows.texts(batch), strict=True):
            all_texts += texts
        labels += batch.column(column).to_pylist()
    first, second = (normalized(encoder.encode(texts)) for texts in sides)
    measure = average_precision if column == LABEL else pearson
    return {DEV_SCORE: 100 * float(measure((first * second).sum(1), np.array(labels)))}
