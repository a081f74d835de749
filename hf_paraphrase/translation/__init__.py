"""Training, evaluation and use of translation models for back-translation (Wieting et al. 2017, section 3).

Start at `train.py`, `evaluate.py` and `back_translation.py`, the functions of the main commands. `loading.py` opens
any sequence-to-sequence model with its languages. `translator.py` and `beam_search.py` search for translations, for
RNNsearch with `fast_search.py` and optionally with the candidates of `lexical_table.py`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "back_translation": ["BackTranslator", "back_translate"],
        "beam_search": ["Hypothesis", "translate_batch"],
        "bleu": ["corpus_scores"],
        "evaluate": ["evaluate_nmt"],
        "loading": ["load_translation_model"],
        "forced_decoding": ["score_translations"],
        "search_settings": ["BeamSearchConfig"],
        "train": ["train_nmt"],
        "translator": ["Translator", "translate"],
    },
)
