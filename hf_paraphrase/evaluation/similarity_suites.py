"""The suites `sts` and `graded`: the cosine against human scores, nothing trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InputError
from ..tables import format_table, number, short_names
from .baselines import Scorer
from .graded_set import read_graded_folder, score
from .protocols import PAPER, PROTOCOLS, ProtocolResult, choose_protocols, evaluate_protocol, shorten
from .sts import DEV_MEAN, MeanResult, StsResult, evaluate_scored
from .sts_files import find_sts_sets
from .suite import Benchmark, Scores, Suite, one_folder, words_of

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

_PROTOCOL = "Pearson and Spearman x 100 of cosine and human score per set; unweighted means over sets"


@dataclass(frozen=True)
class SimilarityResult:
    """What one scorer reached.

    Attributes:
        protocols: By other protocols on the same similarities, by their names.
    """

    paper: StsResult
    protocols: dict[str, ProtocolResult]


def format_sets(scores: Sequence[Scores], *, without_input: Sequence[str] = (), means: bool = True) -> str:
    """Formats the sets, the means and the notes.

    Returns:
        A Markdown table (Pearson and Spearman × 100 a scorer) and lines of notes, ending in a newline.
    """
    names = short_names([item.name for item in scores])
    results: list[StsResult] = [item.result.paper for item in scores]
    first = results[0]
    header = ["set", "pairs", *(column for name in names for column in (f"{name} r", "rho"))]
    rows = [
        [graded.key, str(graded.n), *_cells([(r.sets[i].pearson, r.sets[i].spearman) for r in results])]
        for i, graded in enumerate(first.sets)
    ]
    # Groups of which the same sets are at hand have the same mean, which stands once, under the largest of them.
    groups: dict[tuple[str, ...], list[MeanResult]] = {}
    for mean in first.means if means else ():
        if mean.present:
            groups.setdefault(mean.found, []).append(mean)
    for mean in (same[0] for same in groups.values()):
        label = mean.label + (", dev" if mean.name == DEV_MEAN else "")
        same = [item.mean(mean.name) for item in results]
        rows.append([label, "", *_cells([(value.pearson, value.spearman) for value in same])])
    lines = ["", "r: Pearson × 100, rho: Spearman × 100; means are over sets, unweighted, of the sets present only."]
    for mean, *others in groups.values():
        if mean.missing:
            also = f"; the same sets as of the {', '.join(other.name for other in others)}" if others else ""
            presence = f"{mean.present} of {mean.expected} present{also}"
            lines.append(f"{mean.name}: {presence}; missing: {', '.join(mean.missing)}")
    if without_input:
        lines.append(f"scores without sentences (not evaluated): {', '.join(without_input)}")
    for item, name in zip(results, names, strict=True):
        lines += [f"{name}, {graded.key}: {graded.note}" for graded in item.sets if graded.note]
    return format_table(header, rows) + "\n".join(lines) + "\n"


def format_protocol(scores: Sequence[Scores], name: str) -> str:
    """Formats one protocol's lines for all scorers under its title, and names what was not found.

    Returns:
        A heading, a Markdown table (two columns a scorer) and lines of notes, ending in a newline.
    """
    protocols = [item.result.protocols[name] for item in scores]
    first = protocols[0]
    names = short_names([item.name for item in scores])
    lines = [f"## {name}: {first.title}", ""]
    if first.rows:
        pearson, spearman = first.columns
        header = [name, "pairs", *(column for scorer in names for column in (f"{scorer} {pearson}", spearman))]
        rows = []
        for index, row in enumerate(first.rows):
            same = [protocol.rows[index] for protocol in protocols]
            values = [number(value) for other in same for value in (other.pearson, other.spearman)]
            rows.append([row.label, str(row.n), *values])
        lines += [format_table(header, rows)]
    lines += first.remarks
    if first.missing:
        lines.append(f"not found: {', '.join(shorten(first.missing))}")
    for scorer, protocol in zip(names, protocols, strict=True):
        notes = {row.note: row.name for row in reversed(protocol.rows) if row.note}
        lines += [f"{scorer}, {row}: {note}" for note, row in reversed(notes.items())]
    return "\n".join(lines).rstrip("\n") + "\n"


def _read_sts(settings: EvaluateSettings) -> Benchmark:
    folder = one_folder(settings)
    protocols = choose_protocols(words_of("protocols", settings.protocols, (PAPER, *PROTOCOLS)))
    sts = find_sts_sets(folder)
    if not sts.sets:
        raise InputError(
            "no STS set with both sentences and scores below this folder",
            path=folder,
            remedy="it needs files such as STS16-en-test/STS.input.headlines.txt and STS.gs.headlines.txt; for a "
            "data folder with a score: --suite graded --split SPLIT",
        )

    def measure(scorer: Scorer) -> Scores:
        scored = score(scorer, sts.sets)
        others = {name: evaluate_protocol(name, scored) for name in protocols if name != PAPER}
        paper = evaluate_scored(scored)
        record = {**paper.as_dict(), "protocols": {name: other.as_dict() for name, other in others.items()}}
        return _scores(scorer, SimilarityResult(paper, others), record)

    def report(scores: Sequence[Scores]) -> str:
        tables, unused = [], []
        for name in protocols:
            if name == PAPER:
                tables.append(format_sets(scores, without_input=sts.without_input))
            elif settings.protocols or scores[0].result.protocols[name].rows:
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
        facts={"without_input": list(sts.without_input)},
        report=report,
        kind="evaluate",
        kept=("suite", "protocol", "sets", "means", "without_input"),
    )


def _read_graded(settings: EvaluateSettings) -> Benchmark:
    folder = one_folder(settings)
    sets = [read_graded_folder(folder, settings.split)]

    def measure(scorer: Scorer) -> Scores:
        paper = evaluate_scored(score(scorer, sets))
        return _scores(scorer, SimilarityResult(paper, {}), paper.as_dict())

    return Benchmark(
        measure,
        inputs=[folder],
        protocol=_PROTOCOL,
        facts={"without_input": []},
        report=lambda scores: format_sets(scores, means=False),
        name=f"graded {folder.resolve().name}/{settings.split}",
        kind="evaluate",
        kept=("suite", "protocol", "sets", "without_input"),
    )


def _scores(scorer: Scorer, result: SimilarityResult, record: dict[str, Any]) -> Scores:
    return Scores(scorer.name, scorer.kind, result, record, tuple(result.paper.measurements()))


def _cells(values: Sequence[tuple[float | None, float | None]]) -> list[str]:
    return [number(value) for pair in values for value in pair]


STS = Suite(_read_sts, settings=("protocols", "split"))
GRADED = Suite(_read_graded, settings=("split",))
