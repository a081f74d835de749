"""The meaning representation: phrases, clauses and sentences that both languages are written from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeAlias, TypeVar

from .lexicon import Adjective, Adjunct, ControlVerb, Name, Noun, Verb

T = TypeVar("T")


@dataclass(frozen=True)
class Agreement:
    """What a verb or possessive agrees with: person 0 to 2, number and gender."""

    person: int = 2
    plural: bool = False
    feminine: bool = False

    @property
    def index(self) -> int:
        """The person index of French conjugation, 0 to 5."""
        return self.person + (3 if self.plural else 0)


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun as a subject."""

    agreement: Agreement


@dataclass(frozen=True)
class ProperName:
    """A first name."""

    name: Name

    @property
    def agreement(self) -> Agreement:
        """Third person singular with the name's gender."""
        return Agreement(feminine=self.name.feminine)


@dataclass(frozen=True)
class NounPhrase:
    """A noun with what belongs to it.

    Attributes:
        noun: The head.
        determiner: "definite", "indefinite", "demonstrative", "possessive", "generic", "bare", "every", or a
            quantifier of `QUANTIFIERS` in `french_phrases.py`.
        plural: Whether it is plural.
        adjective: An attributive adjective.
        possessor: Whose it is, with the possessive determiner.
        owner: A genitive ("the teacher's garden").
        relative: A relative clause with a gap for the noun.
    """

    noun: Noun
    determiner: str = "definite"
    plural: bool = False
    adjective: Adjective | None = None
    possessor: Agreement | None = None
    owner: Nominal | None = None
    relative: Relative | None = None

    @property
    def agreement(self) -> Agreement:
        """Third person with the noun's gender and the phrase's number."""
        return Agreement(plural=self.plural, feminine=self.noun.feminine)


@dataclass(frozen=True)
class Coordination:
    """Two nominals joined by "and"."""

    first: Nominal
    second: Nominal

    @property
    def agreement(self) -> Agreement:
        """Third person plural, feminine only where both are."""
        feminine = self.first.agreement.feminine and self.second.agreement.feminine
        return Agreement(plural=True, feminine=feminine)


Nominal: TypeAlias = NounPhrase | Pronoun | ProperName | Coordination


@dataclass(frozen=True)
class Clause:
    """A verb with its arguments and adjuncts.

    Attributes:
        verb: The verb.
        subject: The subject.
        object: The direct or oblique object.
        recipient: The second object of a verb of giving or telling.
        tense: "present", "past", "imperfect" or "future"; with a control verb also "conditional".
        polarity: "affirmative", "negative", "never" or "no longer".
        control: A verb that governs this one.
        frequency: An adverb such as "often".
        manner: How it is done.
        place: Where it is done, or where somebody goes.
        time: When it is done.
        duration: How long it goes on; one with "depuis" lasts until now and takes the present.
    """

    verb: Verb
    subject: Nominal
    object: Nominal | None = None
    recipient: Nominal | None = None
    tense: str = "present"
    polarity: str = "affirmative"
    control: ControlVerb | None = None
    frequency: Adjunct | None = None
    manner: Adjunct | None = None
    place: Adjunct | None = None
    time: Adjunct | None = None
    duration: Adjunct | None = None


@dataclass(frozen=True)
class Relative:
    """A relative clause; `gap` says whether the noun is its subject or object."""

    clause: Clause
    gap: str


@dataclass(frozen=True)
class Copula:
    """A subject with an adjective or a profession as its predicate."""

    subject: Nominal
    predicate: Adjective | Noun
    degree: str = ""
    tense: str = "present"
    polarity: str = "affirmative"
    question: bool = False


@dataclass(frozen=True)
class Comparison:
    """Says "A is bigger than B": relation "more", "less" or "equal"."""

    subject: Nominal
    adjective: Adjective
    relation: str
    standard: Nominal


@dataclass(frozen=True)
class Existential:
    """There is something somewhere."""

    subject: NounPhrase
    place: Adjunct
    tense: str = "present"
    polarity: str = "affirmative"


@dataclass(frozen=True)
class Location:
    """Something is on, under or near something."""

    subject: Nominal
    relation: Adjunct
    landmark: NounPhrase
    tense: str = "present"
    question: bool = False


@dataclass(frozen=True)
class Possession:
    """Somebody has something."""

    subject: Nominal
    object: NounPhrase
    polarity: str = "affirmative"


@dataclass(frozen=True)
class Question:
    """A question about a clause: kind "whether", "where", "when", "why", "subject" or "object"."""

    clause: Clause
    kind: str


@dataclass(frozen=True)
class Command:
    """An order or a suggestion to "tu", "vous" or "nous" (person index 1, 4 or 3)."""

    clause: Clause
    person: int
    polite: bool = False
    negative: bool = False


@dataclass(frozen=True)
class Cleft:
    """A clause with its subject or object brought out: "It was Paul who …"."""

    clause: Clause
    focus: str


@dataclass(frozen=True)
class AgentlessPassive:
    """A clause whose object is the subject and whose agent is not told."""

    clause: Clause


@dataclass(frozen=True)
class Report:
    """Somebody says, thinks, knows or hopes that something is so."""

    subject: Nominal
    verb: Adjunct
    content: Statement


@dataclass(frozen=True)
class Link:
    """A conjunction; `fronting` says whether its clause can come first."""

    french: str
    english: tuple[str, ...]
    fronting: bool = False


@dataclass(frozen=True)
class Complex:
    """Two clauses joined by a conjunction."""

    main: Statement
    link: Link
    second: Statement


@dataclass(frozen=True)
class Purpose:
    """A clause with an infinitive of the same subject: "pour", "avant de" or "sans"."""

    main: Clause
    link: Link
    purpose: Clause


@dataclass(frozen=True)
class Impersonal:
    """A remark on the weather and the like, with its wordings given whole and an optional place and time."""

    french: str
    english: tuple[str, ...]
    place: Adjunct | None = None
    time: Adjunct | None = None


@dataclass(frozen=True)
class Feeling:
    """Says "I am happy to …", "It is hard to …": an adjective with an infinitive clause.

    Attributes:
        french: The words up to the infinitive, with "{être}" for the verb that agrees with the subject.
        english: The same in English, with "_" or "_ing" for the verb.
        clause: The infinitive's clause.
        personal: Whether the subject is the clause's, rather than an impersonal "it".
    """

    french: str
    english: tuple[str, ...]
    clause: Clause
    personal: bool = field(default=False)


Statement: TypeAlias = Clause | Copula | Possession | Impersonal | Location
Meaning: TypeAlias = (
    Clause
    | Copula
    | Comparison
    | Existential
    | Location
    | Possession
    | Question
    | Command
    | Cleft
    | AgentlessPassive
    | Report
    | Complex
    | Purpose
    | Impersonal
    | Feeling
)


class WordingChooser:
    """Chooses among wordings: at random, or always the first one where it has no source of randomness."""

    def __init__(self, rng: Random | None = None) -> None:
        """Takes the source of randomness; without one every choice is the canonical one."""
        self._rng = rng

    def pick(self, options: Sequence[T]) -> T:
        """Returns one of the options."""
        return options[0] if self._rng is None else options[self._rng.randrange(len(options))]

    def chance(self, probability: float) -> bool:
        """Returns True with the given probability, and never in the canonical wording."""
        return self._rng is not None and self._rng.random() < probability
