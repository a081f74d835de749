"""Data folders at URLs give the results of local folders."""

from __future__ import annotations

import builtins
import pickle
import re
import zipfile
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from hf_paraphrase.artefacts import remote_paths
from hf_paraphrase.artefacts.origins import inherited_metadata, languages_read
from hf_paraphrase.artefacts.provenance import fingerprint, write_provenance
from hf_paraphrase.artefacts.remote_paths import RemotePath, to_path
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError

ADDRESS = "memory://bucket/pairs"


@pytest.fixture
def folder(tmp_path):
    """A folder here, with a card and a record."""
    generator = np.random.default_rng(0)
    texts = [" ".join(generator.choice(["one", "two", "three"], size=4)) for _ in range(80)]
    columns = {"sentence1": texts[:40], "sentence2": texts[40:], "source": texts[40:], "target": texts[:40]}
    columns |= {"id": list(map(str, range(40))), "source_lang": ["fr"] * 40, "target_lang": ["en"] * 40}
    table = pa.table(columns)
    write_split(tmp_path / "pairs", "train", table.to_batches(max_chunksize=7), table.schema, rows_per_shard=15)
    (tmp_path / "pairs" / "README.md").write_text("---\nlicense: cc0-1.0\nlanguage: [en]\n---\n# Pairs\n")
    (tmp_path / "pairs" / "provenance.json").write_text('{"command": "hf-paraphrase prepare pairs"}')
    return tmp_path / "pairs"


@pytest.fixture
def stored(folder):
    """The same in a store of fsspec, by its address."""
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/bucket/pairs", recursive=True)
    yield ADDRESS
    memory.store.clear()
    memory.pseudo_dirs[:] = [""]


def test_what_is_read_at_an_address_is_what_is_read_here(folder, stored):
    here, there = DataFolder(folder), DataFolder(stored)
    assert str(there.path) == stored and there.splits == here.splits and there.sizes() == here.sizes()
    assert there.table() == here.table() and fingerprint(stored) == fingerprint(folder)
    ranges = [list(found.row_range("train", 12, 33, batch_size=8)) for found in (here, there)]
    assert ranges[0] == ranges[1] and sum(map(len, ranges[1])) == 21
    assert pickle.loads(pickle.dumps(there)).table() == here.table()


@pytest.mark.parametrize("verb", ["score", "filter", "encode", "back-translate"])
def test_each_verb_makes_of_an_address_what_it_makes_of_the_folder(verb, folder, stored, tmp_path, request):
    def run(source, output):
        words = {
            "score": ["score", "--pairs", source, "--measures", "length,bleu", "--shard-size", 9],
            "filter": ["filter", "--pairs", source, "--keep", "bleu<0.9"],
            "encode": ["encode", "--input", source, "--columns", "sentence1", "--shard-size", 9],
            "back-translate": ["back-translate", "--bitext", source, "--model", model, "--max-target-units", 3],
        }[verb]
        assert main([*map(str, words), "--output", str(output / "made")]) == 0
        place = str(output).encode()
        files = {path.relative_to(output): path.read_bytes() for path in output.rglob("*") if path.is_file()}
        return {
            name: content.replace(place, b"").replace(str(source).encode(), b"pairs")
            for name, content in files.items()
        }

    model = request.getfixturevalue("tiny_translator") if verb == "back-translate" else None
    assert run(stored, tmp_path / "a") == run(folder, tmp_path / "b")


@pytest.fixture
def tiny_translator(tmp_path):
    import torch

    from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
    from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
    from hf_paraphrase.tokenization.subword import train_bpe_tokenizer

    torch.manual_seed(0)
    pieces = train_bpe_tokenizer(["one two three"], 40)
    config = RnnSearchConfig(vocab_size=len(pieces), embedding_size=4, hidden_size=4)
    RnnSearchForConditionalGeneration(config).save_pretrained(tmp_path / "model")
    pieces.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_damage_at_an_address_is_named(stored):
    fsspec.filesystem("memory").pipe("/bucket/pairs/data/train-00001-of-00002.parquet", b"PAR1 no more PAR1")
    with pytest.raises(InputError, match=r"train-00001-of-00002\.parquet: not a readable Parquet file"):
        DataFolder(stored).count()
    fsspec.filesystem("memory").pipe("/bucket/pairs/provenance.json", b"{")
    with pytest.raises(InputError, match=r"memory://bucket/pairs/provenance\.json: .* damaged"):
        DataFolder(stored)


