"""Makes shards on a Ray cluster, one task per shard.

If a worker dies, Ray starts its task again, which writes the same file.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from ..data.batch_function import Progress, no_progress
from ..errors import OutputError, UsageError
from ..threads import available_cores

if TYPE_CHECKING:
    from .shard_settings import ShardSettings
    from .shards import Shard, ShardJob


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect this process to the cluster until the block ends, unless it is connected already."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    if ray.is_initialized():
        yield
        return
    cluster = address or os.environ.get("RAY_ADDRESS") or "local"
    local = {"num_cpus": available_cores(), "include_dashboard": False} if cluster == "local" else {}
    try:
        ray.init(cluster, log_to_driver=False, logging_level="ERROR", **local)
    except (OSError, RuntimeError, ValueError, SystemExit, ray.exceptions.RayError) as error:
        remedy = "start one with `ray start --head` and give the HOST:PORT that it prints, or use --shard without Ray"
        raise UsageError(f"cannot join the Ray cluster at {cluster}: {error}", remedy=remedy) from error
    try:
        yield
    finally:
        ray.shutdown()


def run_on_ray(
    job: ShardJob, shards: Sequence[Shard], folder: Path, *, settings: ShardSettings, progress: Progress = no_progress
) -> Iterator[Shard]:
    """Make shards on the connected cluster, and yield each when it is complete."""
    import ray

    wanted = {"CPU": settings.ray_cpus, "GPU": settings.gpus_of_worker}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    if not any(all(node.get(name, 0) >= count for name, count in wanted.items()) for node in nodes):
        # Ray would wait forever.
        problem = f"no node of the Ray cluster has {wanted['CPU']} CPU and {wanted['GPU']:g} GPU for a worker"
        raise UsageError(problem, remedy="give a smaller --ray-cpus or --ray-gpus")
    # Ray does not resolve a reference in a list, so each process opens the job once.
    reference = [ray.put(job)]
    task = ray.remote(num_cpus=settings.ray_cpus, num_gpus=settings.gpus_of_worker)(_write_shard)
    folders = (str(Path.cwd()), folder)
    waiting = list(reversed(shards))
    running: dict[Any, Shard] = {}
    try:
        while waiting or running:
            while waiting and len(running) < (settings.ray_workers or len(shards)):
                shard = waiting.pop()
                running[task.remote(reference, shard, *folders, settings.ray_cpus, __version__)] = shard
            (call,), _ = ray.wait(list(running))
            shard = running.pop(call)
            try:
                ray.get(call)
            except ray.exceptions.RayError as error:
                raise _explained(error, shard) from error
            progress(shard.rows)
            yield shard
    finally:
        for call in running:
            ray.cancel(call, force=True)


def _explained(error: Any, shard: Shard) -> Exception:
    cause = getattr(error, "cause", None)
    if isinstance(cause, Exception) and "No module named" not in str(error):
        return cause
    return UsageError(
        f"no worker made rows {shard.start:,} to {shard.stop:,} of `{shard.source}`: {error}",
        remedy="install the same version of hf-paraphrase on all nodes; if memory was short, use smaller shards or a "
        "larger --ray-cpus; --resume continues",
    )


def _write_shard(reference: list[Any], shard: Shard, cwd: str, folder: Path, threads: int, version: str) -> None:
    """Write a shard in a worker, in the working folder of the run because paths may be relative."""
    from .shards import limit_threads, write_shard

    if version != __version__:
        problem = f"the worker has hf-paraphrase {__version__}, but this run has {version}"
        raise UsageError(problem, remedy="install the same version on all nodes")
    try:
        os.chdir(cwd)
    except OSError as error:
        remedy = "use a file system that all nodes share, or --shard"
        raise OutputError(f"the worker does not see the folder: {error.strerror}", path=cwd, remedy=remedy) from error
    limit_threads(threads)
    write_shard(_job_of_process(reference[0]), shard, folder)


@functools.lru_cache(maxsize=1)
def _job_of_process(reference: Any) -> ShardJob:
    import ray

    job: ShardJob = ray.get(reference)
    return job
