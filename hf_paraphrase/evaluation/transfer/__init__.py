"""SentEval's transfer tasks (Conneau and Kiela 2018), in code of our own: SentEval is no longer maintained."""

from __future__ import annotations

from .evaluation import evaluate_transfer

__all__ = ["evaluate_transfer"]
