"""What encoders make of the sentences of a text and of pairs that people scored (paper 003, sections 4.2.1 and A.4).

Encoders and texts go in; nearest sentences, distributions of similarities, and means and tests by human score come
out, as tables and plots. Start with the recipes `neighbours`, `similarities` and `score_comparison`; texts of any size
stream through `sentence_blocks`. The verbs are kinds of `analyze`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .neighbours import Neighbours, NeighbourSettings, analyze_neighbours
    from .score_comparison import HumanScoreSettings, analyze_human_scores
    from .similarities import QuerySimilarities, SimilaritySettings, analyze_similarities

__getattr__, __dir__, __all__ = lazy_exports(__name__)
