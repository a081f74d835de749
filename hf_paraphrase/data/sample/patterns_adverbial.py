"""Sentence patterns with an adverbial clause or a coordinate one: because, when, while, if, but, so."""

from __future__ import annotations

from dataclasses import replace

from .adjectives import ADJECTIVE_BY_FRENCH, describes
from .meaning import (
    Clause,
    Complex,
    Copula,
    Impersonal,
    Link,
    Meaning,
    Nominal,
    NounPhrase,
    Pronoun,
)
from .nouns import nouns_of
from .patterns_events import going_somewhere, intransitive_past, past_action
from .patterns_states import REMARKS, fitting_degree, mood
from .sampler import MeaningSampler, is_human

_BECAUSE = Link("parce que", ("because", "since"), True)
_WHEN = Link("quand", ("when",), True)
_WHILE = Link("pendant que", ("while",), True)
_IF = Link("si", ("if",), True)
_BUT = Link(", mais", (", but",))
_SO = Link(", donc", (", so",))


def again(subject: Nominal) -> Pronoun:
    """Returns the pronoun that takes up a subject."""
    return Pronoun(subject.agreement)


def plain(clause: Meaning | None) -> Clause | None:
    """Returns a clause whose subject is a person and can be taken up by a pronoun, without its time and place."""
    if not isinstance(clause, Clause) or not is_human(clause.subject):
        return None
    if isinstance(clause.subject, NounPhrase) and clause.subject.determiner == "indefinite":
        return None
    return replace(clause, time=None, manner=None)


_MOODS_FOR = {
    "rire": ("content", "heureux"),
    "sourire": ("content", "heureux", "fier"),
    "chanter": ("content", "heureux"),
    "danser": ("content", "heureux"),
    "pleurer": ("triste", "malheureux", "fatigué", "inquiet"),
    "crier": ("furieux", "inquiet"),
    "dormir": ("fatigué", "malade"),
    "reposer": ("fatigué", "malade"),
    "coucher": ("fatigué", "malade"),
    "tomber": ("fatigué",),
    "rentrer": ("fatigué", "malade", "inquiet"),
}


def because_mood(sampler: MeaningSampler) -> Meaning | None:
    """Paul did not study because he was sick."""
    main = plain(sampler.pick((past_action, intransitive_past, intransitive_past))(sampler))
    if main is None or (isinstance(main.subject, NounPhrase) and main.subject.noun.french == "bébé"):
        return None
    moods = _MOODS_FOR.get(main.verb.french)
    if moods is None:
        hindered = {"study", "home", "work", "sport", "leisure", "making", "food"}
        if main.verb.field not in hindered or main.verb.french in {"casser", "finir"}:
            return None
        moods = ("fatigué", "malade", "occupé")
        main = replace(sampler.negate(main), place=None)
    adjective = ADJECTIVE_BY_FRENCH[sampler.pick(moods)]
    degree = fitting_degree(adjective.french, sampler.pick(("", "", "very", "too", "really")))
    if degree == "too" and main.polarity == "affirmative":
        degree = "very"
    return Complex(main, _BECAUSE, Copula(again(main.subject), adjective, degree, "imperfect"))


def because_weather(sampler: MeaningSampler) -> Meaning | None:
    """We took the bus because it was raining."""
    french, english, tense = sampler.pick(REMARKS)
    main = plain(sampler.pick((going_somewhere, past_action, intransitive_past))(sampler))
    if main is None or tense != "past" or main.tense != "past":
        return None
    nice = "beau" in french
    outdoor = main.verb.field in {"travel", "sport", "leisure"}
    if not outdoor or main.verb.french in {"manquer", "arriver", "rentrer", "partir", "retourner", "arrêter"}:
        return None
    pleasant = {"à la plage", "en ville", "à la montagne", "au marché"}
    if main.verb.french == "aller" and main.place is not None and main.place.french not in pleasant:
        return None
    goes_out = main.verb.french in {"aller", "marcher", "nager", "promener", "baigner", "sortir", "courir", "visiter"}
    if not goes_out and main.verb.french not in {"prendre", "conduire", "attendre"}:
        return None
    if goes_out and not nice:
        main = sampler.negate(main)
    elif not goes_out and nice:
        return None
    return Complex(main, _BECAUSE, Impersonal(french, english))


def when_arrived(sampler: MeaningSampler) -> Meaning | None:
    """The baby was sleeping when his mother came home."""
    verb = sampler.verb(sampler.pick(("transitive", "intransitive")), "n")
    first = plain(sampler.clause(verb, "imperfect", place=0.2, manner=0))
    second = sampler.verb("intransitive")
    if first is None or second.french not in {"arriver", "rentrer", "tomber", "sortir", "partir"}:
        return None
    if second.french == "tomber":
        subject: Nominal = again(first.subject)
        if verb.french not in {"courir", "marcher", "jouer", "danser"}:
            return None
    else:
        subject = sampler.person(names=0.5)
        if subject == first.subject:
            return None
    return Complex(first, _WHEN, Clause(second, subject, tense="past"))


