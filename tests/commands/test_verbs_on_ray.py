"""Verbs on a real Ray cluster of two nodes of one processor each: the bytes of a run of this machine alone."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from small_runs import tree

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.registry import MEASURES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install ray"),
]
WORDS = ["one", "two", "three", "four", "five", "six"]
LIVELY = """
import os
from dataclasses import dataclass
import numpy as np
from hf_paraphrase.filtering import Measure
from hf_paraphrase.registry import MEASURES

@MEASURES.register("lively")
@dataclass(frozen=True)
class Lively(Measure):
    "In a worker it dies whenever it comes to a pair."
    columns = ("lively",)

    def compute(self, batch):
        texts = batch.texts("sentence1")
        if "RAY_JOB_ID" in os.environ and DEADLY in texts:
            os.kill(os.getpid(), 9)
        return {"lively": np.array([len(text) for text in texts])}
"""


@pytest.fixture(scope="module")
def cluster():
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    try:
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(WORDS, size=generator.integers(1, 7))) for _ in range(120)]
    texts[30] = "the deadly sentence"
    table = pa.table({"sentence1": texts[:60], "sentence2": [*texts[60:119], None], "number": list(range(60))})
    folder = tmp_path_factory.mktemp("data") / "pairs"
    write_split(folder, "train", table.to_batches(max_chunksize=13), table.schema)
    return folder


@pytest.fixture
def score_lively(pairs, tmp_path, cluster, monkeypatch):
    """Gives the words that score the pairs with the measure `lively`, in shards of four."""
    monkeypatch.setattr(MEASURES, "data", dict(MEASURES.data))

    def words(output, *more, on_ray=True, deadly=None):
        mine = tmp_path / "mine.py"
        mine.write_text(LIVELY.replace("DEADLY", repr(deadly)))
        words = ["score", "--pairs", pairs, "--output", output, "--measures", "lively", "--shard-size", 4, *more]
        words += ["--engine", "ray", "--ray-address", cluster.address] if on_ray else ["--workers", 1]
        return ["--import", *map(str, [mine, *words])]

    yield words
    for name in [name for name in sys.modules if name.endswith("_mine")]:
        del sys.modules[name]


def reports(folder):
    """The reports of the shards that the run for the output `made` has finished."""
    return sorted(folder.glob(".made.*.partial/shards/*.json"))


@pytest.mark.parametrize("verb", ["score", "encode", "back-translate"])
def test_each_verb_makes_on_two_nodes_every_byte_of_a_run_without_them(
    verb, cluster, pairs, tiny_model, tiny_bitext, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    # Relative names lead the workers to the same places.
    given = {"pairs": pairs, "bitext": tiny_bitext, "model": tiny_model}
    for name, folder in given.items():
        Path(name).symlink_to(folder)
    address = f"simplecache::file://{pairs}"
    words = {
        "score": ["score", "--pairs", address, "--measures", "bleu", "similarity", "--encoder", "--shard-size", 9],
        "encode": ["encode", "--input", "pairs", "--columns", "sentence1", "sentence2", "--shard-size", 9],
        "back-translate": [
            *("back-translate", "--bitext", "bitext", "--split", "validation", "--model", "model"),
            *("--num-beams", 3, "--precision", "fp32", "--shard-size", 2, "--device", "cpu"),
        ],
    }[verb]
    assert main([*map(str, words), "--output", "there/made", "--engine", "ray", "--ray-address", cluster.address]) == 0
    said = capsys.readouterr().err
    assert main([*map(str, words), "--output", "local/made"]) == 0
    made, local = (tree(Path(folder, "made").absolute()) for folder in ("there", "local"))
    assert made == {name: content.replace(b"local/made", b"there/made") for name, content in local.items()}
    assert [path.name for path in Path("there").iterdir()] == ["made"]
    # Of what Ray and its workers have to tell nothing is shown.
    assert "ray" not in said.lower(), said


def test_a_worker_that_dies_again_and_again_is_one_line_and_what_is_finished_stays(score_lively, tmp_path, capsys):
    assert main(score_lively(tmp_path / "made", deadly="the deadly sentence")) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "error: no worker made rows 28 to 32 of `train`" in error and "--resume" in error
    assert len(reports(tmp_path)) >= 7 and not (tmp_path / "made").exists()
    assert main(score_lively(tmp_path / "made", "--resume", on_ray=False)) == 0
    assert DataFolder(tmp_path / "made").count() == 60
