"""Histograms of the columns of a data folder, for its record and its report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.folder import DataFolder
from .pair_batch import numeric_column

_BINS = 30
_ENDS = (0.5, 99.5)
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def column_histograms(folder: DataFolder, columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Counts the values of columns in bins that all splits share; the columns are read one at a time.

    The bins end at round numbers and enclose all values but some half percent at either end, which the first and the
    last bin hold too: one sentence of a perplexity of millions would leave the others a single bar. Where only whole
    numbers occur, each has a bin of its own if they are few.

    Returns:
        For each column `edges`, the ends of the bins, one more than there are bins, and `splits`, by the name of the
        split the number of rows in each bin. Rows without a number are in none.
    """
    histograms: dict[str, dict[str, Any]] = {}
    for name in columns:
        values = {split: _numbers(folder, split, name) for split in folder.splits if _has_numbers(folder, split, name)}
        edges = _edges(np.concatenate(list(values.values()))) if values else None
        if edges is not None:
            counts = {
                split: np.histogram(np.clip(numbers, edges[0], edges[-1]), edges)[0].tolist()
                for split, numbers in values.items()
            }
            histograms[name] = {"edges": edges.tolist(), "splits": counts}
    return histograms


def _has_numbers(folder: DataFolder, split: str, name: str) -> bool:
    schema = folder.schema(split)
    kind = schema.field(name).type if name in schema.names else pa.null()
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _numbers(folder: DataFolder, split: str, name: str) -> NDArray[np.float64]:
    """Returns the finite values of a column."""
    values = numeric_column(folder.table(split, [name]), name)
    return values[np.isfinite(values)]


def _edges(values: NDArray[np.float64]) -> NDArray[np.float64] | None:
    if not len(values):
        return None
    low, high = (float(end) for end in np.percentile(values, _ENDS))
    if (values == np.round(values)).all() and high - low <= 2 * _BINS and abs(high) < 1e15:
        return np.arange(math.floor(low), math.ceil(high) + 2, dtype=np.float64) - 0.5
    if not high > low:
        around = abs(low) / 10 or 0.5
        low, high = low - around, high + around
    if not math.isfinite(high - low):
        return None
    power = 10.0 ** math.floor(math.log10((high - low) / _BINS))
    step = next(power * factor for factor in _STEPS if power * factor * _BINS >= (high - low) * 0.999)
    first, last = math.floor(low / step + 1e-6), math.ceil(high / step - 1e-6)
    # Rounded, so that 0.30000000000000004 is 0.3.
    decimals = max(0, 12 - math.floor(math.log10(step)))
    return np.array([round(place * step, decimals) for place in range(first, last + 1)])
