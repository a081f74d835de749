"""Translation: training RNNsearch on bitext, measuring it, and translating the foreign side back.

A model is opened with `load_translation_model` (several as an ensemble with `load_translation_models`); `translate`
gives the best translation of each text, and a `BackTranslator` with its `SearchOptions` the n-best lists that become
paraphrase pairs. Models are trained by the verb `train-nmt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .back_translation import BackTranslator as BackTranslator
    from .back_translation import SearchOptions as SearchOptions
    from .beam_search import Hypothesis as Hypothesis
    from .beam_search import translate as translate
    from .beam_search import translate_batch as translate_batch
    from .bleu import corpus_scores as corpus_scores
    from .constraints import SearchConstraints as SearchConstraints
    from .ensemble import load_translation_models as load_translation_models
    from .loading import load_translation_model as load_translation_model
    from .scoring import score_translations as score_translations

_MODULE_OF = {
    "BackTranslator": ".back_translation",
    "SearchOptions": ".back_translation",
    "Hypothesis": ".beam_search",
    "translate": ".beam_search",
    "translate_batch": ".beam_search",
    "corpus_scores": ".bleu",
    "SearchConstraints": ".constraints",
    "load_translation_models": ".ensemble",
    "load_translation_model": ".loading",
    "score_translations": ".scoring",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
