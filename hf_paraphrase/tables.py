"""Formats Markdown tables for a terminal, and escapes text that is not Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .messages import printable, sanitize_line

_BREAK = re.compile(r"[\n\r\v\f\t\x1c-\x1e\x85\u2028\u2029]+")
# Tags and addresses of Markdown, but not `0<length<=10`; a backslash does not escape them.
_TAG = re.compile(r"(?<!\\)((?:\\\\)*)<(?=[/!?]|[A-Za-z][\w-]*(?:[\s/>]|$)|[A-Za-z][\w+.-]*[:@])")
_PIPE = re.compile(r"(?<!\\)((?:\\\\)*)\|")
_LINK = re.compile(r"(?<!\\)((?:\\\\)*)\]\(")
_BLOCK = re.compile(r"^(?:#(?=#{0,5}(?: |$))|>|[-+*](?= |$)|`(?=``)|~(?=~~))")


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format rows of any text as a Markdown table; all columns but the first are aligned to the right."""
    cells = [
        [_PIPE.sub(r"\1\|", without_tags_and_links(sanitize_line(cell))) for cell in row] for row in (header, *rows)
    ]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(header))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]

    def line(row: Sequence[str]) -> str:
        others = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        return "| " + " | ".join([row[0].ljust(widths[0]), *others]) + " |\n"

    return "".join([line(cells[0]), line(rule), *map(line, cells[1:])])


def harmless_markdown(text: str) -> str:
    """Put a text on one line without tags, links, images and Markdown blocks."""
    line = without_tags_and_links(printable(_BREAK.sub(" ", text)))
    return _BLOCK.sub(lambda match: f"&#{ord(match[0])};", line)


def without_tags_and_links(markdown: str) -> str:
    """Escape tags, comments, links and images in Markdown."""
    return _LINK.sub(r"\1]&#40;", _TAG.sub(r"\1&lt;", markdown))


def number(value: float | None) -> str:
    """Format a correlation × 100 to one decimal; a dash for None."""
    return "–" if value is None else f"{value:.1f}"


def plain_markdown(text: str, longest: int | None = 400) -> str:
    """Escape all markup and put the text on one line of at most `longest` characters."""
    escaped = re.sub(r"([\\`*_{}\[\]<>#|~!])", r"\\\1", sanitize_line(text))
    return escaped if longest is None or len(escaped) <= longest else escaped[: longest - 1].rstrip("\\") + "…"


def short_names(names: Sequence[str]) -> list[str]:
    """Return the last component of each name, or as many as distinguish it from the other names."""
    parts = [[part for part in name.split("/") if part not in {"", "."}] or [name] for name in names]
    for length in range(1, max(map(len, parts)) + 1):
        short = ["/".join(part[-length:]) for part in parts]
        if len(set(short)) == len(set(names)):
            return short
    return list(names)
