"""Plain tables for a terminal, which are Markdown as well."""

from __future__ import annotations

from collections.abc import Sequence


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lays out rows of text as a Markdown table whose columns line up: the first to the left, the others to the right.

    Args:
        header: The columns' names.
        rows: As many cells a row as the header has; a `|` in a cell is escaped.

    Returns:
        The table, ending in a newline.
    """
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (header, *rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def line(row: Sequence[str]) -> str:
        padded = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        return "| " + " | ".join(padded) + " |\n"

    return "".join([line(cells[0]), line(rule), *map(line, cells[1:])])


def number(value: float | None) -> str:
    """Formats a correlation × 100 to one decimal; a dash where there is none."""
    return "–" if value is None else f"{value:.1f}"
