"""What the nearest neighbours of several models have in common, and how much they keep to the words of the query.

The paper says of word averaging that its neighbours are "bags of synonyms", sentences with the same or similar words
(section 4.2.1). The share of words that a neighbour has in common with the query puts a number to the first half.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from ...filtering.tokens import tokenize
from ...tables import plain_markdown
from .sentence_blocks import NearSentence

MOST_ROWS = 50
"""Neighbours of a query that a report shows; its files have all."""


@dataclass(frozen=True)
class ModelSummary:
    """The neighbour lists of one model, averaged over the queries that have neighbours; None where none has.

    Attributes:
        last: The cosine of the last of the list.
        shared_words: The mean share of words that query and neighbour have in common, in per cent: those in both over
            those in either (Jaccard), lower-cased, words with a letter or a digit only.
        common: For each model the share of the neighbours that are among its neighbours too, in per cent; None for the
            model itself.
    """

    first: float | None
    last: float | None
    shared_words: float | None
    common: dict[str, float | None]


@dataclass(frozen=True)
class NeighbourSummary:
    """The summary of all models, by name."""

    models: dict[str, ModelSummary]


def summarise(
    queries: Sequence[str], lists_by_model: Mapping[str, Sequence[Sequence[NearSentence]]]
) -> NeighbourSummary:
    """Summarises neighbour lists."""
    words = [_words(query) for query in queries]
    models = {}
    for name, lists in lists_by_model.items():
        filled = [(number, items) for number, items in enumerate(lists) if items]
        shared = [_jaccard(words[number], _words(item.sentence or "")) for number, items in filled for item in items]
        common: dict[str, float | None] = {}
        for other, others in lists_by_model.items():
            keys = [{item.key for item in items} for items in others]
            shares = [fmean(item.key in keys[number] for item in items) for number, items in filled]
            common[other] = 100.0 * fmean(shares) if shares and other != name else None
        models[name] = ModelSummary(
            fmean(items[0].score for _, items in filled) if filled else None,
            fmean(items[-1].score for _, items in filled) if filled else None,
            100.0 * fmean(shared) if shared else None,
            common if len(lists_by_model) > 1 else {},
        )
    return NeighbourSummary(models)


def side_by_side(columns: Sequence[tuple[str, Sequence[NearSentence]]], longest: int) -> str:
    """Formats the neighbours of one query as a Markdown table; sentences that all models found are in bold.

    Of longer lists only the first 50 are shown.
    """
    common = set.intersection(*({item.key for item in items} for _, items in columns))
    header = ["rank", *(cell for name, _ in columns for cell in (plain_markdown(name, in_table=True), "cosine"))]
    lines = [header, ["---:"] + ["---", "---:"] * len(columns)]
    for rank in range(min(MOST_ROWS, max(len(items) for _, items in columns))):
        row = [str(rank + 1)]
        for _, items in columns:
            if rank >= len(items):
                row += ["", ""]
                continue
            text = plain_markdown(items[rank].sentence or f"(row {items[rank].position:,})", longest, in_table=True)
            bold = len(columns) > 1 and items[rank].sentence is not None and items[rank].key in common
            row += [f"**{text}**" if bold else text, f"{items[rank].score:.2f}"]
        lines.append(row)
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _words(text: str) -> set[str]:
    return {token for token in tokenize(text) if any(letter.isalnum() for letter in token)}


def _jaccard(first: set[str], second: set[str]) -> float:
    either = first | second
    return len(first & second) / len(either) if either else 0.0