class Unreliable(fsspec.AbstractFileSystem):
    """A store whose errors are of a kind of their own, like those of clients of clouds."""

    protocol = "unreliable"

    def info(self, path, **settings):
        raise RuntimeError("credentials\nare missing for https://me:secret@host")


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("memory://bucket/nothing", "memory://bucket/nothing: no such data folder"),
        (
            "unheard://bucket",
            "unheard://bucket: cannot be read: Protocol not known: unheard (s3://bucket/folder, hf://",
        ),
        (
            "unreliable://bucket",
            "unreliable://bucket: cannot be read: credentials are missing for https://host (check",
        ),
        ("hf://datasets/nobody/nothing", "hf://datasets/nobody/nothing: cannot be read: "),
    ],
)
def test_what_cannot_be_read_is_one_line(address, problem, tmp_path, capsys):
    fsspec.register_implementation("unreliable", Unreliable, clobber=True)
    assert main(["score", "--pairs", address, "--output", str(tmp_path / "made")]) == 2
    error = capsys.readouterr().err
    assert problem in error and error.count("\n") == 1 and not list(tmp_path.iterdir())


def test_a_package_that_is_missing_is_named(tmp_path, capsys, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments, **settings):
        if name.partition(".")[0] == "s3fs":
            raise ImportError("No module named s3fs")
        return real(name, *arguments, **settings)

    monkeypatch.setattr(builtins, "__import__", without)
    assert main(["score", "--pairs", "s3://bucket/pairs", "--output", str(tmp_path / "made")]) == 2
    error = capsys.readouterr().err
    assert "s3://bucket/pairs: cannot be read: Install s3fs" in error and error.count("\n") == 1


def test_an_address_that_leads_through_another_is_one_and_a_name_with_a_colon_is_not(folder, stored):
    for name in ("file://{}", "local://{}", "simplecache::file://{}", "{}"):
        assert to_path(name.format(folder)) == folder
    assert isinstance(to_path(f"simplecache::{stored}"), RemotePath)
    assert to_path(f"dirtier:{folder}") == Path(f"dirtier:{folder}")
    assert DataFolder(f"simplecache::{stored}").table() == DataFolder(folder).table()


@pytest.mark.parametrize("place", ["pairs", "", "pairs/"])
def test_a_folder_in_an_archive_is_what_it_is_here(place, folder):
    archive = folder.parent / "archive.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        for path in folder.rglob("*"):
            stream.write(path, path.relative_to(folder.parent if place else folder))
    for address in (f"zip://{place}::{archive}", f"zip://{place}::file://{archive}"):
        assert DataFolder(address).table() == DataFolder(folder).table()
        assert fingerprint(address) == fingerprint(folder)


def test_a_whole_store_may_be_a_data_folder(folder):
    memory = fsspec.filesystem("memory")
    try:
        memory.put(f"{folder}/", "/", recursive=True)
        assert DataFolder("memory://").table() == DataFolder(folder).table()
    finally:
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]


def test_credentials_of_an_address_are_in_no_record_and_the_card_is_read(folder, tmp_path):
    class Guarded(MemoryFileSystem):
        protocol = "guarded"

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.replace("guarded://me:secret@host", "memory://host"))

    fsspec.register_implementation("guarded", Guarded, clobber=True)
    memory = fsspec.filesystem("guarded")
    try:
        memory.put(f"{folder}/", "/host/", recursive=True)
        (tmp_path / "made").mkdir()
        address = "guarded://me:secret@host"
        record = write_provenance(
            tmp_path / "made", command="score", settings={"pairs": address}, inputs={address: "00"}
        )
        assert record["inputs"][0]["name"] == "host" and record["inputs"][0]["license"] == ["cc0-1.0"]
        assert "secret" not in (tmp_path / "made" / "provenance.json").read_text()
        assert languages_read(address, english=True) == ["en"]
        assert inherited_metadata(address) == {"license": ["cc0-1.0"], "language": ["en"]}
    finally:
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]


