"""The suites `sts` and `graded`: correlations of cosines with human scores, and the protocols that average them.

Nothing is trained. The STS benchmark and SICK are among the sets, zero-shot: SentEval trains a regression for these
two, so its figures are not comparable. The same cosines give different figures under different protocols (2012 from
52.9 to 56.6 for one untrained scorer), so protocols are never averaged:

* `paper`: every set, and the plain mean over the sets of a group (Wieting et al. 2016; Wieting, Mallinson and Gimpel
  2017, section 4).
* `senteval`: Conneau and Kiela 2018, "SentEval". For each year the correlations of the sets are averaged plainly and
  weighted by the sets' numbers of scored pairs. 2013 lacks SMT, whose sentences may not be redistributed.
  SentEval passes sentences tokenised by Moses; here each encoder tokenises the raw sentences.
* `all`: Reimers and Gurevych 2019, "Sentence-BERT", section 4; settled and named by Gao, Yao and Chen 2021, "SimCSE",
  appendix on evaluation settings. The sets of a year are pooled into one list for a single Spearman's rho. The plain
  mean of seven tasks is the figure usually reported.
* `mteb`: Muennighoff et al. 2023, "MTEB": the same, but SICK-R is all 9,927 pairs of SICK.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from ..artefacts.card_metadata import Measurement
from ..data.pair_rows import find_score
from ..encoders.dev_sets.pair_sets import (
    Encode,
    GradedSet,
    ScoredSet,
    read_graded_folder,
    score_with_encoder,
    score_with_similarity,
)
from ..encoders.dev_sets.sts_files import STS_TASKS, find_sts_sets, has_sts_sets
from ..errors import InputError
from ..settings import is_given
from ..tables import short_names
from ..vectors.similarity import correlations
from .baselines import Scorer
from .evaluate_settings import PAPER, PROTOCOLS, EvaluateSettings
from .suite import Benchmark, Scores, Suite, format_side_by_side, has_pairs_with, name_folders

YEARS = ("STS12", "STS13", "STS14", "STS15", "STS16")
"""The five SemEval shared tasks."""
DEV_MEAN = "STS16 mean"


def list_sets(year: str, *, smt: bool) -> tuple[str, ...]:
    """List the keys of a year's sets; without `smt` 2013 lacks SMT, as in SentEval and its successors."""
    return tuple(f"{year} {name}" for name in STS_TASKS[year] if smt or (year, name) != ("STS13", "SMT"))


_TWENTY = tuple(key for year in YEARS[:4] for key in list_sets(year, smt=True))

MEAN_GROUPS: dict[str, tuple[str, ...]] = {
    "22 sets": (*_TWENTY, "SICK test", "Twitter test"),
    "21 sets": (*_TWENTY, "SICK test"),
    "20 sets": _TWENTY,
    "19 sets": tuple(key for key in _TWENTY if key != "STS13 SMT"),
    **{f"{year} mean": list_sets(year, smt=True) for year in YEARS},
}
"""The sets of each mean of the papers.

* `22 sets`: the headline of the papers: the 20 sets of SemEval STS 2012–2015, the SICK test and the Twitter test.
* `21 sets`: the same without Twitter.
* `20 sets`: SemEval STS 2012–2015 only.
* `19 sets`: the 20 sets without 2013 SMT, whose sentences are licensed; most later work evaluates these.
* `STS12 mean` … `STS16 mean`: the sets of one year. STS16 is the development mean, in none of the groups above.
"""

Row = Mapping[str, Any]
"""A line of a protocol for one scorer."""
Correlations = Sequence[tuple[ScoredSet, Mapping[str, Any]]]
"""Sets with their results."""


def correlate_pooled(sets: Correlations) -> tuple[float, float, str]:
    """Correlate the pooled pairs of all sets; return Pearson × 100, Spearman × 100 and a note."""
    return correlations(
        np.concatenate([scored.similarities for scored, _ in sets]),
        np.concatenate([scored.graded.scores for scored, _ in sets]),
    )


