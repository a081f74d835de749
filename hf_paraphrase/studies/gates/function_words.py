"""Kinds of English words by closed lists, where no part of speech is at hand."""

from __future__ import annotations

import re

CONTENT = "other words"
_LISTS = {
    "articles": "a an the",
    "demonstratives and quantifiers": "this that these those some any no every each all both either neither another "
    "much many few several more most",
    "personal pronouns": "i you he she it we they me him her us them myself yourself himself herself itself ourselves "
    "themselves mine yours hers ours theirs",
    "possessives": "my your his its our their 's '",
    "question words": "who whom whose which what when where why how",
    "prepositions": "of in on at by for with from into onto about over under between among through during before "
    "after above below against without within across behind beside near toward towards upon off out up down around "
    "along as like than per via",
    "to": "to",
    "conjunctions": "and or but nor so yet if because although though while since unless until whether",
    "auxiliaries and modals": "be am is are was were been being do does did have has had having can could will would "
    "shall should may might must ca wo 'm 're 've 'll 'd",
    "negation": "not n't never cannot",
    "there": "there",
}
_KIND_OF = {word: kind for kind, words in _LISTS.items() for word in words.split()}
_NUMBER = re.compile(r"[+-]?\d[\d.,:/]*%?")
_LETTER = re.compile(r"[^\W_]")


def kind_of_word(word: str) -> str:
    """Tells the kind of an English word by its form alone: `her` is always a pronoun, `like` a preposition.

    Words of other languages, and all that no list has, are :data:`CONTENT`.
    """
    word = word.lower().replace("\u2019", "'")
    if word in _KIND_OF:
        return _KIND_OF[word]
    if _NUMBER.fullmatch(word):
        return "numbers"
    return CONTENT if _LETTER.search(word) else "punctuation"
