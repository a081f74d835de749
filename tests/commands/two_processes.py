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


def two_nodes(folder, *program):
    """Runs a program and its words on two nodes, one process each, and returns what they have said, together."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    agents, said = [], [folder / f"node_{number}.txt" for number in range(2)]
    for number, path in enumerate(said):
        words = [sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"]
        words += ["--rdzv-backend", "c10d", "--rdzv-endpoint", f"127.0.0.1:{port}", "--local-addr", "127.0.0.1"]
        words += ["--rdzv-conf", f"is_host={1 - number}", *map(str, program)]
        with path.open("w") as errors:
            agents.append(subprocess.Popen(words, stdout=errors, stderr=errors, env=environment))
    try:
        statuses = [agent.wait(timeout=200) for agent in agents]
    finally:
        for agent in agents:
            agent.kill()
    texts = [path.read_text() for path in said]
    assert statuses == [0, 0], texts
    return "".join(texts)
