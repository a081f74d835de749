from __future__ import annotations

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, models, processors
from tokenizers import normalizers as norm
from tokenizers import pre_tokenizers as pre

from hf_paraphrase.tokenization.run_lookup import runs_are_separable, tokens_around

CLS, SEP = ("[S]", 1), ("[E]", 2)


def tokenizer(model=None, **parts):
    made = Tokenizer(model or models.WordLevel({"[UNK]": 0, "[S]": 1, "[E]": 2, "a": 3}, unk_token="[UNK]"))
    for name, part in {"normalizer": norm.NFKC(), "pre_tokenizer": pre.WhitespaceSplit(), **parts}.items():
        setattr(made, name, part)
    return made


def template(single):
    return processors.TemplateProcessing(single=single, pair="$A $B:1", special_tokens=[CLS, SEP])


@pytest.mark.parametrize(
    "processor",
    [
        processors.ByteLevel(),
        template("$A"),
        template("[S] [S] $A:1 [E]"),
        processors.BertProcessing(SEP, CLS),
        processors.RobertaProcessing(SEP, CLS),
        processors.Sequence([processors.ByteLevel(), template("[S] $A [E]")]),
        processors.Sequence([template("[S] $A"), template("$A [E]")]),
    ],
)
def test_special_tokens_are_those_that_stand_around_every_text(processor):
    made = tokenizer(post_processor=processor)
    before, behind = tokens_around(made)
    for text, ids in (("a", [3]), ("", [])):
        assert made.encode(text).ids == [*before, *ids, *behind]


def test_a_text_that_is_put_there_twice_is_recognised():
    assert tokens_around(tokenizer(post_processor=template("$A $A"))) is None


@pytest.mark.parametrize(
    "normalizer",
    [
        norm.Prepend("\u2581"),
        norm.ByteLevel(),
        norm.Strip(),
        norm.Replace(" ", "\u2581"),
        norm.Replace(Regex("a b|c"), "x"),
        norm.Replace("", "x"),
        norm.Sequence([norm.NFC(), norm.Sequence([norm.Lowercase(), norm.Prepend("x")])]),
    ],
    ids=str,
)
def test_a_normalizer_that_looks_across_spaces_or_at_the_ends_of_a_text_is_not_safe(normalizer):
    assert runs_are_separable(tokenizer())
    assert not runs_are_separable(tokenizer(normalizer=normalizer))


@pytest.mark.parametrize(
    "pre_tokenizer",
    [
        pre.Metaspace(split=False),
        pre.Metaspace(replacement="_"),
        pre.ByteLevel(use_regex=False),
        pre.Punctuation(),
        pre.Split(" ", "merged_with_previous"),
        pre.Split(Regex(r"\w+ \w+"), "isolated"),
        pre.Split(Regex(r"[^\W_]+|[^\w\s]|_"), "merged_with_next"),
        pre.Sequence([]),
        pre.Sequence([pre.FixedLength(4), pre.WhitespaceSplit()]),
    ],
    ids=str,
)
def test_one_that_does_not_split_before_every_space_first_of_all_is_not_safe(pre_tokenizer):
    assert not runs_are_separable(tokenizer(pre_tokenizer=pre_tokenizer))


def test_without_splitting_or_with_a_model_that_draws_its_pieces_it_is_not_safe():
    vocabulary = {"[UNK]": 0, "a": 1}
    assert not runs_are_separable(Tokenizer(models.BPE(vocabulary, [])))
    assert runs_are_separable(tokenizer(models.BPE(vocabulary, [], dropout=0.0)))
    assert not runs_are_separable(tokenizer(models.BPE(vocabulary, [], dropout=0.1)))
    assert runs_are_separable(tokenizer(models.Unigram([("a", -1.0)], None, False)))


@pytest.mark.parametrize(
    ("token", "safe"),
    [
        (AddedToken("<m>"), True),
        (AddedToken(" a"), True),
        (AddedToken("a b"), False),
        (AddedToken("\t b"), False),
        (AddedToken("a\u00a0b", normalized=False), True),
        (AddedToken("a\u00a0b", normalized=True), False),
    ],
    ids=repr,
)
def test_an_added_token_that_may_cross_two_runs_is_not_safe(token, safe):
    made = tokenizer()
    made.add_tokens([token])
    assert runs_are_separable(made) == safe
