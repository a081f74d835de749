"""Translation: bitext in; RNNsearch models, their BLEU, and n-best back-translations out (paper 000, section 3).

Start at `train.py` and `back_translation.py`, the recipes of the two main verbs: a bitext (`bitext.py`) is cut into
batches (`batching.py`) for the `TranslationTrainer`; a model is opened (`loading.py`, `ensemble.py`) and searched by
beam (`beam_search.py`, down to `fast_search.py` and `decoder_steps.py`), shard by shard (`table_translator.py`),
over all units or a few candidates (`lexical_table.py`, `candidates.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .back_translation import back_translate
    from .back_translator import BackTranslator
    from .beam_search import Hypothesis, translate, translate_batch
    from .bleu import corpus_scores
    from .constraints import SearchConstraints
    from .ensemble import load_translation_models
    from .evaluate import evaluate_translation
    from .lexical_table import estimate_lexical_table
    from .loading import load_translation_model
    from .scoring import score_translations
    from .table_translator import SearchOptions, TableTranslator
    from .train import train_translation
    from .trainer import TranslationTrainer, TranslationTrainingArguments

__getattr__, __dir__, __all__ = lazy_exports(__name__)
