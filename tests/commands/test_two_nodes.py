from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
import torch
from safetensors.torch import load_file
from two_processes import Node, free_port, two_nodes

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
# The agent first, or it would start another process.
DIES = """
import os, signal, sys
from pathlib import Path
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.trainer import EncoderTrainer
step = EncoderTrainer.training_step
died = Path(__file__).with_name("died")
def dying(self, *arguments, **settings):
    if self.state.global_step == 15 and sys.argv[1] == "1" and not died.exists():
        died.touch()
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *arguments, **settings)
EncoderTrainer.training_step = dying
sys.exit(main(sys.argv[2:]))
"""


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "pairs"
    generator = np.random.default_rng(0)
    rows = [generator.integers(60, size=generator.integers(3, 8)) for _ in range(90)]
    sides = {f"sentence{side}": [" ".join(f"w{x + side - 1}" for x in row) for row in rows] for side in (1, 2)}
    write_split(folder, "train", [pa.table(sides)], PAIRS)
    return folder


def encoder(pairs, output, batch, *words):
    settings = ("--model-type", "gran", "--hidden-size", "12", "--epochs", "3", "--batch-size", str(batch))
    return ["train-encoder", "--pairs", str(pairs), "--output", str(output), *settings, *words]


@pytest.fixture(scope="module")
def encoder_of_two_nodes(pairs, tmp_path_factory):
    """An encoder that two nodes have trained, and what they have said."""
    folder = tmp_path_factory.mktemp("nodes")
    (folder / "models").mkdir()
    return folder / "models" / "two", two_nodes(folder, *PROGRAM, *encoder(pairs, folder / "models" / "two", 4))


def losses(folder):
    log = json.loads((folder / "provenance.json").read_text())["results"]["log"]
    return {entry["step"]: entry["loss"] for entry in log if "loss" in entry}


def check_equal(folder, expected):
    """Checks that losses and weights are those of another run up to the order of sums in float32."""
    assert losses(folder) == pytest.approx(losses(expected), rel=1e-6) and losses(folder)
    wanted = load_file(expected / "model.safetensors")
    found = load_file(folder / "model.safetensors")
    assert found.keys() == wanted.keys()
    for name, weights in wanted.items():
        torch.testing.assert_close(found[name], weights, rtol=0, atol=2e-6, msg=lambda text, name=name: name + text)


def test_an_encoder_of_two_nodes_is_that_of_one_process_with_the_joint_batch(pairs, encoder_of_two_nodes, tmp_path):
    trained, said = encoder_of_two_nodes
    assert main(encoder(pairs, tmp_path / "one", 8)) == 0
    check_equal(trained, tmp_path / "one")
    assert said.count("token vectors of") == said.count("encoder saved to") == 1
    assert [path.name for path in trained.parent.iterdir()] == ["two"]
    assert "Adam over the rows of a batch" in (trained / "README.md").read_text()


def test_a_node_that_is_killed_and_started_again_goes_on_to_the_same_bytes(pairs, encoder_of_two_nodes, tmp_path):
    (tmp_path / "dies.py").write_text(DIES)
    (tmp_path / "models").mkdir()
    port, words = free_port(), encoder(pairs, tmp_path / "models" / "two", 4, "--resume")

    def node(number):
        return Node(number, port, tmp_path, tmp_path / "dies.py", number, *words, restarts=2)

    first, second = node(0), node(1)
    assert second.ended()[0] == -9 and (tmp_path / "died").exists()
    second = node(1)
    ends = [first.ended(), second.ended()]
    assert [status for status, _ in ends] == [0, 0], ends
    said = "".join(text for _, text in ends)
    assert "resuming after step 12" in said
    trained, _ = encoder_of_two_nodes
    for name in ("model.safetensors", "config.json", "tokenizer.json"):
        assert (tmp_path / "models" / "two" / name).read_bytes() == (trained / name).read_bytes(), name
    assert losses(tmp_path / "models" / "two") == losses(trained)
