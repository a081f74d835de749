"""Subword tokenizers for sentence encoders: learns byte-pair encodings and Unigram models, and opens tokenizers.

Text is normalized as for words (NFKC, curly apostrophes straightened, optional lower case) and split at white space,
and every punctuation mark is a separate piece. A space belongs to the piece after it (`▁word`). No special tokens are
added to a sentence, because they would count in every mean.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.files import wrap_load_errors
from ..artefacts.model_loading import open_tokenizer_folder
from ..errors import InputError, ModelError
from .word_level import PAD_TOKEN, UNKNOWN_TOKEN, as_fast_tokenizer, basic_normalizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

SPACE = "▁"
"""The character for the space before a word."""
_PUNCTUATION = r"[^\s\p{Alphabetic}\p{M}\p{Nd}\p{Pc}▁]|_"
r"""Every mark or symbol, `\W` written out because `\w` of JavaScript has ASCII letters only."""
_REMEDY = "give a folder that train-tokenizer made, or the folder of a fast tokenizer (tokenizer.json)"
_SPECIAL = (PAD_TOKEN, UNKNOWN_TOKEN)
# A letter of Linear B, which training text does not have.
_RARE_LETTER = "\U00010000"


def train_encoder_bpe(
    sentences: Iterable[str], vocab_size: int, *, lower_case: bool = True, min_frequency: int = 2
) -> PreTrainedTokenizerFast:
    """Learn a byte-pair encoding (Sennrich, Haddow and Birch 2016) from a stream of sentences.

    `vocab_size`, the maximum number of pieces, includes `[PAD]`, id 0, and `[UNK]`, id 1. Two pieces are merged if
    they follow each other `min_frequency` times.
    """
    from tokenizers import Tokenizer, models, trainers

    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN_TOKEN))
    _prepare(tokenizer, lower_case=lower_case)
    trainer = trainers.BpeTrainer(min_frequency=min_frequency, **_options(vocab_size))
    tokenizer.train_from_iterator(_with_text(sentences), trainer)
    return _finished(tokenizer, vocab_size)


def train_encoder_unigram(
    sentences: Iterable[str], vocab_size: int, *, lower_case: bool = True
) -> PreTrainedTokenizerFast:
    """Learn a Unigram model of pieces (Kudo 2018), which finds the most probable segmentation of a text.

    The pieces differ from run to run, because the trainer of `tokenizers` is not deterministic and has no seed. The
    trainer considers only strings that occur in two different words, which would exclude most whole words. Therefore
    it also gets each word with a rare letter appended; pieces with that letter are removed at the end.
    """
    from tokenizers import Tokenizer, models, trainers

    tokenizer = Tokenizer(models.Unigram([(UNKNOWN_TOKEN, 0.0)], 0, False))
    _prepare(tokenizer, lower_case=lower_case)
    trainer = trainers.UnigramTrainer(unk_token=UNKNOWN_TOKEN, **_options(vocab_size + 1))
    stream = _and_marked_words(_with_text(sentences), lower_case=lower_case)
    try:
        tokenizer.train_from_iterator(stream, trainer)
    except Exception as error:  # the library raises a plain Exception
        if "not large enough" not in str(error):
            raise
        problem = f"{vocab_size} tokens are too few: the text has more different characters"
        raise InputError(problem, remedy="give a larger vocabulary size") from error
    parts = json.loads(tokenizer.to_str())
    parts["model"]["vocab"] = [entry for entry in parts["model"]["vocab"] if _RARE_LETTER not in entry[0]]
    return _finished(Tokenizer.from_str(json.dumps(parts)), vocab_size)


def _prepare(tokenizer: Tokenizer, *, lower_case: bool) -> None:
    """Set the normalizer, the split into words with the space before each, and the decoder."""
    from tokenizers import pre_tokenizers

    tokenizer.normalizer = basic_normalizer(lower_case=lower_case)
    mark_spaces(tokenizer, pre_tokenizers.WhitespaceSplit())


def _options(vocab_size: int) -> dict[str, Any]:
    from tokenizers import AddedToken

    special = [AddedToken(token, special=True, normalized=False) for token in _SPECIAL]
    return {"vocab_size": vocab_size, "special_tokens": special, "show_progress": False}


def mark_spaces(tokenizer: Tokenizer, *before: pre_tokenizers.PreTokenizer) -> None:
    """Make a space part of the piece after it, which decoding reverses, and split off punctuation marks."""
    from tokenizers import Regex, decoders, pre_tokenizers

    marking: dict[str, Any] = {"replacement": SPACE, "prepend_scheme": "always", "split": True}
    punctuation = pre_tokenizers.Split(Regex(_PUNCTUATION), behavior="isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([*before, pre_tokenizers.Metaspace(**marking), punctuation])
    tokenizer.decoder = decoders.Metaspace(**marking)


def _with_text(sentences: Iterable[str]) -> Iterable[str]:
    """Return the sentences if there is any text; the trainers crash without text."""
    stream = iter(sentences)
    for sentence in stream:
        if sentence.strip():
            return itertools.chain([sentence], stream)
    raise InputError("no text to learn pieces from", remedy="give sentences with text")


def _and_marked_words(sentences: Iterable[str], *, lower_case: bool) -> Iterator[str]:
    from tokenizers import Tokenizer, models

    # A tokenizer is locked while it is trained.
    tokenizer = Tokenizer(models.Unigram())
    _prepare(tokenizer, lower_case=lower_case)
    words: set[str] = set()
    for sentence in sentences:
        yield sentence
        pieces = tokenizer.pre_tokenizer.pre_tokenize_str(tokenizer.normalizer.normalize_str(sentence))
        words.update(word for word, _ in pieces if word.startswith(SPACE))
    yield from (word.removeprefix(SPACE) + _RARE_LETTER for word in sorted(words))


def _finished(tokenizer: Tokenizer, vocab_size: int) -> PreTrainedTokenizerFast:
    size = tokenizer.get_vocab_size()
    if size > vocab_size:
        problem = f"{vocab_size} tokens are too few: the text has {size - len(_SPECIAL)} different characters"
        raise InputError(problem, remedy=f"give a vocabulary size of {size} or more")
    return as_fast_tokenizer(tokenizer, pad_token=PAD_TOKEN, unk_token=UNKNOWN_TOKEN)


def load_encoder_tokenizer(folder: str | os.PathLike[str]) -> PreTrainedTokenizerFast:
    """Open any fast tokenizer in a folder for a sentence encoder.

    The result adds no special tokens (`[CLS]` or `</s>` would count in every mean), does not truncate and pads on the
    right. A tokenizer without padding or unknown token, such as byte-level BPE, gets `[PAD]` or `[UNK]`. All other ids
    stay the same.
    """
    from tokenizers import Tokenizer

    path = Path(folder)
    if not path.is_dir():
        raise ModelError("no such tokenizer folder", path=path, remedy=_REMEDY)
    if not (path / "tokenizer.json").is_file():
        raise ModelError("no tokenizer.json in this folder", path=path, remedy=_REMEDY)
    given = open_tokenizer_folder(path)
    if not given.is_fast:
        raise ModelError("not a fast tokenizer", path=path, remedy=_REMEDY)
    # A tokenizer with two tokens of one id is saved with one token, and may not open again.
    with wrap_load_errors("the tokenizer", path, _REMEDY):
        parts = json.loads(given.backend_tokenizer.to_str())
        parts.update(post_processor=None, truncation=None, padding=None)
        backend = Tokenizer.from_str(json.dumps(parts))
    # Another class might add the special tokens again on opening.
    tokenizer = as_fast_tokenizer(
        backend, pad_token=given.pad_token or PAD_TOKEN, unk_token=given.unk_token or UNKNOWN_TOKEN
    )
    ids = set(tokenizer.get_vocab().values())
    if ids != set(range(len(tokenizer))):
        problem = f"the vocabulary has {len(ids)} tokens and ids up to {max(ids)}: some have no token"
        raise ModelError(problem, path=path, remedy="number the tokens from 0 without gaps")
    return tokenizer
