"""The connection to a Ray cluster, for the time of a job."""

from __future__ import annotations

import importlib.util
import math
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import current_thread, main_thread
from typing import Any

from ..data.parallel import available_cores
from ..errors import UsageError
from ..messages import log, shown_line

_AUTO, _LOCAL = "auto", "local"
_PATIENCE = 3.0
_PATIENCE_WITH_ANSWERS = 10.0
# How a client of gRPC, which a cluster speaks, begins; the server's first frame is of the type SETTINGS, too.
_GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
_TYPE_OF_FRAME, _SETTINGS = 3, 4
_REMEDY = "start one with `ray start --head`, and give the HOST:PORT that it says; without one there is --shard"
# Ray reports how it is used to its makers, and tries an address for minutes.
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_NUM_REDIS_GET_RETRIES": "1"}


@dataclass(frozen=True)
class RayOptions:
    """What is wanted of a Ray cluster.

    Attributes:
        address: Where it is; None for that of the environment variable RAY_ADDRESS, or a new one of this machine.
        workers: Workers at a time at most; None for as many as there is room for.
        cpus: Processors of a worker.
        gpus: GPUs of a worker, or a part of one.
    """

    address: str | None = None
    workers: int | None = None
    cpus: int = 1
    gpus: float = 0.0

    @property
    def place(self) -> str:
        """Where the cluster is, as Ray takes it."""
        return self.address or os.environ.get("RAY_ADDRESS") or _LOCAL


def check_cluster(options: RayOptions) -> None:
    """Refuses at once what would take Ray minutes to refuse.

    Raises:
        UsageError: If Ray is not installed, or nothing answers at the address as a cluster does.
    """
    if importlib.util.find_spec("ray") is None:
        raise UsageError("--engine ray needs the package ray", remedy='pip install "hf-paraphrase[ray]"')
    if options.place in {_AUTO, _LOCAL}:
        return
    host, colon, port = options.place.rpartition(":")
    if not (colon and port.isascii() and port.isdecimal() and 0 < int(port) < 1 << 16) or "/" in host:
        raise UsageError(
            f"--ray-address {options.place} is no address of a cluster",
            remedy=f"HOST:PORT, or {_AUTO}; a run has its place on a machine of the cluster, so ray:// is none",
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), _PATIENCE) as connection:
            # Behind TLS the greeting is another.
            answers = os.environ.get("RAY_USE_TLS", "0") != "0" or _answers(connection)
    except OSError as error:
        raise UsageError(
            f"no Ray cluster runs at {options.place}: {error.strerror or error}", remedy=_REMEDY
        ) from error
    if not answers:
        raise UsageError(f"what listens at {options.place} is no Ray cluster", remedy=_REMEDY)


def _answers(connection: socket.socket) -> bool:
    """Tells whether the other end of a connection speaks as a cluster does."""
    connection.settimeout(_PATIENCE_WITH_ANSWERS)
    found = b""
    try:
        connection.sendall(_GREETING)
        while len(found) <= _TYPE_OF_FRAME and (more := connection.recv(_TYPE_OF_FRAME + 1 - len(found))):
            found += more
    except OSError:
        return False
    return len(found) > _TYPE_OF_FRAME and found[_TYPE_OF_FRAME] == _SETTINGS


@contextmanager
def connected(options: RayOptions) -> Iterator[None]:
    """Connects this process to the cluster, unless it is connected to one, until the block ends.

    Raises:
        UsageError: If no cluster is there, it does not let this process in, or it is of another version.
    """
    for name, value in _QUIET.items():
        os.environ.setdefault(name, value)

    import ray

    if ray.is_initialized():
        own = ray.get_runtime_context().gcs_address
        if options.address not in {None, _AUTO, own}:
            log(
                f"this process is connected to the Ray cluster at {own} already: "
                f"--ray-address {options.address} is not used"
            )
        yield
        return
    is_main, before = current_thread() is main_thread(), signal.getsignal(signal.SIGTERM)
    started: dict[str, Any] = {"num_cpus": available_cores(), "include_dashboard": False}
    try:
        # Who waits in vain for a cluster is ended by Ray as if somebody had asked for it.
        ray.init(
            options.place, log_to_driver=False, logging_level="ERROR", **(started if options.place == _LOCAL else {})
        )
    except (OSError, RuntimeError, ValueError, SystemExit, ray.exceptions.RayError) as error:
        raise UsageError(
            f"no Ray cluster lets this run in at {options.place}: {_reason(error)}", remedy=_REMEDY
        ) from error
    try:
        if is_main:
            # Ray writes a long trace when this process is told to end; without a handler the cluster would stay.
            signal.signal(signal.SIGTERM, signal.default_int_handler)
        yield
    finally:
        ray.shutdown()
        if is_main:
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _reason(error: BaseException) -> str:
    """Returns the last line of the first cause of an error, where Ray says what it was."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = str(error).strip().splitlines()
    return shown_line(lines[-1].removeprefix("ray.exceptions."), 400) if lines else type(error).__name__


def room(options: RayOptions) -> int:
    """Counts the workers that the nodes of the cluster have room for; within :func:`connected`.

    Raises:
        UsageError: If there is room for none.
    """
    import ray

    taken = {name: number for name, number in (("CPU", options.cpus), ("GPU", options.gpus)) if number}
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    found = sum(math.floor(min(node.get(name, 0) / number for name, number in taken.items())) for node in nodes)
    if not found:
        wanted = " and ".join(f"{number:g} {name}" for name, number in taken.items())
        raise UsageError(
            f"no node of the Ray cluster has {wanted} for a worker", remedy="give a smaller --ray-cpus or --ray-gpus"
        )
    return found if options.workers is None else min(found, options.workers)
