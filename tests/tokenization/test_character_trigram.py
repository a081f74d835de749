from __future__ import annotations

import collections
import json
import unicodedata

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Regex, normalizers, pre_tokenizers
from transformers import AutoTokenizer

from hf_paraphrase.errors import InputError
from hf_paraphrase.tokenization import character_trigram
from hf_paraphrase.tokenization.character_trigram import (
    TrigramLookup,
    build_character_trigram_tokenizer,
    trigram_vocabulary,
)
from hf_paraphrase.tokenization.ragged_ids import TokenIds
from hf_paraphrase.tokenization.word_level import save_tokenizer

SENTENCES = ["The cat", "the  hat!", " a"]


def windows(text, *, lower_case=True):
    """All windows of three characters, written as ParaNMT-50M describes them."""
    text = unicodedata.normalize("NFKC", text)
    padded = f" {' '.join((text.lower() if lower_case else text).split())} "
    return [padded[place : place + 3] for place in range(len(padded) - 2)] if padded.strip() else []


# Characters on which Python and `tokenizers` agree about case, white space and normalisation.
PLAIN = st.text("abcXYZ \t\n.'9\u00e9\u00dc\u00df\u4e2d\u00a0\u2003\ufb01\U0001f600", max_size=14)


@settings(max_examples=150, deadline=None)
@given(texts=st.lists(PLAIN, min_size=1, max_size=5), lower_case=st.booleans())
@example(texts=["a", "ab", "abc", " ", ""], lower_case=True)
def test_tokens_and_vocabulary_equal_a_plain_loop(texts, lower_case):
    counts = collections.Counter(item for text in texts for item in windows(text, lower_case=lower_case))
    expected = sorted(counts, key=lambda item: (-counts[item], item))
    assert trigram_vocabulary(texts, lower_case=lower_case) == expected
    if expected:
        tokenizer = build_character_trigram_tokenizer(expected, lower_case=lower_case)
        for text in texts:
            assert tokenizer.tokenize(text) == windows(text, lower_case=lower_case)


def test_vocabulary_obeys_min_frequency_size_and_blocks(monkeypatch):
    assert trigram_vocabulary(SENTENCES, min_frequency=2) == [" th", "he ", "the"]
    assert trigram_vocabulary(SENTENCES, max_size=2) == trigram_vocabulary(SENTENCES)[:2]
    whole = trigram_vocabulary(SENTENCES * 3)
    monkeypatch.setattr("hf_paraphrase.tokenization.character_trigram._SENTENCES_PER_BLOCK", 2)
    assert trigram_vocabulary(iter(SENTENCES * 3)) == whole == trigram_vocabulary(SENTENCES)
    with pytest.raises(InputError, match="no trigrams"):
        build_character_trigram_tokenizer([])
    with pytest.raises(ValueError, match="not a trigram"):
        build_character_trigram_tokenizer(["cats"])


@pytest.mark.parametrize(("skip_unknown", "unknown"), [(False, ["[UNK]"]), (True, [])])
def test_unknown_trigrams_are_one_token_each_or_left_out(skip_unknown, unknown):
    tokenizer = build_character_trigram_tokenizer(["cat", "at "], skip_unknown=skip_unknown)
    assert tokenizer.tokenize("cat") == [*unknown, "cat", "at "]
    assert tokenizer.tokenize("dog") == 3 * unknown
    # Characters that no trigram begins or ends with.
    assert tokenizer.tokenize("\u00fccat") == [*unknown, *unknown, "cat", "at "]


@pytest.mark.parametrize(("skip_unknown", "lower_case"), [(False, True), (True, False)])
def test_saved_tokenizer_opens_with_auto_tokenizer_and_is_recognised(tmp_path, skip_unknown, lower_case):
    trigrams = trigram_vocabulary(["Zwölf\tBoxkämpfer", "日本語 x"], lower_case=lower_case)
    tokenizer = build_character_trigram_tokenizer(trigrams, lower_case=lower_case, skip_unknown=skip_unknown)
    save_tokenizer(tokenizer, tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path)
    assert loaded.backend_tokenizer.to_str() == tokenizer.backend_tokenizer.to_str()
    texts = ["Zwölf", "", "日本", "[PAD] unknown", "x"]
    first, second = (item(texts, padding=True) for item in (tokenizer, loaded))
    assert first["input_ids"] == second["input_ids"] and first["attention_mask"] == second["attention_mask"]
    loaded(texts, truncation=True, max_length=2)
    lookup = TrigramLookup.for_tokenizer(loaded.backend_tokenizer)
    assert (lookup.lower_case, lookup.skip_unknown) == (lower_case, skip_unknown)
    settings_file = json.loads((tmp_path / "tokenizer_config.json").read_text())
    assert settings_file["tokenizer_class"] == "PreTrainedTokenizerFast"


