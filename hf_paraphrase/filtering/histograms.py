"""Histograms of the columns of a data folder, for its record and its report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.folder import DataFolder

_BINS = 30
_LOOKED_AT = 100_000
_ENDS = (0.5, 99.5)
_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)


def column_histograms(folder: DataFolder, columns: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Counts the values of columns in bins that all splits share.

    The bins end at round numbers and enclose all values but some half percent at either end, which the first and the
    last bin hold too: one sentence of a perplexity of millions would leave the others a single bar. Where only whole
    numbers occur, each has a bin of its own if they are few. The columns are read twice; memory stays flat.

    Returns:
        For each column `edges`, the ends of the bins, one more than there are bins, and `splits`, by the name of the
        split the number of rows in each bin. Rows without a number are in none.
    """
    present = {
        split: [
            name for name in columns if name in (schema := folder.schema(split)).names and _has_numbers(schema, name)
        ]
        for split in folder.splits
    }
    every = -(-sum(folder.count(split) for split in present) // _LOOKED_AT) or 1
    looked_at: dict[str, list[NDArray[np.float64]]] = {}
    for split, names in present.items():
        begin = 0
        for batch in folder.batches(split, names) if names else ():
            for name in names:
                # Which rows are looked at does not depend on where the batches end.
                looked_at.setdefault(name, []).append(_numbers(batch.column(name), -begin % every, every))
            begin += batch.num_rows
    edges = {
        name: bin_edges
        for name, parts in looked_at.items()
        if (bin_edges := _edges(np.concatenate(parts))) is not None
    }
    counts = {
        name: {split: np.zeros(len(ends) - 1, np.int64) for split, names in present.items() if name in names}
        for name, ends in edges.items()
    }
    for split, names in present.items():
        drawn = [name for name in names if name in edges]
        for batch in folder.batches(split, drawn) if drawn else ():
            for name in drawn:
                inside = np.clip(_numbers(batch.column(name)), edges[name][0], edges[name][-1])
                counts[name][split] += np.histogram(inside, edges[name])[0]
    return {
        name: {
            "edges": edges[name].tolist(),
            "splits": {split: bin_edges.tolist() for split, bin_edges in counts[name].items()},
        }
        for name in columns
        if name in edges
    }


def _has_numbers(schema: pa.Schema, name: str) -> bool:
    kind = schema.field(name).type
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def _numbers(column: pa.Array, begin: int = 0, every: int = 1) -> NDArray[np.float64]:
    """Returns the finite values among those of every so many rows."""
    values = column.slice(min(begin, len(column))).cast(pa.float64()).to_numpy(zero_copy_only=False)[::every]
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
