"""Inputs that are copied to files first: pipes and Python objects."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from datasets import Dataset, DatasetDict, IterableDataset, load_dataset
from filelock import FileLock

import hf_paraphrase
from hf_paraphrase import SentenceEncoder, train_encoder, train_tokenizer
from hf_paraphrase.artefacts.provenance import read_provenance
from hf_paraphrase.commands import main
from hf_paraphrase.commands.verbs import all_recipes
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.text_blocks import BLOCK_BYTES
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.settings import Settings, option_of, recipe, setting


@pytest.fixture
def pipe(tmp_path_factory):
    """Makes pipes that are fed from another thread, and gives their names."""
    folder = tmp_path_factory.mktemp("pipes")

    def make(content, name="pipe"):
        path = folder / f"{len(list(folder.iterdir()))}{name}"
        os.mkfifo(path)
        threading.Thread(target=path.write_text, args=(content,), daemon=True).start()
        return str(path)

    return make


@pytest.fixture(autouse=True)
def temporary(tmp_path_factory, monkeypatch):
    """A folder for the copies, which must be empty at the end."""
    folder = tmp_path_factory.mktemp("temporary")
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert not list(folder.glob("hf_paraphrase_*"))


def test_all_rows_of_a_pipe_become_pairs_and_the_record_has_their_hash(pipe, tmp_path):
    # More than a pipe and the first block of a reader hold together, so that a second reading would be short.
    text = "".join(f"{row}{' and so on' * 1_000}\tThe second of {row}.\n" for row in range(500))
    name, output = pipe(text), tmp_path / "pairs"
    assert len(text) > BLOCK_BYTES
    assert main(["prepare", "pairs", "--tsv", name, "--lang", "en", "--output", str(output)]) == 0
    record = read_provenance(output)
    (read,) = (item for item in record["inputs"] if item["name"] == name)
    assert DataFolder(output).count() == 500 and record["settings"]["tsv"] == name
    assert read["sha256"] == hashlib.sha256(text.encode()).hexdigest()


@dataclass(kw_only=True)
class ReadingSettings(Settings):
    """Reads."""

    text: list[str] = setting("files", [], path=True)
    vectors: str | None = setting("a file", None, path=True)
    named: list[str] = setting("NAME=FILE", [], path=True)


@recipe(ReadingSettings)
def read_twice(settings):
    paths = [*settings.text, *filter(None, [settings.vectors])]
    first, again = ([Path(path).read_bytes() for path in paths] for _ in range(2))
    named = [item.partition("=")[0] + Path(item.partition("=")[2]).read_text() for item in settings.named]
    return first, again, named, settings.record()


def test_each_stream_of_any_field_is_kept_for_a_second_reading(pipe, tmp_path):
    one, two, three, fifo = pipe("one"), pipe("two"), pipe("three"), Path(pipe("named", ".gz"))
    plain = tmp_path / "plain"
    plain.write_bytes(b"plain")
    text = [one, two, one, str(plain), fifo]
    first, again, named, record = read_twice(text=text, named=[f"c={three}"], vectors=two)
    assert again == first == [b"one", b"two", b"one", b"plain", b"named", b"two"]
    assert named == ["cthree"] and record["text"] == [*text[:4], str(fifo)]
    assert (record["vectors"], record["named"]) == (two, [f"c={three}"])


def test_copies_are_private_and_an_error_names_the_pipe(pipe, temporary):
    @recipe(ReadingSettings)
    def fail(settings):
        (folder,) = temporary.glob("hf_paraphrase_*")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        raise InputError("no good", path=settings.text[0], remedy=f"not {settings.text[0]}")

    name = pipe("text")
    with pytest.raises(InputError) as failed:
        fail(text=(name,))
    assert str(failed.value) == f"{name}: no good (not {name})"


def test_a_device_without_end_and_a_pipe_of_several_processes_are_refused(pipe, monkeypatch):
    with pytest.raises(InputError, match="/dev/zero: this is a device without an end"):
        read_twice(text=["/dev/zero"])
    for name, value in {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "2"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UsageError, match="each process would read a part"):
        read_twice(text=[pipe("text")])


TEXTS = [{"sentence1": f"the dog {n % 5} barks", "sentence2": f"a hound {n % 5} barked"} for n in range(12)]


def test_pairs_dev_data_and_the_encoder_to_begin_with_may_be_objects(artefacts, tmp_path):
    dev = Dataset.from_list([{**row, "label": number % 2} for number, row in enumerate(TEXTS)])
    given = {"pairs": Dataset.from_list(TEXTS), "initial_model": SentenceEncoder.from_pretrained(artefacts["avg"])}
    encoder = train_encoder(**given, dev_data=dev, output=tmp_path / "model", epochs=4, patience=1)
    assert encoder.encode(["the dog"]).shape[0] == 1 and "dev_best" in encoder.results
    record = json.loads((tmp_path / "model/provenance.json").read_text())
    names = ["Dataset (pairs)", "SentenceEncoder (initial_model)", "Dataset (dev_data)"]
    assert [item["name"] for item in record["inputs"]] == names
    assert record["inputs"][1]["license"] and record["settings"]["pairs"] == "Dataset (pairs)"
    scored = Dataset.from_list([{**row, "score": float(number % 3)} for number, row in enumerate(TEXTS)])
    found = hf_paraphrase.evaluate(models=[encoder, "builtin"], data=[DatasetDict({"test": scored})], suite="graded")
    assert [item.name for item in found.scores] == ["SentenceEncoder (model0)", "builtin"]
    assert found.record["inputs"][0]["name"] == found.record["settings"]["data"] == "DatasetDict (data0)"
    hf_paraphrase.encode(model=encoder, input=TEXTS, columns=["sentence1"], output=tmp_path / "embedded")
    embedded = load_dataset(str(tmp_path / "embedded"), split="train")
    np.testing.assert_allclose(embedded["sentence1_embedding"][3], encoder.encode(TEXTS[3]["sentence1"]), atol=1e-6)


def test_every_verb_with_pairs_or_sentences_takes_datasets_on_the_hub():
    # What evaluate-mining takes are folders that mine made.
    recipes = {verb: recipe.settings for verb, recipe in all_recipes().items() if verb != "evaluate-mining"}
    fields = [(verb, field) for verb, kind in recipes.items() for field in dataclasses.fields(kind)]
    takes = {f"{verb} {field.name}" for verb, field in fields if option_of(field).dataset}
    others = {"evaluate data", "encode input", "search corpus", "train-encoder dev_data", "predict data"}
    others |= {"deduplicate input", "deduplicate against", "prepare pairs dataset", "prepare bitext dataset"}
    assert takes >= {f"{verb} pairs" for verb, field in fields if field.name == "pairs"} | others


def test_streams_and_frames_are_read_where_they_are(temporary, tmp_path, monkeypatch):
    passes, files = [], []

    def generate():
        passes.append(1)
        files.extend(temporary.rglob("*"))
        yield from TEXTS

    train_encoder(pairs=IterableDataset.from_generator(generate), output=tmp_path / "stream", epochs=1)
    names = {path.name for path in files if path.is_file()}
    assert passes and names <= {"rows.json", ".lock"}
    record = read_provenance(tmp_path / "stream")
    assert record["inputs"][0]["name"] == "IterableDataset (pairs)"
    for frame in (pd.DataFrame(TEXTS), pl.DataFrame(TEXTS)):
        made = train_tokenizer(pairs=[frame], output=tmp_path / type(frame).__module__)
        assert made.encode("hound")[0] != made.unk_token_id


def test_equal_rows_have_one_hash_in_the_record_and_other_rows_another(tmp_path):
    hashes = []
    for number, rows in enumerate((TEXTS, TEXTS, TEXTS[::-1])):
        output = tmp_path / str(number)
        train_tokenizer(pairs=[Dataset.from_list(rows)], output=output)
        hashes.append(read_provenance(output)["inputs"][0]["sha256"])
    assert hashes[0] == hashes[1] != hashes[2]


def test_copies_that_a_killed_process_left_are_removed_by_the_next_one(pipe, temporary):
    left, used = temporary / "hf_paraphrase_left", temporary / "hf_paraphrase_used"
    for folder in (left, used):
        folder.mkdir()
        (folder / ".lock").touch()
        os.utime(folder / ".lock", (0, 0))
    with FileLock(used / ".lock"):
        os.utime(used / ".lock", (0, 0))
        assert read_twice(text=[pipe("text")])[0] == [b"text"]
        assert not left.exists() and used.exists()
    shutil.rmtree(used)


@pytest.mark.parametrize("is_killed", [False, True])
def test_the_index_of_a_search_is_removed_at_its_end_or_by_the_next_process(is_killed, tmp_path, temporary, pipe):
    (tmp_path / "corpus.txt").write_text("a dog\na cat\n")
    end = "os.kill(os.getpid(), signal.SIGKILL)" if is_killed else "print(list(found.neighbours))"
    code = f"import os, signal, hf_paraphrase\nfound = hf_paraphrase.search(corpus='corpus.txt', query=['dog'])\n{end}"
    environment = {**os.environ, "TMPDIR": str(temporary)}
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, check=not is_killed)
    left = list(temporary.glob("hf_paraphrase_*"))
    assert bool(left) == is_killed
    for folder in left:
        os.utime(folder / ".lock", (0, 0))
    read_twice(text=[pipe("text")])
    assert not list(temporary.glob("hf_paraphrase_*"))
