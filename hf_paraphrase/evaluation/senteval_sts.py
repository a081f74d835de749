"""The protocol of SentEval for STS 2012–2016.

Conneau and Kiela 2018, "SentEval: An Evaluation Toolkit for Universal Sentence Representations". For each year the
correlations of the sets are averaged twice: plainly, and weighted by the sets' numbers of scored pairs. 2013 is
without SMT, whose sentences may not be passed on. A cosine that is not a number counts as 0, and pairs with a blank
gold line are left out. SentEval hands over sentences that Moses has tokenised; here each encoder gets the sentences as
they are and tokenises them itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .correlation import correlations
from .protocol_result import YEARS, ProtocolResult, ProtocolRow, by_key, sets_of_year, split_keys
from .scored_set import ScoredSet

TITLE = "plain mean and pair-weighted mean (wmean) of the sets' correlations, year by year; STS13 without SMT"


def evaluate_senteval(scored: Sequence[ScoredSet]) -> ProtocolResult:
    """Averages the correlations of each year's sets, plainly (`STS12 mean`) and weighted (`STS12 wmean`).

    Args:
        scored: Sets with their similarities; those of other benchmarks are ignored.

    Returns:
        Two lines a year of which a set is at hand.
    """
    found = by_key(scored)
    rows: list[ProtocolRow] = []
    missing: list[str] = []
    for year in YEARS:
        present, absent = split_keys(sets_of_year(year, smt=False), found)
        missing += absent
        if not present:
            continue
        measured = [correlations(found[key].similarities, found[key].graded.scores) for key in present]
        values = np.array([(pearson, spearman) for pearson, spearman, _ in measured])
        sizes = np.array([len(found[key]) for key in present])
        note = "; ".join(f"{key}: {item[2]}" for key, item in zip(present, measured, strict=True) if item[2])
        for name, weights in (("mean", np.ones_like(sizes)), ("wmean", sizes)):
            pearson, spearman = np.average(values, axis=0, weights=weights)
            rows.append(
                ProtocolRow(f"{year} {name}", int(sizes.sum()), present, absent, float(pearson), float(spearman), note)
            )
    return ProtocolResult("senteval", TITLE, ("r", "rho"), tuple(rows), tuple(missing))
