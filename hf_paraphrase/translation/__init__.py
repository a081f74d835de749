"""Translation: bitext in; RNNsearch models, their BLEU, n-best back-translations out (paper 000, §3).

Start at `train.py` and `back_translation.py`, the recipes of the main verbs. RNNsearch is trained
on a bitext (`bitext.py`) by `trainer.py`; any sequence-to-sequence model is opened (`loading.py`) and searched by beam
(`translator.py`, `beam_search.py`, for RNNsearch down to `fast_search.py` and `decoder_steps.py`), over all units or a
few candidates (`lexical_table.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .back_translation import BackTranslator, back_translate
    from .beam_search import Hypothesis, translate, translate_batch
    from .evaluate import corpus_scores, evaluate_translation
    from .lexical_table import estimate_lexical_table
    from .loading import load_translation_model
    from .scoring import score_translations
    from .search_settings import SearchOptions
    from .train import train_translation
    from .translator import Translator

__getattr__, __dir__, __all__ = lazy_exports(__name__)
