"""Programs in two processes under `accelerate launch`."""

from __future__ import annotations

import os
import subprocess
import sys


def launch(*program):
    """Runs a program and its words in two processes of one thread each, and returns what came of it."""
    words = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
    words += ["--main_process_port", "0", *map(str, program)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    return subprocess.run(words, capture_output=True, text=True, check=False, env=environment, timeout=300)
