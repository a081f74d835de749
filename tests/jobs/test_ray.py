"""What the engine `ray` refuses and how errors reach the user; a real cluster has `commands/test_verbs_on_ray.py`."""

from __future__ import annotations

import importlib.util
import sys
from collections import Counter
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.filtering.measuring import PairScorer
from hf_paraphrase.jobs import ray as engine
from hf_paraphrase.jobs import shards as shards_module
from hf_paraphrase.jobs.ray import run_on_ray
from hf_paraphrase.jobs.shard_settings import ShardSettings
from hf_paraphrase.jobs.shards import ShardJob, cut, run_shards


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__(f"a long traceback of {cause}")
        self.cause = cause


class FakeRay(ModuleType):
    """As much of Ray as a job needs, in this process: a task runs when it is waited for, the newest first."""

    def __init__(self):
        super().__init__("ray")
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self.init_error = None
        self.running, self.most, self.joined = set(), 0, []

    def is_initialized(self):
        return bool(self.joined)

    def init(self, address, **options):
        if self.init_error:
            raise self.init_error
        self.joined.append(address)

    def shutdown(self):
        self.joined.clear()

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": number}} for number in (16, 9)] + [{"Alive": False}]

    def put(self, value):
        return (value.folder, value)

    def remote(self, **resources):
        def submit(function, arguments):
            call = Call(function, arguments)
            self.running.add(call)
            self.most = max(self.most, len(self.running))
            return call

        return lambda function: SimpleNamespace(remote=lambda *arguments: submit(function, arguments))

    def get(self, call):
        if isinstance(call, tuple):
            return call[1]
        self.running.remove(call)
        try:
            return call.function(*call.arguments)
        except Exception as error:
            raise RayTaskError(error) from error

    def wait(self, calls):
        return calls[-1:], calls[:-1]

    def cancel(self, call, force):
        self.running.remove(call)


class Call:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments


@pytest.fixture
def fake(monkeypatch):
    """Puts a fake in the place of Ray."""
    monkeypatch.setattr(shards_module, "limit_threads", lambda threads: None)
    monkeypatch.setattr(engine, "_job_of_process", lambda reference: sys.modules["ray"].get(reference))

    def put():
        monkeypatch.setitem(sys.modules, "ray", FakeRay())
        return sys.modules["ray"]

    return put


@pytest.fixture
def pairs(tmp_path):
    table = pa.table({"sentence1": [f"a {row}" for row in range(20)], "sentence2": ["a b"] * 20})
    write_split(tmp_path / "pairs", "train", [table], table.schema)
    return tmp_path / "pairs"


def plan(pairs):
    folder = DataFolder(pairs)
    return ShardJob(folder, {"train": PairScorer(("length", "bleu"))}, 100), cut("train", folder.count(), 3)


def tree(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("workers", [None, 2])
def test_every_shard_is_made_once_with_the_bytes_of_a_local_run(fake, pairs, tmp_path, workers):
    job, shards = plan(pairs)
    ray = fake()
    (tmp_path / "ray").mkdir()
    rows = []
    settings = ShardSettings(ray_workers=workers)
    made = list(run_on_ray(job, shards, tmp_path / "ray", settings=settings, progress=rows.append))
    assert Counter(made) == Counter(shards) and sum(rows) == 20
    assert ray.most == (workers or len(shards))
    assert list(run_shards(job, shards, tmp_path / "local")) == shards
    assert tree(tmp_path / "ray") == tree(tmp_path / "local")


def test_an_error_of_ours_in_a_worker_is_raised_as_it_is(fake, pairs, tmp_path):
    job, shards = plan(pairs)
    ray = fake()
    (file,) = (pairs / "data").iterdir()
    file.write_bytes(b"no Parquet")
    with pytest.raises(InputError) as caught:
        list(run_on_ray(job, shards, tmp_path, settings=ShardSettings()))
    assert caught.value.path == str(file) and not ray.running


def test_a_task_for_which_no_node_is_large_enough_is_refused(fake, pairs, tmp_path):
    job, shards = plan(pairs)
    fake()
    for options, what in (({"ray_cpus": 17}, "17 CPU and 0 GPU"), ({"ray_gpus": 0.5}, "1 CPU and 0.5 GPU")):
        with pytest.raises(UsageError, match=f"no node of the Ray cluster has {what} for a worker"):
            list(run_on_ray(job, shards, tmp_path, settings=ShardSettings(**options)))


@pytest.mark.parametrize("error", [ConnectionError("no token"), SystemExit("no head")])
def test_a_cluster_that_cannot_be_joined_is_one_line_and_leaves_nothing(
    fake, error, pairs, tmp_path, capsys, monkeypatch
):
    fake().init_error = error
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    words = ["--pairs", str(pairs), "--output", str(tmp_path / "made"), "--engine", "ray", "--ray-address", "head:1"]
    assert main(["score", *words]) == 2
    problem = capsys.readouterr().err
    assert f"cannot join the Ray cluster at head:1: {error}" in problem and problem.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["pairs"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("score --pairs p --output o --ray-cpus 2", "--ray-cpus is for --engine ray"),
        ("score --pairs p --output o --engine ray --workers 2", "--workers is for --engine local"),
        ("encode --input p --output o.npy --engine ray", "--engine ray is for data folders (give --columns too)"),
        (
            "encode --input p --output o --columns a --engine ray --device cuda:1",
            "--engine ray and --device cuda:1 exclude each other (--device cpu or cuda)",
        ),
        ("score --pairs p --output o --engine spark", "invalid choice: 'spark': one of local, ray"),
    ],
)
def test_what_does_not_go_with_an_engine_is_one_line(words, problem, capsys):
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1
