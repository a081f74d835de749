"""Semantic textual similarity: correlations of cosines with human scores, and the protocols that average them.

A set's result is the correlation of the embeddings' cosines with the human scores; nothing is trained. The protocol of
the paraphrastic embedding papers, `paper`, has every set and the plain mean over the sets of a group (Wieting et al.
2016; Wieting, Mallinson and Gimpel 2017, section 4). The STS benchmark and SICK are among the sets, zero-shot:
SentEval's figures of these, for which a regression is trained, are another thing. The same cosines give other numbers
under the other protocols (2012 from 52.9 to 56.6 for one untrained scorer), so no two are ever averaged.

* `senteval`: Conneau and Kiela 2018, "SentEval". For each year the correlations of the sets are averaged plainly and
  weighted by the sets' numbers of scored pairs. 2013 is without SMT, whose sentences may not be passed on. SentEval
  hands over sentences that Moses has tokenised; here each encoder gets them as they are and tokenises them itself.
* `all`: Reimers and Gurevych 2019, "Sentence-BERT", section 4; settled and named by Gao, Yao and Chen 2021, "SimCSE",
  appendix on evaluation settings; taken over by Muennighoff et al. 2023, "MTEB". The sets of a year are put in one
  list and Spearman's rho (all-S) is taken once; all-P is Pearson's r of the same list. The plain mean of seven tasks
  is the usual headline. MTEB's own SICK-R pools all 9,927 pairs of SICK.
* `wieting2021`: what the code of Wieting et al. 2021 prints, "Paraphrastic Representations at Scale". The mean over 25
  sets differs from the 20-set mean of the earlier papers by STS 2016, which those keep for tuning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..artefacts.card_heads import Measurement
from .baselines import Encode
from .correlation import correlations
from .graded_set import GradedSet, ScoredSet, score_with_encoder
from .sts_files import STS_TASKS

PAPER = "paper"
"""The protocol of the paraphrastic embedding papers: each set, and the means of :data:`MEAN_GROUPS`."""
YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
"""The five SemEval shared tasks."""
DEV_MEAN = "STS16 mean"


def sets_of_year(year: str, *, smt: bool) -> tuple[str, ...]:
    """Lists the keys of a year's sets; without `smt` those of 2013 lack SMT, as in SentEval and what builds on it."""
    return tuple(f"{year} {name}" for name in STS_TASKS[year] if smt or (year, name) != ("STS13", "SMT"))


_TWENTY = tuple(key for year in YEARS[:4] for key in sets_of_year(year, smt=True))

MEAN_GROUPS: dict[str, tuple[str, ...]] = {
    "22 sets": (*_TWENTY, "SICK test", "Twitter test"),
    "21 sets": (*_TWENTY, "SICK test"),
    "20 sets": _TWENTY,
    "19 sets": tuple(key for key in _TWENTY if key != "STS13 SMT"),
    **{f"{year} mean": sets_of_year(year, smt=True) for year in YEARS},
}
"""Which sets each mean of the papers is over.

* `22 sets`: the headline of the papers: the 20 sets of SemEval STS 2012–2015, the SICK test and the Twitter test.
* `21 sets`: those without Twitter.
* `20 sets`: SemEval STS 2012–2015 only.
* `19 sets`: those 20 without 2013 SMT, whose sentences are licensed; what most later work can evaluate.
* `STS12 mean` … `STS16 mean`: the sets of one year. STS16 is the development mean, in none of the groups above.
"""

Correlations = Sequence[tuple[ScoredSet, Mapping[str, Any]]]
"""Sets with their results."""
Results = Mapping[str, tuple[ScoredSet, Mapping[str, Any]]]
"""The same by the keys of the sets."""
Values = tuple[float, float, str]
"""Pearson × 100, Spearman × 100 and a note."""


def pooled(sets: Correlations) -> Values:
    """Correlates the pairs of all sets in one list."""
    return correlations(
        np.concatenate([scored.similarities for scored, _ in sets]),
        np.concatenate([scored.graded.scores for scored, _ in sets]),
    )


