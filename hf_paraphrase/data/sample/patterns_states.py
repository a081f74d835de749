"""Sentence patterns of states: what things are like, where they are, who has them, and the weather."""

from __future__ import annotations

from dataclasses import replace

from .adjectives import PREDICATE_ONLY, adjectives_for
from .adjuncts import PLACES
from .lexicon import Adjunct, Noun, table_rows, wordings
from .meaning import (
    Agreement,
    Comparison,
    Copula,
    Existential,
    Impersonal,
    Location,
    Meaning,
    Nominal,
    NounPhrase,
    Possession,
    Pronoun,
    ProperName,
)
from .nouns import NAMES, NOUN_BY_FRENCH, NOUNS, nouns_of
from .sampler import MeaningSampler, can_be_plural

# French | English | tense
_REMARK_TABLE = """
il pleut | it is raining, it's raining | present
il neige | it is snowing, it's snowing | present
il fait froid | it is cold, the weather is cold | present
il fait chaud | it is hot, the weather is hot | present
il fait beau | the weather is nice, the weather is good | present
il y a du vent | it is windy, there is some wind | present
il y a du brouillard | it is foggy, there is some fog | present
il pleuvait | it was raining | past
il neigeait | it was snowing | past
il faisait froid | it was cold, the weather was cold | past
il faisait chaud | it was hot, the weather was hot | past
il faisait beau | the weather was nice, the weather was good | past
il y avait du vent | it was windy, there was some wind | past
il pleuvra | it will rain, it is going to rain | future
il neigera | it will snow, it is going to snow | future
il fera froid | it will be cold, it is going to be cold | future
il fera chaud | it will be hot, it is going to be hot | future
il fera beau | the weather will be nice, the weather is going to be nice | future
"""
REMARKS = tuple((french, wordings(english), tense) for french, english, tense in table_rows(_REMARK_TABLE, 3))
_OUTDOOR_KINDS = {"outdoor", "city", "vacation"}

ON = Adjunct("sur", ("on",), ())
_RELATIONS = {
    "furniture": (
        ON,
        Adjunct("sous", ("under", "underneath"), ()),
        Adjunct("à côté de", ("next to", "beside"), ()),
        Adjunct("derrière", ("behind",), ()),
        Adjunct("près de", ("near", "close to"), ()),
    ),
    "container": (Adjunct("dans", ("in", "inside"), ()), Adjunct("à côté de", ("next to", "beside"), ())),
    "room": (Adjunct("dans", ("in",), ()),),
    "building": (
        Adjunct("devant", ("in front of",), ()),
        Adjunct("derrière", ("behind",), ()),
        Adjunct("près de", ("near", "close to"), ()),
        Adjunct("à côté de", ("next to", "beside"), ()),
        Adjunct("en face de", ("across from", "opposite"), ()),
    ),
}
_SURFACES = ("table", "chaise", "lit", "canapé", "étagère", "armoire")


def _describable(sampler: MeaningSampler, noun: Noun) -> NounPhrase:
    phrase = sampler.phrase(noun, adjective=0, plural=0.15, indefinite=0)
    return phrase if phrase.determiner != "indefinite" else replace(phrase, determiner="definite")


def _thing_or_person(sampler: MeaningSampler) -> tuple[Nominal, Noun]:
    noun = sampler.pick(NOUNS)
    return _describable(sampler, noun), noun


def _person(sampler: MeaningSampler) -> tuple[Nominal, Noun]:
    """Draws a person and the noun whose adjectives fit."""
    roll = sampler.chance(0.5)
    anybody = NOUN_BY_FRENCH["ami"]
    if roll:
        name = sampler.pick(NAMES)
        return ProperName(name), anybody
    if sampler.chance(0.5):
        person = sampler.person(pronouns=1.0)
        return person, anybody
    noun = sampler.pick(nouns_of("human"))
    return _describable(sampler, noun), noun


def quality(sampler: MeaningSampler) -> Meaning | None:
    """The soup is very hot."""
    subject, noun = _thing_or_person(sampler)
    adjectives = adjectives_for(noun, attributive=False)
    if not adjectives or {"need", "language", "label"} & set(noun.classes):
        return None
    adjective = sampler.pick(adjectives)
    degree = sampler.pick(("", "", "very", "quite", "too", "really"))
    tense = sampler.pick(("present", "present", "present", "imperfect"))
    return Copula(subject, adjective, fitting_degree(adjective.french, degree), tense)


_ABSOLUTE = {
    "énorme", "minuscule", "excellent", "magnifique", "affreux", "délicieux", "cassé", "ouvert", "fermé", "neuf",
    "absent", "furieux", "vide", "plein", "prêt", "inconnu", "sauvage", "ancien", "mûr", "rouge", "bleu", "vert",
    "jaune", "noir", "blanc", "inutile", "surpris", "honnête",
}  # fmt: skip


