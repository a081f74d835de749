"""Translation: bitext in; RNNsearch models, their BLEU, n-best back-translations out (paper 000, §3).

Start at `train.py` and `back_translation.py`, the recipes of the main verbs. RNNsearch is trained
on a bitext (`bitext.py`) by `trainer.py`; any sequence-to-sequence model is opened (`loading.py`) and searched by beam
(`translator.py`, `beam_search.py`, for RNNsearch down to `fast_search.py` and `decoder_steps.py`), over all units or a
few candidates (`lexical_table.py`).
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "back_translation": ["BackTranslator", "back_translate"],
        "beam_search": ["Hypothesis", "translate", "translate_batch"],
        "evaluate": ["corpus_scores", "evaluate_translation"],
        "lexical_table": ["estimate_lexical_table"],
        "loading": ["load_translation_model"],
        "scoring": ["score_translations"],
        "search_settings": ["SearchOptions"],
        "train": ["train_translation"],
        "translator": ["Translator"],
    },
)
