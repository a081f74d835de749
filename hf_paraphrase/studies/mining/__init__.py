"""Parallel sentences in two monolingual collections (paper 002).

`evaluation` measures what the scores and decisions of `mine` are worth where the pairs are known; `comparable` makes
such a task. `bilingual_training` and `parallel_training` train the encoder and the classifier of the paper.
"""

from __future__ import annotations

from ...registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(__name__, {})
