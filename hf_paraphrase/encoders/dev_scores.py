"""How a model is scored while it is trained, and which of the scores chooses the weights that are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from transformers import EvalPrediction

from ..errors import InputError, UsageError
from .sentence_encoder import SentenceEncoder
from .vectors import normalized

CHOOSES = "eval_dev_mean"
"""The score that chooses the weights, where an evaluator gives several and none is named."""
DEV_SCORE = CHOOSES.removeprefix("eval_")
Evaluator = Callable[[SentenceEncoder], Mapping[str, float] | float]
"""Gets an encoder; returns scores by name, or one number."""
_LABELS = ("label", "score")


def scores_of(evaluator: Evaluator, encoder: SentenceEncoder) -> dict[str, float]:
    """Asks an evaluator; a single number is called by :data:`CHOOSES`."""
    result = evaluator(encoder)
    if not isinstance(result, Mapping):
        result = {DEV_SCORE: result}
    try:
        return {str(name).removeprefix("eval_"): float(value) for name, value in result.items()}
    except (TypeError, ValueError) as error:
        raise UsageError(f"the evaluator gives something other than scores: {error}") from error


def similarity_scores(
    encoder: SentenceEncoder, pairs: Any, compute_metrics: Callable[[EvalPrediction], Mapping[str, float]]
) -> dict[str, float]:
    """Computes metrics of the cosines of pairs against their labels or scores.

    Args:
        encoder: The encoder.
        pairs: A `datasets.Dataset`, or dictionaries, with `sentence1`, `sentence2` and `label` or `score`.
        compute_metrics: Gets the cosines (pairs,) as predictions, and the labels (pairs,).
    """
    rows = list(pairs)
    label = next((name for name in _LABELS if rows and name in rows[0]), None)
    if label is None:
        raise InputError("the pairs of eval_dataset have no column label or score", remedy="give graded pairs")
    first, second = (normalized(encoder.encode([row[side] for row in rows])) for side in ("sentence1", "sentence2"))
    labels = np.array([row[label] for row in rows])
    scores = compute_metrics(EvalPrediction(predictions=(first * second).sum(1), label_ids=labels))
    return {name.removeprefix("eval_"): float(value) for name, value in scores.items()}


def chosen_score(scores: Mapping[str, float], wanted: str, by_default: bool) -> str:
    """Finds the score that chooses the weights.

    Args:
        scores: The scores by name.
        wanted: The name that was given, with or without `eval_` before it.
        by_default: Whether nobody gave it, so that an only score is as good.

    Returns:
        Its name, with `eval_` before it.
    """
    name = wanted.removeprefix("eval_")
    if name not in scores and by_default and len(scores) == 1:
        (name,) = scores
    if name not in scores:
        raise UsageError(
            f"the scores are {', '.join(scores)}, and `{name}` shall choose the weights",
            remedy="name one of them as metric_for_best_model",
        )
    return f"eval_{name}"
