"""The suites `sts` and `graded`: the cosine against human scores, nothing trained."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..tables import format_table, number, short_names
from .baselines import Scorer
from .graded_set import GradedSet, read_graded_folder, score
from .sts import DEV_MEAN, PAPER, PROTOCOLS, evaluate_scored, shorten, sts_measurements
from .sts_files import find_sts_sets
from .suite import Benchmark, Scores, Suite, named_folders, one_folder

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

_PROTOCOL = "Pearson and Spearman x 100 of cosine and human score per set; unweighted means over sets"


def format_sets(scores: Sequence[Scores], *, notes: Sequence[str] = (), means: bool = True) -> str:
    """Formats the sets and the means as a Markdown table (Pearson and Spearman × 100 a scorer), then the notes."""
    names = short_names([item.name for item in scores])
    results = [item.record for item in scores]
    first = results[0]
    header = ["set", "pairs", *(column for name in names for column in (f"{name} r", "rho"))]
    rows = [
        [_key(graded), str(graded["n"]), *_cells([result["sets"][place] for result in results])]
        for place, graded in enumerate(first["sets"])
    ]
    # Groups with the same sets present have the same mean, which is shown once, under the largest of them.
    groups: dict[tuple[str, ...], list[Mapping[str, Any]]] = {}
    for mean in first["means"].values() if means else ():
        if mean["sets"]:
            groups.setdefault(tuple(mean["sets"]), []).append(mean)
    for mean, *_ in groups.values():
        label = mean["label"] + (", dev" if mean["name"] == DEV_MEAN else "")
        rows.append([label, "", *_cells([result["means"][mean["name"]] for result in results])])
    lines = ["", "r: Pearson × 100, rho: Spearman × 100; means are over sets, unweighted, of the sets present only."]
    for mean, *others in groups.values():
        if mean["missing"]:
            also = f"; the same sets as of the {', '.join(other['name'] for other in others)}" if others else ""
            lines.append(f"{mean['label']}{also}; missing: {', '.join(shorten(mean['missing']))}")
    lines += notes
    for result, name in zip(results, names, strict=True):
        lines += [f"{name}, {_key(graded)}: {graded['note']}" for graded in result["sets"] if graded["note"]]
    return format_table(header, rows) + "\n".join(lines) + "\n"


def format_protocol(scores: Sequence[Scores], name: str) -> str:
    """Formats one protocol's lines for all scorers under its title, and names what was not found."""
    protocols = [item.record["protocols"][name] for item in scores]
    first = protocols[0]
    names = short_names([item.name for item in scores])
    lines = [f"## {name}: {PROTOCOLS[name].title}", ""]
    if first["results"]:
        columns = PROTOCOLS[name].columns
        header = [name, "pairs", *(column for scorer in names for column in (f"{scorer} {columns[0]}", columns[1]))]
        rows = [
            [row["label"], str(row["n"]), *_cells([protocol["results"][line] for protocol in protocols])]
            for line, row in first["results"].items()
        ]
        lines += [format_table(header, rows)]
    lines += first["remarks"]
    if first["missing"]:
        lines.append(f"not found: {', '.join(shorten(first['missing']))}")
    for scorer, protocol in zip(names, protocols, strict=True):
        # Where lines have the same note, the first of them has it.
        notes = {row["note"]: line for line, row in reversed(protocol["results"].items()) if row["note"]}
        lines += [f"{scorer}, {line}: {note}" for note, line in reversed(notes.items())]
    return "\n".join(lines).rstrip("\n") + "\n"


def _read_sts(settings: EvaluateSettings) -> Benchmark:
    folder = one_folder(settings)
    protocols = list(dict.fromkeys(settings.protocols)) or [PAPER, *PROTOCOLS]
    sts = find_sts_sets(folder)
    if not sts.sets:
        raise InputError(
            "no STS set with both sentences and scores below this folder",
            path=folder,
            remedy="it needs files such as STS16-en-test/STS.input.headlines.txt and STS.gs.headlines.txt; for a "
            "data folder with a score: --suite graded --split SPLIT",
        )

    lacking = {"scores without sentences": sts.without_input, "sets without scores": sts.without_scores}
    notes = [f"{label} (not evaluated): {', '.join(keys)}" for label, keys in lacking.items() if keys]

    def measure(scorer: Scorer) -> Scores:
        return _scores(scorer, sts.sets, [name for name in protocols if name != PAPER])

    def report(scores: Sequence[Scores]) -> str:
        tables, unused = [], []
        for name in protocols:
            if name == PAPER:
                tables.append(format_sets(scores, notes=notes))
            elif settings.protocols or scores[0].record["protocols"][name]["results"]:
                tables.append(format_protocol(scores, name))
            else:
                unused.append(name)
        if unused:
            tables.append(f"no data for the protocol{'s' if len(unused) > 1 else ''} {', '.join(unused)}\n")
        return "\n".join(tables)

    return Benchmark(
        measure,
        inputs=sts.paths,
        protocol=_PROTOCOL,
        facts={"without_input": list(sts.without_input), "without_scores": list(sts.without_scores)},
        report=report,
    )


def _read_graded(settings: EvaluateSettings) -> Benchmark:
    folders = named_folders(settings)
    sets = [
        replace(read_graded_folder(folder, settings.split), name=f"{name}/{settings.split}")
        for name, folder in folders.items()
    ]
    return Benchmark(
        lambda scorer: _scores(scorer, sets),
        inputs=list(folders.values()),
        protocol=_PROTOCOL,
        report=lambda scores: format_sets(scores, means=False),
        name=f"graded {' '.join(folders)}/{settings.split}",
    )


def _scores(scorer: Scorer, sets: Sequence[GradedSet], protocols: Sequence[str] = ()) -> Scores:
    result = evaluate_scored(score(scorer, sets), protocols)
    return Scores(scorer.name, scorer.kind, result, tuple(sts_measurements(result)))


def _key(result: Mapping[str, Any]) -> str:
    return f"{result['family']} {result['name']}"


def _cells(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [number(value) for row in rows for value in (row["pearson"], row["spearman"])]


STS = Suite(_read_sts, settings=("protocols",))
GRADED = Suite(_read_graded, settings=("split",))
