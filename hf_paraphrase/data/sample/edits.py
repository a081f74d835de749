"""Small changes of a meaning: what a graded pair's second sentence says differently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from .adjectives import ADJECTIVE_BY_FRENCH, antonym, describes
from .adjuncts import PLACES
from .lexicon import Adjective, Noun
from .meaning import (
    AgentlessPassive,
    Clause,
    Cleft,
    Copula,
    Location,
    Meaning,
    Nominal,
    NounPhrase,
    ProperName,
    Question,
)
from .nouns import NOUN_BY_FRENCH
from .sampler import MeaningSampler
from .verbs import TRANSITIVE_VERBS, selected_nouns

Edit = Callable[[MeaningSampler, Meaning], Meaning | None]


def _in_clause(meaning: Meaning, change: Callable[[Clause], Clause | None]) -> Meaning | None:
    """Applies a change to the clause of a meaning that is made of one."""
    if isinstance(meaning, Clause):
        return change(meaning)
    if isinstance(meaning, Question | Cleft | AgentlessPassive):
        changed = change(meaning.clause)
        return None if changed is None else replace(meaning, clause=changed)
    return None


def _specific_class(noun: Noun) -> str:
    """Returns the class by which a noun is replaced: the narrowest of some usual ones."""
    order = (
        "kin", "worker", "youth", "adult", "pet", "farm", "wild", "fruit", "vegetable", "bakery", "produce", "drink",
        "dish", "car", "transport", "clothing", "furniture", "tableware", "container", "toy", "jewel", "tool",
        "device", "instrument", "letter", "prose", "event", "show", "shop", "public", "room", "sight", "plant", "idea",
    )  # fmt: skip
    return next((name for name in order if name in noun.classes), "")


def _other_noun(
    sampler: MeaningSampler, phrase: Nominal | None, selectors: tuple[str, ...], rest: Nominal | None = None
) -> NounPhrase | None:
    """Replaces the noun of a phrase by another one of its class, which the verb allows and `rest` does not have."""
    if not isinstance(phrase, NounPhrase) or phrase.relative is not None:
        return None
    allowed = selected_nouns(selectors)
    taken = {rest.noun.french} if isinstance(rest, NounPhrase) else set()
    kind = _specific_class(phrase.noun)
    others = [
        noun
        for noun in allowed
        if noun.french != phrase.noun.french
        and kind in noun.classes
        and noun.mass == phrase.noun.mass
        and not set(noun.english) & set(phrase.noun.english)
        and noun.french not in taken
    ]
    if not others:
        return None
    noun = sampler.pick(others)
    adjective = phrase.adjective if phrase.adjective is not None and describes(phrase.adjective, noun) else None
    return replace(phrase, noun=noun, adjective=adjective)


def other_object(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Replaces the object by another thing of its class."""

    def change(clause: Clause) -> Clause | None:
        patient = _other_noun(sampler, clause.object, clause.verb.objects, clause.subject)
        return None if patient is None else replace(clause, object=patient)

    return _in_clause(meaning, change)


