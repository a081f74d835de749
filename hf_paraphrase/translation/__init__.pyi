# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import back_translate, evaluate_nmt, train_nmt

from .back_translation import BackTranslator
from .beam_search import Hypothesis, translate_batch
from .bleu import corpus_scores
from .forced_decoding import score_translations
from .loading import load_translation_model
from .search_settings import BeamSearchConfig
from .translator import Translator, translate

__all__ = [
    "BackTranslator",
    "BeamSearchConfig",
    "Hypothesis",
    "Translator",
    "back_translate",
    "corpus_scores",
    "evaluate_nmt",
    "load_translation_model",
    "score_translations",
    "train_nmt",
    "translate",
    "translate_batch",
]
