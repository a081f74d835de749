"""Programs in two processes under `accelerate launch`, and on two nodes, both this machine, under `torchrun`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys


def launch(*program):
    """Runs a program and its words in two processes of one thread each, and returns what came of it."""
    words = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    words += ["--main_process_port", "0", *map(str, program)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environment, timeout=300)


def free_port():
    """A port of this machine at which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


class Node:
    """The agent of one of two nodes, with one process; the nodes meet at the first one.

    Args:
        number: 0 or 1.
        port: Where they meet.
        folder: Where standard error is kept.
        *program: The program and its words.
        restarts: How many times the process may be started again.
    """

    def __init__(self, number, port, folder, *program, restarts=0):
        words = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
        words += ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--local-addr", "127.0.0.1"]
        words += ["--rdzv-conf", f"is_host={1 - number}", "--max-restarts", str(restarts), *map(str, program)]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
        # Without it a node that joins again never hears where the process 0 is to be met.
        environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
        self.errors = folder / f"node_{number}.txt"
        with self.errors.open("a") as errors:
            self.agent = subprocess.Popen(words, stdout=errors, stderr=errors, env=environment)

    def ended(self):
        """Waits for its end, and returns the exit status and what it has said."""
        try:
            status = self.agent.wait(timeout=200)
        finally:
            self.agent.kill()
        return status, self.errors.read_text()


def two_nodes(folder, *program):
    """Runs a program and its words on two nodes, and returns what they have said, together."""
    port = free_port()
    nodes = [Node(number, port, folder, *program) for number in range(2)]
    found = [node.ended() for node in nodes]
    assert [status for status, _ in found] == [0, 0], found
    return "".join(text for _, text in found)
