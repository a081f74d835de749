from __future__ import annotations

import gzip

import numpy as np
import pytest

from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering.language_model.arpa import read_arpa, write_arpa
from hf_paraphrase.filtering.language_model.counts import TrigramCounter
from hf_paraphrase.filtering.language_model.kneser_ney import estimate
from hf_paraphrase.filtering.language_model.ngram_model import NgramModel

FOUR_GRAMS = """\\data\\
ngram 1=4
ngram 2=3
ngram 3=2
ngram 4=1

\\1-grams:
-99\t<s>\t-0.5
-1\t</s>
-0.6\ta\t-0.25
-0.7\tb\t-0.125

\\2-grams:
-0.3\t<s> a\t-0.1
-0.4\ta b\t-0.2
-0.2\tb a

\\3-grams:
-0.15\t<s> a b\t-0.05
-0.1\ta b a

\\4-grams:
-0.01\t<s> a b a

\\end\\
"""


def written(tmp_path, text):
    path = tmp_path / "model.arpa"
    path.write_text(text)
    return path


def test_what_is_written_is_read_back(tmp_path):
    counter = TrigramCounter()
    counter.add(["a b c", "b c ’ don't", "é 中", ""])
    model = estimate(counter)
    write_arpa(tmp_path / "model.arpa", model)
    words, orders = read_arpa(tmp_path / "model.arpa")
    assert words == model.words
    for order, (keys, probabilities) in enumerate(zip(model.keys, model.probabilities, strict=True), 1):
        packed = np.zeros(len(keys), dtype=np.int64)
        for column in orders[order - 1].ngrams.T:
            packed = packed << 21 | column
        assert packed.tolist() == keys.tolist()
        assert orders[order - 1].log10_probabilities == pytest.approx(np.log10(probabilities), abs=1e-6)
    assert orders[0].log10_backoffs == pytest.approx(np.log10(model.backoffs[0]), abs=1e-6)


def test_a_model_of_another_order_is_queried_by_the_arpa_rule(tmp_path):
    model = NgramModel.from_file(written(tmp_path, FOUR_GRAMS))
    sequence = [model.number_of(word) for word in ["<s>", "a", "b", "a", "b", "</s>", "<s>", "c", "b"]]
    found = model.log10_probabilities(np.array(sequence))
    expected = [
        0.0,
        -0.3,
        -0.15,
        -0.01,
        -0.4,  # b after `a b a`: no 4-gram, `a b a` and `b a` have backoff 0
        -1 - 0.125 - 0.2,  # </s> after `b a b`: `a b` and `b` back off
        0.0,
        -100.0 - 0.5,  # an unknown word, where the file has no <unk>
        -0.7,
    ]
    assert found == pytest.approx(expected)


def test_a_gzipped_file_is_read(tmp_path):
    path = tmp_path / "model.arpa.gz"
    path.write_bytes(gzip.compress(FOUR_GRAMS.encode()))
    assert NgramModel.from_file(path).order == 4


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("ngram 2=3", "ngram 2=4", "not a log-probability and 2 words"),
        ("ngram 2=3", "ngram 3=3", "expected `ngram 2="),
        ("-0.4\ta b\t-0.2", "x\ta b\t-0.2", "not a number"),
        ("-0.4\ta b\t-0.2", "nan\ta b\t-0.2", "not finite"),
        ("-0.4\ta b\t-0.2", "-0.4\ta z\t-0.2", "'z' is not among the 1-grams"),
        ("-0.4\ta b\t-0.2", "-0.4\tb b\t-0.2", "history of the 3-gram `a b a`"),
        ("-0.7\tb", "-0.7\ta", "occurs twice"),
        ("\\end\\", "", "ends before"),
        ("\\data\\", "data", "ends before"),
        ("-99\t<s>\t-0.5", "-99\tx\t-0.5", "the word '<s>' is not among the 1-grams"),
    ],
)
def test_a_damaged_file_is_an_input_error_that_names_it(tmp_path, old, new, expected):
    path = written(tmp_path, FOUR_GRAMS.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        NgramModel.from_file(path)
    assert expected in caught.value.message and caught.value.path == str(path)


def test_other_files_are_input_errors(tmp_path):
    (tmp_path / "binary").write_bytes(bytes(range(128, 256)))
    (tmp_path / "text.gz").write_text("no gzip")
    for name in ("binary", "text.gz", "absent"):
        with pytest.raises(InputError):
            read_arpa(tmp_path / name)


def test_words_may_have_any_white_space_in_them_but_spaces_and_tabs(tmp_path):
    """As other programs write them, which take nothing else for the end of a word or a line."""
    words = ["<unk>", "10\u00a0000", "a\u2028b", "c\x85", "d\x0be", "f\x1cg"]
    entries = "".join(f"-1\t{word}\n" for word in words)
    text = f"\\data\\\nngram 1={len(words)}\n\n\\1-grams:\n{entries}\n\\end\\\n"
    (tmp_path / "model.arpa").write_bytes(text.encode())
    found, (order,) = read_arpa(tmp_path / "model.arpa")
    assert found == words and order.ngrams[:, 0].tolist() == list(range(len(words)))


def test_a_model_that_is_written_again_can_be_read_all_the_while(tmp_path, monkeypatch):
    # As parts of a job do that begin together, of which one is ahead.
    from hf_paraphrase.filtering.language_model import arpa

    counter = TrigramCounter()
    counter.add(["a b c", "b c d"])
    model = estimate(counter)
    write_arpa(tmp_path / "model.arpa", model)
    before = (tmp_path / "model.arpa").read_bytes()
    lines, seen = arpa._lines, []

    def looked_at(*arguments):
        seen.append((tmp_path / "model.arpa").read_bytes())
        return lines(*arguments)

    monkeypatch.setattr(arpa, "_lines", looked_at)
    write_arpa(tmp_path / "model.arpa", model)
    assert seen == [before] * 3 and (tmp_path / "model.arpa").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model.arpa"]
