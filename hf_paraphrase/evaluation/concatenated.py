"""The protocol of Sentence-BERT, SimCSE and MTEB: one correlation over all pairs of a year.

Reimers and Gurevych 2019, "Sentence-BERT", section 4; settled and named "all" by Gao, Yao and Chen 2021, "SimCSE",
appendix on evaluation settings; taken over by Muennighoff et al. 2023, "MTEB". The sets of a year are put in one
list and Spearman's rho (all-S) is taken once; all-P is Pearson's r of the same list. The seven tasks are STS 2012–2016
(2013 without SMT), the test part of the STS benchmark and that of SICK; their plain mean is the usual headline.
MTEB's own SICK-R pools all 9,927 pairs of SICK; that is a line of its own where all three parts are at hand.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .protocol_result import YEARS, ProtocolResult, ProtocolRow, by_key, pooled_row, rows_of_splits, sets_of_year
from .scored_set import ScoredSet

TITLE = "all pairs of a year in one list (SBERT, SimCSE, MTEB); STS13 without SMT"
SEVEN = "mean of 7"
_TASKS: dict[str, tuple[str, ...]] = {
    **{year: sets_of_year(year, smt=False) for year in YEARS},
    "STS-B test": ("STS-B test",),
    "SICK-R test": ("SICK test",),
}
_SICK_PARTS = ("train", "trial", "test")


def evaluate_concatenated(scored: Sequence[ScoredSet]) -> ProtocolResult:
    """Correlates the pooled pairs of each of the seven tasks, and averages the seven if all are complete.

    Where the test part of STS-B or SICK is absent, the parts that are at hand stand in its place under their own names
    (`STS-B dev`, `SICK-R train`, `SICK-R trial`) and enter no mean.

    Args:
        scored: Sets with their similarities; those of other benchmarks are ignored.

    Returns:
        One line a task of which a set is at hand, then `mean of 7` if nothing is missing.
    """
    found = by_key(scored)
    tasks = {name: pooled_row(name, keys, found) for name, keys in _TASKS.items()}
    rows = [row for row in tasks.values() if row is not None]
    if tasks["STS-B test"] is None:
        rows += rows_of_splits("STS-B", "STS-B", ("dev", "train"), found)
    if tasks["SICK-R test"] is None:
        rows += rows_of_splits("SICK-R", "SICK", ("train", "trial"), found)
    else:
        whole = pooled_row("SICK-R train+trial+test (MTEB)", [f"SICK {part}" for part in _SICK_PARTS], found)
        if whole is not None and whole.complete:
            rows.append(whole)
    complete = [row for row in tasks.values() if row is not None and row.complete]
    remarks: tuple[str, ...] = ()
    if len(complete) == len(_TASKS):
        rows.append(_mean_of_seven(complete))
    elif rows:
        remarks = (f"no {SEVEN}: {len(complete)} of the {len(_TASKS)} tasks complete",)
    missing = tuple(key for keys in _TASKS.values() for key in keys if key not in found)
    return ProtocolResult("all", TITLE, ("all-P", "all-S"), tuple(rows), missing, remarks)


def _mean_of_seven(tasks: Sequence[ProtocolRow]) -> ProtocolRow:
    return ProtocolRow(
        name=SEVEN,
        n=sum(row.n for row in tasks),
        sets=tuple(key for row in tasks for key in row.sets),
        missing=(),
        pearson=float(np.mean([row.pearson for row in tasks])),
        spearman=float(np.mean([row.spearman for row in tasks])),
    )
