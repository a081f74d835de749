from __future__ import annotations

import gzip

import pytest
from small_runs import record, run, write
from transformers import AutoTokenizer

LINES = [
    f"{who} {does} {how}." for who in ("The cat", "A dog") for does in ("sleeps", "doesn't play") for how in "xyz"
]


@pytest.mark.parametrize("kind", ["word", "unigram", "morfessor"])
def test_a_tokenizer_folder_is_complete_and_opens(tmp_path, kind, capsys):
    text, output = tmp_path / "text.gz", tmp_path / "tokenizer"
    text.write_bytes(gzip.compress(("\n".join(LINES) + "\n").encode()))
    size = [] if kind in ("word", "morfessor") else ["--vocab-size", 60]
    assert run("train-tokenizer", "--kind", kind, "--text", text, "--output", output, *size) == 0
    printed = capsys.readouterr()
    assert printed.out == "" and f"{kind}: " in printed.err and "from 12 sentences" in printed.err
    tokenizer = AutoTokenizer.from_pretrained(output)
    assert (tokenizer.pad_token_id, tokenizer.unk_token_id) == (0, 1)
    ids = tokenizer("the cat sleeps")["input_ids"]
    assert ids and not {0, 1} & set(ids)
    decoded = tokenizer.decode(ids)
    # Morphs carry no mark of the space before a word.
    assert decoded.replace(" ", "") == "thecatsleeps" and (kind == "morfessor" or decoded == "the cat sleeps")
    made = record(output)
    assert made["settings"]["kind"] == kind and made["inputs"][0]["name"] == "text.gz"
    assert made["settings"]["min_frequency"] == {"word": 2, "unigram": None, "morfessor": 1}[kind]
    assert made["results"]["vocabulary"] == len(tokenizer) and made["results"]["unknown_share"] == 0
    card = (output / "README.md").read_text()
    assert card.startswith("---\n") and "12 sentences (text.gz)" in card
    # Contractions are split as in English.
    assert ("language:\n- en\n" in card) == (kind == "word")
    if kind == "morfessor":
        # the cat a dog sleeps doesn ' t play . x y z
        results = made["results"]
        assert results["words"] == results["learnt_words"] == 13 and 0 < results["morphs"] <= 13
        assert results["rounds"] > 1 and made["settings"]["dampening"] == "none"
        assert f"13 different words before segmentation, {results['morphs']} morphs after it" in printed.err
        assert "| words before segmentation | 13 different ones |" in card
        assert f"| morphs | {results['morphs']}, learnt" in card and "Unsupervised Discovery of Morphemes" in card


def test_the_sentences_of_pairs_are_read_and_the_vocabulary_is_limited(tmp_path):
    write(tmp_path / "pairs", sentence1=LINES, sentence2=LINES[::-1])
    words = ["--pairs", tmp_path / "pairs", "--vocab-size", 5, "--output", tmp_path / "out"]
    assert run("train-tokenizer", *words) == 0
    assert len(AutoTokenizer.from_pretrained(tmp_path / "out")) == 5
