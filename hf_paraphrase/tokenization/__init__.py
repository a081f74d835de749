"""Fast tokenizers, built with the `tokenizers` library: words, byte-pair units, morphs and character trigrams.

Those of encoders add no special tokens, because a token that is always there would count in every mean;
`load_encoder_tokenizer` makes such a one of any fast tokenizer. Those of translation (`train_bpe_tokenizer`) end every
sequence with the end token. `save_tokenizer` writes any of them so that transformers 4 and 5 open it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .character_trigram import build_character_trigram_tokenizer as build_character_trigram_tokenizer
    from .encoder_pieces import train_encoder_bpe as train_encoder_bpe
    from .encoder_pieces import train_encoder_unigram as train_encoder_unigram
    from .encoder_tokenizer import load_encoder_tokenizer as load_encoder_tokenizer
    from .subword import train_bpe_tokenizer as train_bpe_tokenizer
    from .subword import train_separate_bpe_tokenizer as train_separate_bpe_tokenizer
    from .word_level import build_word_level_tokenizer as build_word_level_tokenizer
    from .word_level import save_tokenizer as save_tokenizer
    from .word_level import sentence_vocabulary as sentence_vocabulary

_MODULE_OF = {
    "build_character_trigram_tokenizer": ".character_trigram",
    "train_encoder_bpe": ".encoder_pieces",
    "train_encoder_unigram": ".encoder_pieces",
    "load_encoder_tokenizer": ".encoder_tokenizer",
    "train_bpe_tokenizer": ".subword",
    "train_separate_bpe_tokenizer": ".subword",
    "build_word_level_tokenizer": ".word_level",
    "save_tokenizer": ".word_level",
    "sentence_vocabulary": ".word_level",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