@pytest.mark.parametrize(
    "change",
    [
        lambda backend: setattr(backend, "normalizer", None),
        lambda backend: setattr(
            backend, "normalizer", normalizers.Sequence([normalizers.StripAccents(), backend.normalizer])
        ),
        lambda backend: setattr(backend, "pre_tokenizer", pre_tokenizers.Split(Regex("...."), "isolated")),
        lambda backend: backend.add_special_tokens([AddedToken("<m>", lstrip=True)]),
    ],
)
def test_a_changed_tokenizer_is_not_recognised(change):
    backend = build_character_trigram_tokenizer(["cat"]).backend_tokenizer
    assert TrigramLookup.for_tokenizer(backend) is not None
    change(backend)
    assert TrigramLookup.for_tokenizer(backend) is None


RULES = [{"lower_case": True, "skip_unknown": False}, {"lower_case": False, "skip_unknown": True}]

PIECES = [
    *(" ", "  ", "\t", "\n", "\r", "\v", "\f", "\x1c", "\x1f", "\x00", "\x01", "\x02", "\x03", "\x7f", "\x85"),
    *("\u00a0", "\u1680", "\u180e", "\u200b", "\u2028", "\u3000", "\ufeff", "\u200d", "\ufe0f"),
    *("a", "b", "A", "B", "cat", "CAT", "[PAD]", "[UNK]", "[", "PAD]", "[pad]", "e", "\u0301", "\u0327", "\u00e9"),
    *("\u0404", "\u0439", "\u0483", "\u00aa", "\u00a8"),
    *("\u0130", "\u03a3", "\u03c3", "\u1e9e", "\u01c5", "\u2126", "\u1100", "\u1161", "\u11a8", "\uac00", "\u0e33"),
    *(".", "^", "$", "\\", "\U0001f600", "\U0001d400", "\U0010ffff", "\ufb01", "\u00bd", "\uff21", "\ufdfa"),
]
TEXT = st.one_of(st.text(max_size=20), st.lists(st.sampled_from(PIECES), max_size=10).map("".join))


@pytest.mark.parametrize("rules", RULES, ids=str)
@settings(max_examples=100, deadline=None)
@given(texts=st.lists(TEXT, max_size=6))
@example(texts=[])
@example(texts=["", "  ", "", "\n", "a", "ab"])
@example(texts=["a [PAD] b", "x", "[UNK]", "caf\u00e9[PAD"])
@example(texts=["\x01a\x02", "\x01", "b \x01 \x02 c"])
def test_ids_equal_those_of_tokenizers_on_any_unicode(rules, texts):
    # An id for every trigram of the texts but a few.
    trigrams = trigram_vocabulary(texts, lower_case=rules["lower_case"])
    known = [*(item for place, item in enumerate(trigrams) if place % 7 != 6), "xyz"]
    backend = build_character_trigram_tokenizer(known, **rules).backend_tokenizer
    expected = TokenIds.of_lists([item.ids for item in backend.encode_batch_fast(texts)])
    # Trigrams are looked up in a table, and searched where that would be too large.
    for size in (character_trigram._TABLE_SIZE, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(character_trigram, "_TABLE_SIZE", size)
            lookup = TrigramLookup.for_tokenizer(backend)
        assert (lookup._table is None) == (size == 0)
        found = lookup(texts)
        np.testing.assert_array_equal(found.offsets, expected.offsets)
        np.testing.assert_array_equal(found.ids, expected.ids)
        assert found.ids.dtype == found.offsets.dtype == np.int64
