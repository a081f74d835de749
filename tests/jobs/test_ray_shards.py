"""What the engine `ray` refuses, and whom it gives which shard; a real cluster has `commands/test_verbs_on_ray.py`."""

from __future__ import annotations

import importlib.util
import socket
import sys
import threading
from collections import Counter
from types import ModuleType, SimpleNamespace

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.encoders.encode_settings import EncodeSettings
from hf_paraphrase.errors import InputError, OutputError, UsageError
from hf_paraphrase.filtering.measuring import PairScorer
from hf_paraphrase.jobs import ray_shards
from hf_paraphrase.jobs.ray_cluster import RayOptions, check_cluster, connected, room
from hf_paraphrase.jobs.ray_shards import ShardWorker, run_on_ray
from hf_paraphrase.jobs.shards import ShardJob, cut, run_shards


class RayError(Exception):
    pass


class RayTaskError(RayError):
    def __init__(self, cause):
        super().__init__(f"a long traceback of {cause}")
        self.cause = cause


class FakeRay(ModuleType):
    """As much of Ray as a job needs, in this process: calls are made when they are waited for, the newest first.

    A worker dies at each call whose number is among `deaths`; so many times nobody has a worker while it is `busy`.
    """

    def __init__(self, deaths=(), cpus=(2, 1), busy=0):
        super().__init__("ray")
        self.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
        self.deaths, self.cpus = set(deaths), cpus
        self.calls, self.alive, self.most = [], 0, 0
        self.busy = busy

    def nodes(self):
        return [{"Alive": True, "Resources": {"CPU": number}} for number in self.cpus] + [{"Alive": False}]

    def put(self, value):
        return [value]

    def get(self, call):
        if isinstance(call, list):
            return call[0]
        number = len(self.calls)
        self.calls.append(call.arguments)
        if number in self.deaths:
            self.alive -= 1
            raise RayError("killed by signal 9")
        try:
            return call.function(*call.arguments)
        except Exception as error:
            raise RayTaskError(error) from error

    def wait(self, calls, timeout=None):
        if timeout is not None and self.busy:
            self.busy -= 1
            return [], calls
        return calls[-1:], calls[:-1]

    def kill(self, worker):
        self.alive -= 1

    def remote(self, **resources):
        def call(function):
            return SimpleNamespace(remote=lambda *arguments: Call(function, arguments))

        def worker(kind):
            made = kind()
            self.alive += 1
            self.most = max(self.most, self.alive)
            return SimpleNamespace(begin=call(made.begin), write=call(made.write))

        return lambda kind: SimpleNamespace(remote=lambda: worker(kind))


class Call:
    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments


@pytest.fixture
def fake(monkeypatch):
    """Puts a fake in the place of Ray."""
    monkeypatch.setattr(ray_shards, "limit_threads", lambda threads: None)

    def put(**settings):
        monkeypatch.setitem(sys.modules, "ray", FakeRay(**settings))
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


@pytest.mark.parametrize("deaths", [(), (0,), (4,), (3, 5), (5, 6)])
def test_every_shard_is_made_once_and_the_shard_of_a_dead_worker_by_another(fake, pairs, tmp_path, deaths):
    job, shards = plan(pairs)
    ray = fake(deaths=deaths)
    (tmp_path / "ray").mkdir()
    rows = []
    made = list(run_on_ray(job, shards, tmp_path / "ray", options=RayOptions(), progress=rows.append))
    assert Counter(made) == Counter(shards) and sum(rows) == 20
    assert ray.most <= 3 + len(deaths)
    assert list(run_shards(job, shards, tmp_path / "local")) == shards
    assert tree(tmp_path / "ray") == tree(tmp_path / "local")


def test_a_wait_for_a_busy_cluster_is_said_once(fake, pairs, tmp_path, caplog):
    job, shards = plan(pairs)
    fake(busy=2)
    caplog.set_level("INFO")
    assert Counter(run_on_ray(job, shards, tmp_path, options=RayOptions())) == Counter(shards)
    assert caplog.text.count("waiting for the Ray cluster") == 1


