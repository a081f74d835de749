from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, reachable_words

_CLOSED = re.compile(r"""\.[\])}>"']*$""")


@pytest.fixture(scope="module")
def split():
    """Splits a text into words without changing its case."""
    tokenizer = build_word_level_tokenizer(["x"], lower_case=False, treebank=True).backend_tokenizer
    return lambda text: [word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text)]


@pytest.fixture(scope="module")
def theirs():
    """What NLTK makes of what stands between two spaces, with quotes as they are written."""
    tokenize = pytest.importorskip("nltk.tokenize.treebank").TreebankWordTokenizer().tokenize

    def of(run):
        # A period is split off at the end of a text, so a run with one is put there, any other within one.
        found = tokenize(f"x {run}")[1:] if _CLOSED.search(run) else tokenize(f"x {run} x")[1:-1]
        return ['"' if word in ("``", "''") else word for word in found]

    return of


def check(runs, split, theirs):
    different = []
    for run in sorted(set(runs)):
        # NLTK leaves characters beyond ASCII where they are, and of `::` splits off the first colon alone.
        if not run.isascii() or "::" in run or ('"' in run and "''" in run):
            continue
        ours = ['"' if word in ("``", "''") else word for word in split(run)]
        kept = any(word.endswith(".") and len(word) > 1 and word.strip(".") for word in ours)
        if not kept and ours != theirs(run):
            different.append((run, ours, theirs(run)))
    assert not different


def test_words_are_those_of_nltk_for_every_run_of_the_sample(split, theirs):
    runs = {run for pair in sample_bitext()["train"] for run in pair.english.replace("\u2019", "'").split()}
    assert len(runs) > 4_000
    check(runs, split, theirs)


@settings(max_examples=400, deadline=None)
@given(st.text("ab1.,:'\"()-$n t's", min_size=1, max_size=9))
def test_any_text_is_split_without_losing_a_character(split, text):
    assert "".join(split(text)) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a well-known 1.5 and/or 3,000 at 10:30", "a well-known 1.5 and/or 3,000 at 10:30"),
        ("The U.S. grew, said J. Smith of Acme Inc., Ltd.", "The U.S. grew , said J. Smith of Acme Inc. , Ltd."),
        ("He left. She, and I.", "He left . She , and I ."),
        ('He said "It\'s $5!" (twice)...', 'He said " It \'s $ 5 ! " ( twice ) ...'),
        (
            "I cannot and don't; they'll. The dogs' 'n' -- gonna",
            "I can not and do n't ; they 'll . The dogs ' 'n ' -- gon na",
        ),
        ("“Non” — 5€", "“ Non ” — 5 €"),
        ("approx. x (Ph.D.)", "approx. x ( Ph.D. )"),
    ],
)
def test_what_the_treebank_keeps_whole_and_what_it_splits(split, text, words):
    assert split(text) == words.split()


def test_words_that_the_treebank_keeps_are_reachable():
    words = ["well-known", "don't", "u.s.", "1.5"]
    assert reachable_words(words, treebank=True) == ["well-known", "u.s.", "1.5"]
