from __future__ import annotations

import json
import os

import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard

from hf_paraphrase.commands import main
from hf_paraphrase.data.sources import SourceBuilder, SourceRows
from hf_paraphrase.data.sources.bitext import BitextSource
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.registry import SOURCES


@pytest.fixture
def tsv(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"phrase {i}\tsentence {i}\n" for i in range(40)))
    return path


def prepared(**settings):
    builder = SourceBuilder("bitext", source_lang="fr", target_lang="en", **settings)
    builder.download_and_prepare()
    return builder.as_dataset()


def test_builder_gives_the_rows_of_the_corpus_in_every_split(tmp_path, tsv):
    dataset = prepared(tsv=str(tsv), test_size=5, shuffle=True, cache_dir=str(tmp_path / "cache"))
    options = BitextSource(tsv=str(tsv), test_size=5, shuffle=True, source_lang="fr", target_lang="en")
    with SourceRows(options) as rows:
        for split in rows.parts:
            assert dataset[split].to_list() == [row for table in rows.tables(split) for row in table.to_pylist()]
    assert set(dataset) == {"train", "test"}


def test_a_second_run_with_the_same_settings_comes_from_the_cache(tmp_path, tsv, monkeypatch):
    cache = str(tmp_path / "cache")
    sizes = [len(prepared(tsv=str(tsv), test_size=size, cache_dir=cache)["test"]) for size in (3, 7)]
    assert sizes == [3, 7]
    monkeypatch.setattr(SourceBuilder, "_opened", lambda self: pytest.fail("the files were parsed again"))
    assert len(prepared(tsv=str(tsv), test_size=7, cache_dir=cache)["test"]) == 7


def test_a_changed_file_and_another_file_never_give_stale_rows(tmp_path, tsv, monkeypatch):
    cache = str(tmp_path / "cache")
    assert len(prepared(tsv=str(tsv), cache_dir=cache)["train"]) == 40
    tsv.write_text("neuf\tnew\n")
    os.utime(tsv, ns=(1, 1))
    assert prepared(tsv=str(tsv), cache_dir=cache)["train"]["target"][:] == ["new"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.tsv").write_text("autre\tother\n")
    monkeypatch.chdir(other)
    assert prepared(tsv="a.tsv", cache_dir=cache)["train"]["target"][:] == ["other"]
    monkeypatch.chdir(tmp_path)
    assert prepared(tsv="a.tsv", cache_dir=cache)["train"]["target"][:] == ["new"]


def test_bad_input_reaches_the_caller_as_it_is(tmp_path, tsv):
    tsv.write_text("a\tb\nno tab\n")
    with pytest.raises(InputError, match="no tab") as caught:
        prepared(tsv=str(tsv), cache_dir=str(tmp_path / "cache"))
    assert caught.value.line == 2
    with pytest.raises(UsageError, match="either --source-file"):
        prepared(cache_dir=str(tmp_path / "cache"))
    with pytest.raises(InputError, match="no such file"):
        prepared(tsv=str(tmp_path / "absent"), cache_dir=str(tmp_path / "cache"))


TOY = '''
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import pyarrow as pa

from hf_paraphrase.data.sources.source import LineErrorSettings, Part, Source
from hf_paraphrase.data.text_files import read_fields
from hf_paraphrase.registry import SOURCES, import_file
from hf_paraphrase.settings import setting

SCHEMA = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string())])


@SOURCES.register("mine")
@dataclass(kw_only=True)
class MineSource(Source, LineErrorSettings):
    """Makes a data folder of my pairs, which have an arrow between them."""

    SUMMARY: ClassVar[str] = "my own pairs"
    DESCRIPTION: ClassVar[str] = "Pairs of mine."
    LICENSE: ClassVar[str] = "cc0-1.0"
    PATHS: ClassVar[tuple[str, ...]] = ("input",)

    input: str = setting("the file")
    least: int = setting("least length of a first sentence, in characters", 1, at_least=1)

    def parts(self):
        path = Path(self.input)
        return [Part("train", SCHEMA, [path], partial(read, path, self.least), training=True)]


def read(path, least, errors):
    for lines, fields in read_fields(path, SCHEMA.names, errors):
        keep = pa.compute.greater_equal(pa.compute.utf8_length(fields["sentence1"]), least)
        errors.left_out["too_short"] += len(lines) - keep.true_count
        yield pa.table(fields).filter(keep)
'''


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("a dog\tthe dog\nx\ty\n\tempty\na cat\tthe cat\n")
    return path


@pytest.fixture
def registered():
    yield
    SOURCES.data.pop("mine", None)


def test_a_source_of_ones_own_is_one_file_and_one_line(tmp_path, pairs, capsys, registered):
    toy = tmp_path / "my_source.py"
    toy.write_text(TOY)
    words = ["--import", str(toy), "prepare", "mine", "--input", str(pairs), "--least", "2"]
    assert main([*words, "--output", str(tmp_path / "out")]) == 0
    rows = load_dataset(str(tmp_path / "out"), split="train", cache_dir=str(tmp_path / "cache"))
    assert rows.to_list() == [
        {"sentence1": "a dog", "sentence2": "the dog"},
        {"sentence1": "a cat", "sentence2": "the cat"},
    ]
    data = DatasetCard.load(tmp_path / "out" / "README.md").data
    assert (data.pretty_name, data.license, data.language) == ("mine", "cc0-1.0", ["en"])
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert record["command"] == "hf-paraphrase prepare mine"
    counts = {"lines": 4, "malformed": 0, "too_short": 2, "empty_side": 0, "rows": 2}
    assert record["results"]["counts"]["train"] == counts
    builder = SourceBuilder("mine", input=str(pairs), least=2, cache_dir=str(tmp_path / "cache"))
    builder.download_and_prepare()
    assert builder.as_dataset(split="train").to_list() == rows.to_list()
    capsys.readouterr()
    assert main(["prepare", "--help"]) == 0
    assert "mine          my own pairs" in capsys.readouterr().out
    assert main([*words[2:-1], "0", "--output", str(tmp_path / "other")]) == 2
    assert "--least must be at least 1, not 0" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["prepare", "mine", "--help"])
    assert "least length of a first sentence" in capsys.readouterr().out
