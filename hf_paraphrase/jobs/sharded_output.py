"""The output of a job in shards, which one run makes or several share.

`--shard 3/64` makes the third, 67th, 131st … of all shards; the run that finds all shards there finishes the output.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..artefacts.artefact import Artefact, check_early
from ..errors import HfParaphraseError, UsageError
from ..messages import log
from .ray import connected, run_on_ray
from .shard_settings import ShardSettings
from .shards import REPORTS, Shard, ShardJob, run_shards


class ShardedOutput(Artefact):
    """A data folder that is made shard by shard; each part continues what other parts have done."""

    def __init__(self, output: str, settings: ShardSettings, *, resume: bool = False, **others: Any) -> None:
        self.options, self.part = settings, settings.part
        others |= {"overwrite": settings.overwrite, "shared": self.part is not None}
        if not resume and self.part is None:
            check_early(output, overwrite=settings.overwrite)  # before models are opened
        super().__init__(output, settings=settings, resume=resume or self.part is not None, **others)
        self._stack = ExitStack()

    def __exit__(self, *error: Any) -> None:
        self._stack.close()
        # A run without finished shards need not be resumed or overwritten.
        is_refused = isinstance(error[1], HfParaphraseError) and self.part is None and self._work is not None
        if is_refused and not any((self.work / REPORTS).glob("*.json*")):
            self.discard()
        super().__exit__(*error)

    def discard(self) -> None:
        """Remove an incomplete run without usable shards."""
        shutil.rmtree(self.work, ignore_errors=True)

    def begin(self) -> Path:
        """Return the folder that becomes the output, which all parts share."""
        self.checkpoint(REPORTS)
        return self.staging

    def own(self, shards: Sequence[Shard]) -> list[Shard]:
        """Return the shards of this run; there must be at least as many shards as parts."""
        if self.part is None:
            return list(shards)
        number, count = self.part
        if count > len(shards):
            problem = f"--shard {number}/{count}: there are only {len(shards)} shards"
            raise UsageError(problem, remedy="use fewer parts, or give all of them a smaller --shard-size")
        return list(shards[number - 1 :: count])

    def run(self, job: ShardJob, shards: Sequence[Shard], *, what: str, unit: str, workers: int = 1) -> None:
        """Make the missing shards; finished shards survive an error."""
        staging = self.begin()
        left = [shard for shard in shards if not shard.is_finished(staging)]
        total = sum(shard.rows for shard in shards)
        done = total - sum(shard.rows for shard in left)
        with tqdm(desc=what, total=total, initial=done, unit=unit, file=sys.stderr) as bar:
            if self.options.computes_here:
                made = run_shards(job, left, staging, workers=workers, progress=bar.update)
            else:
                self._stack.enter_context(connected(self.options.ray_address))
                made = run_on_ray(job, left, staging, settings=self.options, progress=bar.update)
            for _ in made:
                pass

    def is_whole(self, shards: Sequence[Shard]) -> bool:
        """Return whether all shards exist and this run finishes the output."""
        if self.part is None:
            return True
        if not self._stack.enter_context(self.finishing()):
            log(f"another part has finished the output: {self.target}")
            return False
        if left := sum(not shard.is_finished(self.staging) for shard in shards):
            log(f"--shard {self.options.shard} is done; {left:,} of {len(shards):,} shards are left to other parts")
        return not left
