from __future__ import annotations

import gzip

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from hf_paraphrase.errors import InputError
from hf_paraphrase.tokenization.word_level import as_fast_tokenizer, build_word_level_tokenizer
from hf_paraphrase.training.word_vectors import fill_embeddings, read_word_vectors

TEXT = "the 0.5 -1 2e-1\ncat 1 2 3\n. . . 4 5 6\nthe 9 9 9\n"


def write(path, text, opener=open):
    with opener(path, "wb") as stream:
        stream.write(text.encode() if isinstance(text, str) else text)
    return path


@pytest.mark.parametrize(
    ("name", "opener", "header", "between"),
    [("v", open, "", " "), ("v.gz", gzip.open, "4 3\n", " "), ("v", open, "5 3\n", " "), ("v", open, "4 3\n", "  ")],
)
def test_reads_glove_and_word2vec_layouts_plain_and_compressed(tmp_path, caplog, name, opener, header, between):
    vectors = read_word_vectors(write(tmp_path / name, header + TEXT.replace(" ", between), opener))
    assert ("announces 5 vectors, but the file has 4" in caplog.text) == header.startswith("5")
    assert vectors.words == ["the", "cat", ". . ."]
    np.testing.assert_array_equal(vectors.matrix, np.array([[0.5, -1, 0.2], [1, 2, 3], [4, 5, 6]], np.float32))
    assert vectors.matrix.dtype == np.float32


def test_keeps_the_wanted_and_the_first_words_only(tmp_path):
    path = write(tmp_path / "v", "a 1 1\nb 2 2\nc 3 3\nd 4 4\nUUUNKKK 5 5\n")
    assert read_word_vectors(path, {"d"}).words == ["d", "UUUNKKK"]
    assert read_word_vectors(path, {"d"}, first=2).words == ["a", "b", "d", "UUUNKKK"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a 1 2\nb 1\n", 2, "`b 1` is not a word and 2 finite numbers"),
        ("a 1 2\nb 1.5 2 3\n", 2, "`b 1.5 2 3` is not a word and 2"),
        ("a 1 2\nb 1 x\n", 2, "`b 1 x` is not"),
        ("a 1 2\nb 1 1e99\n", 2, "`b 1 1e99` is not"),
        ("2 3\na 1 2\nb 1 2\n", 2, "`a 1 2` is not a word and 3"),
        (b"a 1 2\n\xff\xfe 1 2\n", 2, "not UTF-8"),
        ("3 2\n", None, "no word vectors"),
    ],
)
def test_malformed_lines_are_named(tmp_path, text, line, message):
    path = write(tmp_path / "v", text)
    with pytest.raises(InputError, match=message) as caught:
        read_word_vectors(path)
    assert caught.value.line == line and caught.value.path == str(path) and caught.value.remedy


words = st.text(
    st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), blacklist_characters="\ufeff"),
    min_size=1,
    max_size=5,
)


@given(
    st.dictionaries(words, st.lists(st.floats(-1e6, 1e6, width=32), min_size=4, max_size=4), min_size=1), st.booleans()
)
def test_what_was_written_is_read(tmp_path_factory, table, header):
    path = tmp_path_factory.mktemp("vectors") / "v"
    text = "".join(f"{word} {' '.join(repr(x) for x in row)}\n" for word, row in table.items())
    write(path, (f"{len(table)} 4\n" if header else "") + text)
    vectors = read_word_vectors(path)
    assert vectors.words == list(table)
    np.testing.assert_array_equal(vectors.matrix, np.array(list(table.values()), np.float32))


def filled(tokenizer, vectors, counts):
    matrix = torch.zeros(len(tokenizer), 3)
    coverage = fill_embeddings(matrix, tokenizer, vectors, counts, seed=0)
    return matrix.numpy(), coverage


def initial(path):
    tokenizer = build_word_level_tokenizer(["the", "cat", "zebra"])
    return filled(tokenizer, read_word_vectors(path), np.array([0, 10, 60, 30, 0]))


def test_rows_are_aligned_to_the_vocabulary_and_coverage_is_counted(tmp_path):
    matrix, coverage = initial(write(tmp_path / "v", TEXT))
    np.testing.assert_array_equal(matrix[2:4], np.array([[0.5, -1, 0.2], [1, 2, 3]], np.float32))
    assert not matrix[0].any() and 0 < np.abs(matrix[4]).max() < 0.06
    np.testing.assert_allclose(matrix[1], [0.75, 0.5, 1.6], rtol=1e-6)  # the mean of the rarest words there are
    assert (coverage.words, coverage.with_vector, coverage.tokens, coverage.tokens_with_vector) == (3, 2, 100, 90)
    assert str(coverage) == "2 of 3 words have a vector, 90.0 % of the tokens"
    matrix, _ = initial(write(tmp_path / "v", TEXT + "UUUNKKK 7 8 9\n"))
    assert matrix[1].tolist() == [7, 8, 9], "the vector for unknown words of the file itself"


def test_a_piece_that_spells_a_word_alone_has_its_vector(tmp_path):
    pieces = {"[PAD]": 0, "[UNK]": 1, "the": 2, "##cat": 3, "cat": 4}
    backend = Tokenizer(models.WordPiece(pieces, unk_token="[UNK]"))
    tokenizer = as_fast_tokenizer(backend, pad_token="[PAD]", unk_token="[UNK]")
    vectors = read_word_vectors(write(tmp_path / "v", TEXT))
    matrix, coverage = filled(tokenizer, vectors, np.ones(5, np.int64))
    np.testing.assert_array_equal(matrix[[2, 4]], np.array([[0.5, -1, 0.2], [1, 2, 3]], np.float32))
    assert coverage.with_vector == 2 and np.abs(matrix[3]).max() < 0.06
