from __future__ import annotations

import re
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.errors import InputError
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.translation.bitext import normalize_punctuation

ALPHABET = string.ascii_letters + string.digits + " .,;:!?'\"()[]-_%$€&/éèàçôÉÀ«»"
TEXTS = [
    "L'homme, qui dort; n'est pas là !",
    "The man who sleeps isn't there (he left).",
    "It costs 3.50 € — or 12%.",
    *(f"{first}{second} {second}{first}" for first in ALPHABET for second in ALPHABET[::7]),
]


@pytest.fixture(scope="module")
def tokenizer():
    return train_bpe_tokenizer(TEXTS, 400, lowercase=True)


def plain(text):
    """Replaces typographic marks and joins what white space parts."""
    text = re.sub("\u00a0*[«»]\u00a0*", '"', text)
    return " ".join(re.sub("\u00a0([%:;?!])", r"\1", text).split())


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=ALPHABET + "\t\n\u00a0\u3000", max_size=60))
def test_decoding_restores_the_text_lower_cased_with_single_spaces(tokenizer, text):
    ids = tokenizer(text)["input_ids"]
    assert ids[-1] == tokenizer.eos_token_id
    assert tokenizer.decode(ids, skip_special_tokens=True) == plain(text.lower())


@settings(max_examples=100, deadline=None)
@given(st.text(alphabet=ALPHABET, max_size=40))
def test_no_unit_joins_punctuation_to_a_word(tokenizer, text):
    for unit in tokenizer.tokenize(text):
        bare = unit.strip("▁")
        assert bare.isalnum() or len(bare) <= 1


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("fr", "L’homme dit\u00a0: «\u00a0Où est l’eau\u00a0?\u00a0» — et s’en va…"),
        ("en", "It’s “plain” — isn’t it?"),
    ],
)
def test_raw_text_has_the_units_of_the_normalised_text_that_models_learn_from(tokenizer, language, text):
    (normalised,) = normalize_punctuation([text], language)
    assert normalised != text and not set(normalised) & set("«»„“”‘’‚´—–…")
    assert tokenizer(text)["input_ids"] == tokenizer(normalised)["input_ids"]


def test_special_units_have_the_ids_that_the_model_configuration_expects(tokenizer):
    assert tokenizer.convert_ids_to_tokens([0, 1, 2, 3]) == ["<pad>", "<s>", "</s>", "<unk>"]
    assert tokenizer("")["input_ids"] == [2]
    assert len(tokenizer) <= 400
    with pytest.raises(InputError, match="no text"):
        train_bpe_tokenizer(["  ", "\t"], 100)
