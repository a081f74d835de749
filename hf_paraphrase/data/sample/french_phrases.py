"""French noun phrases: determiners, adjective position and agreement, genitives."""

from __future__ import annotations

from . import french_morphology as morphology
from .meaning import (
    Agreement,
    Coordination,
    Nominal,
    NounPhrase,
    Pronoun,
    ProperName,
)

_SUBJECT_PRONOUNS = ("je", "tu", "il", "nous", "vous", "ils")
_POSSESSIVES = (
    ("mon", "ma", "mes"),
    ("ton", "ta", "tes"),
    ("son", "sa", "ses"),
    ("notre", "notre", "nos"),
    ("votre", "votre", "vos"),
    ("leur", "leur", "leurs"),
)
QUANTIFIERS = {
    "two": "deux",
    "three": "trois",
    "four": "quatre",
    "several": "plusieurs",
    "a few": "quelques",
    "many": "beaucoup de",
    "too many": "trop de",
    "enough": "assez de",
    "little": "un peu de",
}


def subject_pronoun(agreement: Agreement) -> str:
    """Returns the subject pronoun."""
    pronoun = _SUBJECT_PRONOUNS[agreement.index]
    if agreement.person == 2 and agreement.feminine:
        return {"il": "elle", "ils": "elles"}[pronoun]
    return pronoun


def _definite(feminine: bool, plural: bool) -> str:
    if plural:
        return "les"
    return "la" if feminine else "le"


def _indefinite(phrase: NounPhrase, prenominal: bool, after_de: bool, negated: bool) -> str:
    if phrase.noun.mass:
        if after_de:
            return ""
        return "de" if negated else "de " + _definite(phrase.noun.feminine, False)
    if negated and not after_de:
        return "de"
    if phrase.plural:
        if after_de:
            return ""
        return "de" if prenominal else "des"
    return "une" if phrase.noun.feminine else "un"


def _determiner(phrase: NounPhrase, following: str, prenominal: bool, after_de: bool, negated: bool) -> str:
    feminine, plural = phrase.noun.feminine, phrase.plural
    if phrase.determiner in QUANTIFIERS:
        return QUANTIFIERS[phrase.determiner]
    if phrase.determiner in {"definite", "generic"}:
        return _definite(feminine, plural)
    if phrase.determiner == "indefinite":
        return _indefinite(phrase, prenominal, after_de, negated)
    if phrase.determiner == "demonstrative":
        if plural:
            return "ces"
        if feminine:
            return "cette"
        return "cet" if morphology.begins_with_vowel(following) else "ce"
    if phrase.determiner == "possessive":
        assert phrase.possessor is not None
        masculine, feminine_form, plural_form = _POSSESSIVES[phrase.possessor.index]
        if plural:
            return plural_form
        return feminine_form if feminine and not morphology.begins_with_vowel(following) else masculine
    return {"every": "chaque", "all": "tous les", "bare": ""}[phrase.determiner]


def core_noun_phrase(phrase: NounPhrase, after_de: bool = False, negated: bool = False) -> str:
    """Returns a noun phrase without its relative clause."""
    noun = morphology.plural_noun(phrase.noun.french) if phrase.plural else phrase.noun.french
    words = [noun]
    prenominal = phrase.adjective is not None and phrase.adjective.prenominal
    if phrase.adjective is not None:
        form = morphology.inflect_adjective(phrase.adjective.french, phrase.noun.feminine, phrase.plural)
        if not prenominal:
            words.append(form)
        else:
            if not phrase.plural and not phrase.noun.feminine:
                form = morphology.liaison_adjective(phrase.adjective.french, noun)
            words.insert(0, form)
    determiner = _determiner(phrase, words[0], prenominal, after_de, negated)
    if determiner == "tous les" and phrase.noun.feminine:
        determiner = "toutes les"
    if determiner:
        words.insert(0, determiner)
    if phrase.owner is not None:
        words.append("de " + nominal(phrase.owner, after_de=True))
    return " ".join(words)


def nominal(phrase: Nominal, after_de: bool = False, negated: bool = False) -> str:
    """Returns a nominal in full forms, without elision or contraction and without relative clauses.

    Args:
        phrase: The nominal.
        after_de: Whether "de" stands before it, which swallows "des" and the partitive.
        negated: Whether it is the direct object of a negated verb, where "un" becomes "de".
    """
    if isinstance(phrase, Pronoun):
        return subject_pronoun(phrase.agreement)
    if isinstance(phrase, ProperName):
        return phrase.name.text
    if isinstance(phrase, Coordination):
        return f"{nominal(phrase.first, after_de, negated)} et {nominal(phrase.second, False, negated)}"
    return core_noun_phrase(phrase, after_de, negated)
