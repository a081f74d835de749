"""English noun phrases and verb groups, with their interchangeable wordings."""

from __future__ import annotations

from dataclasses import dataclass

from . import english_morphology as morphology
from .lexicon import Noun
from .meaning import (
    Agreement,
    Coordination,
    Nominal,
    NounPhrase,
    Pronoun,
    ProperName,
    WordingChooser,
)

_POSSESSIVES = ("my", "your", "his", "our", "your", "their")
_SUBJECT_PRONOUNS = ("I", "you", "he", "we", "you", "they")
_QUANTIFIERS = {
    "two": ("two",),
    "three": ("three",),
    "four": ("four",),
    "several": ("several",),
    "a few": ("a few", "some"),
    "many": ("many", "a lot of", "lots of"),
    "too many": ("too many",),
    "enough": ("enough",),
    "little": ("a little", "a bit of"),
}
_MODALS = frozenset({"can", "must", "will", "would"})


def subject_pronoun(agreement: Agreement) -> str:
    """Returns the subject pronoun."""
    if agreement.index == 2 and agreement.feminine:
        return "she"
    return _SUBJECT_PRONOUNS[agreement.index]


def possessive_determiner(agreement: Agreement) -> str:
    """Returns my, your and so on."""
    return "her" if agreement.index == 2 and agreement.feminine else _POSSESSIVES[agreement.index]


def _determiner(phrase: NounPhrase, chooser: WordingChooser, negated: bool) -> str:
    kind, mass, plural = phrase.determiner, phrase.noun.mass, phrase.plural
    if kind in _QUANTIFIERS:
        if mass and kind in {"many", "too many"}:
            return {"many": "a lot of", "too many": "too much"}[kind]
        return chooser.pick(_QUANTIFIERS[kind])
    if kind == "indefinite":
        if negated and (mass or plural):
            return "any"
        if mass or plural:
            return chooser.pick(("some", "", "some"))
        return "a"
    if kind == "demonstrative":
        return "these" if plural else "this"
    if kind == "possessive":
        assert phrase.possessor is not None
        return possessive_determiner(phrase.possessor)
    if kind == "every":
        return chooser.pick(("every", "each"))
    return {"definite": "the", "generic": "", "bare": "a", "all": chooser.pick(("all the", "all of the"))}[kind]


def noun_word(noun: Noun, plural: bool, chooser: WordingChooser) -> str:
    """Returns one of the noun's wordings in the singular or plural."""
    word = chooser.pick(noun.english)
    return morphology.plural_noun(word) if plural and not noun.mass else word


def nominal(phrase: Nominal, chooser: WordingChooser, negated: bool = False) -> str:
    """Returns a nominal without its relative clause, with "a" for either form of the article.

    Args:
        phrase: The nominal.
        chooser: Chooses among the wordings.
        negated: Whether it is the object of a negated verb, where "some" becomes "any".
    """
    if isinstance(phrase, Pronoun):
        return subject_pronoun(phrase.agreement)
    if isinstance(phrase, ProperName):
        return phrase.name.text
    if isinstance(phrase, Coordination):
        return f"{nominal(phrase.first, chooser, negated)} and {nominal(phrase.second, chooser, negated)}"
    words = [noun_word(phrase.noun, phrase.plural, chooser)]
    if phrase.adjective is not None:
        words.insert(0, chooser.pick(phrase.adjective.english))
    owner_before = False
    if phrase.owner is not None:
        owner = nominal(phrase.owner, chooser)
        animate = isinstance(phrase.owner, ProperName) or (
            isinstance(phrase.owner, NounPhrase) and {"human", "animal"} & set(phrase.owner.noun.classes)
        )
        owner_before = bool(animate) and not chooser.chance(0.05 if isinstance(phrase.owner, ProperName) else 0.3)
        if owner_before:
            words.insert(0, morphology.possessive(owner))
        else:
            words.append("of " + owner)
    determiner = "" if owner_before else _determiner(phrase, chooser, negated)
    return " ".join(([determiner] if determiner else []) + words)


@dataclass(frozen=True)
class VerbGroup:
    """A finite verb taken apart, so that a subject, "not" or an adverb can stand in it.

    Attributes:
        auxiliary: The auxiliary, a form of "do" where there is no other.
        rest: What follows the auxiliary.
        merged: The one finite form that replaces "do" in plain statements, or "" with another auxiliary.
    """

    auxiliary: str
    rest: str
    merged: str = ""


