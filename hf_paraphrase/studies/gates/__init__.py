"""What the gates of a GRAN let into the sentence (paper 001, "Analyzing GRAN Gates").

An encoder and texts go in, plain or tagged; means of its gates by part of speech, dependency label and word, and
pictures of sentences come out. Start with `analysis`, the recipe of `analyze gates`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...registry import lazy_exports

if TYPE_CHECKING:
    from .analysis import GateAnalysisSettings, analyze_gates
    from .gates import WordGate, word_gates, words_of_texts

__getattr__, __dir__, __all__ = lazy_exports(__name__)
