"""The tables of the STS protocols, one after the other, each under its own title."""

from __future__ import annotations

from collections.abc import Sequence

from .protocol_result import shorten
from .report import NamedResult, short_names
from .tables import format_table, number


def format_protocol(results: Sequence[NamedResult], name: str) -> str:
    """Lays out one protocol's lines for all scorers under its title, and names what was not found.

    Args:
        results: One or more scorers, over the same sets in the same order.
        name: The protocol.

    Returns:
        A heading, a Markdown table (two columns a scorer) and lines of notes, ending in a newline.
    """
    protocols = [item.protocols[name] for item in results]
    first = protocols[0]
    names = short_names([item.name for item in results])
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
