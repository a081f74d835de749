"""Chooses the array operations that compute the ids of a tokenizer, and falls back to the tokenizer itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from . import word_lookup
from .character_trigram import looks_like_trigrams
from .piece_lookup import PieceLookup
from .trigram_lookup import TrigramLookup
from .word_lookup import TokenIds, WordLookup

_SLOWNESS_OF_TRIGRAMS = 16
"""How much dearer a character is to `tokenizers` as a trigram than as part of a word, by order of magnitude."""
_SHOWN = 60


class Lookup(Protocol):
    """Computes the ids that a tokenizer gives, for many texts at once, without padding or truncation."""

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Computes the ids of some texts."""


class JoinedLookup:
    """Computes the ids of a tokenizer that lays those of several tokenizers one behind the other.

    Args:
        parts: The lookup of each part.
        offsets: What is added to the ids of each part.
    """

    def __init__(self, parts: Sequence[Lookup], offsets: Sequence[int]) -> None:
        self.parts = list(parts)
        self.offsets = list(offsets)

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Computes the ids of some texts, those of the first part before those of the second."""
        ids = self.parts[0](texts)
        for part, offset in zip(self.parts[1:], self.offsets[1:], strict=True):
            ids = ids.interleaved(part(texts), offset)
        return ids


def lookup_for(backend: Any) -> Lookup | None:
    """Makes the lookup of a tokenizer, or gives None where it must do the work itself.

    Args:
        backend: The `backend_tokenizer` of a tokenizer.
    """
    if hasattr(backend, "parts"):
        parts = [lookup_for(part) for part in backend.parts]
        found = [part for part in parts if part is not None]
        return JoinedLookup(found, backend.offsets) if len(found) == len(parts) else None
    kinds: tuple[Any, ...] = (WordLookup, PieceLookup, TrigramLookup)
    return next((lookup for kind in kinds if (lookup := kind.for_tokenizer(backend)) is not None), None)


def state_of(backend: Any) -> tuple[Any, ...]:
    """Summarises what a lookup depends on, cheaply, so that one can tell whether it has grown old."""
    if hasattr(backend, "parts"):
        return tuple(map(state_of, backend.parts))
    return word_lookup.state_of(backend)


def characters_worth_it(backend: Any) -> int:
    """Tells from how many characters on making a lookup takes less time than it saves, by order of magnitude.

    The hash table of words is filled anew in every call, so even a lookup that is there is not worth it before. It is
    at least one: nothing need be done for texts without characters.
    """
    if hasattr(backend, "parts"):
        return min(map(characters_worth_it, backend.parts))
    size = int(backend.get_vocab_size())
    return max(1, size // _SLOWNESS_OF_TRIGRAMS if looks_like_trigrams(backend) else size)


def ids_of(backend: Any, texts: Sequence[str], lookup: Lookup | None) -> TokenIds:
    """Computes the ids of some texts by a lookup if there is one, else by the tokenizer; equal in both ways.

    Args:
        backend: The `backend_tokenizer` of a tokenizer.
        texts: The texts.
        lookup: What :func:`lookup_for` gave for it.
    """
    if lookup is not None:
        return lookup(texts)
    backend.no_padding()
    backend.no_truncation()
    return TokenIds.of_lists([item.ids for item in backend.encode_batch_fast(list(texts), add_special_tokens=False)])


def list_of_texts(texts: str | Iterable[str]) -> list[str]:
    """Makes a list of one text or several; arrays and columns of strings are as good as lists.

    A tokenizer would take a pair of strings for two sentences to be joined, and the letters of a string for texts.

    Args:
        texts: A single text, which gives a list of one, or several.

    Raises:
        TypeError: If one of them is not a string, with its place, counted from 0.
    """
    if isinstance(texts, str):
        return [texts]
    if texts is None or isinstance(texts, bytes):
        raise TypeError(f"texts is {_described(texts)}, not a string or a sequence of strings")
    listed = list(texts)
    if all(issubclass(kind, str) for kind in set(map(type, listed))):
        return listed
    place = next(place for place, text in enumerate(listed) if not isinstance(text, str))
    raise TypeError(f"texts[{place}] is {_described(listed[place])}, not a string")


def _described(value: Any) -> str:
    shown = repr(value)
    if len(shown) > _SHOWN:
        shown = f"{shown[: _SHOWN - 1]}…"
    return "None" if value is None else f"{shown} ({type(value).__name__})"
