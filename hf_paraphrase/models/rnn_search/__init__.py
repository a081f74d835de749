"""RNNsearch: the GRU encoder-decoder with attention that translates bitext (paper 000 §3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...lazy import lazy_attributes

if TYPE_CHECKING:
    from .configuration_rnn_search import RnnSearchConfig as RnnSearchConfig
    from .modeling_rnn_search import RnnSearchForConditionalGeneration as RnnSearchForConditionalGeneration
    from .tokenization_rnn_search import RnnSearchTokenizer as RnnSearchTokenizer

_MODULE_OF = {
    "RnnSearchConfig": ".configuration_rnn_search",
    "RnnSearchForConditionalGeneration": ".modeling_rnn_search",
    "RnnSearchTokenizer": ".tokenization_rnn_search",
}

__all__ = ["RnnSearchConfig", "RnnSearchForConditionalGeneration", "RnnSearchTokenizer"]
__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