def test_three_workers_that_die_at_one_shard_end_the_work_and_nobody_stays(fake, pairs, tmp_path):
    job, shards = plan(pairs)
    ray = fake(deaths=(4, 6, 8), cpus=(1,))
    with pytest.raises(
        UsageError, match="3 workers have died at rows 9 to 12 of `train`: killed by signal 9"
    ) as caught:
        list(run_on_ray(job, shards, tmp_path, options=RayOptions()))
    assert "--resume goes on" in str(caught.value) and ray.alive == 0
    assert [shard.is_finished(tmp_path) for shard in shards] == [True] * 3 + [False] * 4


def test_workers_that_die_at_their_start_now_and_then_do_not_end_the_work(fake, pairs, tmp_path):
    job, shards = plan(pairs)
    # Each of the first three dies before it has a shard or at it, and its follower begins.
    ray = fake(deaths=(0, 2, 3, 5, 6), cpus=(1,))
    assert Counter(run_on_ray(job, shards, tmp_path, options=RayOptions())) == Counter(shards)
    assert sum(len(call) == 3 and isinstance(call[0], str) for call in ray.calls) == 6


def test_an_error_of_ours_in_a_worker_is_raised_as_it_is(fake, pairs, tmp_path):
    job, shards = plan(pairs)
    fake()
    (file,) = (pairs / "data").iterdir()
    file.write_bytes(b"no Parquet")
    with pytest.raises(InputError) as caught:
        list(run_on_ray(job, shards, tmp_path, options=RayOptions()))
    assert caught.value.path == str(file)


def test_as_many_workers_are_at_work_as_there_is_room_for(fake):
    fake(cpus=(16, 9))
    assert room(RayOptions()) == 25 and room(RayOptions(cpus=4)) == 6 and room(RayOptions(workers=3)) == 3
    with pytest.raises(UsageError, match=r"no node of the Ray cluster has 1 CPU and 0\.5 GPU for a worker"):
        room(RayOptions(gpus=0.5))


def test_a_worker_that_does_not_see_the_folders_or_has_another_version_is_named(fake, pairs, tmp_path, monkeypatch):
    job, shards = plan(pairs)
    fake()
    facts = ShardWorker().begin("/nowhere", str(tmp_path), 1)
    assert facts.unseen == ["/nowhere"] and facts.node == socket.gethostname()
    with pytest.raises(OutputError, match=r"gone: the worker on .* does not see the folder"):
        list(run_on_ray(job, shards, tmp_path / "gone", options=RayOptions()))
    versions = [{"hf-paraphrase": "0.0.1", "Python": "3"}, {"hf-paraphrase": "0.1.0", "Python": "3"}]
    monkeypatch.setattr(ray_shards, "_versions", lambda: versions[0] if len(versions) == 1 else versions.pop())
    with pytest.raises(UsageError, match=r"has hf-paraphrase 0\.1\.0, and this run 0\.0\.1 \(install the same"):
        list(run_on_ray(job, shards, tmp_path, options=RayOptions()))


def test_what_was_written_elsewhere_and_is_not_seen_here_is_an_error(fake, pairs, tmp_path, monkeypatch):
    job, shards = plan(pairs)
    fake()
    monkeypatch.setattr(ray_shards, "_DELAY", 0)
    monkeypatch.setattr(ShardWorker, "write", lambda *arguments: None)
    with pytest.raises(OutputError, match="a worker has written it, and it is not here"):
        list(run_on_ray(job, shards, tmp_path, options=RayOptions()))


def free_port():
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


@pytest.mark.parametrize("address", ["127.0.0.1:{port}", "nowhere.invalid:6379"])
def test_an_address_where_no_cluster_runs_is_one_line_and_nothing_is_written(address, pairs, tmp_path, capsys):
    address = address.format(port=free_port())
    words = ["--pairs", str(pairs), "--output", str(tmp_path / "made"), "--engine", "ray", "--ray-address", address]
    assert main(["score", *words]) == 2
    error = capsys.readouterr().err
    assert f"no Ray cluster runs at {address}: " in error and "--shard" in error and error.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["pairs"]


@pytest.mark.parametrize("address", ["somewhere", "ray://head:10001", "head:", "head:99999", ":"])
def test_what_is_no_address_is_refused(address):
    with pytest.raises(UsageError, match="is no address of a cluster"):
        check_cluster(RayOptions(address))


