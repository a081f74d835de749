"""Fast tokenizers, built with the `tokenizers` library: words, byte-pair encoding, morphs and character trigrams.

Tokenizers of encoders add no special tokens, because these would count in every mean; `load_encoder_tokenizer` removes
them from any fast tokenizer. Tokenizers of translation models (`train_bpe_tokenizer`) end every sequence with the end
token. transformers 4 and 5 open the files that `save_tokenizer` writes.
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
