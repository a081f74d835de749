"""Expansion of sentences: words replaced by their definitions (Moskvichev and Steyvers, section 2.1).

English sentences go in, sentences with definitions instead of some words come out: an `Expander` takes the
definitions of a `WordNet` and the tags of a `PartOfSpeechTagger`. `expander` has the command `expand`, too.
"""

from __future__ import annotations

from ...registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "expander": ["Expander"],
    },
)
