from __future__ import annotations

import gzip
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.tokenization.run_lookup import RunLookup
from hf_paraphrase.tokenization.treebank import ABBREVIATIONS
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, reachable_words, sentence_vocabulary

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


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["text/wikiqa", "text/newstest2012"])
def test_words_are_those_of_nltk_for_every_run_of_real_text(real_data_dir, split, theirs, name):
    with gzip.open(real_data_dir / f"{name}.txt.gz", "rt", encoding="utf-8") as stream:
        runs = {run for line in stream for run in line.replace("\u2019", "'").split()}
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
    ],
)
def test_what_the_treebank_keeps_whole_and_what_it_splits(split, text, words):
    assert split(text) == words.split()


def test_abbreviations_keep_their_period_wherever_they_stand(split):
    for word in ABBREVIATIONS.replace("\\", "").split("|"):
        assert split(f"{word}. x ({word.title()}.)") == [f"{word}.", "x", "(", f"{word.title()}.", ")"]


def test_the_fast_way_gives_the_ids_of_tokenizers():
    texts = [pair.english for pair in sample_bitext()["train"]][:1500]
    style = {"treebank": True}
    tokenizer = build_word_level_tokenizer(sentence_vocabulary(texts, min_frequency=2, **style), **style)
    backend = tokenizer.backend_tokenizer
    lookup = RunLookup.for_tokenizer(backend)
    assert lookup is not None
    found = lookup(texts)
    expected = [item.ids for item in backend.encode_batch_fast(texts, add_special_tokens=False)]
    assert np.split(found.ids, found.offsets[1:-1])[7].tolist() == expected[7]
    assert found.ids.tolist() == [token for ids in expected for token in ids]
    assert reachable_words(["well-known", "don't", "u.s.", "1.5"], **style) == ["well-known", "u.s.", "1.5"]
