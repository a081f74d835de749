"""Estimates a language model from sentences and writes it as an ARPA file and in KenLM's binary format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ...errors import InputError
from .arpa import write_arpa
from .counts import TrigramCounter
from .kenlm_binary import write_kenlm_binary
from .kneser_ney import estimate


def train_language_model(
    blocks: Iterable[Sequence[str]], path: str | os.PathLike[str], *, source: str | os.PathLike[str]
) -> dict[str, Any]:
    """Estimates a 3-gram model of lower-cased tokens with interpolated modified Kneser-Ney smoothing.

    Args:
        blocks: Sentences, some at a time; those without a token are left out.
        path: The ARPA file to write; the binary has the same name with the suffix `.binary`.
        source: Where the sentences come from, for messages.

    Returns:
        `sentences`, `tokens`, `words` (distinct), `ngrams` and `discounts` of each order, and the orders of which the
        discounts could not be estimated, `fallback_discounts`.

    Raises:
        InputError: If no sentence has a token.
        OutputError: If the file cannot be written.
    """
    counter = TrigramCounter()
    for block in blocks:
        counter.add(block)
    if not counter.sentences:
        raise InputError("the text of the language model has no word", path=source)
    model = estimate(counter)
    write_arpa(path, model)
    write_kenlm_binary(Path(path).with_suffix(".binary"), model)
    return {
        "sentences": counter.sentences,
        "tokens": counter.tokens,
        "words": len(counter.words) - 3,
        "ngrams": [len(keys) for keys in model.keys],
        "discounts": [[round(value, 6) for value in discounts.values] for discounts in model.discounts],
        "fallback_discounts": [order for order, item in enumerate(model.discounts, 1) if not item.estimated],
    }
