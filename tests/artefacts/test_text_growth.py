"""How long rules of tokenizers can make a text, against the rules themselves."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Regex, normalizers

from hf_paraphrase.artefacts.text_growth import always_takes_a_character, growth

LETTERS = st.text("ab ", max_size=3)
PATTERNS = ["a", "[ab]+", "a|b+", "b*", "(?=a)", "a?b", "^", "a{2}", "(?<=a)b", "a{0,2}", "(a)", r"\s"]


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


RULES = st.one_of(
    st.builds(replace, LETTERS.filter(bool), LETTERS),
    st.builds(replace, st.sampled_from(PATTERNS), LETTERS, st.just("Regex")),
    st.builds(lambda text: {"type": "Prepend", "prepend": text}, LETTERS.filter(bool)),
)


def applied(rules, text):
    for rule in rules:
        if rule["type"] == "Prepend":
            step = normalizers.Prepend(rule["prepend"])
        else:
            ((kind, pattern),) = rule["pattern"].items()
            step = normalizers.Replace(Regex(pattern) if kind == "Regex" else pattern, rule["content"])
        text = step.normalize_str(text)
    return text


@given(st.lists(RULES, max_size=5), st.text("ab ", min_size=1, max_size=6))
def test_no_text_becomes_longer_than_the_bound(rules, text):
    # Behind the last character, too, a pattern may match nothing.
    assert len(applied(rules, text)) <= growth(rules) * (len(text) + 1)


def test_rules_that_do_not_meet_cost_nothing_and_those_that_do_multiply():
    signs = [replace(sign, "...") for sign in "…‥⁇⁈⁉"]
    assert growth(signs * 20) == 3
    assert growth([replace("a", "aa")] * 20) == 2**20
    assert growth([replace("a", "bb"), replace("b", "cc"), replace("c", "dd")]) == 8
    assert growth([replace("[a-z]", "xx", "Regex")] * 10) == 2**10
    assert growth([replace("[a-z]", "x", "Regex")] * 100) == 1
    assert growth([replace("(?=.)", "x", "Regex")] * 10) == 2**10


def test_unicode_forms_count_once_and_what_is_unknown_counts_each_time():
    assert growth([{"type": "NFKC"}, {"type": "Lowercase"}] * 3) == 36
    assert growth([{"type": "Strip"}, {"type": "StripAccents"}]) == 1
    assert growth([{"type": "New"}] * 3) == 512
    assert growth([{"pattern": {"String": "a"}, "content": "a" * 100}] * 2) > 10_000
    assert growth([{"prepend": "a" * 100}] * 2) > 10_000
    # It is the longest of what one of them can become that counts.
    assert growth([{"type": "NFKC"}, replace("a", "aaaa")]) == 18 * 4


@pytest.mark.parametrize(
    "pattern", [r"\p{L}+", "[^\x01]", r"\x{21}(?=.\x{21})", "(?<= .)\x01|\x02(?=. )|\x02\\z", "a+?", "a{2,}", r"\.\."]
)
def test_patterns_that_always_take_a_character(pattern):
    assert always_takes_a_character(pattern)


@pytest.mark.parametrize(
    "pattern",
    ["", "a*", "a?", "|a", "a|", "(?=.)", "^", "a{0}", "a{,3}", "(a*)", "(a)", r"\K", r"\1", "a+*", "^*", "[[:x:]]*"],
)
def test_patterns_that_may_match_nothing_or_are_not_plain(pattern):
    assert not always_takes_a_character(pattern)


PIECES = ["a", ".", "[ab]", "a*", "b?", "a+", "|", "^", "(?=a)", "a{0,1}", "b{1}"]


@given(st.lists(st.sampled_from(PIECES), max_size=6))
def test_no_pattern_that_is_said_to_take_a_character_matches_nothing(pieces):
    pattern = "".join(pieces)
    if always_takes_a_character(pattern):
        assert all(match.end() > match.start() for match in re.finditer(pattern, "abba b"))
