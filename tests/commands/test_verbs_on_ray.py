"""Verbs on a real Ray cluster of two nodes of one processor each: the bytes of a run of this machine alone."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
from small_runs import tree, write_pairs

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.registry import MEASURES

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install ray"),
]
LIVELY = """
import os
from dataclasses import dataclass
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
        return {"lively": [len(text) for text in texts]}
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
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs", 60)


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


def test_a_worker_that_dies_again_and_again_is_one_line_and_what_is_finished_stays(
    cluster, pairs, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(MEASURES, "data", dict(MEASURES.data))
    deadly = DataFolder(pairs).table()["sentence1"][30].as_py()
    (tmp_path / "mine.py").write_text(LIVELY.replace("DEADLY", repr(deadly)))
    words = ["--import", tmp_path / "mine.py", "score", "--pairs", pairs, "--output", tmp_path / "made"]
    words = [*map(str, words), "--measures", "lively", "--shard-size", "4"]
    assert main([*words, "--engine", "ray", "--ray-address", cluster.address]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "error: no worker made rows 28 to 32 of `train`" in error and "--resume" in error
    finished = list(tmp_path.glob(".made.*.partial/shards/*.json"))
    assert len(finished) >= 7 and not (tmp_path / "made").exists()
    assert main([*words, "--resume"]) == 0
    assert DataFolder(tmp_path / "made").count() == 60
