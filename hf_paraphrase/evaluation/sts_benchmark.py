"""The STS benchmark (Cer et al. 2017, "SemEval-2017 Task 1", section 8), zero-shot.

The cosine is correlated with the gold scores as it is. SentEval's STS-B figures, for which a regression is trained on
the train part, are another thing: the same word vectors gain more than 20 points by it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .protocol_result import ProtocolResult, by_key, rows_of_splits, split_keys
from .scored_set import ScoredSet

TITLE = "the STS benchmark, cosine without training"


def evaluate_sts_benchmark(scored: Sequence[ScoredSet]) -> ProtocolResult:
    """Correlates the parts of the STS benchmark that are at hand, each on its own.

    Args:
        scored: Sets with their similarities; those of other benchmarks are ignored.

    Returns:
        One line a part (`STS-B dev`, `STS-B test`, `STS-B train`); the first two are missed where they are absent.
    """
    found = by_key(scored)
    rows = rows_of_splits("STS-B", "STS-B", ("dev", "test", "train"), found)
    missing = split_keys(("STS-B dev", "STS-B test"), found)[1]
    return ProtocolResult("stsb", TITLE, ("r", "rho"), tuple(rows), missing)
