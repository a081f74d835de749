"""Studies of mining parallel sentences from two monolingual collections (Grégoire and Langlais 2017).

`evaluation` measures the scores and decisions of `mine` on a task with known pairs, and `comparable` makes such a
task. `bilingual_training` and `parallel_training` train the encoder and the classifier of the paper.
"""

from __future__ import annotations

from ...registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, {})
