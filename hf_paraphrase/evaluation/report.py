"""The results of one or several scorers, side by side, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .protocol_result import ProtocolResult
from .sts import DEV_MEAN, StsResult
from .tables import format_table, number


@dataclass(frozen=True)
class NamedResult:
    """The result of one scorer.

    Attributes:
        name: A model folder or a floor.
        kind: `model` or `baseline`.
        result: What was measured; all named results of a report are over the same sets.
        protocols: The results of other protocols on the same similarities, by the protocol's name.
    """

    name: str
    kind: str
    result: StsResult
    protocols: Mapping[str, ProtocolResult] = field(default_factory=dict)


def format_report(results: Sequence[NamedResult], *, without_input: Sequence[str] = (), means: bool = True) -> str:
    """Lays out the sets, the means and the notes.

    Args:
        results: One or more scorers, over the same sets in the same order.
        without_input: Sets whose scores are at hand but whose sentences are not.
        means: Whether to print the group means; groups without a single set are left out.

    Returns:
        A Markdown table (Pearson and Spearman × 100 a scorer) and lines of notes, ending in a newline.
    """
    first = results[0].result
    names = short_names([item.name for item in results])
    header = ["set", "pairs", *(column for name in names for column in (f"{name} r", "rho"))]
    rows = [
        [graded.key, str(graded.n), *_cells([(r.result.sets[i].pearson, r.result.sets[i].spearman) for r in results])]
        for i, graded in enumerate(first.sets)
    ]
    shown = [mean for mean in first.means if mean.present] if means else []
    for mean in shown:
        label = mean.label + (", dev" if mean.name == DEV_MEAN else "")
        same = [item.result.mean(mean.name) for item in results]
        rows.append([label, "", *_cells([(value.pearson, value.spearman) for value in same])])
    lines = ["", "r: Pearson × 100, rho: Spearman × 100; means are over sets, unweighted, of the sets present only."]
    for mean in shown:
        if mean.missing:
            lines.append(f"{mean.name}: {mean.present} of {mean.expected} present; missing: {', '.join(mean.missing)}")
    if without_input:
        lines.append(f"scores without sentences (not evaluated): {', '.join(without_input)}")
    for item, name in zip(results, names, strict=True):
        lines += [f"{name}, {graded.key}: {graded.note}" for graded in item.result.sets if graded.note]
    return format_table(header, rows) + "\n".join(lines) + "\n"


def short_names(names: Sequence[str]) -> list[str]:
    """Returns the last component of each name, or more of them where two names would look alike."""
    parts = [[part for part in name.split("/") if part not in {"", "."}] or [name] for name in names]
    for length in range(1, max(map(len, parts)) + 1):
        short = ["/".join(part[-length:]) for part in parts]
        if len(set(short)) == len(set(names)):
            return short
    return list(names)


def _cells(values: Sequence[tuple[float | None, float | None]]) -> list[str]:
    return [number(value) for pair in values for value in pair]
