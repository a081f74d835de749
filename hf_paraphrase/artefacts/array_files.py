"""NumPy's files of one array (.npy), whose header is checked against the file's own size before anything is read.

The format (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html): a magic word, two bytes of the
version, the length of the header (2 bytes in version 1, 4 in others), little-endian, a dictionary as Python writes it,
with `descr`, `fortran_order` and `shape`, and the data. The header is read by a pattern and never evaluated.
"""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import HfParaphraseError, InputError
from .untrusted_files import open_plain

_MAGIC = b"\x93NUMPY"
_LONGEST_HEADER = 4096
_HEADER = re.compile(
    rb"\{'descr': '(?P<kind><f[248]|<[iu][248]|\|[iub]1)', 'fortran_order': False, "
    rb"'shape': \((?P<shape>[0-9, ]{0,100})\), \} *\n"
)
_REMEDY = "make it again"


@dataclass(frozen=True)
class ArrayFile:
    """What the header of a file says, which holds as much as that.

    Attributes:
        path: The file.
        kind: The type of an element, little-endian.
        shape: The shape; rows lie one after the other.
        offset: Where the data begin, in bytes.
    """

    path: Path
    kind: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int

    @classmethod
    def open(cls, path: Path, error: type[HfParaphraseError] = InputError) -> ArrayFile:
        """Reads and checks the header.

        Raises:
            HfParaphraseError: As `error`, if the file is missing, is no array of numbers in rows, or claims to hold
                more than it does.
        """
        damaged = error("not a readable NumPy file", path=path, remedy=_REMEDY)
        with open_plain(path, error) as stream:
            start = stream.read(12)
            width = 2 if start[6:7] == b"\1" else 4
            begin = len(_MAGIC) + 2 + width
            length = int.from_bytes(start[8:begin], "little")
            if not start.startswith(_MAGIC) or len(start) < 12 or length > _LONGEST_HEADER:
                raise damaged
            stream.seek(begin)
            found = _HEADER.fullmatch(stream.read(length))
            size = os.fstat(stream.fileno()).st_size
        if found is None:
            raise damaged
        kind = np.dtype(found["kind"].decode())
        try:
            shape = tuple(int(number) for number in found["shape"].split(b",") if number.strip())
        except ValueError:
            raise damaged from None
        claimed = math.prod(shape) * kind.itemsize
        if claimed > size - begin - length:
            raise error(f"damaged or cut off: its {size:,} bytes claim to hold {claimed:,}", path=path, remedy=_REMEDY)
        return cls(path, kind, shape, begin + length)

    def read(self) -> NDArray[Any]:
        """Reads the array.

        Raises:
            InputError: If it cannot be read, or the file has become shorter.
        """
        try:
            values = np.fromfile(self.path, self.kind, math.prod(self.shape), offset=self.offset)
        except OSError as error:
            raise InputError(f"cannot read: {error.strerror or error}", path=self.path) from error
        if len(values) != math.prod(self.shape):
            raise InputError("the file ends too early", path=self.path, remedy=_REMEDY)
        return values.reshape(self.shape)