def fitting_degree(adjective: str, degree: str) -> str:
    """Returns the degree, or none where the adjective (a French lemma) has no degrees."""
    return "" if adjective in _ABSOLUTE else degree


def mood(sampler: MeaningSampler) -> Meaning | None:
    """The teacher is quite tired."""
    subject, noun = _person(sampler)
    adjective = sampler.pick(adjectives_for(noun, attributive=False))
    degree = fitting_degree(adjective.french, sampler.pick(("", "very", "quite", "too", "really")))
    tense = sampler.pick(("present", "present", "imperfect", "future"))
    if tense == "future" and adjective.french not in PREDICATE_ONLY:
        return None
    return Copula(subject, adjective, degree, tense)


def negated_quality(sampler: MeaningSampler) -> Meaning | None:
    """This question is not easy."""
    subject, noun = _person(sampler) if sampler.chance(0.4) else _thing_or_person(sampler)
    adjectives = adjectives_for(noun, attributive=False)
    if not adjectives or {"need", "language", "label"} & set(noun.classes):
        return None
    adjective = sampler.pick(adjectives)
    degree = fitting_degree(adjective.french, sampler.pick(("", "", "very")))
    return Copula(subject, adjective, degree, sampler.pick(("present", "imperfect")), "negative")


def asked_quality(sampler: MeaningSampler) -> Meaning | None:
    """Is the bakery open?"""
    meaning = quality(sampler) if sampler.chance(0.7) else mood(sampler)
    if isinstance(meaning, Copula) and meaning.subject.agreement.person == 0:
        return None
    if not isinstance(meaning, Copula) or meaning.tense != "present" or meaning.degree in {"quite", "really"}:
        return None
    return replace(meaning, question=True)


def profession(sampler: MeaningSampler) -> Meaning | None:
    """My brother is a doctor."""
    subject: Nominal
    if sampler.chance(0.3):
        subject = ProperName(sampler.pick(NAMES))
    elif sampler.chance(0.2):
        subject = Pronoun(Agreement(2, False, sampler.chance(0.5)))
    else:
        subject = sampler.phrase(sampler.pick(nouns_of("kin", "friend")), 0, 0.1, 0)
        if subject.determiner == "definite":
            subject = replace(subject, determiner="possessive", possessor=Agreement(0))
    feminine = subject.agreement.feminine
    jobs = [noun for noun in nouns_of("worker", "learner") if noun.feminine == feminine and noun.french != "élève"]
    polarity = "negative" if sampler.chance(0.15) else "affirmative"
    return Copula(subject, sampler.pick(jobs), "", sampler.pick(("present", "present", "imperfect")), polarity)


def comparison(sampler: MeaningSampler) -> Meaning | None:
    """The castle is older than the church."""
    first = sampler.pick(NOUNS)
    shared = {"buyable", "building", "food", "animal", "human", "event", "readable", "region"}
    rivals = [
        noun
        for noun in NOUNS
        if noun is not first and set(noun.classes) & set(first.classes) & shared and not noun.mass
    ]
    adjectives = [
        adjective
        for adjective in adjectives_for(first, attributive=False)
        if adjective.french not in _ABSOLUTE | {"mauvais", "malade", "petit"}
    ]
    if not rivals or first.mass:
        return None
    second = sampler.pick(rivals)
    fitting = [adjective for adjective in adjectives if adjective in adjectives_for(second, attributive=False)]
    if not fitting:
        return None
    subject, standard = _describable(sampler, first), _describable(sampler, second)
    if subject.determiner == "demonstrative" or standard.determiner == "demonstrative":
        return None
    return Comparison(subject, sampler.pick(fitting), sampler.pick(("more", "more", "less", "equal")), standard)


def compared_people(sampler: MeaningSampler) -> Meaning | None:
    """Julie is as patient as her sister."""
    names = tuple(NAMES)
    first = sampler.pick(names)
    adjectives = adjectives_for(NOUN_BY_FRENCH["ami"], attributive=False)
    adjectives = tuple(
        adjective for adjective in adjectives if adjective.french not in _ABSOLUTE | {"malade", "petit"}
    )
    standard: Nominal
    if sampler.chance(0.5):
        standard = ProperName(sampler.pick([name for name in names if name != first]))
    else:
        owner = Agreement(feminine=first.feminine)
        standard = NounPhrase(sampler.pick(nouns_of("kin")), "possessive", possessor=owner)
    relation = sampler.pick(("more", "more", "less", "equal"))
    return Comparison(ProperName(first), sampler.pick(adjectives), relation, standard)


