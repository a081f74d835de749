"""SICK relatedness (Marelli et al. 2014, "A SICK cure for the evaluation of compositional models"), zero-shot.

The cosine is correlated with the relatedness of 1 to 5 as it is, as in the papers on paraphrastic embeddings.
SentEval's SICK-R figures, for which a regression is trained on the train part, are another thing.
"""

from __future__ import annotations

from collections.abc import Sequence

from .protocol_result import ProtocolResult, by_key, rows_of_splits, split_keys
from .scored_set import ScoredSet

TITLE = "SICK relatedness, cosine without training"


def evaluate_sick(scored: Sequence[ScoredSet]) -> ProtocolResult:
    """Correlates the parts of SICK that are at hand, each on its own.

    Args:
        scored: Sets with their similarities; those of other benchmarks are ignored.

    Returns:
        One line a part (`SICK train`, `SICK trial`, `SICK test`); the test part is missed where it is absent.
    """
    found = by_key(scored)
    rows = rows_of_splits("SICK", "SICK", ("train", "trial", "test"), found)
    missing = split_keys(("SICK test",), found)[1]
    return ProtocolResult("sick", TITLE, ("r", "rho"), tuple(rows), missing)
