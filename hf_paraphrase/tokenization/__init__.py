"""Fast tokenizers, built with the `tokenizers` library: words, byte-pair units, morphs and character trigrams.

Those of encoders add no special tokens, because a token that is always there would count in every mean;
`load_encoder_tokenizer` makes such a one of any fast tokenizer. Those of translation (`train_bpe_tokenizer`) end every
sequence with the end token. `save_tokenizer` writes any of them so that transformers 4 and 5 open it.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "character_trigram": ["build_character_trigram_tokenizer"],
        "encoder_pieces": ["load_encoder_tokenizer", "train_encoder_bpe", "train_encoder_unigram"],
        "subword": ["train_bpe_tokenizer", "train_separate_bpe_tokenizer"],
        "train": ["train_tokenizer"],
        "word_level": ["build_word_level_tokenizer", "save_tokenizer", "sentence_vocabulary"],
    },
)
