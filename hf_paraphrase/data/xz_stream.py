"""Decompresses .xz files within a limit of memory, which the standard library's `LZMAFile` cannot be given."""

from __future__ import annotations

import io
import lzma
from typing import IO, Any

MOST_MEMORY_BYTES = 256 << 20
"""A file may ask for a dictionary of 4 GiB; `xz -9`, the largest that is in use, needs 65 MiB."""
_READ_BYTES = 1 << 16


class XzStream(io.RawIOBase):
    """The decompressed bytes of a file of one or several xz streams.

    Args:
        compressed: The open file; it is closed with this one.
        memory: Bytes that decompression may take.

    Raises:
        LZMAError: While reading, if the data are damaged or ask for more memory.
        EOFError: While reading, if they are cut off.
    """

    def __init__(self, compressed: IO[bytes], memory: int = MOST_MEMORY_BYTES) -> None:
        self._compressed = compressed
        self._memory = memory
        self._decompressor: lzma.LZMADecompressor | None = None
        self._pending = b""
        self._streams = 0

    def readable(self) -> bool:
        """Always true."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Fills a buffer and returns the number of bytes, 0 at the end."""
        while True:
            if self._decompressor is None and not self._next_stream():
                return 0
            assert self._decompressor is not None
            block = b""
            if self._decompressor.needs_input:
                block = self._pending or self._compressed.read(_READ_BYTES)
                self._pending = b""
                if not block:
                    raise EOFError("the compressed data end before the end of the stream")
            content = self._decompressor.decompress(block, len(buffer))
            if self._decompressor.eof:
                self._pending = self._decompressor.unused_data
                self._decompressor = None
            if content:
                buffer[: len(content)] = content
                return len(content)

    def close(self) -> None:
        """Closes both files."""
        self._compressed.close()
        super().close()

    def _next_stream(self) -> bool:
        """Begins the next stream; between streams there may be zeros."""
        filling = b"\0" if self._streams else b""
        while True:
            block = self._pending or self._compressed.read(_READ_BYTES)
            self._pending = block.lstrip(filling)
            if self._pending:
                self._streams += 1
                self._decompressor = lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=self._memory)
                return True
            if not block:
                if not self._streams:
                    raise EOFError("the compressed file is empty")
                return False
