"""Correlation of predicted similarities with human scores, and its mean over groups, as an `evaluate` metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import datasets
import evaluate
import numpy as np
from scipy.stats import pearsonr, spearmanr

_DESCRIPTION = """\
Correlates the similarities that a system gives to pairs of sentences with human scores: Pearson's r and \
Spearman's rho, both times 100. With groups (the sets of a benchmark) each group is correlated on its own and \
the unweighted mean over the groups is given beside the correlation of all pairs in one list: the two \
protocols in use, which differ.\
"""
_INPUTS = """\
Args:
    predictions: the system's similarities, one a pair.
    references: the human scores, one a pair.
    groups: optionally the name of the set that each pair belongs to.
Returns:
    pearson, spearman: times 100, over all pairs in one list. A constant side, or a single pair, counts as 0.
    mean_pearson, mean_spearman: with groups, the unweighted mean of the groups' values.
    groups: with groups, for each of them pearson, spearman and the number of pairs.
    pairs: how many pairs there are.
    undefined: the groups (or `all`) for which no correlation is defined, and which count as 0.
Examples:
    >>> metric = evaluate.load("path/to/sts_correlation")
    >>> metric.compute(predictions=[0.1, 0.5, 0.9], references=[0, 3, 5])["spearman"]
    100.0
"""
_CITATION = """\
@inproceedings{agirre2012semeval,
  title = {{SemEval}-2012 Task 6: A Pilot on Semantic Textual Similarity},
  author = {Agirre, Eneko and Cer, Daniel and Diab, Mona and Gonzalez-Agirre, Aitor},
  booktitle = {*SEM 2012},
  year = {2012}
}
"""


class StsCorrelation(evaluate.Metric):
    """Pearson's r and Spearman's rho × 100 of similarities with human scores, over all pairs and by groups."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(
                {"predictions": datasets.Value("float64"), "references": datasets.Value("float64")}
            ),
            reference_urls=["https://aclanthology.org/S12-1051/"],
        )

    def _compute(
        self, predictions: Sequence[float], references: Sequence[float], groups: Sequence[str] | None = None
    ) -> dict[str, Any]:
        similarities, scores = _checked("predictions", predictions), _checked("references", references)
        result: dict[str, Any] = _correlations(similarities, scores)
        undefined = [] if _defined(similarities, scores) else ["all"]
        if groups is not None:
            names = np.array([str(name) for name in groups])
            if len(names) != len(scores):
                raise ValueError(f"{len(names)} groups for {len(scores)} pairs: give one group per pair")
            result["groups"] = {}
            for name in dict.fromkeys(names.tolist()):
                x, y = similarities[names == name], scores[names == name]
                result["groups"][name] = _correlations(x, y)
                undefined += [] if _defined(x, y) else [name]
            for kind in ("pearson", "spearman"):
                result[f"mean_{kind}"] = float(np.mean([group[kind] for group in result["groups"].values()]))
        return result | {"undefined": undefined}


def _checked(name: str, values: Sequence[float]) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        raise ValueError(f"{name} is empty: give one number per pair")
    bad = np.flatnonzero(~np.isfinite(array))
    if len(bad):
        raise ValueError(f"{name}[{bad[0]}] is {array[bad[0]]}: every pair needs a finite number")
    return array


def _defined(*sides: np.ndarray) -> bool:
    """Return whether no array is constant up to rounding, so that correlations are defined."""
    return all(len(side) > 1 and np.ptp(side) > 1e-12 * max(1.0, np.abs(side).max()) for side in sides)


def _correlations(x: np.ndarray, y: np.ndarray) -> dict[str, Any]:
    pearson, spearman = (pearsonr(x, y)[0], spearmanr(x, y)[0]) if _defined(x, y) else (0.0, 0.0)
    return {"pearson": 100.0 * float(pearson), "spearman": 100.0 * float(spearman), "pairs": len(x)}
