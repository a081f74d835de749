"""The types of lexical entries, and the strict reader of the lexicon's text tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Noun:
    """A noun concept: one French lemma and its interchangeable English wordings."""

    french: str
    feminine: bool
    english: tuple[str, ...]
    classes: tuple[str, ...]
    mass: bool = False


@dataclass(frozen=True)
class Name:
    """A first name, written alike in both languages."""

    text: str
    feminine: bool


@dataclass(frozen=True)
class Adjective:
    """An adjective concept with the noun classes it may describe."""

    french: str
    english: tuple[str, ...]
    classes: tuple[str, ...]
    prenominal: bool = False
    antonym: str | None = None


@dataclass(frozen=True)
class Verb:
    """A verb sense: its wordings, who or what may be its subject and object, and how it may be used.

    Attributes:
        french: The infinitive, without reflexive pronoun, fixed tail or preposition.
        tail: Fixed words after the French verb ("besoin" in "avoir besoin de").
        preposition: The French preposition before the object, or "".
        english: Base forms; a verb that cannot be passive in that wording is marked in `active_only`.
        subjects: Noun classes of the subject.
        objects: Noun classes of the object; empty where there is none.
        flags: Letters described in `verb_tables.py`.
        places: Kinds of places where it happens.
        field: The topic that it belongs to.
    """

    french: str
    tail: str
    preposition: str
    english: tuple[str, ...]
    active_only: tuple[str, ...]
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    flags: str
    places: tuple[str, ...]
    field: str
    reflexive: bool = False


@dataclass(frozen=True)
class Adjunct:
    """A fixed phrase of time, place, manner or frequency, with its English wordings."""

    french: str
    english: tuple[str, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class ControlVerb:
    """A verb that takes an infinitive ("vouloir", "commencer à").

    Attributes:
        french: The finite verb's infinitive.
        preposition: What stands before the infinitive: "", "à" or "de".
        english: Templates whose last word is "_" (infinitive or base form) or "_ing".
        tenses: The tenses it is used in.
        flags: "n" for verbs that need an action that goes on for a while, "p" for natural with a passive.
    """

    french: str
    preposition: str
    english: tuple[str, ...]
    tenses: tuple[str, ...]
    flags: str


def table_rows(table: str, columns: int) -> Iterator[list[str]]:
    """Yields the cells of a text table, whose lines are rows and whose cells are separated by "|".

    Args:
        table: The table; empty lines and lines that start with "#" are skipped.
        columns: How many cells each row must have.

    Raises:
        ValueError: A row has another number of cells.
    """
    for line in table.strip().splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) != columns:
            raise ValueError(f"expected {columns} cells, got {len(cells)}: {line!r}")
        yield cells


def wordings(cell: str) -> tuple[str, ...]:
    """Splits a cell at its commas."""
    return tuple(word.strip() for word in cell.split(",") if word.strip())
