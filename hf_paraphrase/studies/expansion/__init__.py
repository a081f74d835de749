"""Expands English sentences: replaces words by their definitions (Moskvichev and Steyvers, section 2.1).

An `Expander` uses the definitions of a `WordNet` and the tags of a `PartOfSpeechTagger`. `expander` also has the
command `expand`.
"""

from __future__ import annotations

from ...registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "expander": ["Expander"],
    },
)
