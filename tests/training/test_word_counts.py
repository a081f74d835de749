from __future__ import annotations

import gzip

import numpy as np
import pytest

from hf_paraphrase.errors import InputError
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer
from hf_paraphrase.training.word_vectors import frequency_weight, read_counts

TOKENIZER = build_word_level_tokenizer(["the", "cat", "do", "n't"])


def write(path, text):
    (gzip.open if path.suffix == ".gz" else open)(path, "wb").write(text.encode())
    return path


def test_the_constant_is_the_share_that_is_halved():
    assert frequency_weight(np.array([0.0, 0.02]), 0.02).tolist() == [1.0, 0.5]
    with pytest.raises(ValueError, match="above 0"):
        frequency_weight(np.zeros(1), 0.0)


def test_text_is_tokenised_and_counted(tmp_path):
    path = write(tmp_path / "t.gz", "The cat.\n\nthe dog don't\n")
    assert read_counts(path, TOKENIZER).tolist() == [0, 2, 2, 1, 1, 1]
    assert read_counts(path, TOKENIZER, 8).tolist() == [0, 2, 2, 1, 1, 1, 0, 0]


def test_counts_of_words_are_added_up(tmp_path):
    path = write(tmp_path / "c", "The 5\nthe\t3\ndon't 2\n dog 1 \n")
    assert read_counts(path, TOKENIZER).tolist() == [0, 1, 8, 0, 2, 2]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("", None, "empty"),
        ("the 5\ncat\n", 2, "`cat` is not a word and its count"),
        pytest.param("the 5\ncat 1" + "0" * 5_000, 2, "is not a word and its count", id="huge"),
        ("the 5\n\ncat -1\n", 3, "not a word and its count"),
        ("le chat\n", None, "no word of this file is in the vocabulary"),
    ],
)
def test_malformed_files_are_named(tmp_path, text, line, message):
    path = write(tmp_path / "c", text)
    with pytest.raises(InputError, match=message) as caught:
        read_counts(path, TOKENIZER)
    assert caught.value.line == line and caught.value.path == str(path) and caught.value.remedy