def other_subject(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Replaces the subject by somebody else."""

    def change(clause: Clause) -> Clause | None:
        patient = clause.object
        if isinstance(patient, NounPhrase) and patient.possessor == clause.subject.agreement:
            return None
        subject = _other_noun(sampler, clause.subject, clause.verb.subjects, clause.object)
        return None if subject is None else replace(clause, subject=subject)

    return _in_clause(meaning, change)


def other_place(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Moves the action to another place where it can happen."""

    def change(clause: Clause) -> Clause | None:
        if clause.place is None or clause.place not in PLACES:
            return None
        place = sampler.place(clause.verb)
        return None if place is None or place == clause.place else replace(clause, place=place)

    return _in_clause(meaning, change)


def other_landmark(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Puts something near another piece of furniture or building."""
    if not isinstance(meaning, Location):
        return None
    landmark = _other_noun(sampler, meaning.landmark, ("container", "building", "fixed"))
    return None if landmark is None else replace(meaning, landmark=landmark)


def swapped_roles(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Makes the agent the patient and the other way round, where both can be either."""
    del sampler

    def change(clause: Clause) -> Clause | None:
        subject, patient = clause.subject, clause.object
        if patient is None or clause.verb.preposition not in {"", "à", "de"}:
            return None
        for one in (subject, patient):
            if isinstance(one, NounPhrase):
                if one.relative is not None or (one.possessor is not None and one.possessor.person == 2):
                    return None
            elif not isinstance(one, ProperName):
                return None
        if isinstance(subject, NounPhrase) and subject.noun not in selected_nouns(clause.verb.objects):
            return None
        if isinstance(patient, NounPhrase) and patient.noun not in selected_nouns(clause.verb.subjects):
            return None
        return replace(clause, subject=patient, object=subject)

    return _in_clause(meaning, change)


def negated(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Says that it is not so."""
    del sampler
    if isinstance(meaning, Copula) and meaning.polarity == "affirmative" and not meaning.question:
        return replace(meaning, polarity="negative") if meaning.degree in {"", "very"} else None

    def change(clause: Clause) -> Clause | None:
        if clause.polarity != "affirmative" or clause.frequency is not None or clause.manner is not None:
            return None
        if isinstance(clause.object, NounPhrase) and clause.object.determiner not in {
            "definite", "possessive", "demonstrative", "generic",
        }:  # fmt: skip
            return None
        return replace(clause, polarity="negative")

    return change(meaning) if isinstance(meaning, Clause) else None


def _opposite_for(adjective: Adjective, noun: Noun) -> Adjective | None:
    """Returns the opposite that fits the noun: a person who is not old is young rather than new."""
    other = antonym(adjective)
    if adjective.french == "vieux" and {"human", "animal"} & set(noun.classes):
        other = ADJECTIVE_BY_FRENCH["jeune"]
    return other if other is not None and describes(other, noun) else None


def _opposite(phrase: Nominal | None) -> NounPhrase | None:
    if not isinstance(phrase, NounPhrase) or phrase.adjective is None:
        return None
    other = _opposite_for(phrase.adjective, phrase.noun)
    return None if other is None else replace(phrase, adjective=other)


def antonymous(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Replaces an adjective by its opposite."""
    del sampler
    if isinstance(meaning, Copula) and isinstance(meaning.predicate, Adjective):
        noun = meaning.subject.noun if isinstance(meaning.subject, NounPhrase) else NOUN_BY_FRENCH["ami"]
        other = _opposite_for(meaning.predicate, noun)
        return None if other is None else replace(meaning, predicate=other)
    return None


def other_quality(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Gives the object or subject of a clause the opposite quality."""
    del sampler

    def change(clause: Clause) -> Clause | None:
        patient, subject = _opposite(clause.object), _opposite(clause.subject)
        if patient is not None:
            return replace(clause, object=patient)
        return None if subject is None else replace(clause, subject=subject)

    return _in_clause(meaning, change)


def other_action(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Lets the same subject do something else to the same object."""

    def change(clause: Clause) -> Clause | None:
        subject, patient = clause.subject, clause.object
        if not isinstance(patient, NounPhrase) or clause.verb.preposition or clause.control or clause.recipient:
            return None
        if clause.manner is not None:
            return None
        verbs = [
            verb
            for verb in TRANSITIVE_VERBS
            if verb.french != clause.verb.french
            and ("s" in verb.flags) == ("s" in clause.verb.flags)
            and not set(verb.english) & set(clause.verb.english)
            and patient.noun in selected_nouns(verb.objects)
            and (
                subject.noun in selected_nouns(verb.subjects)
                if isinstance(subject, NounPhrase)
                else bool({"human", "adult", "kin"} & set(verb.subjects))
            )
            and (clause.place is None or set(verb.places) & set(clause.place.kinds))
            and (clause.tense != "present" or set(verb.flags) & set(clause.verb.flags) & set("hns"))
        ]
        return replace(clause, verb=sampler.pick(verbs)) if verbs else None

    return _in_clause(meaning, change)


def without_detail(sampler: MeaningSampler, meaning: Meaning) -> Meaning | None:
    """Leaves out an adjunct, an adjective or a degree."""
    if isinstance(meaning, Copula):
        return replace(meaning, degree="") if meaning.degree in {"very", "really", "quite"} else None

    def change(clause: Clause) -> Clause | None:
        lighter = [
            replace(clause, **{name: None})  # type: ignore[arg-type]
            for name in ("time", "place", "manner", "frequency", "duration")
            if getattr(clause, name) is not None
            # Without its "every day" or "since Monday" the present would mean another time.
            and (clause.tense != "present" or name in {"place", "manner"})
        ]
        if clause.verb.french in {"aller", "retourner"}:
            lighter = [one for one in lighter if one.place is not None]
        for name in ("subject", "object"):
            phrase = getattr(clause, name)
            if isinstance(phrase, NounPhrase) and phrase.adjective is not None:
                lighter.append(replace(clause, **{name: replace(phrase, adjective=None)}))  # type: ignore[arg-type]
        return sampler.pick(lighter) if lighter else None

    return _in_clause(meaning, change)