@pytest.mark.parametrize("address", ["memory://me:secret@host", "http://me:secret@host", "http://host/?key=secret"])
def test_the_name_of_an_address_without_a_path_has_no_credentials(address):
    assert "secret" not in to_path(address).name


def test_no_name_of_an_input_is_taken_by_pathlib_which_makes_it_of_the_password_of_an_address():
    package = Path(remote_paths.__file__).parents[1]
    # What a run itself has written is at no address, nor is a model; `(folder)` are artefacts that get a card.
    harmless = r"teacher\)|(?:self\.)?settings\.output\)|folder\)|prefix\)|item\[|self\.state\.|name\)\.name in "
    wrong = re.compile(rf"(?<!Stored)Path\((?!{harmless})[^()]*(?:\([^()]*\)[^()]*)?\)(?:\.resolve\(\))?\.name\b")
    found = {path.name: names for path in package.rglob("*.py") if (names := wrong.findall(path.read_text("utf-8")))}
    assert not found, "use to_path(…).name"


def test_credentials_of_an_address_without_a_path_are_in_no_card(tmp_path):
    class Guarded(MemoryFileSystem):
        protocol = "guarded"

        @classmethod
        def _strip_protocol(cls, path):
            return super()._strip_protocol(path.replace("guarded://", "memory://"))

    fsspec.register_implementation("guarded", Guarded, clobber=True)
    memory, address = fsspec.filesystem("guarded"), "guarded://me:secret@host"
    numbers = [f"{one} {two} dogs" for one in "abcdef" for two in "uvwxyz"]
    columns = {"sentence1": [f"{text} sleep" for text in numbers], "sentence2": [f"{text} run" for text in numbers]}
    pairs = pa.table(columns)
    write_split(tmp_path / "pairs", "train", pairs.to_batches(), pairs.schema)
    try:
        memory.put(f"{tmp_path / 'pairs'}/", "/me:secret@host/", recursive=True)
        for words in (
            ["score", "--pairs", address, "--measures", "length"],
            ["filter", "--pairs", address, "--keep", "length<9"],
            ["encode", "--input", address, "--columns", "sentence1"],
            ["train-encoder", "--pairs", address, "--epochs", 1, "--device", "cpu"],
        ):
            output = tmp_path / words[0]
            assert main([*map(str, words), "--output", str(output)]) == 0
            texts = [path.read_bytes() for path in output.rglob("*") if path.is_file()]
            assert len(texts) > 2 and not [text for text in texts if b"secret" in text], words[0]
            assert b"host" in (output / "README.md").read_bytes()
    finally:
        memory.store.clear()
        memory.pseudo_dirs[:] = [""]


@pytest.mark.parametrize(
    "words",
    [
        ["filter", "--pairs", "{pairs}", "--keep", "length<9", "--decontaminate"],
        ["prepare", "pairs", "--tsv"],
        ["prepare", "sts", "--data-dir"],
        ["encode", "--input"],
        ["train-encoder", "--pairs", "{pairs}", "--dev-data"],
        ["distill", "--text", "{pairs}/README.md", "--teacher"],
    ],
)
def test_an_address_where_none_is_taken_is_called_one_without_its_credentials(words, folder, tmp_path, capsys):
    place = tmp_path / "made.npy"
    words = [word.format(pairs=folder) for word in words]
    assert main([*words, "s3://me:secret@bucket/folder", "--output", str(place)]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "/bucket/folder: " in error
    assert "secret" not in error and not place.exists()
