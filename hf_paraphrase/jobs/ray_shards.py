"""A job in shards on the workers of a Ray cluster.

Ray promises neither the order of rows nor that they are written once: it runs again what was lost with a node. Both
come from the shards, which have their places and are written whole: one that is made twice is the same file. So all
that is left to do here is to give each worker its next shard, and the shard of one that died to another.
"""

from __future__ import annotations

import os
import platform
import socket
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from ..data.batch_function import Progress, no_progress
from ..errors import HfParaphraseError, OutputError, UsageError
from ..messages import log
from ..shown_text import shown_line
from .ray_cluster import RayOptions, room
from .shards import Shard, ShardJob, limit_threads, write_shard

_TIMES = 3
"""How many workers may die at one shard, or one after the other before they have one, until it is not the fault of
their nodes."""
_SILENCE = 15.0
"""Seconds after which is said that no worker has begun yet."""
_DELAY = 60.0
"""Seconds after which what was written on one machine is seen on another: network file systems keep what they know."""
_PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True)
class _Facts:
    """What a worker says of itself.

    Attributes:
        node: The name of its machine.
        versions: Those that must be the same everywhere.
        unseen: The folders of the run that are not there.
    """

    node: str
    versions: dict[str, str]
    unseen: list[str]


class ShardWorker:
    """Writes shards in a process of Ray; the job is opened once, with the first of them."""

    def __init__(self) -> None:
        self._job: ShardJob | None = None

    def begin(self, folder: str, output: str, threads: int) -> _Facts:
        """Goes to the folder of the run, so that relative names lead where they lead there.

        Args:
            folder: The working folder of the run.
            output: The folder to write to.
            threads: Threads of this process.
        """
        limit_threads(threads)
        with suppress(OSError):
            os.chdir(folder)
        return _Facts(
            socket.gethostname(), _versions(), [name for name in (folder, output) if not Path(name).is_dir()]
        )

    def write(self, job: Sequence[Any], shard: Shard, output: str) -> None:
        """Makes a shard.

        Args:
            job: A reference to the job, in a list, which Ray hands on as it is.
            shard: The shard.
            output: The folder to write to.
        """
        if self._job is None:
            import ray

            self._job = ray.get(job[0])
        write_shard(self._job, shard, Path(output))


def run_on_ray(
    job: ShardJob, shards: Sequence[Shard], output: Path, *, options: RayOptions, progress: Progress = no_progress
) -> Iterator[Shard]:
    """Makes shards on the cluster that this process is connected to.

    Args:
        job: What to do.
        shards: The shards.
        output: The folder to write to, which all nodes see.
        options: What the workers take.
        progress: Is told of rows as they are done, of whole shards.

    Yields:
        Each shard when it is there.

    Raises:
        HfParaphraseError: The first error of any shard; that the cluster has no room, or its workers do not see the
            folders, lack this version of the package, or die again and again. Shards that are finished stay.
    """
    if not shards:
        return
    import ray

    make = ray.remote(num_cpus=options.cpus, num_gpus=options.gpus)(ShardWorker)
    reference = [ray.put(job)]
    waiting, died = deque(shards), Counter[Shard | None]()
    at_work: dict[Any, tuple[Any, Shard | None]] = {}

    def start() -> None:
        worker = make.remote()
        at_work[worker.begin.remote(str(Path.cwd()), str(output), options.cpus)] = worker, None

    # Or the wait for that has been told of.
    has_begun = False
    try:
        for _ in range(min(room(options), len(shards))):
            start()
        while waiting or any(shard for _, shard in at_work.values()):
            ready = ray.wait(list(at_work), timeout=None if has_begun else _SILENCE)[0]
            if not ready:
                log("waiting for the Ray cluster: others hold what the workers take, or it is starting them")
                has_begun = True
                continue
            call, has_begun = ready[0], True
            worker, shard = at_work.pop(call)
            try:
                said = ray.get(call)
            except ray.exceptions.RayTaskError as error:
                raise error.cause if isinstance(error.cause, HfParaphraseError) else error from error
            except ray.exceptions.RayError as error:
                died[shard] += 1
                if died[shard] == _TIMES or _lacks_package(error):
                    raise _death(error, shard) from error
                if shard is not None:
                    waiting.appendleft(shard)
                start()
                continue
            if shard is None:
                _check(said)
                del died[None]
            else:
                _wait_for(shard, output)
                progress(shard.rows)
                yield shard
            if waiting:
                shard = waiting.popleft()
                at_work[worker.write.remote(reference, shard, str(output))] = worker, shard
    finally:
        for worker, _ in at_work.values():
            ray.kill(worker)


def _versions() -> dict[str, str]:
    return {"hf-paraphrase": __version__, "Python": platform.python_version()}


def _check(facts: _Facts) -> None:
    """Refuses a worker that would not make what this process would."""
    for name, version in _versions().items():
        if facts.versions[name] != version:
            raise UsageError(
                f"the worker on {facts.node} has {name} {facts.versions[name]}, and this run {version}",
                remedy="install the same on all nodes",
            )
    for folder in facts.unseen:
        raise OutputError(
            f"the worker on {facts.node} does not see the folder",
            path=folder,
            remedy="work on a file system that all nodes share, or use --shard",
        )


def _wait_for(shard: Shard, output: Path) -> None:
    """Waits until a shard that another machine has written is seen here."""
    end = time.monotonic() + _DELAY
    while not shard.is_finished(output):
        if time.monotonic() > end:
            raise OutputError(
                "a worker has written it, and it is not here",
                path=shard.path(output),
                remedy="work on a file system that all nodes share",
            )
        time.sleep(0.5)


def _lacks_package(error: BaseException) -> bool:
    return f"No module named '{_PACKAGE}" in str(error)


def _death(error: BaseException, shard: Shard | None) -> HfParaphraseError:
    """Says why a worker is given up, which has died at a shard, or before it had one."""
    if _lacks_package(error):
        return UsageError(
            "a worker of the Ray cluster lacks this package", remedy="install the same version on all nodes"
        )
    where = "before they began" if shard is None else f"at rows {shard.start:,} to {shard.stop:,} of `{shard.source}`"
    return UsageError(
        f"{_TIMES} workers have died {where}: {shown_line(str(error), 400)}",
        remedy="if it was for want of memory, ask for smaller batches or shards, or by a greater --ray-cpus for fewer "
        "workers on a node; what is finished stays, --resume goes on",
    )
