"""A file in two processes that find one another, as under `torchrun`; for the fixture `run_python`."""

from __future__ import annotations

TWO_PROCESSES = """
import contextlib, os, runpy, signal, socket, sys
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    port = str(free.getsockname()[1])
os.environ.update(WORLD_SIZE="2", LOCAL_WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
children = []
for rank in "01":
    child = os.fork()
    if child == 0:
        os.environ.update(RANK=rank, LOCAL_RANK=rank)
        del sys.argv[0]
        sys.exit(runpy.run_path(sys.argv[0], run_name="__main__") and None)
    children.append(child)
failed = os.wait()[1] or os.wait()[1]
for child in children if failed else ():
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
sys.exit(failed != 0)
"""
"""Runs a file in two processes, as `torchrun` does, and ends both where one fails."""
