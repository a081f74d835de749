"""Sentences shown as they are: not taken for Markdown in a report, on one line in a table of a file."""

from __future__ import annotations


def plain_markdown(text: str, longest: int = 400, *, in_table: bool = False) -> str:
    """Escapes what Markdown would take for markup, on one line, cut where it is too long.

    Args:
        text: Any text.
        longest: Characters of the result at most.
        in_table: Leave `|` as it is, for :func:`...evaluation.tables.format_table` escapes it.
    """
    special = "\\`*_{}[]<>#~!" if in_table else "\\`*_{}[]<>#|~!"
    escaped = "".join(f"\\{letter}" if letter in special else letter for letter in " ".join(text.split()))
    return escaped if len(escaped) <= longest else escaped[: longest - 1].rstrip("\\") + "…"


def one_line(text: str | None) -> str:
    """Puts a text on one line without tabs, for a tab-separated file; nothing for None."""
    return "" if text is None else " ".join(text.split())
