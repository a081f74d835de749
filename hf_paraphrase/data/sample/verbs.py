"""The verbs, read from their tables."""

from __future__ import annotations

from functools import cache

from .lexicon import Noun, Verb, table_rows, wordings
from .nouns import NOUNS
from .verb_tables import (
    DITRANSITIVE_TABLE,
    INTRANSITIVE_TABLE,
    NAMED_CLASSES,
    OBLIQUE_TABLE,
    TRANSITIVE_TABLE,
)


def _head(french: str) -> tuple[str, bool]:
    """Splits a reflexive pronoun from an infinitive."""
    for pronoun in ("se ", "s'"):
        if french.startswith(pronoun):
            return french.removeprefix(pronoun), True
    return french, False


def _words(cell: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    words = wordings(cell)
    clean = tuple(word.strip("*=") for word in words)
    return clean, tuple(word.strip("*=") for word in words if word[-1] == "*" or word[0] == "=")


def _list(cell: str) -> tuple[str, ...]:
    return () if cell == "-" else tuple(cell.split())


def _transitive() -> tuple[Verb, ...]:
    return tuple(
        Verb(french, "", "", *_words(english), _list(subjects), _list(objects), flags, _list(places), field)
        for french, english, subjects, objects, flags, places, field in table_rows(TRANSITIVE_TABLE, 7)
    )


def _intransitive() -> tuple[Verb, ...]:
    verbs = []
    for french, english, subjects, flags, places, field in table_rows(INTRANSITIVE_TABLE, 6):
        infinitive, reflexive = _head(french)
        active, only = _words(english)
        verbs.append(
            Verb(infinitive, "", "", active, only, _list(subjects), (), flags, _list(places), field, reflexive)
        )
    return tuple(verbs)


def _oblique() -> tuple[Verb, ...]:
    verbs = []
    for french, english, subjects, objects, flags, places, field in table_rows(OBLIQUE_TABLE, 7):
        infinitive, reflexive = _head(french)
        verb, *tail, preposition = infinitive.split()
        active, only = _words(english)
        verbs.append(
            Verb(
                verb, " ".join(tail), preposition, active, only, _list(subjects), _list(objects), flags,
                _list(places), field, reflexive,
            )
        )  # fmt: skip
    return tuple(verbs)


def _ditransitive() -> tuple[Verb, ...]:
    return tuple(
        Verb(french, "", "", *_words(english), _list(subjects), _list(objects), flags, (), field)
        for french, english, subjects, objects, flags, field in table_rows(DITRANSITIVE_TABLE, 6)
    )


TRANSITIVE_VERBS = _transitive()
INTRANSITIVE_VERBS = _intransitive()
OBLIQUE_VERBS = _oblique()
DITRANSITIVE_VERBS = _ditransitive()
VERBS = TRANSITIVE_VERBS + INTRANSITIVE_VERBS + OBLIQUE_VERBS + DITRANSITIVE_VERBS

# French verbs conjugated with être besides the reflexive ones.
MOTION_VERBS_WITH_ETRE = frozenset(
    [
        "aller",
        "venir",
        "arriver",
        "partir",
        "sortir",
        "entrer",
        "rentrer",
        "tomber",
        "rester",
        "revenir",
        "retourner",
        "devenir",
    ]
)


@cache
def selected_nouns(selectors: tuple[str, ...]) -> tuple[Noun, ...]:
    """Returns, in table order, the nouns that a verb's list of classes and named classes selects."""
    lemmas = {lemma for name in selectors for lemma in NAMED_CLASSES.get(name, ())}
    return tuple(noun for noun in NOUNS if noun.french in lemmas or set(selectors) & set(noun.classes))
