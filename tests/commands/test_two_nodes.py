from __future__ import annotations

import json
import os
import socket
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not torch.distributed.is_available() or not torch.distributed.is_gloo_available(), reason="torch lacks gloo"
    ),
]
PROGRAM = ("-m", "hf_paraphrase")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "pairs"
    generator = np.random.default_rng(0)
    rows = [generator.integers(60, size=generator.integers(3, 8)) for _ in range(90)]
    sides = {f"sentence{side}": [" ".join(f"w{x + side - 1}" for x in row) for row in rows] for side in (1, 2)}
    write_split(folder, "train", [pa.table(sides)], PAIRS)
    return folder


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


def losses(folder):
    log = json.loads((folder / "provenance.json").read_text())["results"]["log"]
    return {entry["step"]: entry["loss"] for entry in log if "loss" in entry}


def test_an_encoder_of_two_nodes_is_that_of_one_process_with_the_joint_batch(pairs, tmp_path):
    one, two = tmp_path / "one" / "model", tmp_path / "two" / "model"
    words = ["train-encoder", "--pairs", str(pairs), "--model-type", "gran", "--hidden-size", "12", "--epochs", "3"]
    said = two_nodes(tmp_path, *PROGRAM, *words, "--batch-size", "4", "--output", two)
    assert main([*words, "--batch-size", "8", "--output", str(one)]) == 0
    # Up to the order of sums in float32.
    assert losses(two) == pytest.approx(losses(one), rel=1e-6) and losses(two)
    found, wanted = (load_file(folder / "model.safetensors") for folder in (two, one))
    assert found.keys() == wanted.keys()
    for name, weights in wanted.items():
        torch.testing.assert_close(found[name], weights, rtol=0, atol=2e-6, msg=lambda text, name=name: name + text)
    assert said.count("token vectors of") == said.count("encoder saved to") == 1
    assert [path.name for path in two.parent.iterdir()] == ["model"]
    assert "Adam over the rows of a batch" in (two / "README.md").read_text()