def average_sets(sets: Correlations, *, weighted: bool = False) -> tuple[float, float, str]:
    """Average the correlations of the sets, `weighted` by their numbers of pairs or not."""
    values = [(result["pearson"], result["spearman"]) for _, result in sets]
    weights = [len(scored) if weighted else 1 for scored, _ in sets]
    pearson, spearman = np.average(values, axis=0, weights=weights)
    note = "; ".join(f"{scored.key}: {result['note']}" for scored, result in sets if result["note"])
    return float(pearson), float(spearman), note


def average_tasks(sets: Correlations) -> tuple[float, float, str]:
    """Average the correlations of the tasks; the pairs of all sets of a family are pooled into one task."""
    families = dict.fromkeys(scored.graded.family for scored, _ in sets)
    tasks = [correlate_pooled([pair for pair in sets if pair[0].graded.family == family]) for family in families]
    pearson, spearman = np.mean([task[:2] for task in tasks], axis=0).tolist()
    return pearson, spearman, "; ".join(dict.fromkeys(task[2] for task in tasks if task[2]))


@dataclass(frozen=True)
class Line:
    """A row of the table of protocols: its sets and its protocol.

    The row is left out if all of its `sets` are missing, or with `whole` if any of them is.
    """

    name: str
    protocols: tuple[str, ...]
    sets: tuple[str, ...]
    values: Callable[[Correlations], tuple[float, float, str]]
    whole: bool = False


_WITHOUT_SMT = {year: list_sets(year, smt=False) for year in YEARS}
_SIX_TASKS = (*(key for keys in _WITHOUT_SMT.values() for key in keys), "STS-B test")
_SICK = ("SICK train", "SICK trial", "SICK test")

LINES = (
    *(Line(name, (PAPER,), keys, average_sets) for name, keys in MEAN_GROUPS.items()),
    *(Line(f"{year} mean", ("senteval",), keys, average_sets) for year, keys in _WITHOUT_SMT.items()),
    *(
        Line(f"{year} wmean", ("senteval",), keys, partial(average_sets, weighted=True))
        for year, keys in _WITHOUT_SMT.items()
    ),
    *(Line(f"{year} all pairs", ("all", "mteb"), keys, correlate_pooled) for year, keys in _WITHOUT_SMT.items()),
    Line("STS-B test", ("all", "mteb"), ("STS-B test",), correlate_pooled),
    Line("SICK test", ("all",), ("SICK test",), correlate_pooled),
    Line("SICK whole", ("mteb",), _SICK, correlate_pooled, whole=True),
    Line("mean of 7", ("all",), (*_SIX_TASKS, "SICK test"), average_tasks, whole=True),
    Line("mean of 7", ("mteb",), (*_SIX_TASKS, *_SICK), average_tasks, whole=True),
)
"""The table of protocols."""


def evaluate_sts(encode: Encode, sets: Sequence[GradedSet]) -> dict[str, Any]:
    """Correlate the cosines of an encoder with the human scores of each set; see :func:`evaluate_scored`."""
    return evaluate_scored(score_with_encoder(encode, sets))


def evaluate_scored(scored: Sequence[ScoredSet], protocols: Iterable[str] = ()) -> dict[str, Any]:
    """Apply the protocol `paper` and the named `protocols` to scored pairs with similarities.

    Returns:
        `sets`, one result per set with Pearson's r and Spearman's rho × 100; `means` by the names of
        :data:`MEAN_GROUPS`; `dev_mean`, Pearson × 100 over the STS 2016 sets present, None without any; and
        `protocols`, for each of the others the rows with data.
    """
    sets: dict[str, tuple[ScoredSet, dict[str, Any]]] = {}
    for one in scored:
        graded = one.graded
        pearson, spearman, note = correlations(one.similarities, graded.scores)
        result = {"name": graded.name, "family": graded.family, "n": len(graded)}
        sets[graded.key] = (one, {**result, "pearson": pearson, "spearman": spearman, "note": note})
    rows: dict[str, dict[str, Any]] = {protocol: {} for protocol in (PAPER, *protocols)}
    for line in LINES:
        is_present = (all if line.whole else any)(key in sets for key in line.sets)
        for protocol in line.protocols:
            if protocol in rows and (is_present or protocol == PAPER):
                rows[protocol][line.name] = _build_row(line, sets)
    means = rows.pop(PAPER)
    return {
        "sets": [result for _, result in sets.values()],
        "means": means,
        "dev_mean": means[DEV_MEAN]["pearson"],
        "protocols": rows,
    }


