"""How `search` prints neighbours: tab-separated values, JSON lines, or Markdown tables of one or two indexes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..encoders.search.index import Neighbour
    from ..encoders.search.run import Searched

FORMATS = ("tsv", "jsonl", "markdown")
TSV_HEADER = "query\trank\tscore\tposition\tsentence\n"


def neighbours(settings: Any, found: Searched) -> Iterator[str]:
    """Lays out the neighbours of each query, as :class:`~..encoders.search.search_settings.SearchSettings` say."""
    layout = settings.format or ("tsv" if settings.compare is None else "markdown")
    lay_out = printer(layout, found.names)
    for number, (query, items) in enumerate(found.neighbours):
        if layout == "tsv" and not number:
            yield TSV_HEADER
        yield lay_out(query, items)


def as_tsv(query: str, found: Sequence[Neighbour]) -> str:
    """Lays out the neighbours of a query as lines of query, rank (from 1), cosine, position and sentence."""
    lines = (
        f"{_line(query)}\t{rank}\t{item.score:.6f}\t{item.position}\t{_line(item.sentence)}\n"
        for rank, item in enumerate(found, start=1)
    )
    return "".join(lines)


def as_json(query: str, found: Sequence[Neighbour]) -> str:
    """Lays out the neighbours of a query as one JSON object on a line."""
    record = {"query": query, "neighbours": [dataclasses.asdict(item) for item in found]}
    return json.dumps(record, ensure_ascii=False) + "\n"


def as_markdown(query: str, names: Sequence[str], found: Sequence[Sequence[Neighbour]]) -> str:
    """Lays out the neighbours of a query under one or several encoders side by side (Sjöblom et al. 2018, Table 4).

    Args:
        query: The sentence.
        names: What the indexes are called.
        found: The neighbours in each.

    Returns:
        The query in bold and a table with two columns an index, sentence and cosine.
    """
    rows = [[cell for name in names for cell in (name, "cosine")], ["---", "---:"] * len(names)]
    for rank in range(max(map(len, found), default=0)):
        row: list[str] = []
        for items in found:
            row += [items[rank].sentence, f"{items[rank].score:.2f}"] if rank < len(items) else ["", ""]
        rows.append(row)
    table = "".join("| " + " | ".join(map(_cell, row)) + " |\n" for row in rows)
    return f"**{_cell(query)}**\n\n{table}\n"


def printer(layout: str, names: Sequence[str]) -> Callable[[str, Sequence[Sequence[Neighbour]]], str]:
    """Returns the function that lays out a query and its neighbours in each index.

    Args:
        layout: One of :data:`FORMATS`.
        names: What the indexes are called; more than one for Markdown only.
    """
    if layout == "markdown":
        return lambda query, found: as_markdown(query, names, found)
    single = as_tsv if layout == "tsv" else as_json
    return lambda query, found: single(query, found[0])


def _line(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _line(text).replace("|", "\\|")
