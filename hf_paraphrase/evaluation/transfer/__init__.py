"""SentEval's transfer tasks (Conneau and Kiela 2018), in code of our own: SentEval is no longer maintained.

The tasks are the rows of the table in `tasks`; `scoring` has the ways in which encoders are scored on them, by
`cross_validation` over `softmax_regressions` that train side by side, or by a regression of `relatedness`. `suite` is
what `evaluate --suite senteval` runs, and `evaluate_transfer` the same for any function from texts to vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .suite import evaluate_transfer

__getattr__, __dir__, __all__ = lazy_exports(__name__)
