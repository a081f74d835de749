"""Sentence patterns with a relative, reported or infinitive clause."""

from __future__ import annotations

from dataclasses import replace

from .adjectives import adjectives_for
from .lexicon import Adjunct
from .meaning import (
    Agreement,
    Clause,
    Copula,
    Feeling,
    Impersonal,
    Meaning,
    NounPhrase,
    Pronoun,
    Relative,
    Report,
)
from .patterns_events import intransitive_past, past_action
from .patterns_states import REMARKS, fitting_degree, mood, quality
from .sampler import MeaningSampler, is_human

_SAYING = (
    Adjunct("dire", ("say",), ()),
    Adjunct("penser", ("think", "believe"), ()),
    Adjunct("croire", ("believe", "think"), ()),
    Adjunct("savoir", ("know",), ()),
)
_HOPE = Adjunct("espérer", ("hope",), ())


def relative_subject(sampler: MeaningSampler) -> Meaning | None:
    """The woman who wrote the letter is my neighbor."""
    verb = sampler.verb("transitive")
    if "s" in verb.flags:
        return None
    inner = sampler.clause(verb, "past", place=0, manner=0, pronouns=0, adjective=0.1)
    if not isinstance(inner.subject, NounPhrase) or not is_human(inner.subject) or inner.subject.plural:
        return None
    if inner.subject.determiner == "possessive" or inner.subject.adjective is not None:
        return None
    subject = NounPhrase(inner.subject.noun, "definite", relative=Relative(inner, "subject"))
    adjective = sampler.pick(adjectives_for(subject.noun, attributive=False))
    return Copula(subject, adjective, fitting_degree(adjective.french, sampler.pick(("", "", "very"))))


def relative_object(sampler: MeaningSampler) -> Meaning | None:
    """The book that Paul bought is interesting."""
    verb = sampler.verb("transitive")
    if "s" in verb.flags or verb.french in {"manger", "boire", "casser", "détruire", "perdre", "jeter"}:
        return None
    inner = sampler.clause(verb, "past", place=0.0, time=0.3, manner=0, adjective=0)
    patient = inner.object
    if not isinstance(patient, NounPhrase) or patient.noun.mass or patient.determiner == "possessive":
        return None
    head = NounPhrase(patient.noun, "definite", patient.plural, relative=Relative(inner, "object"))
    adjectives = adjectives_for(head.noun, attributive=False)
    if not adjectives:
        return None
    adjective = sampler.pick(adjectives)
    degree = fitting_degree(adjective.french, sampler.pick(("", "", "very", "quite")))
    return Copula(head, adjective, degree, sampler.pick(("present", "present", "imperfect")))


def known_person(sampler: MeaningSampler) -> Meaning | None:
    """I know the boy who called the girl."""
    knower = sampler.verb("transitive")
    if knower.french not in {
        "connaître",
        "rencontrer",
        "aider",
        "remercier",
        "chercher",
        "voir",
        "inviter",
        "appeler",
    }:
        return None
    if "human_seen" not in knower.objects and knower.field != "people":
        return None
    verb = sampler.verb("transitive")
    inner = sampler.clause(verb, "past", place=0, manner=0, pronouns=0, adjective=0)
    if "s" in verb.flags or verb.french == knower.french or not isinstance(inner.subject, NounPhrase):
        return None
    noun = inner.subject.noun
    if inner.subject.determiner == "possessive" or not is_human(inner.subject):
        return None
    person = NounPhrase(noun, "definite", False, relative=Relative(inner, "subject"))
    tense = "present" if "s" in knower.flags else "past"
    subject = sampler.person(pronouns=0.5)
    return Clause(knower, subject, person, tense=tense)


def report(sampler: MeaningSampler) -> Meaning | None:
    """Claire says that the director signed the contract."""
    subject = sampler.person(pronouns=0.4)
    verb = sampler.pick(_SAYING)
    content = sampler.pick((past_action, quality, mood, intransitive_past))(sampler)
    if content is None or not isinstance(content, Clause | Copula) or content.subject == subject:
        return None
    if isinstance(content, Clause):
        content = replace(content, manner=None, place=None)
    return Report(subject, verb, content)


