"""Expansion of sentences: words replaced by their definitions (paper 004, section 2.1).

An `Expander` expands sentences with the definitions of a `WordNet` and the tags of a `PartOfSpeechTagger`;
`ExpandedPairs` and the `ExpandingCollator` make training data of it. The verb is `expand`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .collator import ExpandingCollator as ExpandingCollator
    from .expanded_pairs import ExpandedPairs as ExpandedPairs
    from .expanded_pairs import expanded_tables as expanded_tables
    from .expander import Expanded as Expanded
    from .expander import Expander as Expander
    from .tagger import PartOfSpeechTagger as PartOfSpeechTagger
    from .wordnet import WordNet as WordNet

_MODULE_OF = {
    "ExpandedPairs": ".expanded_pairs",
    "Expanded": ".expander",
    "Expander": ".expander",
    "ExpandingCollator": ".collator",
    "PartOfSpeechTagger": ".tagger",
    "WordNet": ".wordnet",
    "expanded_tables": ".expanded_pairs",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
