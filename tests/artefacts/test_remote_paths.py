"""Data folders at URLs give the results of local folders."""

from __future__ import annotations

import builtins
import pickle

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split

URL = "memory://bucket/pairs"
SECRET_URL = "guarded://me:secret@host"


@pytest.fixture
def folder(tmp_path):
    """A local folder with a card and a record."""
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(["one", "two", "three"], size=4)) for _ in range(80)]
    table = pa.table({"sentence1": texts[:40], "sentence2": texts[40:]})
    write_split(tmp_path / "pairs", "train", table.to_batches(max_chunksize=7), table.schema, rows_per_shard=15)
    (tmp_path / "pairs" / "README.md").write_text("---\nlicense: cc0-1.0\nlanguage: [en]\n---\n# Pairs\n")
    (tmp_path / "pairs" / "provenance.json").write_text('{"command": "hf-paraphrase prepare pairs"}')
    return tmp_path / "pairs"


@pytest.fixture
def memory():
    memory = fsspec.filesystem("memory")
    yield memory
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


@pytest.fixture
def stored(folder, memory):
    """The same folder in a store of fsspec, by its URL."""
    memory.put(str(folder), "/bucket/pairs", recursive=True)
    return URL


@pytest.fixture
def secret(folder, memory):
    """The same in a store whose URL has no path but a password."""

    class Guarded(MemoryFileSystem):
        protocol = "guarded"

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.replace("guarded://", "memory://"))

    fsspec.register_implementation("guarded", Guarded, clobber=True)
    memory.put(f"{folder}/", "/me:secret@host/", recursive=True)
    return SECRET_URL


def test_a_url_is_read_like_a_local_folder(folder, stored):
    here, there = DataFolder(folder), DataFolder(stored)
    assert str(there.path) == stored and there.splits == here.splits and there.sizes() == here.sizes()
    assert there.table() == here.table() and fingerprint(stored) == fingerprint(folder)
    ranges = [list(found.row_range("train", 12, 33, batch_size=8)) for found in (here, there)]
    assert ranges[0] == ranges[1] and sum(map(len, ranges[1])) == 21
    assert pickle.loads(pickle.dumps(there)).table() == here.table()


class Unreliable(fsspec.AbstractFileSystem):
    """A store whose errors are of a kind of their own, like those of clients of clouds."""

    protocol = "unreliable"

    def info(self, path, **settings):
        raise RuntimeError("credentials\nare missing for https://me:secret@host")


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("memory://bucket/nothing", "no such data folder"),
        ("unheard://bucket", "cannot be read: Protocol not known: unheard (check the URL and its protocol"),
        ("unreliable://bucket", "cannot be read: credentials are missing for https://host (check"),
        ("s3://bucket/pairs", "cannot be read: Install s3fs"),
    ],
)
def test_a_url_that_cannot_be_read_is_one_line(url, problem, tmp_path, capsys, monkeypatch):
    real = builtins.__import__

    def without_s3fs(name, *arguments, **settings):
        if name.partition(".")[0] == "s3fs":
            raise ImportError("No module named s3fs")
        return real(name, *arguments, **settings)

    monkeypatch.setattr(builtins, "__import__", without_s3fs)
    fsspec.register_implementation("unreliable", Unreliable, clobber=True)
    assert main(["score", "--pairs", url, "--output", str(tmp_path / "made")]) == 2
    error = capsys.readouterr().err
    assert f"{url}: {problem}" in error and error.count("\n") == 1 and not list(tmp_path.iterdir())


def test_credentials_of_a_url_are_in_no_output(secret, tmp_path):
    for line in (
        "score --measures length --pairs",
        "filter --keep length<9 --pairs",
        "encode --columns sentence1 --input",
        "train-encoder --epochs 1 --min-frequency 1 --device cpu --pairs",
    ):
        output = tmp_path / line.split()[0]
        assert main([*line.split(), secret, "--output", str(output)]) == 0
        texts = [path.read_bytes() for path in output.rglob("*") if path.is_file()]
        assert len(texts) > 2 and not [text for text in texts if b"secret" in text], line
        assert b"host" in (output / "README.md").read_bytes()