def while_doing(sampler: MeaningSampler) -> Meaning | None:
    """My mother read the newspaper while my father was cooking."""
    subjects = (sampler.person(names=0.5), sampler.person(names=0.5))
    clauses = []
    for subject in subjects:
        verb = sampler.verb(sampler.pick(("transitive", "intransitive")), "n")
        human = {"human", "kin", "adult"} & set(verb.subjects)
        if not human or verb.field in {"conflict", "animals", "people"} or isinstance(subject, Pronoun):
            return None
        if isinstance(subject, NounPhrase) and (subject.plural or subject.determiner != "possessive"):
            return None
        clauses.append(sampler.clause(verb, "imperfect", place=0.0, manner=0, subject=subject, adjective=0.05))
    if subjects[0] == subjects[1] or clauses[0].verb == clauses[1].verb:
        return None
    return Complex(clauses[0], _WHILE, clauses[1])


def if_weather(sampler: MeaningSampler) -> Meaning | None:
    """If it is raining, we will stay at home."""
    french, english, tense = sampler.pick(REMARKS)
    main = sampler.verb("intransitive")
    clause = sampler.clause(main, "future", place=0.7, time=0.3, manner=0)
    if tense != "present" or not is_human(clause.subject) or main.field not in {"travel", "sport", "leisure", "rest"}:
        return None
    goes_out = main.field in {"sport", "leisure"} or main.french in {"promener"}
    if main.french in {
        "attendre",
        "réveiller",
        "lever",
        "endormir",
        "coucher",
        "arrêter",
        "arriver",
        "rire",
        "chanter",
    }:
        return None
    outside = clause.place is None or "outdoor" in clause.place.kinds or "water" in clause.place.kinds
    if goes_out != outside:
        return None
    if clause.time is not None and "beau" not in french:
        clause = replace(clause, time=None)
    if goes_out and "beau" not in french and "chaud" not in french:
        clause = sampler.negate(clause)
    time = None
    if clause.time is not None:
        time, clause = clause.time, replace(clause, time=None)
    return Complex(clause, _IF, Impersonal(french, english, None, time))


def if_action(sampler: MeaningSampler) -> Meaning | None:
    """If you win the match, your father will be proud."""
    condition = plain(sampler.clause(sampler.verb("transitive"), "present", place=0, manner=0, pronouns=0.4))
    if condition is None or "s" in condition.verb.flags or condition.verb.field in {"conflict", "taste"}:
        return None
    condition = replace(condition, tense="present")
    happy = condition.verb.french not in {"perdre", "casser", "manquer", "annuler", "refuser", "oublier", "détruire"}
    adjective = sampler.pick(("content", "heureux", "fier") if happy else ("furieux", "triste", "inquiet"))
    subject = sampler.phrase(sampler.pick(nouns_of("kin")), 0, 0, 0, condition.subject.agreement)
    if "h" not in condition.verb.flags and "n" in condition.verb.flags:
        return None
    if subject == condition.subject or "kin" in getattr(getattr(condition.subject, "noun", None), "classes", ()):
        return None
    result = Copula(subject, ADJECTIVE_BY_FRENCH[adjective], "", "future")
    return Complex(result, _IF, condition)


def contrast(sampler: MeaningSampler) -> Meaning | None:
    """The film is long, but it is interesting: two qualities of a person, of opposite value."""
    first = mood(sampler)
    if not isinstance(first, Copula) or first.tense == "future":
        return None
    good = {"gentil", "intelligent", "riche", "courageux", "sérieux", "patient", "sympathique", "honnête", "content"}
    bad = {"fatigué", "malade", "paresseux", "timide", "pauvre", "faible", "bavard", "inquiet", "occupé", "méchant"}
    predicate = first.predicate.french
    others = bad if predicate in good else good if predicate in bad else set()
    if not others:
        return None
    adjective = ADJECTIVE_BY_FRENCH[sampler.pick(sorted(others))]
    noun = getattr(first.subject, "noun", None)
    if noun is not None and not describes(adjective, noun):
        return None
    return Complex(first, _BUT, Copula(again(first.subject), adjective, sampler.pick(("", "very")), first.tense))


def consequence(sampler: MeaningSampler) -> Meaning | None:
    """My uncle was tired, so he went to bed."""
    first = mood(sampler)
    if not isinstance(first, Copula) or first.tense != "imperfect":
        return None
    rest = {"fatigué": "rest", "malade": "rest", "triste": "mood", "content": "mood", "heureux": "mood"}
    field = rest.get(first.predicate.french)
    verb = sampler.verb("intransitive")
    if field is None or verb.field != field or verb.french in {"lever", "réveiller", "fumer"}:
        return None
    if field == "mood":
        cries = verb.french in {"pleurer", "crier"}
        if cries != (first.predicate.french == "triste"):
            return None
    second = Clause(
        verb, again(first.subject), tense="past", place=sampler.place(verb) if sampler.chance(0.4) else None
    )
    return Complex(first, _SO, second)
