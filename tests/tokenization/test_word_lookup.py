from __future__ import annotations

import gzip
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers, processors
from transformers import AutoTokenizer

from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer, sentence_vocabulary
from hf_paraphrase.tokenization.word_lookup import TokenIds, WordLookup, state_of

RULES = [{"lower_case": lower, "contractions": split} for lower in (True, False) for split in (True, False)]

# Pieces that the rules turn on, so that random texts meet them often.
PIECES = [
    *(
        "n't",
        "N'T",
        "n't've",
        "can't",
        "'s",
        "'S",
        "'re",
        "'ve",
        "'ll",
        "'d",
        "'m",
        "'",
        "''",
        "n",
        "t",
        "s",
        "d",
        "_",
        "x9",
    ),
    *("\u2019", "n\u2019t", "\u2019s", "\u2018", "\u201c", "\u2026", "\u2014", "\u00bd", "\ufb01", "\u00a8", "\u00b4"),
    *(" ", "  ", "\t", "\n", "\r", "\v", "\f", "\x1c", "\x1f", "\x00", "\x7f", "\x85", "\u00a0", "\u2028", "\u3000"),
    *("[PAD]", "[UNK]", "[", "PAD]", "[pad]", "unk", "\u200b", "\u200d", "\ufeff", "\u0301", "\u0327", "e", "\u00e9"),
    *("\u0130", "\u03a3", "\u1e9e", "\u01c5", "\u2126", "\u1100", "\u1161", "\u11a8", "\uac00", "\u0e33", "\u4e2d"),
    *(".", ",", "-", "$", "+", "%", "\U0001f600", "\U0001d400", "\U0010ffff", "\u0660", "\u2460", "\u212b", "\uff21"),
]
TEXT = st.one_of(st.text(max_size=30), st.lists(st.sampled_from(PIECES), max_size=12).map("".join))


def by_tokenizers(tokenizer, texts):
    return TokenIds.of_lists([item.ids for item in tokenizer.backend_tokenizer.encode_batch_fast(texts)])


def assert_equal_ids(tokenizer, texts):
    expected = by_tokenizers(tokenizer, texts)
    found = WordLookup.for_tokenizer(tokenizer.backend_tokenizer)(texts)
    np.testing.assert_array_equal(found.offsets, expected.offsets)
    np.testing.assert_array_equal(found.ids, expected.ids)
    assert found.ids.dtype == found.offsets.dtype == np.int64


def tokenizer_of(texts, rules):
    """A tokenizer that has an id of its own for every word of the texts but a few, so that no two splits agree."""
    words = sentence_vocabulary(texts, **rules)
    return build_word_level_tokenizer([*(word for place, word in enumerate(words) if place % 7 != 6), "x"], **rules)


@pytest.mark.parametrize("rules", RULES, ids=str)
@settings(max_examples=400, deadline=None)
@given(texts=st.lists(TEXT, max_size=6))
@example(texts=[])
@example(texts=["", "  ", "", "\n"])
@example(texts=["don", "'t", "n", "'t", "'", "s", "a'", "ve"])
@example(texts=["don't'n'tn't''s'sn't n't've 'd've can'tx 't", "I'mm he'll 'llama we're 'res"])
@example(texts=["caf\u00e9 e\u0301 [PAD]x[UNK]\u00e9 [PAD", "]"])
@example(texts=["\u0301a", " \u0301", "a", "\u0301"])
def test_ids_equal_those_of_tokenizers_on_any_unicode(rules, texts):
    assert_equal_ids(tokenizer_of(texts, rules), texts)


@settings(max_examples=300, deadline=None)
@given(
    texts=st.lists(st.text("n'tsdmrevl N'T.\t[PAD]\x1c\u2019\u00e9", max_size=14), max_size=6),
    rules=st.sampled_from(RULES),
)
def test_ids_equal_those_of_tokenizers_around_apostrophes(texts, rules):
    assert_equal_ids(tokenizer_of(texts, rules), texts)


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_every_character_up_to_greek_and_a_sample_of_all_others_is_treated_alike(rules):
    codes = [*range(0x400), *range(0x400, 0xD800, 53), *range(0x2000, 0x2070), *range(0xE000, sys.maxunicode + 1, 997)]
    texts = [f"a{chr(code)}b {chr(code)} n'{chr(code)}n't{chr(code)} 's{chr(code)}" for code in codes]
    assert_equal_ids(tokenizer_of(texts, rules), texts)


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_the_tokenizers_of_this_package_are_recognised_also_when_saved_and_opened(rules, tmp_path):
    tokenizer = build_word_level_tokenizer(["cat", "n't"], **rules)
    save_tokenizer(tokenizer, tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    loaded(["cat", "a b c"], padding=True, truncation=True, max_length=2)
    for item in (tokenizer, loaded):
        lookup = WordLookup.for_tokenizer(item.backend_tokenizer)
        assert (lookup.lower_case, lookup.contractions) == (rules["lower_case"], rules["contractions"])


def with_other_normalizer(backend):
    backend.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Lowercase()])


