"""Checks of vectors and of the arguments of functions that take vectors."""

from __future__ import annotations

from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError, ModelError, UsageError
from ..settings import Option


def check_counts(**counts: Any) -> None:
    """Refuses arguments that are not integers of at least 1; NumPy's integers are accepted, booleans are not."""
    for name, value in counts.items():
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise UsageError(f"{name} is {value!r}, not a whole number", remedy="give a whole number of at least 1")
        Option(at_least=1).check(name, value)


def check_finite(name: str, vectors: NDArray[Any], first: int = 0, *, path: Path | None = None) -> None:
    """Refuses NaN and infinity. The error calls the rows `name` and counts them from `first`."""
    if vectors.dtype.kind == "f" and not np.isfinite(vectors).all():
        row = first + (int(np.argwhere(~np.isfinite(vectors))[0][0]) if vectors.ndim > 1 else 0)
        what = f"{name} with NaN or infinity, the first in row {row} (from 0)"
        raise InputError(what, path=path, remedy="encode the texts again, or leave these out")


def checked_vectors(vectors: np.ndarray, count: int) -> np.ndarray:
    """Returns the vectors of an encoder if they are finite and of shape (count, dim); refuses them otherwise."""
    vectors = np.asarray(vectors)
    if vectors.ndim != 2 or len(vectors) != count:
        raise ModelError(f"the encoder gave an array of shape {vectors.shape} for {count} texts")
    bad = int((~np.isfinite(vectors).all(axis=1)).sum())
    if bad:
        raise ModelError(f"NaN or infinity in the vectors of {bad} of {count} texts", remedy="use another encoder")
    return vectors
