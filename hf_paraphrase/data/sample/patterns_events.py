"""Sentence patterns of events: what somebody does, did or will do, in one clause."""

from __future__ import annotations

from dataclasses import replace

from .adjuncts import CONTROL_VERBS, DESTINATIONS, DURATIONS, EXTENTS, FREQUENCIES
from .lexicon import Verb
from .meaning import (
    AgentlessPassive,
    Clause,
    Cleft,
    Coordination,
    Meaning,
    NounPhrase,
    ProperName,
)
from .nouns import NAMES
from .sampler import MeaningSampler, is_human

_GO = Verb("aller", "", "", ("go",), (), ("human",), (), "hn", (), "travel")
_COME_BACK = Verb("retourner", "", "", ("go back", "return"), (), ("human",), (), "n", (), "travel")


def ongoing_action(sampler: MeaningSampler) -> Meaning | None:
    """The nurse is reading a letter in the kitchen."""
    return sampler.clause(sampler.verb("transitive", "n"), "present", place=0.45, time=0.15)


def past_action(sampler: MeaningSampler) -> Meaning | None:
    """The doctor bought a car last week."""
    verb = sampler.verb("transitive")
    if "s" in verb.flags:
        return None
    return sampler.clause(verb, "past", place=0.25, time=0.55)


def future_action(sampler: MeaningSampler) -> Meaning | None:
    """Paul will repair the bicycle tomorrow."""
    verb = sampler.verb("transitive")
    if "s" in verb.flags or verb.french in {"perdre", "oublier", "casser", "voler", "manquer", "mordre"}:
        return None
    return sampler.clause(verb, "future", place=0.2, time=0.6)


def habitual_action(sampler: MeaningSampler) -> Meaning | None:
    """My aunt drinks coffee every morning."""
    verb = sampler.verb("transitive", "h")
    clause = sampler.habit(sampler.clause(verb, "present", place=0.3))
    return replace(clause, time=sampler.time("habit"))


# What everybody does every day, so that "never" or "often" says nothing.
_EVERY_DAY = {"lever", "coucher", "réveiller", "dormir"}


def frequent_action(sampler: MeaningSampler) -> Meaning | None:
    """The students often read the newspaper at the library."""
    verb = sampler.verb(sampler.pick(("transitive", "intransitive", "oblique")), "h")
    if verb.french in _EVERY_DAY:
        return None
    clause = sampler.habit(sampler.clause(verb, "present", place=0.4, manner=0))
    return replace(clause, frequency=sampler.pick(FREQUENCIES))


def negative_action(sampler: MeaningSampler) -> Meaning | None:
    """The waiter did not open the window."""
    verb = sampler.verb("transitive")
    tense = "present" if set("ns") & set(verb.flags) and sampler.chance(0.4) else "past"
    if "s" in verb.flags:
        tense = "present"
    clause = sampler.clause(verb, tense, place=0.15, time=0.2 if tense == "past" else 0.0, manner=0)
    return sampler.negate(clause)


def never_action(sampler: MeaningSampler) -> Meaning | None:
    """My brother never eats fish."""
    verb = sampler.verb(sampler.pick(("transitive", "transitive", "intransitive")), "h")
    if verb.french in _EVERY_DAY:
        return None
    return sampler.negate(sampler.habit(sampler.clause(verb, "present", place=0.3, manner=0)), "never")


def never_visited(sampler: MeaningSampler) -> Meaning | None:
    """Marie has never visited the castle."""
    verb = sampler.verb("transitive")
    if verb.french not in {"visiter", "voir", "lire", "rencontrer", "conduire", "goûter", "traverser", "manger"}:
        return None
    if "human" not in verb.subjects and "adult" not in verb.subjects:
        return None
    return sampler.negate(sampler.clause(verb, "past", place=0, manner=0), "never")


def no_longer_action(sampler: MeaningSampler) -> Meaning | None:
    """The old man no longer works."""
    verb = sampler.verb(sampler.pick(("intransitive", "transitive", "oblique")), "h")
    if verb.french in _EVERY_DAY:
        return None
    return sampler.negate(sampler.habit(sampler.clause(verb, "present", place=0.3, manner=0)), "no longer")


def intransitive_action(sampler: MeaningSampler) -> Meaning | None:
    """The children are playing in the garden."""
    verb = sampler.verb("intransitive", "n")
    return sampler.clause(verb, "present", place=0.7, time=0.25)


def intransitive_past(sampler: MeaningSampler) -> Meaning | None:
    """The train arrived this morning."""
    return sampler.clause(sampler.verb("intransitive"), "past", place=0.4, time=0.7)


def intransitive_future(sampler: MeaningSampler) -> Meaning | None:
    """We will rest at home tomorrow."""
    verb = sampler.verb("intransitive")
    if verb.field == "accident":
        return None
    return sampler.clause(verb, "future", place=0.4, time=0.75)