def hope(sampler: MeaningSampler) -> Meaning | None:
    """I hope that it will not rain tomorrow."""
    subject = sampler.person(pronouns=0.5)
    if sampler.chance(0.3):
        french, english, tense = sampler.pick(REMARKS)
        time = sampler.time("future") if sampler.chance(0.8) else None
        return Report(subject, _HOPE, Impersonal(french, english, None, time)) if tense == "future" else None
    verb = sampler.verb(sampler.pick(("transitive", "intransitive")))
    content = sampler.clause(verb, "future", place=0.1, time=0.3, manner=0)
    if "s" in verb.flags or verb.field in {"conflict", "accident", "animals"} or content.subject == subject:
        return None
    if verb.french in {"perdre", "oublier", "casser", "manquer", "détruire"}:
        content = sampler.negate(content)
    return Report(subject, _HOPE, content)


_PERSONAL = (
    ("{être} {content} de", ("be happy to _", "be glad to _")),
    ("{être} {prêt} à", ("be ready to _", "be prepared to _")),
    ("{être} {fier} de", ("be proud to _",)),
    ("{être} trop {fatigué} pour", ("be too tired to _", "be too exhausted to _")),
    ("{être} trop {occupé} pour", ("be too busy to _",)),
    ("{être} sur le point de", ("be about to _",)),
)
_IMPERSONAL = (
    ("il est difficile de", ("it is difficult to _", "it is hard to _", "it's hard to _")),
    ("il est facile de", ("it is easy to _", "it's easy to _", "it is simple to _")),
    ("il est important de", ("it is important to _", "it's important to _")),
    ("il est interdit de", ("it is forbidden to _", "it is not allowed to _")),
    ("il est dangereux de", ("it is dangerous to _", "it's dangerous to _")),
    ("il est inutile de", ("it is useless to _", "there is no point in _ing")),
    ("il est temps de", ("it is time to _", "it's time to _")),
)


def ready_to_act(sampler: MeaningSampler) -> Meaning | None:
    """Sophie is happy to help her grandmother."""
    french, english = sampler.pick(_PERSONAL)
    verb = sampler.verb(sampler.pick(("transitive", "transitive", "intransitive", "ditransitive")))
    clause = sampler.clause(verb, "present", place=0.15, manner=0)
    if "s" in verb.flags or not is_human(clause.subject) or verb.field in {"conflict", "accident", "animals"}:
        return None
    if verb.french in {"perdre", "oublier", "manquer", "casser", "jeter", "endormir", "détester"}:
        return None
    if "fatigué" in french and verb.field in {"rest", "taste"}:
        return None
    if "fier" in french and verb.field not in {"study", "making", "people", "care", "work"}:
        return None
    if "content" in french and verb.field in {"things", "study"}:
        return None
    return Feeling(french, english, clause, personal=True)


def general_remark(sampler: MeaningSampler) -> Meaning | None:
    """It is difficult to learn this language."""
    french, english = sampler.pick(_IMPERSONAL)
    verb = sampler.verb(sampler.pick(("transitive", "transitive", "intransitive", "oblique")))
    fields = {
        "difficile": {"study", "making", "communication", "work"},
        "facile": {"study", "making", "home"},
        "important": {"study", "communication", "care", "work", "people"},
        "interdit": {"leisure", "rest", "travel", "sport", "food"},
        "dangereux": {"animals", "sport", "travel"},
        "inutile": {"communication", "work", "people"},
        "temps": {"home", "food", "travel", "rest", "study", "work"},
    }
    wanted = next(fields[word] for word in fields if word in french)
    if verb.field not in wanted or "s" in verb.flags or verb.french in {"perdre", "casser", "manquer", "oublier"}:
        return None
    if verb.french in {"endormir", "marier"} or not {"human", "adult", "kin"} & set(verb.subjects):
        return None
    anybody = Pronoun(Agreement())
    clause = sampler.clause(verb, "present", place=0.6 if "interdit" in french else 0.15, manner=0, subject=anybody)
    patient = clause.object
    if isinstance(patient, NounPhrase) and patient.possessor is not None and patient.possessor.person == 2:
        return None
    if (
        "dangereux" in french
        and not (isinstance(patient, NounPhrase) and {"wild", "crossed"} & set(patient.noun.classes))
        and verb.field != "sport"
    ):
        return None
    return Feeling(french, english, clause)
