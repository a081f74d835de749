"""The kinds of tokenizers on which encoders are timed: our own over words, and four as others have them.

All are learnt from the sentences that are encoded, so that words outside the vocabulary are rare, as they are for a
large vocabulary on text of its kind. The pieces of the four are those that libraries of static embeddings meet.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hf_paraphrase.errors import InputError
from hf_paraphrase.tokenization.word_level import (
    PAD_TOKEN,
    UNKNOWN_TOKEN,
    as_fast_tokenizer,
    build_word_level_tokenizer,
    sentence_vocabulary,
)

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from tokenizers.trainers import Trainer
    from transformers import PreTrainedTokenizerFast

OURS = "words"
"""The kind that this package builds."""
_SPECIAL = [PAD_TOKEN, UNKNOWN_TOKEN]
_BYTES = 256


def words(sentences: list[str], size: int) -> PreTrainedTokenizerFast:
    """Builds our word-level tokenizer; words that are never met fill its vocabulary up."""
    found = sentence_vocabulary(sentences, max_size=size - 2)
    fillers = (f"filler{number}" for number in range(size - 2 - len(found)))
    return build_word_level_tokenizer([*found, *fillers])


def word_level(sentences: list[str], size: int) -> PreTrainedTokenizerFast:
    """Learns words, lower-cased and split as BERT does."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordLevel(unk_token=UNKNOWN_TOKEN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.Lowercase(), pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordLevelTrainer(vocab_size=size, special_tokens=_SPECIAL, show_progress=False)
    return _learnt(tokenizer, sentences, trainer)


def word_piece(sentences: list[str], size: int) -> PreTrainedTokenizerFast:
    """Learns 30,000 pieces of words as BERT has them."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.WordPiece(unk_token=UNKNOWN_TOKEN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=min(size, 30_000), special_tokens=_SPECIAL, show_progress=False)
    return _learnt(tokenizer, sentences, trainer)


def byte_level(sentences: list[str], size: int) -> PreTrainedTokenizerFast:
    """Learns 30,000 units of bytes as GPT-2 has them."""
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=max(min(size, 30_000), _BYTES + 2),
        special_tokens=_SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    return _learnt(tokenizer, sentences, trainer)


def unigram(sentences: list[str], size: int) -> PreTrainedTokenizerFast:
    """Learns 16,000 pieces by a Unigram model, with the marks of spaces of SentencePiece."""
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=min(size, 16_000), special_tokens=_SPECIAL, unk_token=UNKNOWN_TOKEN, show_progress=False
    )
    return _learnt(tokenizer, sentences, trainer)


KINDS: dict[str, Callable[[list[str], int], PreTrainedTokenizerFast]] = {
    OURS: words,
    "word-level": word_level,
    "wordpiece": word_piece,
    "byte-level": byte_level,
    "unigram": unigram,
}
"""What makes a tokenizer of each kind from sentences and the greatest size of its vocabulary."""


def tokenizer_of_file(path: str) -> PreTrainedTokenizerFast:
    """Opens a `tokenizer.json`, e.g. BERT's own, and takes away the special tokens round a text."""
    from tokenizers import Tokenizer

    try:
        parts = json.loads(Path(path).read_text(encoding="utf-8"))
        tokenizer = Tokenizer.from_str(json.dumps({**parts, "post_processor": None}))
    except Exception as error:  # the library raises plain Exception
        raise InputError("not a tokenizer of the tokenizers library", path=path, remedy="check --wordpiece") from error
    return _wrapped(tokenizer)


def _learnt(tokenizer: Tokenizer, sentences: list[str], trainer: Trainer) -> PreTrainedTokenizerFast:
    tokenizer.train_from_iterator(sentences, trainer)
    return _wrapped(tokenizer)


def _wrapped(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    return as_fast_tokenizer(tokenizer, pad_token=PAD_TOKEN, unk_token=UNKNOWN_TOKEN)
