"""Arrow arrays of texts and of numbers, and lookups in them, without what imports pandas to ask what it was given.

`pyarrow.array` does, and so do `fill_null` and `to_numpy`. The import takes longer than many a search.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


def bytes_of_texts(texts: Sequence[str]) -> tuple[bytes, NDArray[np.int64]]:
    """Lays the bytes of texts end to end; returns them, and where those of each text begin (texts + 1,)."""
    offsets = np.zeros(len(texts) + 1, np.int64)
    try:
        joined = "".join(texts)
        data = joined.encode()
        parts: Iterable[str | bytes] = texts if joined.isascii() else map(str.encode, texts)
    except UnicodeEncodeError as error:
        raise TypeError(f"a text is not valid Unicode: {error}") from error
    np.cumsum(np.fromiter(map(len, parts), np.int64, len(texts)), out=offsets[1:])
    return data, offsets


def text_array(texts: Sequence[str]) -> pa.LargeStringArray:
    """Makes the array of some texts."""
    import pyarrow as pa

    data, offsets = bytes_of_texts(texts)
    return pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(data))


def int64_array(values: NDArray[np.int64]) -> pa.Int64Array:
    """Makes the array of some numbers; they share its memory."""
    import pyarrow as pa

    return pa.Int64Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def set_of(values: pa.Array) -> Any:
    """Makes the set of some different values that :func:`places_in` takes."""
    import pyarrow.compute as pc

    return pc.SetLookupOptions(values)


def places_in(values: pa.Array, options: Any) -> NDArray[np.int32]:
    """Finds the place of each value (values,) in a set; -1 for one that is not there."""
    import pyarrow.compute as pc

    indices = pc.index_in(values, options=options)
    places = int32_values(indices)
    if not indices.null_count:
        return places
    valid = np.unpackbits(np.frombuffer(indices.buffers()[0], np.uint8), count=len(indices), bitorder="little")
    return np.where(valid, places, np.int32(-1))


def int32_values(array: pa.Int32Array) -> NDArray[np.int32]:
    """Returns the numbers of an array that Arrow has just made, sharing its memory; anything where there is none."""
    values: NDArray[np.int32] = np.frombuffer(array.buffers()[1] or b"", np.int32, len(array))
    return values