def inflect_first(phrase: str, form: str) -> str:
    """Inflects the first word of a verb phrase: "ing", "en" (past participle), "past" or "s"."""
    head, space, tail = phrase.partition(" ")
    inflected = {
        "ing": morphology.present_participle,
        "en": morphology.past_participle,
        "past": morphology.past,
        "s": morphology.third_person,
    }[form](head)
    return inflected + space + tail


def _be(agreement: Agreement, past: bool) -> str:
    if past:
        return "was" if agreement.index in {0, 2} else "were"
    if agreement.index == 0:
        return "am"
    return "is" if agreement.index == 2 else "are"


def verb_group(phrase: str, tense: str, agreement: Agreement, aspect: str, chooser: WordingChooser) -> VerbGroup:
    """Returns the finite verb group of a verb phrase.

    Args:
        phrase: The verb phrase in its base form, such as "look for" or "be afraid of".
        tense: "present", "past", "imperfect", "future" or "conditional".
        agreement: The subject's.
        aspect: "simple", "progressive" or "perfect"; a state in the perfect is not progressive ("state").
        chooser: Chooses among the wordings of the future.
    """
    head, _, tail = phrase.partition(" ")
    third = agreement.index == 2
    if head in _MODALS:
        return VerbGroup(head, tail)
    if phrase.startswith("have just "):
        return VerbGroup("has" if third else "have", phrase.removeprefix("have "))
    if tense == "future":
        if aspect != "definite" and chooser.chance(0.4):
            return VerbGroup(_be(agreement, False), "going to " + phrase)
        return VerbGroup("will", phrase)
    if aspect == "perfect":
        return VerbGroup("has" if third else "have", "been " + inflect_first(phrase, "ing"))
    if aspect == "state":
        return VerbGroup("has" if third else "have", inflect_first(phrase, "en"))
    past = tense in {"past", "imperfect"}
    if head == "be":
        return VerbGroup(_be(agreement, past), tail)
    if aspect == "progressive":
        return VerbGroup(_be(agreement, past), inflect_first(phrase, "ing"))
    if past:
        return VerbGroup("did", phrase, inflect_first(phrase, "past"))
    return VerbGroup("does" if third else "do", phrase, inflect_first(phrase, "s") if third else phrase)


_PRONOUN_CONTRACTIONS = {
    "am": "'m",
    "is": "'s",
    "are": "'re",
    "will": "'ll",
    "has": "'s",
    "have": "'ve",
    "would": "'d",
}


def attach(subject: str, pronoun: bool, group: VerbGroup, polarity: str, adverb: str, chooser: WordingChooser) -> str:
    """Joins a subject and its verb group in the order of a statement.

    Args:
        subject: The subject, "" to leave it out.
        pronoun: Whether the subject may contract with its auxiliary.
        group: The verb group.
        polarity: "affirmative", "negative", "never" or "no longer".
        adverb: An adverb that stands before the main verb, or "".
        chooser: Chooses between full and contracted forms.
    """
    after = ""
    if polarity == "never":
        adverb = "never"
    elif polarity == "no longer":
        if chooser.chance(0.5):
            polarity, after = "negative", "anymore"
        else:
            adverb = "no longer"
    if polarity != "negative" and group.merged:
        return " ".join(word for word in (subject, adverb, group.merged, after) if word)
    auxiliary = group.auxiliary
    contracts = pronoun and auxiliary in _PRONOUN_CONTRACTIONS and chooser.chance(0.45)
    if polarity == "negative":
        if auxiliary == "am" or (contracts and auxiliary in {"is", "are"}):
            subject, auxiliary = (subject + _PRONOUN_CONTRACTIONS[auxiliary], "not") if contracts else (
                subject, auxiliary + " not",
            )  # fmt: skip
        elif chooser.chance(0.6):
            auxiliary = morphology.contract_not(auxiliary)
        else:
            auxiliary = morphology.spell_not(auxiliary)
    elif contracts:
        subject, auxiliary = subject + _PRONOUN_CONTRACTIONS[auxiliary], ""
    return " ".join(word for word in (subject, auxiliary, adverb, group.rest, after) if word)


def invert(subject: str, group: VerbGroup, polarity: str, adverb: str, chooser: WordingChooser) -> str:
    """Joins a subject and its verb group in the order of a question."""
    auxiliary = group.auxiliary
    if polarity == "negative":
        auxiliary = morphology.contract_not(auxiliary) if auxiliary != "am" else "aren't"
    if polarity == "never":
        adverb = "never"
    return " ".join(word for word in (auxiliary, subject, adverb, group.rest) if word)