def daily_routine(sampler: MeaningSampler) -> Meaning | None:
    """My father gets up early every day."""
    clause = sampler.clause(sampler.verb("intransitive", "h"), "present", place=0.3)
    return replace(clause, time=sampler.time("habit"))


def going_somewhere(sampler: MeaningSampler) -> Meaning | None:
    """The boy went to school yesterday."""
    verb = _GO if sampler.chance(0.8) else _COME_BACK
    tense = sampler.pick(("past", "past", "future", "present"))
    clause = sampler.clause(verb, tense, place=0, time=0.7, manner=0)
    return replace(clause, place=sampler.pick(DESTINATIONS))


def giving(sampler: MeaningSampler) -> Meaning | None:
    """The grandmother gave a book to the child."""
    return sampler.clause(sampler.verb("ditransitive"), "past", time=0.35, adjective=0.15)


def giving_soon(sampler: MeaningSampler) -> Meaning | None:
    """I will show the photos to my cousin tomorrow."""
    verb = sampler.verb("ditransitive")
    tense = sampler.pick(("future", "present")) if "n" in verb.flags else "future"
    return sampler.clause(verb, tense, time=0.4 if tense == "future" else 0.1, adjective=0.1)


def oblique_action(sampler: MeaningSampler) -> Meaning | None:
    """The manager is talking to the customer."""
    verb = sampler.verb("oblique")
    tense = "present" if set("ns") & set(verb.flags) else "past"
    return sampler.clause(verb, tense, place=0.35, time=0.4 if tense == "past" else 0.0)


def oblique_past(sampler: MeaningSampler) -> Meaning | None:
    """Sophie talked about the trip yesterday."""
    verb = sampler.verb("oblique")
    if "s" in verb.flags:
        return None
    return sampler.clause(verb, sampler.pick(("past", "past", "future")), place=0.2, time=0.6)


def controlled_action(sampler: MeaningSampler) -> Meaning | None:
    """The student wants to borrow a book."""
    control = sampler.pick(CONTROL_VERBS)
    kind = sampler.pick(("transitive", "transitive", "transitive", "intransitive", "oblique", "ditransitive"))
    verb = sampler.verb(kind)
    if "s" in verb.flags or "human" not in _subject_classes(verb) or verb.french == control.french:
        return None
    if "n" in control.flags and "n" not in verb.flags:
        return None
    if (
        verb.french in {"perdre", "tomber", "oublier", "manquer", "endormir", "penser", "rêver"}
        and "e" not in control.flags
    ):
        return None
    tense = sampler.pick(control.tenses)
    clause = sampler.clause(verb, tense, place=0.2, manner=0)
    if not is_human(clause.subject):
        return None
    if control.french in {"vouloir", "pouvoir", "devoir"} and tense == "present" and sampler.chance(0.2):
        clause = sampler.negate(clause)
    if tense == "past" and sampler.chance(0.2):
        clause = replace(clause, time=sampler.time("past", verb))
    return replace(clause, control=control)


def _subject_classes(verb: Verb) -> set[str]:
    classes = set(verb.subjects)
    return classes | ({"human"} if classes & {"adult", "kin", "youth", "worker", "learner"} else set())


def since_long(sampler: MeaningSampler) -> Meaning | None:
    """My uncle has been working at the factory for two years."""
    verb = sampler.verb(sampler.pick(("intransitive", "transitive")), "n")
    if verb.french not in {
        "travailler", "étudier", "attendre", "dormir", "voyager", "jouer", "apprendre", "chercher", "réfléchir",
        "danser", "marcher", "peindre", "nager", "cuisiner", "observer", "suivre",
    }:  # fmt: skip
        return None
    clause = sampler.clause(verb, "present", place=0.3, manner=0)
    short = verb.french in {"attendre", "dormir", "chercher", "réfléchir", "suivre", "marcher", "jouer"}
    options = [duration for duration in DURATIONS if ("ans" in duration.french or "mois" in duration.french) != short]
    return replace(clause, duration=sampler.pick(options))


_LONG_ENOUGH = {
    "": {
        "travailler", "étudier", "danser", "chanter", "jouer", "courir", "nager", "marcher", "attendre", "cuisiner",
        "réfléchir", "reposer", "promener", "pleurer", "dormir",
    },
    "pendant toute la nuit": {"travailler", "étudier", "danser", "attendre", "dormir", "pleurer"},
    "pendant toute la journée": {
        "travailler", "étudier", "jouer", "marcher", "attendre", "cuisiner", "reposer", "dormir",
    },
    "pendant trois jours": {"voyager", "travailler", "marcher", "attendre"},
}  # fmt: skip