def there_is(sampler: MeaningSampler) -> Meaning | None:
    """There are two cats in the garden."""
    noun = sampler.pick(NOUNS)
    classes = set(noun.classes)
    place = sampler.pick(PLACES)
    kinds = set(place.kinds)
    fits = (
        ({"youth", "adult"} & classes and not {"travel"} & kinds)
        or ("pet" in classes and {"home", "garden", "park", "street"} & kinds)
        or ("wild" in classes and {"animal"} & kinds)
        or ("farm" in classes and place.french in {"à la ferme", "dans la forêt", "à la campagne"})
        or ("plant" in classes and {"garden", "park"} & kinds)
        or ({"furniture", "device"} & classes and {"indoor", "eatery", "work"} & kinds)
        or ({"food", "drink"} & classes and {"kitchen", "shop", "market"} & kinds)
        or ("car" in classes and {"street"} & kinds)
        or ({"shop", "public"} & classes and {"city"} & kinds)
        or ("tableware" in classes and "kitchen" in kinds)
    )
    if not fits:
        return None
    polarity = "negative" if sampler.chance(0.15) else "affirmative"
    tense = sampler.pick(("present", "present", "imperfect"))
    if noun.mass:
        return Existential(NounPhrase(noun, "indefinite"), place, tense, polarity)
    plural = can_be_plural(noun) and sampler.chance(0.5)
    quantity = sampler.pick(("indefinite", "two", "three", "four", "several", "many", "too many", "a few"))
    if polarity == "negative":
        return Existential(NounPhrase(noun, "indefinite", plural), place, tense, polarity)
    phrase = sampler.phrase(noun, 0.3, 0, 1.0)
    adjective = phrase.adjective
    if plural:
        return Existential(NounPhrase(noun, quantity, True, adjective if quantity == "two" else None), place, tense)
    return Existential(NounPhrase(noun, "indefinite", False, adjective), place, tense)


def location(sampler: MeaningSampler) -> Meaning | None:
    """The keys are under the table."""
    if sampler.chance(0.25):
        landmark = sampler.phrase(sampler.pick(nouns_of("building")), 0.1, 0, 0)
        subject_noun = sampler.pick(nouns_of("building", "crossed", "car"))
        relation = sampler.pick(_RELATIONS["building"])
    elif sampler.chance(0.3):
        landmark = sampler.phrase(sampler.pick(nouns_of("container")), 0.2, 0, 0)
        subject_noun = sampler.pick(nouns_of("small", "clothing"))
        relation = sampler.pick(_RELATIONS["container"])
    else:
        landmark = sampler.phrase(NOUN_BY_FRENCH[sampler.pick(_SURFACES)], 0.2, 0, 0)
        subject_noun = sampler.pick(nouns_of("small", "container", "tableware", "toy", "pet", "clothing"))
        relation = sampler.pick(_RELATIONS["furniture"])
    if landmark.noun is subject_noun or (landmark.noun.french == "armoire" and relation is ON):
        return None
    subject = sampler.phrase(subject_noun, 0.2, 0.2, 0, Agreement(0))
    if subject.determiner == "indefinite":
        return None
    return Location(
        subject, relation, landmark, sampler.pick(("present", "present", "imperfect")), sampler.chance(0.15)
    )


def possession(sampler: MeaningSampler) -> Meaning | None:
    """My neighbor has two dogs."""
    subject = sampler.person(pronouns=0.3)
    polarity = "negative" if sampler.chance(0.25) else "affirmative"
    noun = sampler.pick(nouns_of("pet", "car", "dwelling", "device", "instrument", "container", "idea", "ridden"))
    if noun.french == "enfant" or ("asked" in noun.classes and noun.french == "règle"):
        return None
    plural = can_be_plural(noun) and sampler.chance(0.35)
    adjective = sampler.phrase(noun, 0.4, 0, 1.0).adjective
    if polarity == "negative":
        return Possession(subject, NounPhrase(noun, "indefinite", False, adjective), polarity)
    quantity = sampler.pick(("two", "three", "several", "many", "too many")) if plural else "indefinite"
    if quantity in {"many", "too many"}:
        adjective = None
    return Possession(subject, NounPhrase(noun, quantity, plural, adjective), polarity)


def weather(sampler: MeaningSampler) -> Meaning | None:
    """It was raining in the mountains yesterday."""
    french, english, tense = sampler.pick(REMARKS)
    outdoor = [place for place in PLACES if set(place.kinds) & _OUTDOOR_KINDS and place.french != "dans la rivière"]
    place = sampler.pick(outdoor) if sampler.chance(0.6) else None
    time = None
    if sampler.chance(0.8):
        time = sampler.time({"present": "ongoing", "past": "past", "future": "future"}[tense])
    if place is not None and place.french in {"à l'hôtel", "à l'église"}:
        return None
    return Impersonal(french, english, place, time)