def mean_over_sets(sets: Correlations) -> Values:
    """Averages the correlations of the sets."""
    return _average(sets, [1] * len(sets))


def mean_over_pairs(sets: Correlations) -> Values:
    """Averages the correlations of the sets, each weighted by its number of pairs."""
    return _average(sets, [len(scored) for scored, _ in sets])


def mean_over_years(sets: Correlations) -> Values:
    """Averages the plain means of the years."""
    families = [scored.graded.family for scored, _ in sets]
    return _average(sets, [1 / families.count(family) for family in families])


def _average(sets: Correlations, weights: Sequence[float]) -> Values:
    values = [(result["pearson"], result["spearman"]) for _, result in sets]
    pearson, spearman = np.average(values, axis=0, weights=weights)
    note = "; ".join(f"{scored.key}: {result['note']}" for scored, result in sets if result["note"])
    return float(pearson), float(spearman), note


@dataclass(frozen=True)
class Line:
    """What a row of a protocol's table is over, and how.

    Attributes:
        sets: Keys of the sets that belong to it; without any of them there is no row.
        whole: Whether it is left out where a set is missing, and the protocol complete without it.
    """

    name: str
    sets: tuple[str, ...]
    values: Callable[[Correlations], Values] = pooled
    whole: bool = False


@dataclass(frozen=True)
class StsProtocol:
    """An entry of the table of protocols.

    Attributes:
        columns: What to call Pearson and Spearman in it.
        mean: The name of a last row, the plain mean of all that belong to the protocol if all are complete.
    """

    title: str
    lines: tuple[Line, ...]
    columns: tuple[str, str] = ("r", "rho")
    mean: str | None = None


_EVERY_SET = tuple(key for year in YEARS for key in sets_of_year(year, smt=True))

PROTOCOLS: dict[str, StsProtocol] = {
    "senteval": StsProtocol(
        "plain mean and pair-weighted mean (wmean) of the sets' correlations, year by year; STS13 without SMT",
        tuple(
            Line(f"{year} {name}", sets_of_year(year, smt=False), values)
            for year in YEARS
            for name, values in (("mean", mean_over_sets), ("wmean", mean_over_pairs))
        ),
    ),
    "all": StsProtocol(
        "all pairs of a year in one list (SBERT, SimCSE, MTEB); STS13 without SMT",
        (
            *(Line(year, sets_of_year(year, smt=False)) for year in YEARS),
            Line("STS-B test", ("STS-B test",)),
            Line("SICK-R test", ("SICK test",)),
            Line("SICK-R train+trial+test (MTEB)", ("SICK train", "SICK trial", "SICK test"), whole=True),
        ),
        ("all-P", "all-S"),
        mean="mean of 7",
    ),
    "wieting2021": StsProtocol(
        "mean over the sets of STS 2012-2016, and mean over the five yearly means; STS13 with SMT",
        (
            Line("mean over sets", _EVERY_SET, mean_over_sets),
            Line("mean over years", _EVERY_SET, mean_over_years),
        ),
    ),
}
"""The protocols by the names that `evaluate --protocols` takes."""


def evaluate_sts(encode: Encode, sets: Sequence[GradedSet]) -> dict[str, Any]:
    """Correlates the cosines of an encoder with the human scores of each set; see :func:`evaluate_scored`."""
    return evaluate_scored(score_with_encoder(encode, sets))


