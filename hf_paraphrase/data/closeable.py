"""What holds files open or on disk, and lets go of them at the end of a `with`."""

from __future__ import annotations

from typing import Self


class Closeable:
    """A context manager that closes itself, whether the block ended well or not."""

    def close(self) -> None:
        """Lets go of what is held; may be called again."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
