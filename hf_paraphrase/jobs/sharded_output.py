"""The output of a job in shards, which one run makes or several share.

`--shard 3/64` makes the third, 67th, 131st … of all shards. Such runs start in any order and at the same time, on any
machine that sees the output; the one that finds all shards there finishes the output.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from tqdm import tqdm

from ..artefacts.artefact import Artefact
from ..errors import HfParaphraseError, UsageError
from ..messages import log
from .ray import check_installed, connected, run_on_ray
from .shard_settings import ShardSettings
from .shards import REPORTS, Shard, ShardJob, run_shards


class ShardedOutput(Artefact):
    """A data folder that is made shard by shard; a part of the work always continues what other parts have done."""

    def __init__(
        self,
        output: str,
        settings: ShardSettings,
        *,
        command: str,
        inputs: Iterable[str],
        resume: bool = False,
        job: Mapping[str, Any] | None = None,
        free: Iterable[str] = (),
    ) -> None:
        self.options, self.part = settings, settings.part
        super().__init__(
            output,
            command=command,
            settings=settings,
            inputs=inputs,
            overwrite=settings.overwrite,
            resume=resume or self.part is not None,
            job=job or {},
            free=free,
            shared=self.part is not None,
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        if not self.options.computes_here:
            check_installed()
        return super().__enter__()

    def __exit__(self, *error: Any) -> None:
        self._stack.close()
        # Nobody has to resume or overwrite a run of which no shard is done.
        is_refused = isinstance(error[1], HfParaphraseError) and self.part is None and self._work is not None
        if is_refused and not any((self.work / REPORTS).glob("*.json")):
            self.discard()
        super().__exit__(*error)

    def discard(self) -> None:
        """Removes the incomplete run, of which nothing can be used."""
        shutil.rmtree(self.work, ignore_errors=True)

    def begin(self) -> Path:
        """Returns the folder that becomes the output, which all parts share."""
        self.checkpoint(REPORTS)
        return self.staging

    def own(self, shards: Sequence[Shard]) -> list[Shard]:
        """Returns the shards of this run; there must be at least as many shards as parts."""
        if self.part is None:
            return list(shards)
        number, count = self.part
        if count > len(shards):
            raise UsageError(
                f"--shard {number}/{count}: more parts than shards, of which there are {len(shards)}",
                remedy="make fewer parts, or give all of them a smaller --shard-size",
            )
        return list(shards[number - 1 :: count])

    def run(
        self,
        job: ShardJob,
        shards: Sequence[Shard],
        *,
        what: str,
        unit: str,
        workers: int = 1,
        shown: bool = True,
        staging: Path | None = None,
    ) -> None:
        """Makes those of some shards that are not there yet; after an error those that are finished stay.

        The progress bar has the title `what` and counts in `unit`. Of several processes that call it each passes the
        `staging` that :meth:`begin` has returned to the first one.
        """
        staging = staging or self.begin()
        left = [shard for shard in shards if not shard.is_finished(staging)]
        total = sum(shard.rows for shard in shards)
        done = total - sum(shard.rows for shard in left)
        bar = tqdm(desc=what, total=total, initial=done, unit=unit, disable=not shown or None, file=sys.stderr)
        with bar:
            if self.options.computes_here:
                made = run_shards(job, left, staging, workers=workers, progress=bar.update)
            else:
                self._stack.enter_context(connected(self.options.ray_address))
                made = run_on_ray(job, left, staging, settings=self.options, progress=bar.update)
            try:
                for _ in made:
                    pass
            except HfParaphraseError:
                # Another run with the same part may have moved the folder to its place.
                if not self.is_made_elsewhere:
                    raise

    def is_whole(self, shards: Sequence[Shard]) -> bool:
        """Tells whether all shards of the job are there and this run is to finish the output."""
        if self.part is None:
            return True
        if not self._stack.enter_context(self.finishing()):
            log(f"another part has finished the output: {self.target}")
            return False
        if left := sum(not shard.is_finished(self.staging) for shard in shards):
            log(
                f"--shard {self.options.shard} is done; {left:,} of all {len(shards):,} shards are left to other parts"
            )
        return not left