def evaluate_scored(scored: Sequence[ScoredSet], protocols: Iterable[str] = ()) -> dict[str, Any]:
    """Applies the protocol of the papers, and others by their names, to pairs whose similarities are known already.

    Returns:
        `sets`, a result a set with Pearson's r and Spearman's rho × 100; `means` by the names of :data:`MEAN_GROUPS`;
        `dev_mean`, Pearson × 100 over the STS 2016 sets present, None without any; and `protocols` by their names.
    """
    sets: dict[str, tuple[ScoredSet, dict[str, Any]]] = {}
    for item in scored:
        graded = item.graded
        pearson, spearman, note = correlations(item.similarities, graded.scores)
        result = {"name": graded.name, "family": graded.family, "n": len(graded)}
        sets[graded.key] = (item, {**result, "pearson": pearson, "spearman": spearman, "note": note})
    means = {name: _row(Line(name, keys, mean_over_sets), sets) for name, keys in MEAN_GROUPS.items()}
    return {
        "sets": [result for _, result in sets.values()],
        "means": means,
        "dev_mean": means[DEV_MEAN]["pearson"],
        "protocols": {name: _evaluate_protocol(PROTOCOLS[name], sets) for name in protocols},
    }


def _evaluate_protocol(protocol: StsProtocol, sets: Results) -> dict[str, Any]:
    rows = {line.name: _row(line, sets) for line in protocol.lines if not line.whole or set(line.sets) <= sets.keys()}
    required = [line for line in protocol.lines if not line.whole]
    shown = {name: row for name, row in rows.items() if row["sets"]}
    missing = dict.fromkeys(key for line in required for key in line.sets if key not in sets)
    remarks = []
    if protocol.mean is not None and shown:
        tasks = [rows[line.name] for line in required]
        if missing:
            complete = sum(row["complete"] for row in tasks)
            remarks = [f"no {protocol.mean}: {complete} of the {len(tasks)} tasks complete"]
        else:
            pearson, spearman = np.mean([(row["pearson"], row["spearman"]) for row in tasks], axis=0).tolist()
            keys = tuple(key for line in required for key in line.sets)
            shown[protocol.mean] = _row(Line(protocol.mean, keys, lambda _: (pearson, spearman, "")), sets)
    return {"title": protocol.title, "results": shown, "missing": list(missing), "remarks": remarks}


def _row(line: Line, sets: Results) -> dict[str, Any]:
    """Builds a row; only a complete one is comparable with published figures, and the label of another says so."""
    present = [key for key in line.sets if key in sets]
    own = [sets[key] for key in present]
    pearson, spearman, note = line.values(own) if own else (None, None, "")
    some = "" if len(present) == len(line.sets) else f" ({len(present)} of {len(line.sets)} sets)"
    return {
        "name": line.name,
        "n": sum(len(scored) for scored, _ in own),
        "sets": present,
        "missing": [key for key in line.sets if key not in sets],
        "pearson": pearson,
        "spearman": spearman,
        "note": note,
        "complete": not some,
        "label": line.name + some,
    }


def sts_measurements(result: Mapping[str, Any]) -> list[Measurement]:
    """Lists the correlations of every set and of the means over whole groups, for the head of a card.

    A mean over some of the sets would stand beside others' over all of them; the text of a card has it.
    """
    measurements = []
    for key, name in (("pearson", "Pearson × 100 of the cosine"), ("spearman", "Spearman × 100 of the cosine")):
        measured = partial(
            Measurement, "sentence-similarity", metric=f"{key}r", task_name="Semantic textual similarity"
        )
        for item in result["sets"]:
            folder, _, split = item["name"].rpartition("/")
            data = {"dataset": item["family"], "config": item["name"]}
            if item["family"] == "graded":
                data = {"dataset": folder, "split": split}
            measurements.append(measured(value=item[key], name=name, **data))
        for mean in result["means"].values():
            if mean["complete"]:
                measurements.append(measured(dataset=mean["name"], value=mean[key], name=f"{name}, mean over sets"))
    return measurements


def shorten(keys: Iterable[str]) -> list[str]:
    """Abbreviates a list of keys for reading: a year of which all sets are listed becomes `STS14 (6 sets)`."""
    keys = list(dict.fromkeys(keys))
    short: dict[str, None] = {}
    for key in keys:
        year = key.partition(" ")[0]
        whole = year in YEARS and set(sets_of_year(year, smt=False)) <= set(keys)
        size = sum(1 for other in keys if other.startswith(f"{year} "))
        short[f"{year} ({size} sets)" if whole else key] = None
    return list(short)
