"""Reckons what 1, 10 and 100 million pairs cost in core-hours, disk and money, from the record of `growth.py`.

A stage takes start + (largest - start) * (pairs / rows of the largest)^power seconds of one core, where power is 1,
and 2 for `mine`, which compares every line with every other. Back-translation, of which `growth.py` has no stage,
takes pairs * beams * units / rate, with the rate of one core by `translate.py --only-search --cpu-time`. Disk is the
size of the output, on the line through those of the two largest runs. Money is core-hours * --core-hour + gigabytes *
--gb-month, for one month. Prices are examples, to be replaced by one's own.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from growth import Cost
from hf_paraphrase.errors import InputError
from hf_paraphrase.tables import format_table
from interleaved import argument_parser, exit_code, write

_SQUARED = frozenset({"mine"})
_HOUR = 3600
_GB = 1e9


class Prices(NamedTuple):
    """What is paid."""

    core_hour: float
    gb_month: float


class Need(NamedTuple):
    """What a stage needs."""

    core_hours: float
    gb: float

    def money(self, prices: Prices) -> float:
        """Computes what it costs with a month of its output."""
        return self.core_hours * prices.core_hour + self.gb * prices.gb_month


def main() -> int:
    """Writes the table and returns the exit code."""
    parser = argument_parser(__doc__)
    parser.add_argument("record", type=Path, help="what growth.py --record wrote")
    parser.add_argument("--pairs", type=int, nargs="+", default=[10**6, 10**7, 10**8], help="pairs to reckon for")
    parser.add_argument("--core-hour", type=float, default=0.05, help="price of a core for an hour")
    parser.add_argument("--gb-month", type=float, default=0.02, help="price of a gigabyte for a month")
    parser.add_argument("--rate", type=float, default=0, help="hypothesis-steps/s of a core; 0 = no back-translation")
    parser.add_argument("--beams", type=int, default=50, help="beam width of back-translation")
    parser.add_argument("--units", type=int, default=15, help="units of a translation")
    arguments = parser.parse_args()

    def work() -> None:
        stages = read_record(arguments.record)
        prices = Prices(arguments.core_hour, arguments.gb_month)
        rows = []
        for name, costs in stages.items():
            rows.append([name, *columns([need(name, costs, pairs) for pairs in arguments.pairs], prices)])
        if arguments.rate:
            a_pair = arguments.beams * arguments.units / arguments.rate / _HOUR
            needs = [Need(pairs * a_pair, 0.0) for pairs in arguments.pairs]
            rows.append([f"back-translate, beam {arguments.beams}", *columns(needs, prices)])
        heads = [f"{pairs / 1e6:g} M: {what}" for pairs in arguments.pairs for what in ("core-hours", "GB", "money")]
        write(format_table(["stage", *heads], rows))

    return exit_code("benchmarks/costs", work)


def read_record(path: Path) -> dict[str, list[Cost]]:
    """Reads what was measured of the stages with one process that have more than one size."""
    try:
        found: Mapping[str, Sequence[Mapping[str, float]]] = json.loads(path.read_text(encoding="utf-8"))
        stages = {name: [Cost(**cost) for cost in costs] for name, costs in found.items()}  # type: ignore[arg-type]
        stages = {name: costs for name, costs in stages.items() if len(costs) > 1 and not name.endswith(" x2")}
        # Of texts, of no numbers, and of sizes that do not grow, nothing can be reckoned.
        for name, costs in stages.items():
            need(name, costs, 1)
    except (OSError, ValueError, TypeError, AttributeError, ArithmeticError) as error:
        raise InputError("no record of growth.py", path=path, remedy="growth.py --record FILE writes one") from error
    for name, (start, *_, largest) in stages.items():
        if largest.processors < start.processors:
            message = f"`{name}` took less over {largest.rows:,} rows than to start, so the cost of a row is unknown"
            raise InputError(message, path=path, remedy="give growth.py more --rows")
    return stages


def need(name: str, costs: Sequence[Cost], pairs: int) -> Need:
    """Reckons what a stage needs for so many pairs from what its runs needed."""
    start, before, largest = costs[0], costs[-2], costs[-1]
    power = 2 if name in _SQUARED else 1
    growing = (largest.processors - start.processors) * (pairs / largest.rows) ** power
    a_row = (largest.stored - before.stored) / (largest.rows - before.rows)
    return Need((start.processors + growing) / _HOUR, (largest.stored + a_row * (pairs - largest.rows)) / _GB)


def columns(needs: Sequence[Need], prices: Prices) -> list[str]:
    """Formats core-hours, gigabytes and money of each number of pairs."""
    return [
        f"{value:.2g}" if value < 10 else f"{value:,.0f}"
        for item in needs
        for value in (item.core_hours, item.gb, item.money(prices))
    ]


if __name__ == "__main__":
    sys.exit(main())
