"""Expansion of sentences: words replaced by their definitions (paper 004, section 2.1).

An `Expander` expands sentences with the definitions of a `WordNet` and the tags of a `PartOfSpeechTagger`;
`ExpandedPairs` and the `ExpandingCollator` make training data of it. The verb is `expand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_exports

if TYPE_CHECKING:
    from .collator import ExpandingCollator
    from .expanded_pairs import ExpandedPairs, expanded_tables
    from .expander import Expanded, Expander
    from .tagger import PartOfSpeechTagger
    from .wordnet import WordNet

__getattr__, __dir__, __all__ = lazy_exports(__name__)
