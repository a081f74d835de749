"""The two averages that the code of Wieting et al. 2021 prints ("Paraphrastic Representations at Scale").

Both are over STS 2012–2016, 2013 with SMT: "datasets" is the plain mean over the 25 sets, "comps" the plain mean of
the five yearly plain means. The first differs from the 20-set mean of the earlier papers by STS 2016, which those keep
for tuning.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .correlation import correlations
from .protocol_result import YEARS, ProtocolResult, ProtocolRow, by_key, sets_of_year, split_keys
from .scored_set import ScoredSet

TITLE = "mean over the sets of STS 2012-2016, and mean over the five yearly means; STS13 with SMT"


def evaluate_wieting2021(scored: Sequence[ScoredSet]) -> ProtocolResult:
    """Averages the correlations over sets (`mean over sets`) and over yearly means (`mean over years`).

    Args:
        scored: Sets with their similarities; those of other benchmarks are ignored.

    Returns:
        Two lines if a set of STS 2012–2016 is at hand; a year counts with the sets it has.
    """
    found = by_key(scored)
    present, missing = split_keys((key for year in YEARS for key in sets_of_year(year, smt=True)), found)
    if not present:
        return ProtocolResult("wieting2021", TITLE, ("r", "rho"), (), missing)
    measured = {key: correlations(found[key].similarities, found[key].graded.scores) for key in present}
    note = "; ".join(f"{key}: {item[2]}" for key, item in measured.items() if item[2])
    values = {key: np.array(item[:2]) for key, item in measured.items()}
    years = [[values[key] for key in sets_of_year(year, smt=True) if key in values] for year in YEARS]
    averages = {
        "mean over sets": np.mean(list(values.values()), axis=0),
        "mean over years": np.mean([np.mean(year, axis=0) for year in years if year], axis=0),
    }
    pairs = sum(len(found[key]) for key in present)
    rows = tuple(
        ProtocolRow(name, pairs, present, missing, float(pearson), float(spearman), note)
        for name, (pearson, spearman) in averages.items()
    )
    return ProtocolResult("wieting2021", TITLE, ("r", "rho"), rows, missing)
