"""Data folders at URLs give the results of local folders."""

from __future__ import annotations

import pickle
import sys

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from small_runs import write_pairs

from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder


class Guarded(MemoryFileSystem):
    """A store whose URLs have no path but a password."""

    protocol = "guarded"

    @classmethod
    def _strip_protocol(cls, path):
        return super()._strip_protocol(path.replace("guarded://", "memory://"))


class Unreliable(fsspec.AbstractFileSystem):
    """A store with its own kind of error, like the clients of cloud storage."""

    protocol = "unreliable"

    def info(self, path, **settings):
        raise RuntimeError("credentials\nare missing for https://me:secret@host")


@pytest.fixture
def folder(tmp_path):
    """A local folder with a card and a record, and the same in two stores."""
    write_pairs(tmp_path / "pairs", 40, slice(0, 5), rows_per_shard=15)
    (tmp_path / "pairs" / "README.md").write_text("---\nlicense: cc0-1.0\nlanguage: [en]\n---\n# Pairs\n")
    (tmp_path / "pairs" / "provenance.json").write_text('{"command": "hf-paraphrase prepare pairs"}')
    for store in (Guarded, Unreliable):
        fsspec.register_implementation(store.protocol, store, clobber=True)
    memory = fsspec.filesystem("memory")
    memory.put(str(tmp_path / "pairs"), "/bucket/pairs", recursive=True)
    memory.put(f"{tmp_path / 'pairs'}/", "/me:secret@host/", recursive=True)
    yield tmp_path / "pairs"
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


def test_a_url_is_read_like_a_local_folder(folder):
    url = "memory://bucket/pairs"
    here, there = DataFolder(folder), DataFolder(url)
    assert str(there.path) == url and there.splits == here.splits and there.sizes() == here.sizes()
    assert there.table() == here.table() and fingerprint(url) == fingerprint(folder)
    ranges = [list(found.rows().tables(start=12, stop=33, size=8)) for found in (here, there)]
    assert ranges[0] == ranges[1] and sum(map(len, ranges[1])) == 21
    assert pickle.loads(pickle.dumps(there)).table() == here.table()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("memory://bucket/nothing", "no such file or data folder"),
        ("unreliable://bucket", "cannot be read: credentials are missing for https://host (check"),
        ("s3://bucket/pairs", "cannot be read: Install s3fs"),
    ],
)
def test_a_url_that_cannot_be_read_is_one_line(folder, url, problem, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    assert main(["score", "--pairs", url, "--output", str(tmp_path / "made")]) == 2
    error = capsys.readouterr().err
    assert f"{url}: {problem}" in error and error.count("\n") == 1 and not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    "line",
    [
        "filter --keep length<9 --pairs",
        "encode --columns sentence1 --input",
        "train-encoder --epochs 1 --min-frequency 1 --device cpu --pairs",
    ],
)
def test_credentials_of_a_url_are_in_no_output(folder, line, tmp_path):
    assert main([*line.split(), "guarded://me:secret@host", "--output", str(tmp_path / "made")]) == 0
    texts = [path.read_bytes() for path in (tmp_path / "made").rglob("*") if path.is_file()]
    assert len(texts) > 2 and not [text for text in texts if b"secret" in text]
    assert b"host" in (tmp_path / "made" / "README.md").read_bytes()
