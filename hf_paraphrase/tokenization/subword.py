"""Byte-pair encoding of raw text for translation, with a joint vocabulary or two separate ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from ..errors import InputError
from .encoder_pieces import mark_spaces

if TYPE_CHECKING:
    from ..models.tokenization_rnn_search import RnnSearchTokenizer

PAD, START, END, UNKNOWN = "<pad>", "<s>", "</s>", "<unk>"
_SETTINGS: dict[str, Any] = {"pad_token": PAD, "bos_token": START, "eos_token": END, "unk_token": UNKNOWN}
_SETTINGS["clean_up_tokenization_spaces"] = False
_TYPOGRAPHY = {
    r"[\u00a0\u202f]*[«»][\u00a0\u202f]*": '"',
    r"[„“”‟]": '"',
    r"[‘’‚‛´`]": "'",
    r"\s*—\s*": " - ",
    "–": "-",
    r"[\u00a0\u202f](?=[%:;?!])": "",
}
"""Typographic characters and their replacements by Moses in text of every language."""


def train_bpe_tokenizer(
    texts: Iterable[str], vocab_size: int, *, lowercase: bool = False, max_length: int = 1_000
) -> PreTrainedTokenizerFast:
    """Learn a BPE tokenizer (Sennrich et al. 2016) that splits as Moses does and decodes exactly.

    Typographic quotes and dashes become plain ones, as in the normalized training text. A space belongs to the token
    after it (`▁word`) and punctuation is split off without one, so that decoding restores the text. The end token is
    appended to every sequence. `vocab_size` includes the four special tokens.
    """
    return PreTrainedTokenizerFast(
        tokenizer_object=_train_bpe(texts, vocab_size, lowercase=lowercase), model_max_length=max_length, **_SETTINGS
    )


def train_separate_bpe_tokenizer(
    sources: Iterable[str],
    targets: Iterable[str],
    vocab_size: int,
    *,
    lowercase: bool = False,
    max_length: int = 1_000,
) -> RnnSearchTokenizer:
    """Learn two BPE tokenizers in one object, called as `tokenizer(sources)` and `tokenizer(text_target=targets)`."""
    from ..models.tokenization_rnn_search import RnnSearchTokenizer

    return RnnSearchTokenizer(
        tokenizer_object=_train_bpe(targets, vocab_size, lowercase=lowercase),
        source_tokenizer_object=_train_bpe(sources, vocab_size, lowercase=lowercase),
        **_SETTINGS,
        model_max_length=max_length,
    )


def _train_bpe(texts: Iterable[str], vocab_size: int, *, lowercase: bool) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(unk_token=UNKNOWN))
    steps: list[normalizers.Normalizer] = [
        # First, because NFKC separates an accent from its space and makes all spaces equal.
        *(normalizers.Replace(Regex(mark), plain) for mark, plain in _TYPOGRAPHY.items()),
        normalizers.NFKC(),
    ]
    if lowercase:
        steps.append(normalizers.Lowercase())
    steps += [normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()]
    tokenizer.normalizer = normalizers.Sequence(steps)
    mark_spaces(tokenizer)
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[AddedToken(token, special=True) for token in (PAD, START, END, UNKNOWN)],
        show_progress=False,
        min_frequency=2,
    )
    tokenizer.train_from_iterator(texts, trainer)
    if tokenizer.get_vocab_size() <= 4:
        raise InputError("no text to learn subwords from", remedy="give sentences with text")
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"$A {END}", pair=f"$A {END} $B {END}", special_tokens=[(END, tokenizer.token_to_id(END))]
    )
    return tokenizer
