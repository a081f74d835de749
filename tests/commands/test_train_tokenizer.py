from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest
from transformers import AutoTokenizer

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS

LINES = [
    f"{who} {does} {how}." for who in ("The cat", "A dog") for does in ("sleeps", "doesn't play") for how in "xyz"
]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.gz"
    path.write_bytes(gzip.compress(("\n".join(LINES) + "\n").encode()))
    return path


def run(*words):
    return main(["train-tokenizer", *map(str, words)])


@pytest.mark.parametrize("kind", ["word", "bpe", "unigram", "morfessor"])
def test_a_tokenizer_folder_is_complete_and_opens(text, tmp_path, kind, capsys):
    output = tmp_path / "tokenizer"
    size = [] if kind in ("word", "morfessor") else ["--vocabulary-size", 60]
    assert run("--kind", kind, "--text", text, "--output", output, *size) == 0
    printed = capsys.readouterr()
    assert printed.out == "" and f"{kind}: " in printed.err and "from 12 sentences" in printed.err
    tokenizer = AutoTokenizer.from_pretrained(output)
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id) == (0, 1)
    ids = tokenizer("the cat sleeps")["input_ids"]
    assert ids and not {0, 1} & set(ids)
    decoded = tokenizer.decode(ids)
    # Morphs carry no mark of the space before a word.
    assert decoded.replace(" ", "") == "thecatsleeps" and (kind == "morfessor" or decoded == "the cat sleeps")
    record = json.loads((output / "provenance.json").read_text())
    assert record["settings"]["kind"] == kind and record["inputs"][0]["name"] == "text.gz"
    assert record["settings"]["min_frequency"] == {"word": 2, "bpe": 2, "unigram": None, "morfessor": 1}[kind]
    assert record["results"]["vocabulary"] == len(tokenizer) and record["results"]["unknown_share"] == 0
    card = (output / "README.md").read_text()
    assert card.startswith("---\n") and "12 sentences (text.gz)" in card


def test_the_sentences_of_pairs_are_read_and_the_vocabulary_is_limited(tmp_path):
    write_split(tmp_path / "pairs", "train", [pa.table({"sentence1": LINES, "sentence2": LINES[::-1]})], PAIRS)
    assert run("--pairs", tmp_path / "pairs", "--vocabulary-size", 5, "--output", tmp_path / "out") == 0
    assert len(AutoTokenizer.from_pretrained(tmp_path / "out")) == 5


def test_a_segmentation_made_by_morfessor_is_taken_as_it_is(text, tmp_path):
    (tmp_path / "segmentation.txt").write_text("# Output\n9 sleep + s\n3 the\n2 dog\n1 cat\n")
    flags = ("--segmentation", tmp_path / "segmentation.txt", "--output", tmp_path / "out")
    assert run("--kind", "morfessor", "--text", text, *flags) == 0
    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "out")
    assert tokenizer.tokenize("The dogs sleep") == ["the", "dog", "s", "sleep"]
    record = json.loads((tmp_path / "out" / "provenance.json").read_text())
    assert [item["name"] for item in record["inputs"]] == ["text.gz", "segmentation.txt"]
    assert record["results"]["morphs"] == 5 and record["results"]["rounds"] == 0
    assert "from the segmentation `segmentation.txt`" in (tmp_path / "out" / "README.md").read_text()


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "no text"),
        (["--text", "blank"], "blank: the vocabulary has no words"),
        (["--text", "blank", "--kind", "bpe"], "blank: no text to learn pieces from"),
        (["--text", "good", "--kind", "unigram", "--vocabulary-size", "4"], "good: 4 pieces are too few"),
        (["--text", "good", "--kind", "morfessor", "--min-frequency", "99"], "good: no word occurs 99 times"),
        (["--text", "good", "--kind", "bpe", "--treebank-words"], "--treebank-words"),
        (["--text", "good", "--kind", "unigram", "--min-frequency", "5"], "--min-frequency"),
        (["--text", "good", "--kind", "morfessor", "--segmentation", "good"], "good:1: `The` is not a count"),
        (["--text", "good", "--kind", "morfessor", "--segmentation", "upper"], "upper: the morph `Talo` is not in"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, monkeypatch, capsys, words, named):
    monkeypatch.chdir(tmp_path)
    contents = {"blank": b" \n\n", "good": "\n".join(LINES).encode()}
    contents["upper"] = b"3 Talo + ssa\n"
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    assert run(*words, "--output", "out") == 2
    printed = capsys.readouterr().err
    assert named in printed and printed.count("\n") == 1 and "Traceback" not in printed
    assert {item.name for item in tmp_path.iterdir()} == set(contents)
