"""What the kinds of `prepare` share: progress, and the closing report."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ..artefacts.cards import check_license as check_license
from ..artefacts.origins import is_url
from ..errors import UsageError
from ..evaluation.tables import format_table
from ..messages import say


def check_url(url: str | None) -> None:
    """Checks that an address can stand on a card.

    Raises:
        UsageError: If it cannot.
    """
    if url is not None and not is_url(url):
        raise UsageError(f"--url `{url}` is not an address", remedy="give one with http:// or https://")


def card_columns(schema: pa.Schema) -> list[dict[str, str]]:
    """Names the columns of a schema with their types as `datasets` spells them in a card."""
    spelling = {pa.string(): "string", pa.float64(): "float64", pa.int64(): "int64"}
    return [{"name": field.name, "dtype": spelling[field.type]} for field in schema]


def funnel_rows(counts: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Lays out what each rule did: its name, how many records it left out or moved, and how many were left after it.

    Args:
        counts: `lines`, then what each rule left out, and `rows`.
    """
    left = counts["lines"]
    table = []
    for rule, count in counts.items():
        if rule not in {"lines", "rows"}:
            left -= count
            table.append((rule, count, left))
    return table


def funnel_table(counts: Mapping[str, int], unit: str) -> str:
    """Formats :func:`funnel_rows` as a Markdown table, from what was read to what is left."""
    total = counts["lines"]
    table = [["read", "", f"{total:,}", "100.0%"]]
    for rule, count, left in funnel_rows(counts):
        table.append([rule, f"{count:,}", f"{left:,}", f"{left / max(1, total):.1%}"])
    return format_table(["rule", "left out", unit, "share"], table).rstrip()


def watched(tables: Iterable[pa.Table], bar: Any) -> Iterator[pa.Table]:
    """Passes tables on and moves a progress bar by their rows."""
    for table in tables:
        yield table
        bar.update(table.num_rows)


def report(
    output: str,
    counts: Mapping[str, Mapping[str, int]],
    contamination: Mapping[str, int],
    malformed: Sequence[str],
    *,
    unit: str = "lines",
) -> None:
    """Tells the user what became of every line.

    Args:
        output: The data folder.
        counts: For each split, `rows`, and where it was read from files, `lines` and what each rule left out.
        contamination: For each evaluation set, the rows it met.
        malformed: The first malformed lines that were skipped.
        unit: What is counted under `lines`.
    """
    for split, rules in counts.items():
        left_out = [f"{rule} {count:,}" for rule, count in rules.items() if rule not in {"lines", "rows"} and count]
        origin = f" of {rules['lines']:,} {unit}" if "lines" in rules else " drawn"
        say(f"{split}: {rules['rows']:,} rows{origin}" + (f" ({', '.join(left_out)})" if left_out else ""))
    if contamination:
        say("evaluation sets met: " + ", ".join(f"{name} {count:,}" for name, count in contamination.items()))
    if malformed:
        say("skipped, first of them:\n" + "\n".join(f"  {line}" for line in malformed))
    say(f"data folder: {output}")