@pytest.mark.parametrize("said", [b"SSH-2.0-OpenSSH_9.6\r\n", b"HTTP/1.1 400 Bad Request\r\n", b"", b"\0\0\0\4\0"])
def test_what_listens_and_is_no_cluster_is_told_at_once_from_one(said):
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(100)
                connection.sendall(said)

        thread = threading.Thread(target=answer)
        thread.start()
        options = RayOptions(f"127.0.0.1:{server.getsockname()[1]}")
        if said.startswith(b"\0"):
            check_cluster(options)
        else:
            with pytest.raises(UsageError, match=r"what listens at 127\.0\.0\.1:.* is no Ray cluster"):
                check_cluster(options)
        thread.join()


@pytest.mark.parametrize(("address", "is_told"), [("other:6379", True), ("head:6379", False), (None, False)])
def test_an_address_that_is_not_used_is_told(fake, caplog, address, is_told):
    ray = fake()
    ray.is_initialized = lambda: True
    ray.get_runtime_context = lambda: SimpleNamespace(gcs_address="head:6379")
    caplog.set_level("INFO")
    with connected(RayOptions(address)):
        assert ("--ray-address other:6379 is not used" in caplog.text) == is_told


def test_a_cluster_that_lets_nobody_in_says_why_in_one_line(fake, monkeypatch):
    ray = fake()

    def init(*arguments, **settings):
        try:
            raise RuntimeError("Traceback (most recent call last):\nray.exceptions.AuthenticationError: no token\n")
        except RuntimeError as error:
            raise ConnectionError("Failed to connect") from error

    ray.init, ray.is_initialized = init, lambda: False
    with pytest.raises(UsageError) as caught, connected(RayOptions("head:6379")):
        pass
    assert str(caught.value).startswith(
        "no Ray cluster lets this run in at head:6379: AuthenticationError: no token ("
    )


def test_without_ray_the_package_to_install_is_named(monkeypatch, pairs, tmp_path, capsys):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name == "ray" else find(name, *more))
    assert main(["score", "--pairs", str(pairs), "--output", str(tmp_path / "made"), "--engine", "ray"]) == 2
    error = capsys.readouterr().err
    assert 'needs the package ray (pip install "hf-paraphrase[ray]")' in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (
            "filter --pairs p --output o --engine ray --sample 3",
            "--sample looks at all pairs, and --engine ray at a part",
        ),
        ("filter --pairs p --output o --shard-size 3", "--shard-size is for --shard or --engine ray"),
        ("filter --pairs p --output o --resume", "--resume is for --engine ray"),
        ("score --pairs p --output o --ray-cpus 2", "--ray-cpus is for --engine ray"),
        ("score --pairs p --output o --engine ray --ray-gpus 1.5", "--ray-gpus 1.5 is no number of whole GPUs"),
        ("score --pairs p --output o --engine ray --workers 2", "--workers is for --engine local"),
        ("encode --input p --output o.npy --engine ray", "--engine ray is for data folders (give --columns too)"),
        (
            "encode --input p --output o --columns a --engine ray --device cuda:1",
            "--engine ray and --device cuda:1 do not go together (--device cpu or cuda)",
        ),
        ("score --pairs p --output o --engine spark", "invalid choice: 'spark': one of local, ray"),
    ],
)
def test_what_does_not_go_with_an_engine_is_one_line(words, problem, capsys):
    assert main(words.split()) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1


def test_ray_starts_its_processes_itself(monkeypatch, capsys):
    for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    assert main(["back-translate", "--model", "m", "--bitext", "b", "--output", "o", "--engine", "ray"]) == 2
    assert "--engine ray starts its workers itself" in capsys.readouterr().err


def test_workers_take_the_device_that_this_machine_need_not_have():
    settings = EncodeSettings(input="p", output="o", columns=["a"], engine="ray", device="cuda")
    settings.check()
    assert settings.ray == RayOptions(gpus=1.0)
    settings.ray_gpus = 0.25
    assert settings.ray == RayOptions(gpus=0.25)
    settings.ray_gpus = 1 / 3  # of which Ray knows four places
    assert settings.ray == RayOptions(gpus=0.3333)
    assert "engine" not in settings.record() and not [name for name in settings.record() if name.startswith("ray")]
    from hf_paraphrase.encoders.sentence_embedder import SentenceEmbedder

    embedder = SentenceEmbedder(settings.model, ("a",), device="cuda")
    assert settings.here(embedder).device == "cpu"
    settings.engine = "local"
    assert settings.here(embedder) is embedder and settings.ray is None
