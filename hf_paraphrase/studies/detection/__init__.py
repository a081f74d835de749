"""What encoders make of the sentences of a text and of pairs that people scored (paper 003, sections 4.2.1 and A.4).

Encoders and texts go in; nearest sentences, distributions of similarities, and means and tests by human score come
out, as tables and plots. Start with `neighbours`, `similarities` and `human_scores`, three kinds of `analyze`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .human_scores import HumanScoreSettings, analyze_human_scores
    from .neighbours import NeighbourSettings, analyze_neighbours
    from .similarities import SimilaritySettings, analyze_similarities

__getattr__, __dir__, __all__ = lazy_exports(__name__)
