"""RNNsearch: the GRU encoder-decoder with attention that translates bitext (paper 000 §3)."""

from __future__ import annotations

from .configuration_rnn_search import RnnSearchConfig
from .modeling_rnn_search import RnnSearchForConditionalGeneration

__all__ = ["RnnSearchConfig", "RnnSearchForConditionalGeneration"]
