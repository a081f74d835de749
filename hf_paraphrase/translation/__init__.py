"""Translation: training RNNsearch on bitext, measuring it, and translating the foreign side back.

A model is opened with `load_translation_model` (several as an ensemble with `load_translation_models`); `translate`
gives the best translation of each text, and a `BackTranslator` with its `SearchOptions` the n-best lists that become
paraphrase pairs. Models are trained by the verb `train-nmt`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_exports

if TYPE_CHECKING:
    from .back_translation import BackTranslator, SearchOptions
    from .beam_search import Hypothesis, translate, translate_batch
    from .bleu import corpus_scores
    from .constraints import SearchConstraints
    from .ensemble import load_translation_models
    from .loading import load_translation_model
    from .scoring import score_translations
    from .train import train_translation
    from .trainer import TranslationTrainer, TranslationTrainingArguments

__getattr__, __dir__, __all__ = lazy_exports(__name__)
