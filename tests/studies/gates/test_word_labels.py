from __future__ import annotations

import gzip
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_paraphrase.errors import InputError
from hf_paraphrase.studies.gates.word_labels import DEPENDENCY, TAG, LabelledSentence, read_tagged, tagged_lines

WORDS = [["The", "cat", "sat"], ["and/or", "no"]]
TAGS = [("DT", "NN", "VBD"), ("CC", "DT")]


def read(path, text):
    path.write_text(text, encoding="utf-8")
    return list(read_tagged(path))


def pit(words, tags):
    return " ".join(f"{word}/O/{tag}/B-NP/O" for word, tag in zip(words, tags, strict=True))


SLASHED = "The/DT cat/NN sat/VBD\n\nand/or/CC no/DT\n"
VERTICAL = "The\tDT\ncat\tNN\nsat\tVBD\n\n\nand/or\tCC\nno\tDT"
LABELLED = "The\tDT\tdet\ncat\tNN\tnsubj\nsat\tVBD\troot\n\nand/or\tCC\tcc\nno\tDT\tdet\n"
PIT = f"17\ttopic\ts1\ts2\t(1, 4)\t{pit(WORDS[0], TAGS[0])}\t{pit(WORDS[1], TAGS[1])}\n"


def conllu(number, word, tag, label):
    return f"{number}\t{word}\t_\tUNIVERSAL\t{tag}\t_\t0\t{label}\t_\t_\n"


CONLLU = (
    "# text = The cat sat\n"
    + "1-2\tThecat\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + conllu(1, "The", "DT", "det")
    + conllu(2, "cat", "NN", "nsubj")
    + "2.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_\n"
    + conllu(3, "sat", "VBD", "root")
    + "\n"
    + conllu(1, "and/or", "CC", "cc")
    + conllu(2, "no", "DT", "det")
)


@pytest.mark.parametrize("text", [SLASHED, VERTICAL, LABELLED, PIT, CONLLU])
def test_every_layout_gives_the_same_words_and_tags(tmp_path, text):
    found = read(tmp_path / "tagged", text)
    assert [sentence.words for sentence in found] == WORDS
    assert [sentence.labels[TAG] for sentence in found] == TAGS


@pytest.mark.parametrize("text", [LABELLED, CONLLU])
def test_dependency_labels_are_read_where_there_are_some(tmp_path, text):
    found = read(tmp_path / "tagged", text)
    assert [sentence.labels[DEPENDENCY] for sentence in found] == [("det", "nsubj", "root"), ("cc", "det")]


def test_a_word_without_a_tag_of_its_language_has_the_universal_one(tmp_path):
    (found,) = read(tmp_path / "tagged", conllu(1, "cat", "_", "root"))
    assert found.labels[TAG] == ("UNIVERSAL",)


def test_a_compressed_file_is_read(tmp_path):
    path = tmp_path / "tagged.gz"
    path.write_bytes(gzip.compress(SLASHED.encode()))
    assert [sentence.words for sentence in read_tagged(path)] == WORDS


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", None, "the file is empty"),
        ("\n \n", None, "the file contains no text"),
        ("a plain sentence\n", 1, "words and tags cannot be detected"),
        ("The/DT cat\n", 1, "`cat` is not word/TAG"),
        ("The/DT\n/NN\n", 2, "`/NN` is not word/TAG"),
        ("The/DT\ncat/\n", 2, "`cat/` is not word/TAG"),
        ("The\tDT\ncat\n", 2, "`cat` is not 2 tab-separated fields"),
        ("The\tDT\ncat\t \n", 2, "is not 2 tab-separated fields"),
        ("The\tDT\tdet\ncat\tNN\n", 2, "is not 3 tab-separated fields"),
        (conllu(1, "a", "DT", "det") + "2\tb\n", 2, "2 tab-separated fields where CoNLL-U has 10"),
        (PIT + "a\tb\n", 2, "2 tab-separated fields where 7"),
        ("1\t2\t3\t4\t5\tcat/NN\tsat/O/VBD/I/O\n", 1, "`cat/NN` is not word/entity/tag"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(tmp_path, text, line, expected):
    with pytest.raises(InputError, match=re.escape(expected)) as caught:
        read(tmp_path / "tagged", text)
    assert caught.value.line == line


def test_tags_in_a_file_of_their_own_belong_to_the_words_of_the_same_line(tmp_path):
    text, tags = tmp_path / "text", tmp_path / "tags"
    text.write_text("The cat sat\n\nand/or no\n")
    tags.write_text("DT NN VBD\n\nCC DT\n")
    found = list(tagged_lines(text, tags))
    assert [sentence.words for sentence in found] == WORDS and [item.labels[TAG] for item in found] == TAGS
    tags.write_text("DT NN VBD\n\nCC\n")
    with pytest.raises(InputError, match="1 tags for 2 words") as caught:
        list(tagged_lines(text, tags))
    assert caught.value.line == 3
    tags.write_text("DT NN VBD\n")
    with pytest.raises(InputError, match="has 3"):
        list(tagged_lines(text, tags))


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters=" "), min_size=1), max_size=8))
def test_the_spans_of_a_sentence_are_its_words(words):
    assert LabelledSentence.of_words(words).words == words


@pytest.mark.real_data
def test_the_real_tagged_tweets_have_tags_of_the_penn_treebank(real_data_dir):
    found = list(read_tagged(real_data_dir / "pit2015" / "dev.data"))
    tags = {tag for sentence in found for tag in sentence.labels[TAG]}
    assert len(found) == 2 * 4727 and {"NNP", "VBG", "TO", "IN", "USR"} <= tags
    assert all(len(sentence.words) == len(sentence.labels[TAG]) for sentence in found)
