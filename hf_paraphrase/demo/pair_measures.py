"""Pairs with their measures in memory: what ranges keep, which is what `filter` keeps.

Measures are computed by the function that `filter` uses, and ranges are read and applied by its selections; so the
command that is shown selects the same pairs.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ..data.folder import DataFolder
from ..errors import InputError, UsageError
from ..filtering.filter_steps import check_pairs, with_columns
from ..filtering.measuring import measurable_columns, measures_of, required_columns
from ..filtering.pair_batch import numeric_column
from ..filtering.selections import check_columns, parse_selection

MOST_MEASURES = 6
"""Measures on the page at a time."""
USUAL = ("length", "overlap_1", "bleu", "cost", "similarity", "score")
"""Those that are shown first, where a folder has them or they can be computed."""
_SENTENCES = ("sentence1", "sentence2")
_MOST_TEXTS = 200_000
"""Pairs whose sentences stay in memory, for examples."""
_BARS, _STEPS = 25, 200
"""About how many bars and slider positions the range of a measure has."""
_LARGEST = 1e15
"""Larger numbers are not drawn, like infinite ones."""
_NAME = re.compile(r"[^\W\d]\w*", re.ASCII)
"""What `filter --keep` takes for the name of a column."""


@dataclass(frozen=True)
class MeasureValues:
    """One measure of all pairs.

    Attributes:
        values: Its values (pairs,), NaN where one is missing.
        low: The least position of a slider, not above the least value.
        high: The greatest position, not below the greatest value.
        step: The distance between two positions.
        width: The width of a bar of the histogram.
    """

    name: str
    values: NDArray[np.float64]
    low: float
    high: float
    step: float
    width: float

    @classmethod
    def of(cls, name: str, values: NDArray[np.float64]) -> MeasureValues:
        """Finds the range and the steps of some values."""
        drawn = values[np.abs(values) <= _LARGEST]
        least, greatest = (float(drawn.min()), float(drawn.max())) if drawn.size else (0.0, 0.0)
        whole = bool((drawn == np.round(drawn)).all())
        span = greatest - least
        if span <= max(abs(least), abs(greatest)) * 1e-9:
            # Values that are nearly the same have a range too, wide enough for steps in float64.
            span = max(1.0, abs(greatest) * 1e-6)
        step = _step(span / _STEPS, whole)
        low, high = _rounded(math.floor(least / step) * step, step), _rounded(math.ceil(greatest / step) * step, step)
        # A multiple may be off by rounding.
        low = low if low <= least else _rounded(low - step, step)
        high = high if high >= greatest and high > low else _rounded(high + step, step)
        return cls(name, values, low, high, step, _step(span / _BARS, whole))

    def histogram(self, kept: NDArray[np.bool_]) -> pd.DataFrame:
        """Counts the pairs in each bar, by whether they are kept: columns `value`, `pairs` and `part`."""
        drawn = np.abs(self.values) <= _LARGEST
        parts = []
        for part, rows in (("kept", kept & drawn), ("left out", ~kept & drawn)):
            bars, counts = np.unique(np.floor(self.values[rows] / self.width), return_counts=True)
            parts.append(pd.DataFrame({"value": (bars + 0.5) * self.width, "part": part, "pairs": counts}))
        return pd.concat(parts, ignore_index=True)

    def comparison(self, low: float, high: float) -> str | None:
        """Writes a range as `filter --keep` reads it; None for the whole one, which keeps missing values too."""
        low, high = _rounded(low, self.step), _rounded(high, self.step)
        above, below = low > self.low, high < self.high
        if above and below:
            return f"{_text(low)}<={self.name}<={_text(high)}"
        return f"{self.name}>={_text(low)}" if above else f"{self.name}<={_text(high)}" if below else None


@dataclass(frozen=True)
class PairMeasures:
    """The pairs of a split with some measures.

    Attributes:
        place: The folder, as the user named it.
        texts: The sentences of the first pairs.
    """

    place: str
    split: str
    count: int
    measures: dict[str, MeasureValues]
    texts: pa.Table

    def cut(self, ranges: Mapping[str, tuple[float, float]]) -> tuple[NDArray[np.bool_], list[str]]:
        """Finds which pairs ranges keep (pairs,), and the ranges as `filter --keep` reads them."""
        kept = np.ones(self.count, bool)
        comparisons = []
        for name, (low, high) in ranges.items():
            measure = self.measures[name]
            if low > high:
                problem = f"the range of {name} begins at {_text(low)} and ends at {_text(high)}"
                raise UsageError(problem, remedy="exchange them")
            if (text := measure.comparison(low, high)) is not None:
                comparisons.append(text)
                kept &= parse_selection(text).mask(measure.values)
        return kept, comparisons

    def command(self, comparisons: Sequence[str]) -> str:
        """Writes the command that keeps what comparisons keep."""
        words = ["hf-paraphrase", "filter", "--pairs", self.place]
        words += ["--split", self.split] if self.split != "train" else []
        words += ["--keep", *comparisons] if comparisons else []
        return shlex.join([*words, "--output", "filtered"])


def available_measures(folder: DataFolder, split: str) -> list[str]:
    """Lists the columns of numbers of a data folder, and those that can be computed; the usual ones first."""
    schema = folder.schema(split)
    check_pairs(schema, str(folder.path))
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean)
    numbers = [field.name for field in schema if any(is_kind(field.type) for is_kind in kinds)]
    names = [*filter(_NAME.fullmatch, numbers), *measurable_columns(schema.names)]
    usual = [name for name in USUAL if name in names]
    return list(dict.fromkeys([*usual, *names]))


def read_measures(
    folder: DataFolder,
    split: str,
    names: Sequence[str],
    *,
    place: str | None = None,
    progress: Callable[[int], object] = lambda pairs: None,
) -> PairMeasures:
    """Reads the pairs of a split, and computes the measures that are not columns."""
    if not 1 <= len(names) <= MOST_MEASURES:
        raise UsageError(f"{len(names)} measures are chosen", remedy=f"1 to {MOST_MEASURES}")
    schema = folder.schema(split)
    check_pairs(schema, str(folder.path))
    check_columns(names, schema, "the page")
    lacking = [name for name in names if name not in schema.names]
    wanted = {*_SENTENCES, *names, *required_columns(measures_of(lacking))}
    values: dict[str, list[NDArray[np.float64]]] = {name: [] for name in names}
    texts, count = [], 0
    for batch in folder.batches(split, [name for name in schema.names if name in wanted]):
        table = with_columns(pa.Table.from_batches([batch]), names)
        for name in names:
            values[name].append(numeric_column(table, name))
        if count < _MOST_TEXTS:
            texts.append(table.select(list(_SENTENCES)).slice(0, _MOST_TEXTS - count))
        count += table.num_rows
        progress(table.num_rows)
    if not count:
        raise InputError(f"split `{split}` has no pairs", path=folder.path)
    measures = {name: MeasureValues.of(name, np.concatenate(parts)) for name, parts in values.items()}
    return PairMeasures(place or str(folder.path), split, count, measures, pa.concat_tables(texts))


def _step(rough: float, whole: bool) -> float:
    """Rounds a step up to 1, 2 or 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return max(1.0, step) if whole else step


def _rounded(value: float, step: float) -> float:
    """Rounds to the digits of a step, so that 0.30000000000000004 is 0.3."""
    return round(value, max(0, -math.floor(math.log10(step))))


def _text(value: float) -> str:
    """Writes a number so that it reads back as the same."""
    return str(int(value)) if value == int(value) else repr(float(value))
