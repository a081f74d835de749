"""Sentence patterns of one person's two actions: one after, before, for the sake of or without the other."""

from __future__ import annotations

from dataclasses import replace

from .lexicon import Verb
from .meaning import (
    Clause,
    Complex,
    Link,
    Meaning,
    Nominal,
    NounPhrase,
    Purpose,
)
from .patterns_adverbial import again, plain
from .patterns_events import going_somewhere, past_action
from .sampler import MeaningSampler
from .verbs import TRANSITIVE_VERBS

_AND = Link("et", ("and",))
_THEN = Link("puis", ("and then",))
_BEFORE = Link("avant de", ("before _ing",))
_TO = Link("pour", ("to _", "in order to _"))
_WITHOUT = Link("sans", ("without _ing",))


# What people do one after the other.
_SUCCESSIONS = (
    ("ouvrir", "saluer"), ("ouvrir", "lire"), ("ouvrir", "allumer"), ("fermer", "éteindre"), ("éteindre", "fermer"),
    ("ranger", "nettoyer"), ("nettoyer", "préparer"), ("laver", "couper"), ("laver", "repasser"),
    ("couper", "manger"),
    ("acheter", "préparer"), ("préparer", "boire"), ("manger", "boire"), ("boire", "manger"), ("commander", "payer"),
    ("choisir", "payer"), ("choisir", "acheter"), ("essayer", "acheter"), ("lire", "appeler"),
    ("recevoir", "remercier"), ("écrire", "appeler"), ("lire", "signer"), ("vérifier", "signer"),
    ("corriger", "envoyer"), ("écrire", "envoyer"),
    ("trouver", "appeler"), ("nourrir", "promener"), ("nourrir", "caresser"), ("arroser", "cueillir"),
    ("planter", "arroser"), ("visiter", "photographier"), ("visiter", "admirer"), ("regarder", "écouter"),
    ("garer", "attendre"), ("réparer", "laver"), ("organiser", "inviter"),
    ("inviter", "préparer"),
    ("saluer", "remercier"), ("rencontrer", "inviter"), ("emprunter", "lire"), ("étudier", "réussir"),
    ("perdre", "chercher"), ("casser", "réparer"), ("ramasser", "ranger"), ("prendre", "visiter"),
    ("finir", "envoyer"),
)  # fmt: skip


def _follow_on(sampler: MeaningSampler, tense: str) -> tuple[Clause, Clause] | None:
    """Draws two actions that one person does one after the other."""
    first_verb, second_verb = sampler.pick(_SUCCESSIONS)
    firsts = [verb for verb in TRANSITIVE_VERBS if verb.french == first_verb and _everybody(verb)]
    seconds = [verb for verb in TRANSITIVE_VERBS if verb.french == second_verb and _everybody(verb)]
    if not firsts or not seconds:
        return None
    first = plain(sampler.clause(sampler.pick(firsts), "past", place=0, manner=0))
    if first is None:
        return None
    second = sampler.clause(sampler.pick(seconds), tense, place=0, manner=0, subject=first.subject, adjective=0.1)
    if not isinstance(first.object, NounPhrase) or _head(first.object) == _head(second.object):
        return None
    return first, second


def _everybody(verb: Verb) -> bool:
    return bool({"human", "adult", "kin", "learner", "worker"} & set(verb.subjects))


def _head(phrase: Nominal | None) -> object:
    return phrase.noun if isinstance(phrase, NounPhrase) else phrase


def sequence(sampler: MeaningSampler) -> Meaning | None:
    """She opened the door and greeted the baker: two things that one person did."""
    clauses = _follow_on(sampler, "past")
    if clauses is None:
        return None
    first, second = clauses
    return Complex(first, sampler.pick((_AND, _AND, _THEN)), replace(second, subject=again(first.subject)))


def purpose(sampler: MeaningSampler) -> Meaning | None:
    """My sister went to the market to buy some vegetables."""
    main = going_somewhere(sampler)
    verb = sampler.verb("transitive")
    if not isinstance(main, Clause) or main.place is None or "s" in verb.flags:
        return None
    wanted = {
        "au marché": ("acheter",),
        "à la bibliothèque": ("lire", "étudier", "rendre", "emprunter"),
        "au musée": ("regarder", "admirer"),
        "au restaurant": ("manger", "boire", "rencontrer"),
        "chez le boulanger": ("acheter",),
        "à l'école": ("étudier", "apprendre"),
        "en ville": ("acheter", "choisir", "rencontrer", "voir"),
        "à la gare": ("attendre", "prendre"),
        "à Paris": ("visiter", "rencontrer", "acheter"),
        "en Italie": ("visiter", "apprendre", "photographier"),
        "au bureau": ("écrire", "finir", "signer", "rencontrer"),
        "au travail": ("finir",),
        "au cinéma": ("voir",),
        "à la plage": ("rencontrer",),
    }.get(main.place.french, ())
    if verb.french not in wanted or main.polarity != "affirmative":
        return None
    clause = sampler.clause(verb, "present", place=0, manner=0, subject=main.subject, adjective=0.2)
    classes = set(getattr(getattr(clause.object, "noun", None), "classes", ()))
    if verb.french == "acheter" and not classes & {"grocery", "clothing", "prose", "toy"}:
        return None
    if verb.french == "voir" and "show" not in classes:
        return None
    if main.place.french == "au musée" and "picture" not in classes:
        return None
    if main.place.french == "au marché" and "grocery" not in classes:
        return None
    if main.place.french == "chez le boulanger" and "baked" not in classes:
        return None
    if verb.french in {"attendre", "prendre"} and not classes & {"transport"} | (classes & {"human"}):
        return None
    return Purpose(replace(main, time=main.time if sampler.chance(0.3) else None), _TO, clause)


def before_doing(sampler: MeaningSampler) -> Meaning | None:
    """The cook washed the tomatoes before preparing the salad."""
    if sampler.chance(0.6):
        clauses = _follow_on(sampler, "present")
        return clauses and Purpose(clauses[0], _BEFORE, clauses[1])
    main = plain(past_action(sampler))
    verb = sampler.verb("intransitive")
    if main is None or main.verb.field in {"conflict", "accident"} or main.verb.french in {"perdre", "quitter"}:
        return None
    if verb.french not in {"coucher", "dîner", "déjeuner", "sortir", "partir", "rentrer"}:
        return None
    return Purpose(replace(main, place=None), _BEFORE, Clause(verb, main.subject))


def without_doing(sampler: MeaningSampler) -> Meaning | None:
    """The guest left without saying hello to my aunt."""
    verb = sampler.verb("intransitive")
    second = sampler.pick((sampler.verb("transitive"), sampler.verb("oblique")))
    allowed = {
        "payer", "remercier", "fermer", "éteindre", "saluer", "dire", "finir", "répondre", "attendre", "parler",
        "boire",
    }  # fmt: skip
    if verb.french not in {"partir", "sortir", "arriver", "rentrer"} or second.french not in allowed:
        return None
    main = plain(sampler.clause(verb, "past", place=0, manner=0))
    if main is None or second.field == "animals":
        return None
    clause = sampler.clause(second, "present", place=0, manner=0, subject=main.subject, adjective=0.1)
    if isinstance(clause.object, NounPhrase) and clause.object.determiner == "indefinite":
        return None
    return Purpose(main, _WITHOUT, clause)
