"""What the pages of a Parquet file become when they are unpacked, read from their headers before anything is unpacked.

The footer of a file may claim what it likes. What Arrow makes room for stands in the header of each page. Both are
written in Thrift's compact protocol (https://github.com/apache/parquet-format, `parquet.thrift`, `FileMetaData` and
`PageHeader`; https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md). The kind of a page is
field 1, its bytes unpacked field 2 and packed field 3, and its number of values field 1 of one of the fields 5, 7, 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

DICTIONARY = 2
_HEADER_BYTES = 256
_LONGEST_HEADER = 1 << 20
_STRUCT, _SET, _LIST, _BINARY, _DOUBLE, _BYTE = 12, 10, 9, 8, 7, 3
_DEEPEST = 16
_BYTE_ARRAY = 6


@dataclass(frozen=True)
class Page:
    """A page of a column.

    Attributes:
        kind: 0 and 3 for values, :data:`DICTIONARY` for a dictionary.
        unpacked: Its bytes when it is unpacked.
        values: How many values it holds.
    """

    kind: int
    unpacked: int
    values: int


@dataclass(frozen=True)
class Column:
    """A column of a row group.

    Attributes:
        name: Its name, that of the outermost one where columns lie within columns.
        path: Its whole name.
        is_text: Whether its values are bytes of any length.
        begin: Where its pages begin.
        length: How many bytes they have.
    """

    name: str
    path: str
    is_text: bool
    begin: int
    length: int


@dataclass(frozen=True)
class RowGroup:
    """A part of the rows.

    Attributes:
        columns: Its columns.
        rows: How many rows it has.
        size: The bytes of its columns before compression.
    """

    columns: tuple[Column, ...]
    rows: int
    size: int


def row_groups(stream: BinaryIO) -> list[RowGroup]:
    """Reads from the footer how large each row group is, and where its columns lie.

    pyarrow reads the same, but ends the process where a footer is damaged.

    Raises:
        ValueError: If the footer is damaged, or a column does not lie in the file.
    """
    size = stream.seek(0, 2)
    stream.seek(max(0, size - 8))
    length = int.from_bytes(stream.read(4), "little")
    if length > size - 8:
        raise ValueError("the footer is longer than the file")
    stream.seek(size - 8 - length)
    try:
        footer = _Compact(stream.read(length)).structure()
    except IndexError:
        raise ValueError("the footer does not end") from None
    return [_row_group(group, size) for group in _list(footer, 4)]


def _row_group(group: object, size: int) -> RowGroup:
    columns = tuple(_column(chunk, size) for chunk in _list(group, 1))
    unpacked, rows = (group.get(field) for field in (2, 3)) if isinstance(group, dict) else (None, None)
    if not (isinstance(unpacked, int) and isinstance(rows, int) and unpacked >= 0 and rows >= 0):
        raise ValueError("the footer does not say how large a row group is")
    return RowGroup(columns, rows, unpacked)


def _list(structure: object, field: int) -> list[object]:
    value = structure.get(field) if isinstance(structure, dict) else None
    if not isinstance(value, list):
        raise ValueError("the footer lacks a list")
    return value


def _column(chunk: object, size: int) -> Column:
    information = chunk.get(3) if isinstance(chunk, dict) else None
    if not isinstance(information, dict):
        raise ValueError("the footer does not describe a column")
    kind, length, first, dictionary = (information.get(field) for field in (1, 7, 9, 11))
    if not (isinstance(kind, int) and isinstance(length, int) and isinstance(first, int)):
        raise ValueError("the footer does not describe a column")
    if information.get(5) == 0:
        # Of a column without values Arrow reads no page, and where they begin may be said to be 0.
        length = 0
    begin = min(first, dictionary) if isinstance(dictionary, int) and dictionary > 0 else first
    if begin < 0 or length < 0 or begin + length > size:
        raise ValueError("a column does not lie in the file")
    parts = [part.decode(errors="replace") for part in _list(information, 3) if isinstance(part, bytes)]
    return Column(parts[0] if parts else "", ".".join(parts), kind == _BYTE_ARRAY, begin, length)


def pages(stream: BinaryIO, begin: int, length: int) -> Iterator[Page]:
    """Walks through the headers of the pages of a column.

    Args:
        stream: The file.
        begin: Where the column begins.
        length: How many bytes it has.

    Yields:
        Its pages.

    Raises:
        ValueError: If a header is damaged, or a page does not lie in the column.
    """
    place = begin
    while place < begin + length:
        header, size = _header(stream, place)
        kind, unpacked, packed = header.get(1), header.get(2), header.get(3)
        if not (isinstance(kind, int) and isinstance(unpacked, int) and isinstance(packed, int)):
            raise ValueError("the header of a page has no sizes")
        if unpacked < 0 or packed < 0 or place + size + packed > begin + length:
            raise ValueError("a page does not lie in its column")
        details = [header[field] for field in (5, 7, 8) if isinstance(header.get(field), dict)]
        counts = [detail.get(1) for detail in details if isinstance(detail, dict)]
        yield Page(kind, unpacked, max((count for count in counts if isinstance(count, int)), default=0))
        place += size + packed


def _header(stream: BinaryIO, place: int) -> tuple[dict[int, object], int]:
    """Reads a header, of which statistics may make any length, and its bytes."""
    size = _HEADER_BYTES
    while True:
        stream.seek(place)
        reader = _Compact(stream.read(size))
        try:
            return reader.structure(), reader.place
        except IndexError:
            if len(reader.data) < size or size >= _LONGEST_HEADER:
                raise ValueError("the header of a page does not end") from None
            size *= 16


class _Compact:
    """Reads Thrift's compact protocol, as far as Parquet has it.

    Args:
        data: The bytes; an IndexError says that they are too few.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def structure(self, depth: int = 0) -> dict[int, object]:
        """Reads the fields of a structure."""
        if depth > _DEEPEST:
            raise ValueError("structures within structures without end")
        fields: dict[int, object] = {}
        number = 0
        while (head := self._byte()) != 0:
            number = number + (head >> 4) if head >> 4 else self._zigzag()
            fields[number] = self._value(head & 15, depth)
        return fields

    def _value(self, kind: int, depth: int) -> object:
        if kind in (1, 2):
            return kind == 1
        if kind == _BYTE:
            return self._byte()
        if kind in (4, 5, 6):
            return self._zigzag()
        if kind == _STRUCT:
            return self.structure(depth + 1)
        if kind == _DOUBLE:
            return self._bytes(8)
        if kind == _BINARY:
            return self._bytes(self._number())
        if kind in (_LIST, _SET):
            if depth > _DEEPEST:
                raise ValueError("lists within lists without end")
            head = self._byte()
            count = head >> 4 if head >> 4 < 15 else self._number()
            if count > len(self.data):
                raise IndexError
            # In lists, truth values are bytes.
            item = _BYTE if head & 15 in (1, 2) else head & 15
            return [self._value(item, depth + 1) for _ in range(count)]
        raise ValueError("a field of no known type")

    def _byte(self) -> int:
        byte = self.data[self.place]
        self.place += 1
        return byte

    def _bytes(self, count: int) -> bytes:
        self.place += count
        if self.place > len(self.data):
            raise IndexError
        return self.data[self.place - count : self.place]

    def _number(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number without end")

    def _zigzag(self) -> int:
        value = self._number()
        return value >> 1 ^ -(value & 1)
