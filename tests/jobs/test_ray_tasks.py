"""What is asked of Ray, of a double that runs its tasks here; `commands/test_parts_of_verbs.py` has a real cluster."""

from __future__ import annotations

import sys
from functools import partial
from types import SimpleNamespace

import pytest
from small_runs import tree, write_pairs

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.filtering.measuring import PairScorer
from hf_paraphrase.jobs import ray as ray_tasks
from hf_paraphrase.jobs import shards as shards_module
from hf_paraphrase.jobs.shards import ShardJob, cut, run_shards


class Ray:
    """A stand-in for Ray that runs a task in `wait`; the rows from `deadly` on kill the worker."""

    RayError = type("RayError", (Exception,), {})

    def __init__(self, nodes, deadly=None):
        self.exceptions, self.deadly = self, deadly
        self.running, self.most, self.cancelled, self.asked = {}, 0, [], None
        self.nodes = lambda: [{"Alive": alive, "Resources": resources} for alive, resources in nodes]

    def put(self, value):
        self.job, self.reference = value, object()
        return self.reference

    def remote(self, **resources):
        def begin(function, *given):
            call = f"call {given[1].index}"
            self.running[call] = partial(function, *given)
            self.most = max(self.most, len(self.running))
            return call

        self.asked = resources
        return lambda function: SimpleNamespace(remote=partial(begin, function))

    def wait(self, calls):
        return [calls[-1]], calls[:-1]

    def get(self, asked):
        if asked is self.reference:
            return self.job
        work = self.running.pop(asked)
        if asked == self.deadly:
            raise self.RayError("the worker died")
        return work()

    def cancel(self, call, *, force):
        self.cancelled += [call] if force else []


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Makes the ten shards of 60 pairs on a cluster; returns Ray, the shards that are made and the rows counted."""
    pairs = write_pairs(tmp_path / "pairs", 60)
    scorer = PairScorer(("length",))
    job, shards = ShardJob(DataFolder(pairs), {"train": scorer}, 16), cut("train", 60, 6)
    monkeypatch.setattr(shards_module, "limit_threads", lambda threads: threads == 2 or pytest.fail("other threads"))
    list(run_shards(job, shards, tmp_path / "here" / "output"))

    def on_ray(nodes=((True, {"CPU": 2.0, "GPU": 0.5}),), deadly=None, **settings):
        ray, rows = Ray(nodes, deadly), []
        monkeypatch.setitem(sys.modules, "ray", ray)
        settings = SimpleNamespace(**{"ray_cpus": 2, "gpus_of_worker": 0.5, "ray_workers": None, **settings})
        output = tmp_path / "there" / "output"
        made = ray_tasks.run_on_ray(job, shards, output, settings=settings, progress=rows.append)
        return ray, made, rows

    return on_ray


@pytest.mark.parametrize(("workers", "most"), [(None, 10), (1, 1), (3, 3)])
def test_no_more_tasks_run_than_workers_are_asked_for_and_the_bytes_are_those_of_a_run_here(
    run, workers, most, tmp_path
):
    ray, made, rows = run(ray_workers=workers)
    assert sorted(shard.index for shard in made) == list(range(10)) and rows == [6] * 10
    assert ray.most == most and ray.asked == {"num_cpus": 2, "num_gpus": 0.5} and not ray.running
    assert tree(tmp_path / "there") == tree(tmp_path / "here") and len(tree(tmp_path / "here")) == 20


def test_where_a_task_fails_those_that_run_are_cancelled(run):
    ray, made, _ = run(ray_workers=3, deadly="call 4")
    with pytest.raises(UsageError, match="no worker made rows 24 to 30 of `train`: the worker died"):
        list(made)
    assert sorted(ray.cancelled) == sorted(ray.running) and len(ray.running) == 2


@pytest.mark.parametrize(
    "node", [(True, {"CPU": 1.0, "GPU": 1.0}), (True, {"CPU": 4.0}), (False, {"CPU": 4.0, "GPU": 1.0})]
)
def test_a_worker_that_fits_on_no_node_that_runs_is_not_waited_for(run, node):
    with pytest.raises(UsageError, match=r"no node of the Ray cluster has 2 CPU and 0\.5 GPU for a worker"):
        next(run(nodes=[node])[1])
