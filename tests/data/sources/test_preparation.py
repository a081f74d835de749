"""Sources as recipes of Python, and a source of the user, from a file that the package does not know."""

from __future__ import annotations

import json

import pytest
from datasets import load_dataset
from huggingface_hub import DatasetCard

import hf_paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.sources import SourceBuilder
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.registry import SOURCES

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


def test_recipes_take_the_flags_as_keywords_and_return_the_folder(tmp_path, pairs):
    made = hf_paraphrase.prepare_pairs(tsv=pairs, output=tmp_path / "pairs", split="dev", license="cc0-1.0")
    assert isinstance(made, DataFolder)
    assert (made.splits, made.count("dev")) == (["dev"], 3)
    assert main(["prepare", "pairs", "--tsv", str(pairs), "--split", "dev", "--output", str(tmp_path / "flags")]) == 0
    assert made.table("dev") == DataFolder(tmp_path / "flags").table("dev")
    languages = {"source_lang": "fr", "target_lang": "en"}
    bitext = hf_paraphrase.prepare_bitext(tsv=str(pairs), output=str(tmp_path / "bitext"), **languages)
    assert bitext.schema().names == ["id", "source", "target", "source_lang", "target_lang"]
    with pytest.raises(UsageError, match="--seed must be at least 0"):
        hf_paraphrase.prepare_bitext(tsv=str(pairs), output=str(tmp_path / "bad"), seed=-1, **languages)
    with pytest.raises(UsageError, match="unknown kind `nothing`"):
        hf_paraphrase.prepare("nothing", output=str(tmp_path / "bad"))
    with pytest.raises(InputError, match="none of the files of this set"):
        hf_paraphrase.prepare("msrp", data_dir=str(tmp_path), output=str(tmp_path / "bad"))
