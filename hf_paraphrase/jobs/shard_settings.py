"""The option `--shard`: which part of a job in shards a run does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..errors import UsageError
from ..settings import Settings, setting

_PART = re.compile(r"(\d{1,9})/(\d{1,9})")


def shard_size_setting(rows: str, **constraints: Any) -> Any:
    """Declares a field that holds the rows of a shard, or None for what :func:`.shards.cut` takes.

    Args:
        rows: What the rows are.
        **constraints: As for :func:`..settings.setting`.
    """
    return setting(
        f"{rows} of a shard, the unit of work that is never done twice; by default a sixteenth of the split, at least "
        "10,000 and at most 250,000",
        None,
        at_least=1,
        **constraints,
    )


@dataclass(kw_only=True)
class ShardSettings(Settings):
    """The settings of a run that may be one of many."""

    shard: str | None = setting(
        "do a part of the work, e.g. 3/64 the third of 64, as in a job array: parts may run in any order and at the "
        "same time wherever the output can be reached, twice, and again when killed; the last one finishes the "
        "output, which has the same rows whatever the parts",
        None,
        excludes="overwrite",
    )
    overwrite: bool = setting("replace an existing output folder (once the new one is complete)", False)

    def check(self) -> None:
        """Refuses what does not fit.

        Raises:
            UsageError: For a value out of range, and a part that there is not.
        """
        super().check()
        _ = self.part

    @property
    def part(self) -> tuple[int, int] | None:
        """The number of the part, from 1, and how many there are; None for all of the work."""
        if self.shard is None:
            return None
        found = _PART.fullmatch(self.shard)
        number, count = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= count:
            raise UsageError(
                f"--shard {self.shard} is no part of the work",
                remedy=f"1/{count} to {count}/{count}" if count else "e.g. 3/64 for the third of 64",
            )
        return number, count
