"""Moses-style cleaning of text before translation, by the sacremoses library."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from ..errors import InputError


@functools.lru_cache(maxsize=16)
def _normalizer(language: str) -> Any:
    from sacremoses import MosesPunctNormalizer

    return MosesPunctNormalizer(lang=language)


def normalize_punctuation(texts: Iterable[str], language: str) -> list[str]:
    """Replaces typographic quotes, dashes and spaces as Moses' normalize-punctuation script does.

    Splitting off punctuation and lower-casing, the other steps of Moses' pre-processing, are part of the model's
    tokenizer (:mod:`hf_paraphrase.tokenization.subword`), and so is what matters most of this one, so that a saved
    model takes raw text; what depends on the language, the order of quotes and commas, is done here alone.

    Args:
        texts: Sentences.
        language: Their language code; it decides how quotes and commas are ordered.
    """
    normalizer = _normalizer(language)
    return [normalizer.normalize(text) for text in texts]


def trainable_rows(table: pa.Table, *, max_words: int) -> tuple[list[str], list[str], int]:
    """Returns the sides of a bitext that can be trained on, Moses-normalised.

    Args:
        table: Bitext rows, at least `source`, `target`, `source_lang` and `target_lang`.
        max_words: Pairs with a side of more white-space separated words are left out.

    Returns:
        Source sentences, target sentences, and the number of rows left out (empty or too long).

    Raises:
        InputError: If nothing is left.
    """
    sources, targets = (
        normalize_punctuation(_texts(table, side), _language(table, f"{side}_lang")) for side in ("source", "target")
    )
    kept = [
        (source, target)
        for source, target in zip(sources, targets, strict=True)
        if 0 < len(source.split()) <= max_words and 0 < len(target.split()) <= max_words
    ]
    if not kept:
        raise InputError(
            f"none of the {table.num_rows} sentence pairs has 1 to {max_words} words on both sides",
            remedy="raise --max-words or look at the bitext",
        )
    return [source for source, _ in kept], [target for _, target in kept], table.num_rows - len(kept)


def _texts(table: pa.Table, column: str) -> list[str]:
    return [text or "" for text in table[column].to_pylist()]


def _language(table: pa.Table, column: str) -> str:
    values: Sequence[Any] = table[column].slice(0, 1).to_pylist()
    return str(values[0]) if values and values[0] else "en"
