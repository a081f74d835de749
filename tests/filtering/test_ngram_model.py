from __future__ import annotations

import gzip
import importlib.util
import sys

import pytest

from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering import kneser_ney
from hf_paraphrase.filtering.kneser_ney import TrigramCounter, estimate, write_arpa
from hf_paraphrase.filtering.ngram_model import KenlmModel, NgramModel, load_language_model

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


@pytest.fixture(params=[NgramModel, KenlmModel])
def kind(request):
    if request.param is KenlmModel:
        pytest.importorskip("kenlm", reason="kenlm is not installed")
    return request.param


def written(tmp_path, text):
    path = tmp_path / "model.arpa"
    path.write_text(text)
    return path


def test_a_model_of_another_order_is_queried_by_the_arpa_rule(tmp_path, kind):
    path = tmp_path / "model.arpa.gz"
    path.write_bytes(gzip.compress(FOUR_GRAMS.encode()))
    model = kind(path)
    expected = [
        -0.3,
        -0.15,
        -0.01,
        -0.4,  # b after `a b a`: no 4-gram, `a b a` and `b a` have backoff 0
        -1 - 0.125 - 0.2,  # </s> after `b a b`: `a b` and `b` back off
    ]
    assert model.log10_probability(["a", "b", "a", "b"]) == pytest.approx(sum(expected))
    # An unknown word, where the file has no <unk>.
    assert model.log10_probability(["c", "b"]) == pytest.approx(-100.0 - 0.5 - 0.7 - 1 - 0.125)
    assert "a" in model and "c" not in model


@pytest.mark.parametrize("installed", [True, False])
def test_kenlm_reads_the_model_where_it_is_installed(tmp_path, monkeypatch, installed):
    if not installed:
        monkeypatch.setitem(sys.modules, "kenlm", None)
    elif importlib.util.find_spec("kenlm") is None:
        pytest.skip("kenlm is not installed")
    assert isinstance(load_language_model(written(tmp_path, FOUR_GRAMS)), KenlmModel if installed else NgramModel)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("-0.4\ta b\t-0.2", "x\ta b\t-0.2", "not a log-probability and 2 words"),
        ("-0.4\ta b\t-0.2", "-0.4\ta b c d\t-0.2", "not a log-probability and 2 words"),
        ("-0.7\tb\t-0.125", "-0.7", "not a log-probability and 1 word"),
        ("\\end\\", "", "ends before"),
        ("-99\t<s>\t-0.5", "-99\tx\t-0.5", "has no <s>"),
    ],
)
def test_a_damaged_file_is_an_input_error_that_names_it(tmp_path, old, new, expected, kind):
    path = written(tmp_path, FOUR_GRAMS.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        kind(path)
    assert caught.value.path == str(path)
    assert kind is KenlmModel or expected in caught.value.message


def test_other_files_are_input_errors(tmp_path, kind):
    (tmp_path / "binary").write_bytes(bytes(range(128, 256)))
    (tmp_path / "text.gz").write_text("no gzip")
    for name in ("binary", "text.gz", "absent"):
        with pytest.raises(InputError):
            kind(tmp_path / name)


def test_words_may_have_any_white_space_in_them_but_spaces_and_tabs(tmp_path):
    """As other programs write them, which take nothing else for the end of a word or a line."""
    words = ["<s>", "</s>", "10\u00a0000", "a\u2028b", "c\x85", "d\x0be", "f\x1cg"]
    entries = "".join(f"-1\t{word}\n" for word in words)
    text = f"\\data\\\nngram 1={len(words)}\n\n\\1-grams:\n{entries}\n\\end\\\n"
    (tmp_path / "model.arpa").write_bytes(text.encode())
    assert list(NgramModel(tmp_path / "model.arpa").ngrams) == [*words, "<unk>"]


def test_a_model_that_is_written_again_can_be_read_all_the_while(tmp_path, monkeypatch):
    # As parts of a job do that begin together, of which one is ahead.
    counter = TrigramCounter()
    counter.add(["a b c", "b c d"])
    model = estimate(counter)
    write_arpa(tmp_path / "model.arpa", model)
    before = (tmp_path / "model.arpa").read_bytes()
    lines, seen = kneser_ney._lines, []

    def looked_at(*arguments):
        seen.append((tmp_path / "model.arpa").read_bytes())
        return lines(*arguments)

    monkeypatch.setattr(kneser_ney, "_lines", looked_at)
    write_arpa(tmp_path / "model.arpa", model)
    assert seen == [before] * 3 and (tmp_path / "model.arpa").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["model.arpa"]
