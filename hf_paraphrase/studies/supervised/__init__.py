"""Encoders trained with a head on classes or scores of sentences or pairs (paper 001, sections 4.5 and 5).

An encoder and labelled data go in, a classifier or scorer comes out. Start with `training` and `predictions`, the
recipes of `train-supervised` and `predict`; `tasks` says what a task is, and `SentenceJudge` applies what was trained.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .sentence_classification import SentenceJudge

__getattr__, __dir__, __all__ = lazy_exports(__name__)
