"""Commands with `--shard` and `--engine ray`: parts in any order and Ray workers make the rows of one run."""

from __future__ import annotations

import importlib.util
import io
import re
import sys
from pathlib import Path

import pytest
from small_runs import SMALL, record, tree, write_pairs
from tqdm.auto import tqdm

from hf_paraphrase import commands
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.jobs import shards as shards_module
from hf_paraphrase.messages import log
from hf_paraphrase.registry import MEASURES


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs", 60, slice(5, 14))


@pytest.fixture
def words(request, pairs, tiny_model, tiny_bitext):
    """The command line of a verb, but for its output."""
    return {
        "score": ["score", "--pairs", pairs],
        "encode": ["encode", "--input", pairs, "--columns", "sentence1", "sentence2", "--normalize"],
        "back-translate": [
            *("back-translate", "--bitext", tiny_bitext, "--split", "validation", "--model", tiny_model),
            *("--num-beams", 3, "--precision", "fp32", "--shard-size", 2),
        ],
    }[request.param]


def run(words, output, *more):
    return main([str(word) for word in (*words, "--output", output, *more)])


def rows_of(folder):
    opened = DataFolder(folder)
    return {split: repr(opened.table(split).to_pydict()) for split in opened.splits}


@pytest.mark.parametrize("words", ["score", "encode", "back-translate"], indirect=True)
def test_parts_in_any_order_one_twice_and_one_killed_leave_the_rows_of_one_run(words, tmp_path, monkeypatch, capsys):
    by_parts, whole = tmp_path / "parts", tmp_path / "whole"
    size = [] if "--shard-size" in words else ["--shard-size", 11]
    assert run(words, whole) == 0
    with monkeypatch.context() as context:

        def die(*arguments):
            raise KeyboardInterrupt

        context.setattr(shards_module, "atomic_write_text", die)
        assert run(words, by_parts, *size, "--shard", "2/3") == 130
    for part in ("3/3", "1/3", "3/3", "2/3"):
        assert not by_parts.exists()
        assert run(words, by_parts, *size, "--shard", part) == 0
    assert rows_of(by_parts) == rows_of(whole)
    results = [record(folder)["results"] for folder in (by_parts, whole)]
    assert results[0] == results[1]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["parts", "whole"]
    capsys.readouterr()
    assert run(words, by_parts, *size, "--shard", "1/3") == 0
    assert "the output is finished, nothing is left to do" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["encode", "back-translate"], indirect=True)
def test_parts_on_machines_of_which_one_computes_in_bf16_by_itself_are_not_mixed(words, tmp_path, monkeypatch, capsys):
    words = [*words, "--precision", "auto", *([] if "--shard-size" in words else ["--shard-size", 11])]
    monkeypatch.setattr("hf_paraphrase.training.devices.bf16_is_fast", lambda device: False)
    assert run(words, tmp_path / "out", "--shard", "1/2") == 0
    monkeypatch.setattr("hf_paraphrase.training.devices.bf16_is_fast", lambda device: True)
    capsys.readouterr()
    assert run(words, tmp_path / "out", "--shard", "2/2") == 2
    assert "the incomplete run had other settings: bf16" in capsys.readouterr().err
    monkeypatch.undo()
    assert run([*words, "--precision", "fp32"], tmp_path / "out", "--shard", "2/2") == 0


def test_a_terminal_has_bars_with_rate_and_time_left_and_a_log_the_messages_alone(monkeypatch, capsys):
    def work(verb, words):
        for _ in tqdm(range(3), desc="outer", disable=None):
            for _ in tqdm(range(2), desc="inner", position=1, leave=False, mininterval=0, disable=None):
                log("a message")

    monkeypatch.setattr(commands, "_run_verb", work)
    assert main(["env"]) == 0 and capsys.readouterr().err == "a message\n" * 6
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["env"]) == 0
    text = terminal.getvalue()
    assert re.search(r"outer: 100%.*3/3 \[\d\d:\d\d<\d\d:\d\d, .*it/s\]", text) and text.count("a message") == 6


def test_training_in_a_log_is_a_line_a_score(tiny_bitext, tmp_path, capfd):
    words = [f"{flag}={value}" for flag, value in {**SMALL, "--epochs": 1, "--evaluations": 2}.items()]
    assert main(["train-nmt", "--bitext", str(tiny_bitext), "--output", str(tmp_path / "model"), *words]) == 0
    out, err = capfd.readouterr()
    assert out == "" and "\r" not in err and "\x1b" not in err and "%|" not in err and "{" not in err
    assert len(re.findall(r"^epoch \d\.\d\d: dev BLEU \d", err, re.MULTILINE)) == 2


# ----- Ray

ON_RAY = pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed: pip install ray")
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
    """Two nodes of one processor each."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    try:
        yield cluster
    finally:
        cluster.shutdown()


@ON_RAY
@pytest.mark.slow
@pytest.mark.parametrize("verb", ["score", "encode", "back-translate"])
def test_each_verb_makes_on_two_nodes_every_byte_of_a_run_without_them(
    verb, cluster, pairs, tiny_model, tiny_bitext, tmp_path, capsys, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    # Workers resolve relative names to the same folders.
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
    # Messages of Ray and its workers are hidden.
    assert "ray" not in said.lower(), said


@ON_RAY
@pytest.mark.slow
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