def with_accents_stripped(backend):
    backend.normalizer = normalizers.Sequence([backend.normalizer, normalizers.StripAccents()])


def with_no_normalizer(backend):
    backend.normalizer = None


def with_other_words(backend):
    split = pre_tokenizers.Split(Regex(r"\w+|[^\w\s]"), "removed")
    backend.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), split])


def with_other_splitter(backend):
    backend.pre_tokenizer = pre_tokenizers.Whitespace()


def with_special_tokens_round_a_text(backend):
    backend.post_processor = processors.TemplateProcessing(single="[UNK] $A", special_tokens=[("[UNK]", 1)])


def with_a_token_that_takes_white_space(backend):
    backend.add_special_tokens([AddedToken("<m>", lstrip=True)])


def with_a_normalised_token(backend):
    backend.add_tokens([AddedToken("Cat food", normalized=True)])


@pytest.mark.parametrize(
    "change",
    [
        with_other_normalizer,
        with_accents_stripped,
        with_no_normalizer,
        with_other_words,
        with_other_splitter,
        with_special_tokens_round_a_text,
        with_a_token_that_takes_white_space,
        with_a_normalised_token,
    ],
)
def test_any_other_tokenizer_is_left_to_tokenizers_and_a_change_shows_in_the_state(change):
    backend = build_word_level_tokenizer(["cat"]).backend_tokenizer
    before = state_of(backend)
    assert before == state_of(backend) and WordLookup.for_tokenizer(backend) is not None
    change(backend)
    assert WordLookup.for_tokenizer(backend) is None
    assert state_of(backend) != before


@settings(max_examples=100, deadline=None)
@given(
    texts=st.lists(st.lists(st.sampled_from([*PIECES, "<mask>", "<m", "ask>", "\u00fc>"])).map("".join), max_size=5)
)
def test_further_special_tokens_are_found_in_the_text(texts):
    tokenizer = tokenizer_of(texts, {})
    tokenizer.add_special_tokens({"mask_token": "<mask>", "cls_token": "\u00fc>"})
    assert_equal_ids(tokenizer, texts)


def test_half_a_surrogate_pair_none_and_numbers_are_type_errors_as_in_tokenizers():
    tokenizer = build_word_level_tokenizer(["cat"])
    lookup = WordLookup.for_tokenizer(tokenizer.backend_tokenizer)
    for text in ("\ud800", None, 3):
        with pytest.raises(TypeError):
            tokenizer.backend_tokenizer.encode_batch_fast(["cat", text])
        with pytest.raises(TypeError):
            lookup(["cat", text])


@settings(max_examples=60, deadline=None)
@given(lists=st.lists(st.lists(st.integers(0, 9), max_size=4), max_size=8), cut=st.integers(0, 8), data=st.data())
def test_token_ids_join_and_select_as_lists_do(lists, cut, data):
    whole = TokenIds.of_lists(lists)
    joined = TokenIds.joined([TokenIds.of_lists(lists[:cut]), TokenIds.of_lists(lists[cut:])])
    np.testing.assert_array_equal(joined.ids, whole.ids)
    np.testing.assert_array_equal(joined.offsets, whole.offsets)
    assert whole.lengths.tolist() == list(map(len, lists))
    rows = data.draw(st.lists(st.integers(0, len(lists) - 1))) if lists else []
    assert whole.of_texts(np.array(rows, np.int64)).tolist() == [item for row in rows for item in lists[row]]


@pytest.mark.real_data
@pytest.mark.parametrize("file", ["manythings/fra-eng/fra.txt.gz", "libreoffice_help/lo-help-7.4.7.cs-en.tsv.gz"])
def test_ids_equal_those_of_tokenizers_on_real_text(real_data_dir, file):
    with gzip.open(real_data_dir / file, "rt", encoding="utf-8", newline="\n") as stream:
        lines = [line.rstrip("\n") for line in stream][::20]
    assert_equal_ids(tokenizer_of(lines[::2], {}), lines)
