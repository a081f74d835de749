"""Word-level tokenizers of the two languages of a bitext."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary
from .parallel_examples import TRAIN, ParallelTexts

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


def word_tokenizers(
    texts: ParallelTexts, *, lower_case: bool, digits: str, vocabulary_size: int, min_frequency: int
) -> tuple[PreTrainedTokenizerFast, PreTrainedTokenizerFast]:
    """Builds the word-level tokenizers of both languages from the training part of a bitext.

    Punctuation marks are words by themselves, apostrophes too, in any language.

    Args:
        texts: The bitext.
        lower_case: Whether text is lower-cased.
        digits: One of :data:`~...tokenization.word_level.DIGITS`.
        vocabulary_size: Words of each language at most; 0 for all.
        min_frequency: A word that occurs less often is unknown.

    Raises:
        InputError: If a side has no words.
    """
    style: dict[str, Any] = {"lower_case": lower_case, "contractions": False, "digits": digits}
    source, target = (
        build_word_level_tokenizer(
            sentence_vocabulary(side[TRAIN], min_frequency=min_frequency, max_size=vocabulary_size or None, **style),
            **style,
        )
        for side in (texts.source, texts.target)
    )
    return source, target
