from __future__ import annotations

import pytest
from tokenizers import AddedToken, Regex, Tokenizer, models
from tokenizers import normalizers as norm
from tokenizers import pre_tokenizers as pre

from hf_paraphrase.tokenization.separable_runs import runs_are_separable


def tokenizer(model=None):
    made = Tokenizer(model or models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    made.normalizer = norm.NFKC()
    made.pre_tokenizer = pre.WhitespaceSplit()
    return made


def test_a_plain_one_is_safe():
    assert runs_are_separable(tokenizer())


@pytest.mark.parametrize(
    "normalizer",
    [
        norm.Prepend("\u2581"),
        norm.ByteLevel(),
        norm.Strip(),
        norm.Strip(left=True, right=False),
        norm.Replace(" ", "\u2581"),
        norm.Replace("a b", "ab"),
        norm.Replace(Regex("a b|c"), "x"),
        norm.Replace(Regex("^"), "x"),
        norm.Replace("", "x"),
        norm.Sequence([norm.NFC(), norm.Sequence([norm.Lowercase(), norm.Prepend("x")])]),
    ],
    ids=str,
)
def test_a_normalizer_that_looks_across_spaces_or_at_the_ends_of_a_text_is_not(normalizer):
    made = tokenizer()
    made.normalizer = normalizer
    assert not runs_are_separable(made)


@pytest.mark.parametrize(
    "pre_tokenizer",
    [
        None,
        pre.Metaspace(split=False),
        pre.Metaspace(replacement="_"),
        pre.ByteLevel(use_regex=False),
        pre.Punctuation(),
        pre.Digits(),
        pre.UnicodeScripts(),
        pre.FixedLength(4),
        pre.CharDelimiterSplit("-"),
        pre.Split(" ", "merged_with_previous"),
        pre.Split(" ", "removed", invert=True),
        pre.Split(Regex(r"\w+ \w+"), "isolated"),
        pre.Split(Regex(r"(?<=a) ?\w+"), "isolated"),
        pre.Split(Regex(r"\w+|[^\w\s]+"), "merged_with_next"),
        pre.Sequence([]),
        pre.Sequence([pre.UnicodeScripts(), pre.WhitespaceSplit()]),
        pre.Sequence([pre.FixedLength(4), pre.WhitespaceSplit()]),
        pre.Sequence([pre.Split(" ", "merged_with_previous"), pre.Metaspace()]),
        pre.Sequence([pre.Punctuation(), pre.Sequence([pre.Digits(), pre.ByteLevel(use_regex=False)])]),
    ],
    ids=str,
)
def test_one_that_does_not_split_before_every_space_or_elsewhere_by_what_is_far_is_not(pre_tokenizer):
    made = tokenizer()
    if pre_tokenizer is None:
        made = Tokenizer(made.model)
    else:
        made.pre_tokenizer = pre_tokenizer
    assert not runs_are_separable(made)


def test_a_model_that_draws_its_pieces_is_not():
    vocabulary = {"[UNK]": 0, "a": 1}
    assert runs_are_separable(tokenizer(models.BPE(vocabulary, [], dropout=0.0)))
    assert not runs_are_separable(tokenizer(models.BPE(vocabulary, [], dropout=0.1)))
    unigram = tokenizer(models.Unigram([("a", -1.0)], None, False))
    assert runs_are_separable(unigram)
    if not hasattr(unigram.model, "alpha"):
        pytest.skip("this version of tokenizers draws no pieces with Unigram")
    model = unigram.model
    model.alpha, model.nbest_size = 0.5, 4
    assert not runs_are_separable(tokenizer(model))


@pytest.mark.parametrize(
    ("token", "safe"),
    [
        (AddedToken("<m>"), True),
        (AddedToken("  "), True),
        (AddedToken(" a"), True),
        (AddedToken("a b"), False),
        (AddedToken("a "), False),
        (AddedToken("\t b"), False),
        (AddedToken("a\u00a0b", normalized=False), True),
        (AddedToken("a\u00a0b", normalized=True), False),
    ],
    ids=repr,
)
def test_an_added_token_that_may_cross_two_runs_is_not(token, safe):
    made = tokenizer()
    made.add_tokens([token])
    assert runs_are_separable(made) == safe


def test_a_setting_that_this_version_of_tokenizers_does_not_have_is_not():
    from hf_paraphrase.tokenization.separable_runs import keeps_runs_apart, splits_at_seams

    assert keeps_runs_apart({"type": "Lowercase"}) and not keeps_runs_apart({"type": "Lowercase", "locale": "tr"})
    assert splits_at_seams({"type": "Whitespace"}) and not splits_at_seams({"type": "Whitespace", "glue": True})
    assert not keeps_runs_apart({"type": "Transliterate"}) and not splits_at_seams({"type": "Sentences"})
