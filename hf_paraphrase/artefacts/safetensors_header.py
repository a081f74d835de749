"""The header of a safetensors file: which tensors it holds, of which types and shapes, without reading any.

The format (https://huggingface.co/docs/safetensors, "Format"): 8 bytes with the length N of the header, little-endian;
N bytes of JSON, `{"name": {"dtype": …, "shape": […], "data_offsets": [begin, end]}, …, "__metadata__": {…}}`; then
the data.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import ModelError

LONGEST_HEADER_BYTES = 100_000_000
"""The limit of the safetensors library."""
_BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}
_REMEDY = "copy the model again"
_DAMAGED = "the model cannot be opened: damaged weights"


@dataclass(frozen=True)
class TensorEntry:
    """What the header says of a tensor.

    Attributes:
        dtype: Its type, e.g. `F32`.
        shape: Its shape.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)


def read_header(path: str | os.PathLike[str]) -> dict[str, TensorEntry]:
    """Reads and checks a header: every tensor has a known type and a shape, and lies inside the file.

    Args:
        path: The file.

    Returns:
        The tensors by name.

    Raises:
        ModelError: If the file is cut off, claims more than it holds, or is no safetensors file.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > LONGEST_HEADER_BYTES or length > size - 8:
                raise ModelError(
                    f"{_DAMAGED}: the header claims {length:,} bytes, the file has {size:,}",
                    path=path,
                    remedy=_REMEDY,
                )
            header = json.loads(stream.read(length).decode("utf-8"))
    except OSError as error:
        raise ModelError(f"cannot read the weights: {error.strerror}", path=path, remedy=_REMEDY) from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{_DAMAGED}: the header is not JSON", path=path, remedy=_REMEDY) from error
    if not isinstance(header, dict):
        raise ModelError(f"{_DAMAGED}: the header is not a JSON object", path=path, remedy=_REMEDY)
    return {
        name: _entry(name, value, size - 8 - length, path) for name, value in header.items() if name != "__metadata__"
    }


def _entry(name: str, value: Any, data_bytes: int, path: Path) -> TensorEntry:
    try:
        dtype, shape, (begin, end) = value["dtype"], value["shape"], value["data_offsets"]
        numbers = [*shape, begin, end]
        whole = all(type(number) is int and number >= 0 for number in numbers)
        bits = _BITS[dtype] * math.prod(shape) if whole else -1
    except (TypeError, ValueError, KeyError) as error:
        raise ModelError(
            f"{_DAMAGED}: the header does not describe `{name[:80]}`", path=path, remedy=_REMEDY
        ) from error
    if bits < 0 or not begin <= end <= data_bytes or 8 * (end - begin) != bits:
        raise ModelError(
            f"{_DAMAGED}: `{name[:80]}` of shape {str(shape)[:80]} does not lie in the file's {data_bytes:,} bytes",
            path=path,
            remedy=_REMEDY,
        )
    return TensorEntry(dtype, tuple(shape))
