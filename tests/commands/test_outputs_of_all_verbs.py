"""What holds for the outputs of every verb, through the commands."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

from hf_paraphrase.artefacts.provenance import write_provenance
from hf_paraphrase.artefacts.whole_files import output_file
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import PAIRS


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("text.txt").write_text("one two three four\n")
    table = pa.table([["one two", "three"], ["two", "four"]], schema=PAIRS)
    write_split(tmp_path / "par" / "pairs", "train", [table], PAIRS)
    write_provenance("par/pairs", command="prepare pairs", settings={})
    return tmp_path


FILES = {
    "encode": "--input text.txt --output out.npy",
    "evaluate": "--suite graded --data par/pairs --split train --baseline words --output out.npy",
    "evaluate-nmt": "--model absent --bitext absent --translations out.npy",
    "expand": "--text text.txt --wordnet {wordnet} --output out.npy",
    "fingerprint": "--text text.txt --output out.txt",
    "lexical-table": "--model absent --bitext absent --output out.npy",
    "predict": "--model absent --data absent --output out.npy",
}


def error_of(capfd):
    (line,) = [line for line in capfd.readouterr().err.splitlines() if line.startswith("hf-paraphrase: error: ")]
    return line


def words_of(verb, tiny_wordnet, *more):
    return [verb, *FILES[verb].format(wordnet=tiny_wordnet).split(), *more]


@pytest.mark.parametrize("verb", FILES)
def test_two_runs_do_not_share_an_output_file(work, capfd, tiny_wordnet, verb):
    words = words_of(verb, tiny_wordnet, "--overwrite")
    with output_file(words[-2]):
        assert main(words) == 2
        assert "another run is at work on this output (wait until it ends" in error_of(capfd)
    assert not Path(words[-2]).exists()


@pytest.mark.parametrize("verb", FILES)
def test_a_link_is_no_output_file_even_with_overwrite(work, capfd, tiny_wordnet, verb):
    words = words_of(verb, tiny_wordnet, "--overwrite")
    Path("precious").write_text("precious")
    Path(words[-2]).symlink_to("precious")
    assert main(words) == 2
    assert "the output is a link" in error_of(capfd)
    assert Path("precious").read_text() == "precious"


FOLDERS = {
    "filter": "--pairs par/pairs",
    "score": "--pairs par/pairs --measures length",
    "train-encoder": "--pairs par/pairs",
    "train-tokenizer": "--pairs par/pairs",
    "train-sdae": "--pairs par/pairs",
    "train-classifier": "--pairs par/pairs",
    "train-supervised": "--model builtin --data par/pairs --task similarity",
    "train-nmt": "--bitext par/pairs",
    "tune": "--pairs mine=par/pairs --dev-data absent",
    "back-translate": "--model absent --bitext par/pairs",
    "expand": "--pairs par/pairs",
    "search": "--corpus par/pairs",
    "export": "--model par/pairs",
    "join": "--model builtin par/pairs",
    "distill": "--teacher par/pairs --text text.txt",
    "analyze": "--pairs par/pairs",
}


@pytest.mark.parametrize("flag", ["--overwrite", None])
@pytest.mark.parametrize("output", ["par", "par/pairs", "par/pairs/data/new"])
@pytest.mark.parametrize("verb", FOLDERS)
def test_no_verb_destroys_what_it_reads(work, capfd, verb, output, flag):
    before = sorted(work.rglob("*"))
    words = [*verb.split(), *FOLDERS[verb].split(), "--output", output, *([flag] if flag else [])]
    assert main(words) == 2
    assert "the output" in (line := error_of(capfd)) and "the input of --" in line
    assert sorted(work.rglob("*")) == before
    assert DataFolder("par/pairs").count() == 2


def test_overwrite_replaces_only_what_this_program_made(work, capfd):
    Path("thesis").mkdir()
    Path("thesis/chapter1.txt").write_text("years of work")
    words = ["filter", "--pairs", "par/pairs", "--output", "thesis", "--overwrite"]
    assert main(words) == 2
    assert "remove the folder by hand" in error_of(capfd)
    assert Path("thesis/chapter1.txt").read_text() == "years of work"
    words[4] = "kept"
    assert main(words) == 0 and main(words) == 0
    assert "overwrite" not in json.loads(Path("kept/provenance.json").read_text())["settings"]


def test_prepare_does_not_replace_the_folder_that_holds_its_file(work, capfd):
    Path("par/provenance.json").write_text(Path("par/pairs/provenance.json").read_text())
    Path("par/raw.tsv").write_text("one\ttwo\n")
    assert (
        main(["prepare", "pairs", "--tsv", "par/raw.tsv", "--split", "train", "--output", "par", "--overwrite"]) == 2
    )
    assert "the output contains the input of --tsv" in error_of(capfd)
    assert Path("par/raw.tsv").is_file()


def test_an_output_may_be_named_like_the_builtin_model(work):
    words = ["encode", "--input", "text.txt", "--output", "builtin.npy"]
    assert main(words) == 0
    assert main([*words, "--overwrite"]) == 0
