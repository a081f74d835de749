# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.

from hf_paraphrase import train_tokenizer

from .character_trigram import build_character_trigram_tokenizer
from .encoder_pieces import load_encoder_tokenizer, train_encoder_bpe, train_encoder_unigram
from .subword import train_bpe_tokenizer, train_separate_bpe_tokenizer
from .word_level import build_word_level_tokenizer, save_tokenizer, sentence_vocabulary

__all__ = [
    "build_character_trigram_tokenizer",
    "build_word_level_tokenizer",
    "load_encoder_tokenizer",
    "save_tokenizer",
    "sentence_vocabulary",
    "train_bpe_tokenizer",
    "train_encoder_bpe",
    "train_encoder_unigram",
    "train_separate_bpe_tokenizer",
    "train_tokenizer",
]
