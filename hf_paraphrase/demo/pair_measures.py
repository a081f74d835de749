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
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from ..data.folder import DataFolder
from ..errors import InputError, UsageError
from ..filtering.filter_steps import check_pairs, with_columns
from ..filtering.measuring import measurable_columns, measures_of, required_columns
from ..filtering.pair_batch import holds_numbers, numeric_column
from ..filtering.selections import check_columns, parse_selection

MOST_MEASURES = 6
"""Measures on the page at a time."""
USUAL = ("length", "overlap_1", "bleu", "cost", "similarity", "score")
"""Those that are shown first, where a folder has them or they can be computed."""
_SENTENCES = ("sentence1", "sentence2")
_LONGEST, _EXAMPLES = 300, 5
_MOST_TEXTS = 200_000
"""Pairs whose sentences stay in memory, for examples."""
_BARS, _STEPS = 25, 100
"""About how many bars and slider positions the range of a measure has."""
_LARGEST = 1e15
"""Larger numbers are not drawn, like infinite ones."""
_NAME = re.compile(r"[^\W\d]\w*", re.ASCII)
"""What `filter --keep` takes for the name of a column."""


@dataclass(frozen=True)
class MeasureValues:
    """One measure of all pairs (pairs,), NaN where one is missing.

    A slider goes from `low` to `high`, at which every value passes, with so many decimal digits; `width` is that of a
    bar of the histogram.
    """

    name: str
    values: NDArray[np.float64]
    low: float
    high: float
    digits: int
    width: float

    @classmethod
    def of(cls, name: str, values: NDArray[np.float64]) -> MeasureValues:
        """Finds the range of some values."""
        drawn = values[np.abs(values) <= _LARGEST]
        least, greatest = (float(drawn.min()), float(drawn.max())) if drawn.size else (0.0, 0.0)
        span = greatest - least
        if span < 1e-9 * max(1.0, abs(least), abs(greatest)):
            span = 1.0
        width = span / _BARS
        if (drawn == np.round(drawn)).all():
            return cls(name, values, least, least + span, 0, float(math.ceil(width)))
        digits = max(0, math.ceil(math.log10(_STEPS / span)))
        return cls(name, values, round(least, digits), round(least + span, digits), digits, width)

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
        if low > high:
            raise UsageError(
                f"the range of {self.name} begins at {low:g} and ends at {high:g}", remedy="exchange them"
            )
        first, last = (np.format_float_positional(round(end, self.digits), trim="-") for end in (low, high))
        above, below = low > self.low, high < self.high
        if above and below:
            return f"{first}<={self.name}<={last}"
        return f"{self.name}>={first}" if above else f"{self.name}<={last}" if below else None


@dataclass(frozen=True)
class PairMeasures:
    """The pairs of a split of a folder, as the user named it, with some measures; of the first ones the sentences."""

    place: str
    split: str
    count: int
    measures: dict[str, MeasureValues]
    texts: pa.Table

    def cut(self, ranges: Mapping[str, tuple[float, float]]) -> tuple[NDArray[np.bool_], list[str]]:
        """Finds which pairs ranges keep (pairs,), and the ranges as `filter --keep` reads them."""
        kept = np.ones(self.count, bool)
        comparisons = []
        for name, ends in ranges.items():
            measure = self.measures[name]
            if (text := measure.comparison(*ends)) is not None:
                comparisons.append(text)
                kept &= parse_selection(text).mask(measure.values)
        return kept, comparisons

    def examples(self, part: NDArray[np.bool_]) -> list[list[Any]]:
        """Returns the first pairs of a part of all (pairs,) with their measures, as rows for a table on the page."""
        found = []
        for row in np.flatnonzero(part[: self.texts.num_rows])[:_EXAMPLES].tolist():
            texts = [str(self.texts.column(name)[row].as_py() or "")[:_LONGEST] for name in _SENTENCES]
            values = [float(measure.values[row]) for measure in self.measures.values()]
            found.append([*texts, *(None if math.isnan(value) else round(value, 3) for value in values)])
        return found

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
    numbers = [field.name for field in schema if holds_numbers(field.type)]
    names = [*filter(_NAME.fullmatch, numbers), *measurable_columns(schema.names)]
    return list(dict.fromkeys([*(name for name in USUAL if name in names), *names]))


def read_measures(
    folder: DataFolder,
    split: str,
    names: Sequence[str],
    *,
    place: str | None = None,
    progress: Callable[[int], object] = lambda pairs: None,
) -> PairMeasures:
    """Reads the pairs of a split, and computes the measures that are not columns."""
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
