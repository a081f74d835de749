"""The settings of a job in shards: the part of the job that a run makes, and its machines."""

from __future__ import annotations

import dataclasses
import importlib.util
import re
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

from ..data.batch_function import BatchFunction
from ..errors import UsageError
from ..messages import process_count
from ..settings import Settings, setting

RAY = "ray"
_Function = TypeVar("_Function", bound=BatchFunction)


def shard_size_setting(rows: str, **constraints: Any) -> Any:
    """Declare the field `shard_size` of a job over `rows`, with the constraints of :func:`..settings.setting`."""
    help = f"{rows} per shard, the unit of work; by default a sixteenth of the split, at least 10,000, at most 250,000"
    return setting(help, None, at_least=1, **constraints)


@dataclass(kw_only=True)
class ShardSettings(Settings):
    """The settings of a run that makes all shards of a job, or one part of them."""

    GROUP: ClassVar[str] = "computing"

    shard: str | None = setting(
        "process one part of the work, e.g. 3/64 for the third of 64, as in a job array: parts may run in any "
        "order, in parallel, on any machine that can write the output, and again if killed; the last one completes "
        "the output",
        None,
        excludes="overwrite",
    )
    overwrite: bool = setting("replace an existing output folder (once the new one is complete)", False)
    resume: bool = setting("continue the incomplete job for this output", False)
    engine: str = setting(
        "where the work runs: local (this machine), or ray (the workers of a Ray cluster, which need access to the "
        "working folder and the output)",
        "local",
        choices=["local", RAY],
    )
    ray_address: str | None = setting(
        "HOST:PORT of the cluster, or auto for the one on this machine [default: the environment variable "
        "RAY_ADDRESS, else a cluster that is started on this machine for the run]",
        None,
        only_with={"engine": RAY},
    )
    ray_workers: int | None = setting(
        "maximum number of workers at a time [default: as many as fit on the cluster]",
        None,
        at_least=1,
        only_with={"engine": RAY},
    )
    ray_cpus: int = setting("CPUs per worker", 1, at_least=1, only_with={"engine": RAY})
    ray_gpus: float | None = setting(
        "GPUs per worker, 0.5 for two workers per GPU [default: 1 with --device cuda, and 0 otherwise]",
        None,
        at_least=0,
        only_with={"engine": RAY},
    )

    def record(self) -> dict[str, Any]:
        """Return the fields that determine the output, without the settings of the machine."""
        elsewhere = {"shard", "engine", "ray_address", "ray_workers", "ray_cpus", "ray_gpus"}
        return {name: value for name, value in super().record().items() if name not in elsewhere}

    def check(self) -> None:
        """Refuse values that do not fit together, or do not work with Ray."""
        super().check()
        _ = self.part  # raises if it is malformed
        if self.computes_here:
            return
        if process_count() > 1:
            raise UsageError("--engine ray starts its workers itself", remedy="start it in one process")
        # Ray shows each worker its own GPUs, numbered from 0.
        device = getattr(self, "device", None)
        if device not in {None, "cpu", "cuda"}:
            problem = f"--engine ray and --device {device} exclude each other"
            raise UsageError(problem, remedy="--device cpu or cuda")
        if importlib.util.find_spec(RAY) is None:
            raise UsageError("--engine ray needs the package ray", remedy='pip install "hf-paraphrase[ray]"')

    @property
    def computes_here(self) -> bool:
        """Whether this process makes the shards, so that this machine must have the device."""
        return self.engine != RAY

    @property
    def gpus_of_worker(self) -> float:
        """The number of GPUs per worker of Ray."""
        return float(getattr(self, "device", None) == "cuda") if self.ray_gpus is None else self.ray_gpus

    def here(self, function: _Function) -> _Function:
        """Return a copy of a batch function for this process, on the CPU if the workers of Ray make the shards."""
        return function if self.computes_here else dataclasses.replace(function, device="cpu")  # type: ignore[type-var]

    @property
    def part(self) -> tuple[int, int] | None:
        """The index of the part, from 1, and the number of parts; None for the whole job."""
        if self.shard is None:
            return None
        match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", self.shard)
        index, count = map(int, match.groups()) if match else (0, 0)
        if not 1 <= index <= count:
            raise UsageError(f"--shard {self.shard} is not a part of the work", remedy="e.g. 3/64 for the third of 64")
        return index, count
