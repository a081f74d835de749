"""The output of a job in shards: the unfinished work, which one run makes or many share, and its end.

`--shard 3/64` does the third, 67th, 131st … of all shards. Such runs come in any order and at the same time, on any
machine that sees the folder; the one that finds all shards there describes them and moves them into place.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artefacts.claims import claimed_folder
from ..artefacts.folders import (
    check_output,
    check_unfinished,
    move_into_place,
    staging_path,
    was_finished,
    working_folder,
)
from ..artefacts.unfinished import JOB, check_same_job
from ..errors import UsageError
from ..messages import say
from ..settings import Settings, setting
from .shards import REPORTS, Shard

_PART = re.compile(r"(\d{1,9})/(\d{1,9})")
_ENDING = "ending"
"""Marks that one of many runs is at the end of the work, also where the file system has no locks."""


@dataclass(kw_only=True)
class ShardSettings(Settings):
    """The settings of a run that may be one of many."""

    output: str
    shard: str | None = setting(
        "do a part of the work, e.g. 3/64 the third of 64, as in a job array: parts may run in any order and at the "
        "same time wherever the output can be reached, twice, and again when killed; the last one finishes the "
        "output, which has the same rows whatever the parts",
        None,
        excludes="overwrite",
    )
    overwrite: bool = setting("replace an existing output folder (once the new one is complete)", False)
    resume: bool = setting("continue the unfinished job for this output", False)

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


class ShardedOutput:
    """An output folder that is made in shards.

    Args:
        settings: Where it is to be, what may become of what is there, and which part of the work is to be done.
    """

    def __init__(self, settings: ShardSettings) -> None:
        self.target = Path(settings.output).expanduser().resolve()
        self.staging = staging_path(self.target)
        self.shard, self.part = settings.shard, settings.part
        self.overwrite = settings.overwrite
        self.resume = settings.resume or self.part is not None
        self._claims = ExitStack()

    def check_unfinished(self) -> None:
        """Refuses to disturb another run, or to destroy unfinished work.

        Raises:
            OutputError: If there is such a run, or such work and neither flag was given.
        """
        check_unfinished(self.target, overwrite=self.overwrite, resume=self.resume)

    def check_free(self) -> None:
        """Refuses an output that would destroy something.

        Raises:
            OutputError: If the output is in the way.
        """
        check_output(self.target, overwrite=self.overwrite)

    def was_finished(self, job: Callable[[], Mapping[str, Any]]) -> bool:
        """Tells whether a run that goes on has nothing left to do, because its output is in its place; then says so.

        Raises:
            OutputError: If the output is the result of another job, and may not be replaced.
        """
        return was_finished(self.target, job, overwrite=self.overwrite, resume=self.resume)

    @contextmanager
    def working(self, job: Mapping[str, Any]) -> Iterator[Path]:
        """Gives the folder of the unfinished work, and keeps runs out of it that do not share it.

        Args:
            job: All that determines the result.

        Yields:
            The folder; what was written there stays.

        Raises:
            OutputError: If the output is in the way, or the unfinished work is of another job or another run's.
        """
        shared = self.part is not None
        with self._claims:
            self._claims.enter_context(
                working_folder(self.target, overwrite=self.overwrite, resume=self.resume, shared=shared)
            )
            try:
                # A run that has ended since the first look may have left its output.
                self.check_free()
                check_same_job(self.staging, job, again=not shared)
                yield self.staging
            except BaseException:
                with suppress(OSError):
                    # Only if there is nothing in it.
                    self.staging.rmdir()
                raise

    def own(self, shards: Sequence[Shard]) -> list[Shard]:
        """Returns the shards that fall to this run.

        Raises:
            UsageError: If there are fewer shards than parts.
        """
        if self.part is None:
            return list(shards)
        number, count = self.part
        if count > len(shards):
            rows = sum(shard.rows for shard in shards)
            raise UsageError(
                f"--shard {number}/{count}: the {rows:,} rows make {len(shards)} shard{'s' * (len(shards) > 1)}, "
                "fewer than parts",
                remedy=f"give all parts --shard-size {max(1, rows // count)} or less",
            )
        return list(shards[number - 1 :: count])

    @property
    def is_described(self) -> bool:
        """Whether all was done before but for the last move: the card is written last."""
        return (self.staging / "README.md").is_file()

    def left(self, shards: Sequence[Shard]) -> list[Shard]:
        """Returns the shards that need work; none once the work is described."""
        return [] if self.is_described else [shard for shard in shards if not shard.is_finished(self.staging)]

    def is_whole(self, shards: Sequence[Shard]) -> bool:
        """Tells whether all shards are there and the end of the work is left to this run; within :meth:`working`.

        Args:
            shards: All shards of the job.
        """
        if left := len(self.left(shards)):
            say(f"--shard {self.shard} is done; {left:,} of all {len(shards):,} shards are left to other parts")
            return False
        return self.part is None or self._is_last()

    def finish(self) -> None:
        """Moves work that is described into place; within :meth:`working`.

        Raises:
            OutputError: If it cannot be moved; nothing is lost.
        """
        # In this order: a run that is killed here loses nothing either.
        shutil.rmtree(self.staging / REPORTS, ignore_errors=True)
        (self.staging / _ENDING).unlink(missing_ok=True)
        move_into_place(self.staging, self.target)

    @property
    def place(self) -> Path:
        """Where the work is now."""
        return self.staging if self.staging.is_dir() else self.target

    def _is_last(self) -> bool:
        """Waits for the runs that are still at work, and tells whether none of them was faster."""
        self._claims.close()
        self._claims.enter_context(claimed_folder(self.staging, wait=True))
        if not (self.staging / JOB).is_file() and not self.is_described:
            # This folder is new and empty.
            with suppress(OSError):
                self.staging.rmdir()
            return False
        try:
            (self.staging / _ENDING).touch(exist_ok=False)
        except FileExistsError:
            say("another part moves the output into place; if it was killed, --resume without --shard does")
            return False
        return True
