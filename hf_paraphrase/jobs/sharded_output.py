"""The output of a job in shards: the unfinished work, which one run makes or many share, and its end.

`--shard 3/64` does the third, 67th, 131st … of all shards. Such runs come in any order and at the same time, on any
machine that sees the folder; the one that finds all shards there describes them and moves them into place. One that
comes meanwhile waits for that, and finds the output finished.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..artefacts.claims import claimed_folder, is_claimed
from ..artefacts.folders import (
    check_output,
    check_unfinished,
    is_filled,
    move_into_place,
    staging_path,
    was_finished,
    working_folder,
)
from ..artefacts.unfinished import JOB, check_same_job
from ..errors import HfParaphraseError, OutputError, UsageError
from ..messages import log
from .ray import check_cluster, connected, run_on_ray
from .shard_settings import ShardSettings
from .shards import REPORTS, Shard, ShardJob, run_shards

_ENDING = "ending"
"""Marks that one of many runs is at the end of the work: others wait for it, or leave it where there are no locks."""
_MOMENT = 2.0
"""Seconds for which a part may hold the work alone without that mark."""
_PAUSE = 0.05


class ShardedOutput:
    """An output folder that is made in shards; closed, or left as a context, it gives back what it claims.

    Args:
        output: The folder.
        settings: Whether it may replace another, which part of the work is to be done, and where.
        resume: Whether unfinished work is gone on with; parts always do.
    """

    def __init__(self, output: str, settings: ShardSettings, *, resume: bool = False) -> None:
        self.target = Path(output).expanduser().resolve()
        self.staging = staging_path(self.target)
        self.shard, self.part, self.ray = settings.shard, settings.part, settings.ray
        self.overwrite = settings.overwrite
        self.resume = resume or self.part is not None
        self._claims = ExitStack()

    def __enter__(self) -> ShardedOutput:
        """Returns itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Gives back what it claims, and takes a folder away in which there is no work."""
        self._claims.close()
        if self.part is not None and self.staging.is_dir() and not is_filled(self.staging):
            # Nobody else may be about to work in it.
            with suppress(OSError, OutputError), claimed_folder(self.staging):
                self.staging.rmdir()

    def claim(self) -> None:
        """Refuses to disturb another run, or to destroy unfinished work; keeps the output where it is for a part.

        Raises:
            OutputError: If there is such a run, or such work and neither flag was given.
            UsageError: If Ray is to do the work and is not installed, or not at its address.
        """
        if self.ray is not None:
            check_cluster(self.ray)
        if self.part is not None:
            self._share()
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
            UsageError: If Ray is to do the work and its cluster does not answer.
        """
        shared = self.part is not None
        with self._claims:
            if self.ray is not None:
                self._claims.enter_context(connected(self.ray))
            self._claims.enter_context(
                working_folder(self.target, overwrite=self.overwrite, resume=self.resume, shared=shared)
            )
            try:
                # A run that has ended since the first look may have left its output.
                self.check_free()
                check_same_job(self.staging, job, again=not shared)
                if not shared:
                    # That of a part that was killed: nobody is to wait for this run.
                    (self.staging / _ENDING).unlink(missing_ok=True)
                with self._nothing_left(unless=shared):
                    yield self.staging
            except BaseException:
                with suppress(OSError):
                    # Only if there is nothing in it.
                    self.staging.rmdir()
                raise

    @contextmanager
    def _nothing_left(self, *, unless: bool) -> Iterator[None]:
        """Takes away, after an error of ours, work of which nothing was done yet; not that of others."""
        try:
            yield
        except HfParaphraseError:
            if not unless and not any((self.staging / "data").glob("*.parquet")):
                shutil.rmtree(self.staging, ignore_errors=True)
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
                remedy=f"give all parts --shard-size {rows // count} or less"
                if rows >= count
                else f"make at most {max(1, rows)} parts",
            )
        return list(shards[number - 1 :: count])

    @property
    def is_described(self) -> bool:
        """Whether all was done before but for the last move: the card is written last."""
        return (self.staging / "README.md").is_file()

    def left(self, shards: Sequence[Shard]) -> list[Shard]:
        """Returns the shards that need work; none once the work is described."""
        return [] if self.is_described else [shard for shard in shards if not shard.is_finished(self.staging)]

    def run(
        self, job: ShardJob, shards: Sequence[Shard], *, what: str, unit: str, workers: int = 1, shown: bool = True
    ) -> None:
        """Makes those of some shards that are not there yet, under a bar; within :meth:`working`.

        Args:
            job: What to do.
            shards: The shards.
            what: What the bar is called.
            unit: What the rows are.
            workers: Processes at a time, where the work is done here.
            shown: Whether there is a bar.

        Raises:
            HfParaphraseError: The first error of any shard; those that are finished stay.
        """
        total, left = sum(shard.rows for shard in shards), self.left(shards)
        done = total - sum(shard.rows for shard in left)
        bar = tqdm(desc=what, total=total, initial=done, unit=unit, disable=not shown, file=sys.stderr)
        with bar:
            if self.ray is None:
                made = run_shards(job, left, self.staging, workers=workers, progress=bar.update)
            else:
                made = run_on_ray(job, left, self.staging, options=self.ray, progress=bar.update)
            for _ in made:
                pass

    def is_whole(self, shards: Sequence[Shard]) -> bool:
        """Tells whether all shards are there and the end of the work is left to this run; within :meth:`working`.

        Args:
            shards: All shards of the job.
        """
        if left := len(self.left(shards)):
            log(f"--shard {self.shard} is done; {left:,} of all {len(shards):,} shards are left to other parts")
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
        return self.staging if is_filled(self.staging) else self.target

    def _share(self) -> None:
        """Holds the unfinished work together with other parts; waits for one that holds it alone to end it.

        Raises:
            OutputError: If a run holds it that is no part.
        """
        until = time.monotonic() + _MOMENT
        while True:
            is_ending = (self.staging / _ENDING).is_file()
            try:
                self._claims.enter_context(claimed_folder(self.staging, shared=True, wait=is_ending))
                return
            except OutputError:
                # A part holds it alone without the mark too, just before it makes it or moves or removes the folder.
                if time.monotonic() > until:
                    raise
            time.sleep(_PAUSE)

    def _is_last(self) -> bool:
        """Waits for the runs that are still at work, and tells whether none of them was faster."""
        try:
            (self.staging / _ENDING).touch(exist_ok=False)
            is_first = True
        except FileExistsError:
            is_first = False
        except FileNotFoundError:
            # Without locks it may have been moved already.
            return False
        self._claims.close()
        self._claims.enter_context(claimed_folder(self.staging, wait=True))
        if not (self.staging / JOB).is_file() and not self.is_described:
            # This folder is new and empty.
            return False
        # With a lock of its own it is the only one, and who left the mark was killed.
        if not is_first and not is_claimed(self.staging):
            log(f"another part moves the output into place; if it was killed, remove {self.staging / _ENDING}")
            return False
        return True
