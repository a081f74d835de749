"""Pairs with their measures in memory: what ranges keep is known at once, and is what `filter` keeps.

Values come from the function that `filter` computes them with, and ranges are read and applied by its own selections;
so the command that is shown selects the same pairs.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.folder import DataFolder
from ..errors import InputError, UsageError
from ..filtering.filter_steps import check_pairs, with_columns
from ..filtering.measuring import measurable_columns, measures_of, required_columns
from ..filtering.pair_batch import numeric_column
from ..filtering.selections import check_columns, parse_selection

MOST_MEASURES = 6
"""Measures that are processed together."""
USUAL = ("length", "overlap_1", "bleu", "cost", "similarity", "score")
"""Those that are shown first, where a folder has them or they can be computed."""
_SENTENCES = ("sentence1", "sentence2")
_MOST_TEXTS = 200_000
"""Pairs whose sentences stay in memory, for examples."""
_BINS = 30
_STEPS = 200
_LARGEST_WHOLE = 2.0**52
"""Above it there are no numbers between whole numbers, for a bar to begin and end at."""
_LARGEST = 1e300
"""Numbers beyond it, the differences of which may be none, are drawn no more than infinite ones."""
_NAME = re.compile(r"[^\W\d]\w*", re.ASCII)
"""What `filter --keep` takes for the name of a column."""


@dataclass(frozen=True)
class MeasureValues:
    """One measure of all pairs.

    Attributes:
        values: Its values (pairs,), NaN where one is missing.
        low: A number that is not above the least value, on a multiple of the step.
        high: One that is not below the greatest.
        edges: Where the bins of the histogram begin and end (bins + 1,).
        bins: The bin of each value (pairs,); `len(edges) - 1`, out of range, for what is not drawn.
    """

    name: str
    values: NDArray[np.float64]
    low: float
    high: float
    step: float
    edges: NDArray[np.float64]
    bins: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, values: NDArray[np.float64]) -> MeasureValues:
        """Finds the range, the step and the bins of some values."""
        drawn = np.abs(values) <= _LARGEST
        finite = values[drawn]
        least, greatest = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
        step = _step(greatest - least, whole=bool((finite == np.round(finite)).all()))
        low, high = _rounded(math.floor(least / step) * step, step), _rounded(math.ceil(greatest / step) * step, step)
        # A last multiple may be off by rounding.
        low, high = (low if low <= least else low - step), (high if high >= greatest else high + step)
        # A range needs two ends, of values that are all the same too.
        top = high if high > low else low + max(step, _BINS * math.ulp(low))
        whole = step >= 1 and high - low < _BINS and max(-low, high) < _LARGEST_WHOLE
        # A bar for each whole number, where they are few.
        edges = np.arange(low, high + 2) - 0.5 if whole else np.linspace(low, top, _BINS + 1)
        bins = len(edges) - 1
        inside = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, bins - 1)
        return cls(name, values, low, top, step, edges, np.where(drawn, inside, bins))

    def counts(self, kept: NDArray[np.bool_] | None = None) -> NDArray[np.int64]:
        """Counts the pairs in each bin (bins,), all or those that are kept (pairs,)."""
        bins = len(self.edges) - 1
        return np.bincount(self.bins if kept is None else self.bins[kept], minlength=bins + 1)[:bins]

    def shown(self, pair: int) -> float | int:
        """Returns the value of a pair to be shown: whole numbers as such."""
        value = float(self.values[pair])
        return int(value) if self.step >= 1 and math.isfinite(value) else value

    def comparison(self, low: float, high: float) -> str | None:
        """Writes a range as `filter --keep` reads it; None for the whole one, which keeps missing values too."""
        low, high = _rounded(low, self.step), _rounded(high, self.step)
        above, below = low > self.low, high < self.high
        if above and below:
            return f"{_text(low)}<={self.name}<={_text(high)}"
        return f"{self.name}>={_text(low)}" if above else f"{self.name}<={_text(high)}" if below else None


@dataclass(frozen=True)
class Cut:
    """What ranges do.

    Attributes:
        kept: Which pairs they keep (pairs,).
        comparisons: The ranges as `filter --keep` reads them.
        nearest: The numbers of pairs that are kept, and of some that are not, nearest to the borders first.
    """

    kept: NDArray[np.bool_]
    comparisons: list[str]
    nearest: tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class PairMeasures:
    """The pairs of a split with some measures.

    Attributes:
        place: The folder, as the user named it.
    """

    place: str
    split: str
    count: int
    measures: dict[str, MeasureValues]
    texts: pa.Table

    def cut(self, ranges: Mapping[str, tuple[float, float]], *, examples: int = 5) -> Cut:
        """Finds what ranges keep."""
        kept = np.ones(self.count, bool)
        distance = np.full(self.count, np.inf)
        comparisons = []
        for name, (low, high) in ranges.items():
            measure = self.measures[name]
            if low > high:
                raise UsageError(
                    f"the range of {name} begins at {_text(low)} and ends at {_text(high)}", remedy="exchange them"
                )
            if (text := measure.comparison(low, high)) is None:
                continue
            comparisons.append(text)
            kept &= parse_selection(text).mask(measure.values)
            sides = np.minimum(
                measure.values - low if low > measure.low else np.inf,
                high - measure.values if high < measure.high else np.inf,
            )
            distance = np.minimum(distance, np.nan_to_num(sides / (measure.high - measure.low), nan=-np.inf))
        has_text = np.arange(self.count) < self.texts.num_rows
        inside, outside = np.flatnonzero(kept & has_text), np.flatnonzero(~kept & has_text)
        nearest = (
            inside[np.argsort(distance[inside], kind="stable")[:examples]],
            outside[np.argsort(-distance[outside], kind="stable")[:examples]],
        )
        return Cut(kept, comparisons, nearest)

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
    present = [
        field.name
        for field in schema
        if (pa.types.is_integer(field.type) or pa.types.is_floating(field.type) or pa.types.is_boolean(field.type))
        and _NAME.fullmatch(field.name)
    ]
    names = list(dict.fromkeys([*present, *measurable_columns(schema.names)]))
    usual = [name for name in USUAL if name in names]
    return [*usual, *(name for name in names if name not in usual)]


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


def _step(span: float, *, whole: bool) -> float:
    """Chooses a step of 1, 2 or 5 times a power of ten, about 200 of which make the span."""
    if span <= 0:
        return 1.0 if whole else 0.01
    rough = span / _STEPS
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough * 0.999)
    return max(1.0, step) if whole else step


def _rounded(value: float, step: float) -> float:
    """Rounds to the digits of a step, so that 0.30000000000000004 is 0.3."""
    return round(value, max(0, -math.floor(math.log10(step))))


def _text(value: float) -> str:
    """Writes a number as a person would, and such that it reads back as the same."""
    return str(int(value)) if value == int(value) else repr(float(value))
