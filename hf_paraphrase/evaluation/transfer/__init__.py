"""SentEval's transfer tasks (Conneau and Kiela 2018): `tasks` is their table, `suite` trains and tests on them.

`evaluate_transfer` takes any function from texts to vectors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .suite import evaluate_transfer

__getattr__, __dir__, __all__ = lazy_exports(__name__)