def _build_row(line: Line, sets: Mapping[str, tuple[ScoredSet, Mapping[str, Any]]]) -> dict[str, Any]:
    """Build a row; its label marks missing sets, which make it incomparable with published figures."""
    present = [key for key in line.sets if key in sets]
    own = [sets[key] for key in present]
    pearson, spearman, note = line.values(own) if own else (None, None, "")
    row = {
        "name": line.name,
        "n": sum(len(scored) for scored, _ in own),
        "sets": present,
        "missing": [key for key in line.sets if key not in sets],
        "pearson": pearson,
        "spearman": spearman,
        "note": note,
        "complete": len(present) == len(line.sets),
    }
    return {**row, "label": line.name + _describe_missing(row)}


def list_sts_measurements(result: Mapping[str, Any]) -> list[Measurement]:
    """List the correlations of every set and of the means over whole groups, for the metadata of a card.

    Incomplete means are only in the text of the card: in the metadata they would be compared with complete means.
    """
    measurements = []
    for key, name in (("pearson", "Pearson × 100 of the cosine"), ("spearman", "Spearman × 100 of the cosine")):
        measured = partial(
            Measurement, "sentence-similarity", metric=f"{key}r", task_name="Semantic textual similarity"
        )
        for own in result["sets"]:
            folder, _, split = own["name"].rpartition("/")
            data = {"dataset": own["family"], "config": own["name"]}
            if own["family"] == "graded":
                data = {"dataset": folder or split, "split": split if folder else None}
            measurements.append(measured(value=own[key], name=name, **data))
        for mean in result["means"].values():
            if mean["complete"]:
                measurements.append(measured(dataset=mean["name"], value=mean[key], name=f"{name}, mean over sets"))
    return measurements


def format_sts(scores: Sequence[Scores], protocols: Sequence[str] = (PAPER,), notes: Sequence[str] = ()) -> str:
    """Format the sets, if `paper` is requested, and the lines of protocols as one table, and notes below it.

    Lines of the same sets with the same figures are one row.
    """
    names = [each.name for each in scores]
    groups: dict[Any, list[tuple[str, list[Row]]]] = {}
    for protocol, own in _list_lines([each.record for each in scores], protocols):
        is_mean = len(own[0]["sets"] + own[0]["missing"]) > 1
        figures = tuple((row["pearson"], row["spearman"]) for row in own) if is_mean else None
        groups.setdefault((tuple(own[0]["sets"]), figures), []).append((protocol, own))
    rows, remarks, missing = [], [], dict[str, dict[str, None]]()
    for group in groups.values():
        best = max((own for _, own in group), key=lambda own: own[0]["complete"])
        label = best[0]["label"] + (", dev" if best[0]["name"] == DEV_MEAN else "")
        marks = dict.fromkeys(
            f"{protocol}{'' if row['complete'] == best[0]['complete'] else _describe_missing(row)}"
            for protocol, (row, *_) in group
        )
        values = [value for row in best for value in (row["pearson"], row["spearman"])]
        rows.append(([label, ", ".join(marks), str(best[0]["n"])], values))
        for key in (key for _, (row, *_) in group for key in row["missing"]):
            missing.setdefault(key.partition(" ")[0], {})[key] = None
        if others := list(dict.fromkeys(row["name"] for _, (row, *_) in group if row["name"] != best[0]["name"])):
            remarks.append(f"{label}: the same sets as of {', '.join(others)}")
        for name, row in zip(short_names(names), best, strict=True):
            remarks += [f"{name}, {label}: {row['note']}"] if row["note"] else []
    used = [name for name in PROTOCOLS if any(name == protocol for group in groups.values() for protocol, _ in group)]
    header = ["set", "protocols", "pairs"]
    if len(used) < 2:
        header.remove("protocols")
        rows = [([label, pairs], values) for (label, _, pairs), values in rows]
    absent = [next(iter(keys)) if len(keys) == 1 else f"{name} ({len(keys)} sets)" for name, keys in missing.items()]
    return "\n".join(
        [
            format_side_by_side(header, rows, names, "r,rho"),
            "r: Pearson × 100, rho: Spearman × 100, of cosines and human scores.",
            *(f"{name}: {PROTOCOLS[name]}" for name in used if len(used) > 1),
            *([f"not found: {', '.join(absent)}"] if absent else []),
            *remarks,
            *notes,
            *(f"{name}: no data" for name in protocols if name not in used),
            "",
        ]
    )


