"""Draws phrases and clauses at random under the lexicon's selectional restrictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import TypeVar

from .adjectives import adjectives_for
from .adjuncts import MANNERS, places_for, times_for
from .lexicon import Adjunct, Noun, Verb
from .meaning import Agreement, Clause, Nominal, NounPhrase, Pronoun, ProperName
from .nouns import NAMES
from .verbs import (
    DITRANSITIVE_VERBS,
    INTRANSITIVE_VERBS,
    OBLIQUE_VERBS,
    TRANSITIVE_VERBS,
    selected_nouns,
)

T = TypeVar("T")

_PRONOUNS = tuple(
    Pronoun(Agreement(person, plural, feminine))
    for person, plural, feminine in (
        (0, False, False), (1, False, False), (2, False, False), (2, False, True),
        (0, True, False), (1, True, False), (2, True, False), (2, True, True),
    )
)  # fmt: skip
FIRST_PERSON = Agreement(0)
_SETTLED_DETERMINERS = {"definite", "possessive", "demonstrative", "generic"}
# Whose relatives are spoken of: my, your (tu), our, your (vous).
_RELATIVE_POSSESSORS = (Agreement(0), Agreement(0), Agreement(1), Agreement(0, True), Agreement(1, True))
# Things that are one of a kind where they are spoken of.
_ALWAYS_DEFINITE = {"truth", "labor", "part", "room", "royal"}
_NEVER_PLURAL = {"parent", "royal", "fixed", "truth", "label", "need", "cash", "labor", "language", "room", "boss"}
_SINGULAR_LEMMAS = {"mari", "épouse", "secrétaire", "musique"}
# What is counted or spoken of in numbers; other plurals are definite.
_COUNTED = {
    "food",
    "plant",
    "animal",
    "human",
    "small",
    "tableware",
    "clothing",
    "toy",
    "container",
    "furniture",
    "car",
}
# Places and events, which are mostly known ones.
_MOSTLY_DEFINITE = {"building", "area", "region", "event", "structure", "nature", "worker", "boss"}
_SPOUSES = {"mari": True, "épouse": False}
# Fields of actions that one dates by the week or year, and verbs that take longer than an hour.
_LONG_FIELDS = {"travel", "making", "shopping", "work", "study", "people"}
_LONG_TIMES = ("semaine", "mois", "année")
_LONG_VERBS = {"construire", "détruire", "apprendre", "voyager", "étudier", "organiser", "traduire", "louer", "marier"}
# Verbs of which one says that somebody did not do it to "a" thing, rather than to "the" thing.
_NEGATED_INDEFINITE = {
    "acheter", "manger", "boire", "voir", "utiliser", "porter", "recevoir", "écrire", "lire", "préparer", "trouver",
    "choisir", "commander", "construire", "goûter", "conduire",
}  # fmt: skip
# By whether the wearer is a woman.
_CLOTHES_OF_THE_OTHER_GENDER = {True: {"cravate"}, False: {"robe", "jupe", "collier"}}
_WITHOUT_ADJECTIVE = {"truth", "need", "label", "language"}
# What people speak of as their own.
_OWNED = {
    "clothing",
    "small",
    "device",
    "car",
    "dwelling",
    "pet",
    "container",
    "letter",
    "instrument",
    "friend",
    "room",
}
# Fields of verbs whose food or drink is meant in general ("likes cheese").
_GENERIC_FIELDS = {"taste"}


@cache
def _verbs(kind: str, flag: str) -> tuple[Verb, ...]:
    tables = {
        "transitive": TRANSITIVE_VERBS,
        "intransitive": INTRANSITIVE_VERBS,
        "oblique": OBLIQUE_VERBS,
        "ditransitive": DITRANSITIVE_VERBS,
    }
    return tuple(verb for verb in tables[kind] if not flag or flag in verb.flags)


def can_be_plural(noun: Noun) -> bool:
    """Says whether the noun is naturally spoken of in the plural."""
    return not noun.mass and noun.french not in _SINGULAR_LEMMAS and not _NEVER_PLURAL & set(noun.classes)


def is_human(nominal: Nominal) -> bool:
    """Says whether a nominal is a person or persons."""
    return not isinstance(nominal, NounPhrase) or "human" in nominal.noun.classes


class MeaningSampler:
    """Draws nouns, phrases, adjuncts and clauses that fit together."""

    def __init__(self, rng: Random) -> None:
        """Takes the source of all randomness."""
        self._rng = rng

    def pick(self, options: Sequence[T]) -> T:
        """Returns one of the options."""
        return options[self._rng.randrange(len(options))]

    def chance(self, probability: float) -> bool:
        """Returns True with the given probability."""
        return self._rng.random() < probability

    def subject_noun(self, verb: Verb) -> Noun:
        """Draws a noun that may be the verb's subject."""
        return self.pick(selected_nouns(verb.subjects))

    def person(self, selectors: tuple[str, ...] = ("human",), pronouns: float = 0.0, names: float = 0.3) -> Nominal:
        """Draws a person: a pronoun, a name or a noun phrase."""
        if self.chance(pronouns):
            return self.pick(_PRONOUNS)
        if self.chance(names):
            return ProperName(self.pick(NAMES))
        return self.phrase(self.pick(selected_nouns(selectors)), plural=0.1)

    def subject(self, verb: Verb, pronouns: float = 0.2, names: float = 0.15) -> Nominal:
        """Draws a subject for the verb; names and pronouns only where many kinds of people do it."""
        if {"human", "adult", "kin"} & set(verb.subjects):
            roll = self._rng.random()
            if roll < pronouns:
                return self.pick(_PRONOUNS)
            if roll < pronouns + names:
                return ProperName(self.pick(NAMES))
        return self.phrase(self.subject_noun(verb), adjective=0.12, plural=0.12, indefinite=0.12)

    def phrase(
        self,
        noun: Noun,
        adjective: float = 0.15,
        plural: float = 0.15,
        indefinite: float = 0.25,
        owner: Agreement | None = None,
    ) -> NounPhrase:
        """Draws a noun phrase around a noun.

        Args:
            noun: The noun.
            adjective: How often it has an adjective.
            plural: How often it is plural, where it can be.
            indefinite: How often it is indefinite, where it can be.
            owner: Who may own it: the subject whose object it is.
        """
        attribute = None
        classes = set(noun.classes)
        is_plural = can_be_plural(noun) and self.chance(plural)
        if self.chance(adjective) and not _WITHOUT_ADJECTIVE & classes and adjectives_for(noun, True):
            attribute = self.pick(adjectives_for(noun, True))
        if "language" in classes:
            return NounPhrase(noun, "generic")
        if "need" in classes:
            return NounPhrase(noun, "indefinite")
        if "kin" in classes or ("friend" in classes and self.chance(0.7)):
            return NounPhrase(noun, "possessive", is_plural, None, self._relative_of(noun, owner))
        if owner is not None and _OWNED & classes and self.chance(0.3):
            return NounPhrase(noun, "possessive", is_plural, attribute, owner)
        if "label" in classes:
            return NounPhrase(noun, "possessive", False, None, self.pick(_RELATIVE_POSSESSORS))
        if noun.mass:
            determiner = "indefinite" if self.chance(0.6) and not _ALWAYS_DEFINITE & classes else "definite"
            return NounPhrase(noun, determiner, False, attribute)
        if _MOSTLY_DEFINITE & classes:
            indefinite *= 0.4
        roll = self._rng.random()
        if roll < 0.08:
            return NounPhrase(noun, "demonstrative", is_plural, attribute)
        if (is_plural and not _COUNTED & classes) or _ALWAYS_DEFINITE & classes or roll >= 0.08 + indefinite:
            return NounPhrase(noun, "definite", is_plural, attribute)
        if is_plural:
            quantity = self.pick(("two", "three", "several", "indefinite", "indefinite", "a few", "many"))
            return NounPhrase(noun, quantity, True, attribute if quantity != "many" else None)
        return NounPhrase(noun, "indefinite", False, attribute)

    def _relative_of(self, noun: Noun, owner: Agreement | None) -> Agreement:
        """Draws whose relative or friend a noun is, for a spouse somebody of the other gender."""
        possessor = owner if owner is not None and self.chance(0.6) else self.pick(_RELATIVE_POSSESSORS)
        if noun.french in _SPOUSES:
            other_gender = possessor.person != 2 or possessor.feminine == _SPOUSES[noun.french]
            return possessor if other_gender and not possessor.plural else FIRST_PERSON
        return possessor

    def object(self, verb: Verb, subject: Nominal, adjective: float = 0.2) -> Nominal:
        """Draws an object for the verb, never the subject's own noun."""
        options = selected_nouns(verb.objects)
        own = subject.noun if isinstance(subject, NounPhrase) else None
        options = tuple(noun for noun in options if noun is not own) or options
        if verb.field == "clothes" or verb.french == "essayer":
            unlikely = _CLOTHES_OF_THE_OTHER_GENDER[subject.agreement.feminine]
            options = tuple(noun for noun in options if noun.french not in unlikely)
        noun = self.pick(options)
        if verb.field in _GENERIC_FIELDS and {"food", "drink"} & set(noun.classes):
            if verb.preposition:
                return NounPhrase(noun, "indefinite")
            return NounPhrase(noun, "generic", not noun.mass)
        if (
            "human" in noun.classes
            and "friend" not in noun.classes
            and self.chance(0.12)
            and "kin" not in noun.classes
        ):
            return ProperName(self.pick(tuple(name for name in NAMES if ProperName(name) != subject)))
        owner = subject.agreement if is_human(subject) else None
        many = 0.5 if {"food", "plant", "footwear"} & set(noun.classes) else 0.15
        phrase = self.phrase(noun, adjective, many, 0.3, owner)
        if "footwear" in noun.classes and verb.field in {"clothes", "shopping", "home"} and phrase.noun is noun:
            kind = (
                phrase.determiner if phrase.determiner in {"definite", "possessive", "demonstrative"} else "indefinite"
            )
            return NounPhrase(noun, kind, True, phrase.adjective, phrase.possessor)
        return phrase

    def verb(self, kind: str, flag: str = "") -> Verb:
        """Draws a verb of a kind of frame, with a flag where one is asked for."""
        return self.pick(_verbs(kind, flag))

    def recipient(self, subject: Nominal) -> Nominal:
        """Draws somebody to give or tell something to, other than the subject."""
        own = subject.noun if isinstance(subject, NounPhrase) else None
        if self.chance(0.2):
            return ProperName(self.pick(tuple(name for name in NAMES if ProperName(name) != subject)))
        nouns = tuple(
            noun for noun in selected_nouns(("kin", "friend", "youth", "adult", "learner")) if noun is not own
        )
        return self.phrase(self.pick(nouns), 0.08, 0.1, 0.05, subject.agreement)

    def time(self, tense: str, verb: Verb | None = None) -> Adjunct:
        """Draws a time that goes with "past", "future", "ongoing" or "habit", and with how long the verb takes."""
        times = times_for(tense)
        if verb is not None and verb.field not in _LONG_FIELDS:
            times = tuple(time for time in times if not any(word in time.french for word in _LONG_TIMES))
        if verb is not None and verb.french in _LONG_VERBS:
            times = tuple(time for time in times if "heure" not in time.french and "soir" not in time.french)
        return self.pick(times)

    def negate(self, clause: Clause, polarity: str = "negative") -> Clause:
        """Returns the clause denied, with an object that can be: "the" rather than "several" or "a"."""
        patient = clause.object
        if isinstance(patient, NounPhrase) and patient.determiner not in _SETTLED_DETERMINERS:
            kept = patient.noun.mass or (not patient.plural and clause.verb.french in _NEGATED_INDEFINITE)
            if patient.determiner != "indefinite" or not kept or "human" in patient.noun.classes:
                mass = patient.noun.mass and clause.verb.preposition == "de"
                patient = patient if mass else replace(patient, determiner="definite")
        subject = clause.subject
        if isinstance(subject, NounPhrase) and subject.determiner not in _SETTLED_DETERMINERS:
            subject = replace(subject, determiner="definite")
        return replace(clause, subject=subject, object=patient, polarity=polarity)

    def habit(self, clause: Clause) -> Clause:
        """Returns the clause with an object that one can deal with again and again."""
        patient = clause.object
        if not isinstance(patient, NounPhrase) or patient.noun.mass:
            return clause
        if {"food", "plant", "drink"} & set(patient.noun.classes):
            determiner = "definite" if clause.verb.field in {"home", "care"} else "indefinite"
            return replace(clause, object=NounPhrase(patient.noun, determiner, True))
        if patient.determiner not in _SETTLED_DETERMINERS:
            return replace(clause, object=NounPhrase(patient.noun, "definite", patient.plural))
        return clause

    def place(self, verb: Verb) -> Adjunct | None:
        """Draws a place where the verb's action happens."""
        places = places_for(verb.places)
        return self.pick(places) if places else None

    def manner(self, verb: Verb) -> Adjunct | None:
        """Draws a manner of the verb's action."""
        manners = tuple(manner for manner in MANNERS if verb.field in manner.kinds)
        return self.pick(manners) if manners and "s" not in verb.flags else None

    def clause(
        self,
        verb: Verb,
        tense: str,
        place: float = 0.3,
        time: float = 0.0,
        manner: float = 0.06,
        pronouns: float = 0.2,
        subject: Nominal | None = None,
        adjective: float = 0.2,
    ) -> Clause:
        """Draws a whole clause of the verb.

        Args:
            verb: The verb.
            tense: Its tense.
            place: How often there is a place.
            time: How often there is a time.
            manner: How often there is a manner.
            pronouns: How often the subject is a pronoun.
            subject: The subject, where it is given.
            adjective: How often the object has an adjective.
        """
        subject = subject if subject is not None else self.subject(verb, pronouns)
        patient = self.object(verb, subject, adjective) if verb.objects else None
        recipient = self.recipient(subject) if verb in DITRANSITIVE_VERBS else None
        when = None
        if self.chance(time):
            when = self.time("ongoing" if tense == "present" else tense, verb)
        where = self.place(verb) if self.chance(place) else None
        how = self.manner(verb) if where is None and recipient is None and self.chance(manner) else None
        return Clause(verb, subject, patient, recipient, tense, manner=how, place=where, time=when)
