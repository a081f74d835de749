from __future__ import annotations

import pytest
from tokenizers import Tokenizer, normalizers, processors
from tokenizers.models import WordLevel

from hf_paraphrase.tokenization.tokenizer_parts import adds_no_tokens, settings_of_part


def tokenizer(processor=None):
    made = Tokenizer(WordLevel({"a": 0, "[S]": 1}, unk_token="a"))
    if processor is not None:
        made.post_processor = processor
    return made


@pytest.mark.parametrize(
    ("single", "expected"), [("$A", True), ("$A [S]", False), ("[S] $A", False), ("$A $A", False), ("$A:1", False)]
)
def test_a_template_with_anything_but_the_text_adds_tokens(single, expected):
    template = processors.TemplateProcessing(single=single, pair=f"{single} $B:1", special_tokens=[("[S]", 1)])
    assert adds_no_tokens(tokenizer(template)) is expected


def test_no_processor_adds_nothing_and_any_other_kind_may():
    assert adds_no_tokens(tokenizer())
    assert not adds_no_tokens(tokenizer(processors.ByteLevel()))


def test_the_settings_of_a_part_are_read_and_of_no_part_there_are_none():
    assert settings_of_part(normalizers.Lowercase()) == {"type": "Lowercase"}
    assert settings_of_part(None) is None