def _list_lines(records: Sequence[Mapping[str, Any]], protocols: Sequence[str]) -> Iterator[tuple[str, list[Row]]]:
    """Yield for each line of the table its protocol and the row of each scorer."""
    for results in zip(*(record["sets"] for record in records), strict=True) if PAPER in protocols else ():
        key = f"{results[0]['family']} {results[0]['name']}"
        as_row = {"name": key, "label": key, "sets": [key], "missing": [], "complete": True}
        yield PAPER, [{**result, **as_row} for result in results]
    for line in LINES:
        for protocol in (name for name in line.protocols if name in protocols):
            tables = [record["means"] if protocol == PAPER else record["protocols"][protocol] for record in records]
            if line.name in tables[0] and tables[0][line.name]["sets"]:
                yield protocol, [table[line.name] for table in tables]


def _describe_missing(row: Mapping[str, Any]) -> str:
    return f" ({len(row['sets'])} of {len(row['sets']) + len(row['missing'])} sets)" if row["missing"] else ""


def _read_sts(settings: EvaluateSettings) -> Benchmark:
    sts = find_sts_sets(*settings.data)
    if not sts.sets:
        problem = "no STS set with both sentences and scores below this folder"
        remedy = "it needs files such as STS16-en-test/STS.input.headlines.txt and STS.gs.headlines.txt"
        raise InputError(problem, path=settings.data[0], remedy=remedy)
    lacking = {"scores without sentences": sts.without_input, "sets without scores": sts.without_scores}
    notes = [f"{label} (not evaluated): {', '.join(keys)}" for label, keys in lacking.items() if keys]

    def report(scores: Sequence[Scores]) -> str:
        with_rows = [name for name in PROTOCOLS if name == PAPER or scores[0].record["protocols"].get(name)]
        return format_sts(scores, settings.protocols or with_rows, notes)

    return _make_benchmark(
        sts.sets,
        settings.protocols or list(PROTOCOLS),
        inputs=sts.paths,
        facts={"without_input": list(sts.without_input), "without_scores": list(sts.without_scores)},
        report=report,
    )


def _read_graded(settings: EvaluateSettings) -> Benchmark:
    paths = name_folders(settings)
    read = partial(read_graded_folder, split=settings.split, is_given=is_given(settings, "split"))
    sets = [(name, read(path), path) for name, path in paths.items()]
    named = [
        replace(graded, name=f"{name}/{graded.name.rpartition('/')[2]}" if path.is_dir() else name)
        for name, graded, path in sets
    ]
    return _make_benchmark(
        named, (), inputs=list(paths.values()), report=format_sts, name=f"graded {' '.join(paths)}/{settings.split}"
    )


def _make_benchmark(sets: Sequence[GradedSet], protocols: Sequence[str], **about: Any) -> Benchmark:
    def measure(scorer: Scorer) -> Scores:
        of_pairs = scorer.similarity
        scored = score_with_similarity(of_pairs, sets) if of_pairs else score_with_encoder(scorer.encode, sets)
        result = evaluate_scored(scored, protocols)
        return Scores(scorer.name, scorer.kind, result, tuple(list_sts_measurements(result)))

    protocol = "Pearson and Spearman x 100 of cosine and human score per set; unweighted means over sets"
    return Benchmark(measure, protocol=protocol, **about)


STS = Suite(_read_sts, has_sts_sets, several=True, settings=("protocols",))
GRADED = Suite(
    _read_graded,
    has_pairs_with(find_score),
    several=True,
    settings=("split",),
    heading="Evaluation: graded pairs",
)