def for_hours(sampler: MeaningSampler) -> Meaning | None:
    """The tourists walked in the forest for two hours."""
    verb = sampler.verb("intransitive", "n")
    options = [extent for extent in EXTENTS if verb.french in _LONG_ENOUGH.get(extent.french, _LONG_ENOUGH[""])]
    if not options:
        return None
    clause = sampler.clause(verb, "past", place=0.4, time=0.1, manner=0)
    if clause.time is not None and "heure" in clause.time.french:
        return None
    return replace(clause, duration=sampler.pick(options))


def agentless(sampler: MeaningSampler) -> Meaning | None:
    """The bridge was built last year."""
    verb = sampler.verb("transitive", "p")
    if "a" in verb.flags or verb.field == "animals":
        return None
    clause = sampler.clause(verb, sampler.pick(("past", "past", "future")), place=0.2, manner=0, time=0.75, pronouns=0)
    patient = clause.object
    if isinstance(patient, NounPhrase) and patient.possessor == clause.subject.agreement:
        return None
    if isinstance(patient, NounPhrase) and patient.noun.mass:
        return None
    if sampler.chance(0.2) and not (isinstance(patient, NounPhrase) and patient.determiner == "indefinite"):
        clause = replace(clause, polarity="negative")
    return AgentlessPassive(clause)


def cleft_subject(sampler: MeaningSampler) -> Meaning | None:
    """It was Paul who broke the window."""
    clause = sampler.clause(sampler.verb("transitive"), "past", place=0.1, manner=0, pronouns=0)
    if clause.subject.agreement.plural or "s" in clause.verb.flags:
        return None
    return Cleft(clause, "subject")


def cleft_object(sampler: MeaningSampler) -> Meaning | None:
    """It was the red car that the mechanic repaired."""
    clause = sampler.clause(sampler.verb("transitive"), "past", place=0.0, manner=0)
    patient = clause.object
    if not isinstance(patient, NounPhrase) or patient.plural or patient.noun.mass or "s" in clause.verb.flags:
        return None
    return Cleft(clause, "object") if patient.determiner in {"definite", "demonstrative", "possessive"} else None


def two_people(sampler: MeaningSampler) -> Meaning | None:
    """Marie and Hugo are preparing the soup."""
    verb = sampler.verb(sampler.pick(("transitive", "intransitive")))
    if not {"human", "kin", "youth", "adult"} & set(verb.subjects) or "s" in verb.flags:
        return None
    first = sampler.person(names=0.6)
    second = sampler.person(names=0.3)
    if first == second or (isinstance(second, ProperName) and isinstance(first, NounPhrase)):
        return None
    if any(isinstance(one, NounPhrase) and (one.plural or one.determiner == "indefinite") for one in (first, second)):
        return None
    tense = "present" if "n" in verb.flags and sampler.chance(0.4) else sampler.pick(("past", "future"))
    time = 0.1 if tense == "present" else 0.5
    return sampler.clause(verb, tense, place=0.3, time=time, manner=0, subject=Coordination(first, second))


def two_objects(sampler: MeaningSampler) -> Meaning | None:
    """The customer bought some bread and some cheese."""
    verb = sampler.verb("transitive")
    clause = sampler.clause(verb, "past", place=0.2, time=0.4, manner=0, adjective=0)
    other = sampler.object(verb, clause.subject, 0)
    if verb.field not in {"food", "shopping", "home", "things", "people", "clothes"} or clause.object is None:
        return None
    if not isinstance(other, NounPhrase) or not isinstance(clause.object, NounPhrase):
        return None
    if other.noun is clause.object.noun or other.determiner != clause.object.determiner:
        return None
    if set(other.noun.classes) != set(clause.object.noun.classes):
        return None
    return replace(clause, object=Coordination(clause.object, other))


def owned_object(sampler: MeaningSampler) -> Meaning | None:
    """The thief stole the doctor's watch."""
    verb = sampler.verb("transitive")
    clause = sampler.clause(verb, "past", place=0.1, time=0.3, manner=0)
    patient = clause.object
    if not isinstance(patient, NounPhrase) or "s" in verb.flags or patient.determiner != "definite":
        return None
    if not {"clothing", "small", "device", "car", "dwelling", "pet", "container", "letter"} & set(
        patient.noun.classes
    ):
        return None
    owner = ProperName(sampler.pick(NAMES)) if sampler.chance(0.3) else sampler.recipient(clause.subject)
    if owner == clause.subject or (isinstance(owner, NounPhrase) and owner.plural):
        return None
    return replace(clause, object=replace(patient, owner=owner))


def clause_with_people(sampler: MeaningSampler) -> Meaning | None:
    """The reporter thanked the fireman: people who do something to people."""
    verb = sampler.verb("transitive")
    if verb.field != "people" and verb.field != "conflict" and verb.field != "animals":
        return None
    tense = sampler.pick(("past", "past", "present")) if "n" in verb.flags else "past"
    if "s" in verb.flags:
        tense = "present"
    clause: Clause = sampler.clause(verb, tense, place=0.25, time=0.25 if tense == "past" else 0, pronouns=0.05)
    return clause
