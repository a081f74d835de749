"""The funnel: how many pairs each step of a filter leaves."""

from __future__ import annotations

from ..evaluation.tables import format_table


class Funnel:
    """Counts pairs after each step; the steps stand in the order in which they were first named.

    Attributes:
        counts: For each step the number of pairs left after it.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def add(self, step: str, count: int) -> None:
        """Adds pairs to the count of a step, batch by batch."""
        self.counts[step] = self.counts.get(step, 0) + int(count)

    def rows(self) -> list[tuple[str, int, int, float]]:
        """Returns for each step its name, the pairs left, those it removed, and the share left of the first step."""
        rows = []
        previous = first = None
        for step, count in self.counts.items():
            first = count if first is None else first
            rows.append((step, count, 0 if previous is None else previous - count, count / first if first else 0.0))
            previous = count
        return rows

    def table(self) -> str:
        """Lays out the funnel as a Markdown table."""
        return format_table(
            ["step", "pairs", "removed", "left"],
            [
                [step, f"{count:,}", f"{removed:,}" if removed else "", f"{share:.1%}"]
                for step, count, removed, share in self.rows()
            ],
        )
