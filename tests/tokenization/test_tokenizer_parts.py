from __future__ import annotations

import pytest
from tokenizers import Tokenizer, normalizers, processors
from tokenizers.models import WordLevel

from hf_paraphrase.tokenization.tokenizer_parts import settings_of_part, tokens_around

CLS, SEP = ("[S]", 1), ("[E]", 2)


def tokenizer(processor=None):
    made = Tokenizer(WordLevel({"a": 0, "[S]": 1, "[E]": 2}, unk_token="a"))
    if processor is not None:
        made.post_processor = processor
    return made


def template(single):
    return processors.TemplateProcessing(single=single, pair="$A $B:1", special_tokens=[CLS, SEP])


@pytest.mark.parametrize(
    "processor",
    [
        None,
        template("$A"),
        template("$A [S]"),
        template("[S] $A"),
        template("[S] [S] $A:1 [E]"),
        processors.BertProcessing(SEP, CLS),
        processors.RobertaProcessing(SEP, CLS),
        processors.ByteLevel(),
        processors.Sequence([processors.ByteLevel(), template("[S] $A [E]")]),
    ],
)
def test_special_tokens_are_those_that_stand_around_every_text(processor):
    made = tokenizer(processor)
    before, behind = tokens_around(made)
    for text, ids in (("a", [0]), ("", [])):
        assert made.encode(text).ids == [*before, *ids, *behind]


@pytest.mark.parametrize(
    "processor", [template("$A $A"), template("[S]"), processors.Sequence([template("[S] $A"), template("$A [E]")])]
)
def test_what_does_something_else_is_recognised(processor):
    assert tokens_around(tokenizer(processor)) is None


def test_the_settings_of_a_part_are_read_and_of_no_part_there_are_none():
    assert settings_of_part(normalizers.Lowercase()) == {"type": "Lowercase"}
    assert settings_of_part(None) is None
