from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hf_paraphrase.tokenization import trigram_lookup
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.token_ids import TokenIds
from hf_paraphrase.tokenization.trigram_lookup import TrigramLookup
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

RULES = [{"lower_case": lower, "skip_unknown": skip} for lower in (True, False) for skip in (True, False)]

PIECES = [
    *(" ", "  ", "\t", "\n", "\r", "\v", "\f", "\x1c", "\x1f", "\x00", "\x01", "\x02", "\x03", "\x7f", "\x85"),
    *("\u00a0", "\u1680", "\u180e", "\u200b", "\u2028", "\u3000", "\ufeff", "\u200d", "\ufe0f"),
    *("a", "b", "A", "B", "cat", "CAT", "[PAD]", "[UNK]", "[", "PAD]", "[pad]", "e", "\u0301", "\u0327", "\u00e9"),
    *("\u0130", "\u03a3", "\u03c3", "\u1e9e", "\u01c5", "\u2126", "\u1100", "\u1161", "\u11a8", "\uac00", "\u0e33"),
    *(".", "^", "$", "\\", "\U0001f600", "\U0001d400", "\U0010ffff", "\ufb01", "\u00bd", "\uff21", "\ufdfa"),
]
TEXT = st.one_of(st.text(max_size=20), st.lists(st.sampled_from(PIECES), max_size=10).map("".join))


def assert_equal_ids(tokenizer, texts):
    backend = tokenizer.backend_tokenizer
    expected = TokenIds.of_lists([item.ids for item in backend.encode_batch_fast(texts)])
    found = TrigramLookup.for_tokenizer(backend)(texts)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert found.ids.dtype == found.offsets.dtype == np.int64


def tokenizer_of(texts, rules):
    """A tokenizer that has an id of its own for every trigram of the texts but a few."""
    trigrams = trigram_vocabulary(texts, lower_case=rules["lower_case"])
    return build_character_trigram_tokenizer(
        [*(item for place, item in enumerate(trigrams) if place % 7 != 6), "xyz"], **rules
    )


@pytest.mark.parametrize("rules", RULES, ids=str)
@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TEXT, max_size=6))
@example(texts=[])
@example(texts=["", "  ", "", "\n", "a", "ab"])
@example(texts=["a [PAD] b", "x", "[UNK]", "caf\u00e9[PAD"])
@example(texts=["\x01a\x02", "\x01", "b \x01 \x02 c"])
def test_ids_equal_those_of_tokenizers_on_any_unicode(rules, texts):
    assert_equal_ids(tokenizer_of(texts, rules), texts)


@settings(max_examples=60, deadline=None)
@given(texts=st.lists(TEXT, max_size=6), rules=st.sampled_from(RULES))
def test_hashing_gives_the_ids_of_the_table(texts, rules):
    backend = tokenizer_of(texts, rules).backend_tokenizer
    table = TrigramLookup.for_tokenizer(backend)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trigram_lookup, "_TABLE_SIZE", 0)
        hashed = TrigramLookup.for_tokenizer(backend)
    assert table._table is not None and hashed._table is None
    for first, second in zip(table(texts), hashed(texts), strict=True):
        np.testing.assert_array_equal(first, second)


def test_every_character_up_to_greek_and_a_sample_of_all_others_is_treated_alike():
    codes = [
        *range(0x250),
        *range(0x250, 0xD800, 531),
        *range(0x2000, 0x2070, 3),
        *range(0xE000, sys.maxunicode, 9973),
    ]
    texts = [f"a{chr(code)}b {chr(code)}" for code in codes]
    trigrams = trigram_vocabulary(texts[::2])
    assert_equal_ids(build_character_trigram_tokenizer(trigrams), texts)


def test_a_word_level_tokenizer_is_left_alone():
    assert TrigramLookup.for_tokenizer(build_word_level_tokenizer(["cat"]).backend_tokenizer) is None


def test_half_a_surrogate_pair_none_and_numbers_are_type_errors():
    lookup = TrigramLookup.for_tokenizer(build_character_trigram_tokenizer(["cat"]).backend_tokenizer)
    for text in ("\ud800", None, 3):
        with pytest.raises(TypeError):
            lookup(["cat", text])


@pytest.mark.real_data
@pytest.mark.parametrize("file", ["manythings/fra-eng/fra.txt.gz", "libreoffice_help/lo-help-7.4.7.cs-en.tsv.gz"])
def test_ids_equal_those_of_tokenizers_on_real_text(real_data_dir, file):
    with gzip.open(real_data_dir / file, "rt", encoding="utf-8", newline="\n") as stream:
        lines = [line.rstrip("\n") for line in stream][::400]
    assert_equal_ids(tokenizer_of(lines[::2], RULES[1]), lines)
