"""Sentence patterns of questions, orders and suggestions."""

from __future__ import annotations

from dataclasses import replace

from .meaning import Agreement, Clause, Command, Meaning, NounPhrase, Pronoun, Question
from .sampler import FIRST_PERSON, MeaningSampler


def _event(sampler: MeaningSampler, kinds: tuple[str, ...], time: float, place: float) -> Clause | None:
    verb = sampler.verb(sampler.pick(kinds))
    if "s" in verb.flags:
        return None
    tense = sampler.pick(("past", "past", "future", "present")) if "n" in verb.flags else "past"
    time = 0.0 if tense == "present" else time
    clause = sampler.clause(verb, tense, place=place, time=time, manner=0, pronouns=0.4)
    # One seldom asks others about oneself.
    return None if clause.subject.agreement == FIRST_PERSON else clause


_ALL_KINDS = ("transitive", "transitive", "intransitive", "oblique", "ditransitive")


def whether_question(sampler: MeaningSampler) -> Meaning | None:
    """Did the director sign the contract?"""
    clause = _event(sampler, _ALL_KINDS, 0.4, 0.2)
    return clause and Question(clause, "whether")


def where_question(sampler: MeaningSampler) -> Meaning | None:
    """Where did you find the key?"""
    clause = _event(sampler, ("transitive", "intransitive"), 0.2, 0.0)
    if clause is None or not clause.verb.places or clause.verb.field in {"accident"}:
        return None
    return Question(clause, "where")


def when_question(sampler: MeaningSampler) -> Meaning | None:
    """When will the train leave?"""
    clause = _event(sampler, _ALL_KINDS, 0.0, 0.2)
    if clause is None or clause.tense == "present":
        return None
    return Question(clause, "when")


def why_question(sampler: MeaningSampler) -> Meaning | None:
    """Why is the baby crying?"""
    clause = _event(sampler, _ALL_KINDS, 0.2, 0.1)
    if clause is None:
        return None
    if clause.tense == "past" and sampler.chance(0.25):
        clause = sampler.negate(replace(clause, time=None))
    return Question(clause, "why")


def who_question(sampler: MeaningSampler) -> Meaning | None:
    """Who broke the glass?"""
    clause = _event(sampler, ("transitive", "transitive", "intransitive", "oblique"), 0.3, 0.2)
    if clause is None or not {"human", "adult", "kin", "worker", "maker"} & set(clause.verb.subjects):
        return None
    if clause.verb.reflexive or clause.verb.french in {"arriver"}:
        return None
    patient = clause.object
    # Nobody is known yet who could own the object.
    if isinstance(patient, NounPhrase) and patient.possessor is not None and patient.possessor.person == 2:
        return None
    return Question(replace(clause, subject=Pronoun(Agreement())), "subject")


def what_question(sampler: MeaningSampler) -> Meaning | None:
    """What did the customer buy?"""
    clause = _event(sampler, ("transitive",), 0.4, 0.3)
    if clause is None or clause.verb.field in {"home", "animals"}:
        return None
    return Question(clause, "object")


def _commanded(sampler: MeaningSampler, person: int) -> Clause | None:
    verb = sampler.verb(sampler.pick(("transitive", "transitive", "ditransitive", "oblique", "intransitive")), "c")
    if verb.reflexive or not {"human", "adult", "kin", "youth"} & set(verb.subjects):
        return None
    you = Pronoun(Agreement(0 if person == 3 else 1, person != 1))
    return sampler.clause(verb, "present", place=0.25, manner=0.2, subject=you)


def command(sampler: MeaningSampler) -> Meaning | None:
    """Close the door, please."""
    person = sampler.pick((1, 4))
    clause = _commanded(sampler, person)
    return clause and Command(clause, person, polite=sampler.chance(0.6))


def prohibition(sampler: MeaningSampler) -> Meaning | None:
    """Do not open the box."""
    person = sampler.pick((1, 4))
    clause = _commanded(sampler, person)
    if clause is None or clause.manner is not None:
        return None
    return Command(clause, person, negative=True)


def suggestion(sampler: MeaningSampler) -> Meaning | None:
    """Let's listen to the radio."""
    clause = _commanded(sampler, 3)
    return clause and Command(clause, 3)
