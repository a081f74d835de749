"""Word frequencies, and the weights that initial word vectors get by them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data.text_files import numbered_lines
from ..errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

FREQUENCY_CONSTANT = 1e-3
"""The a of the weight a / (a + p) (Arora, Liang and Ma 2017, section 5)."""
_COUNT_LINE = re.compile(r"\s*(\S+)[ \t]+(\d{1,18})\s*")
_LINES_AT_A_TIME = 10_000


def frequency_weight(probability: NDArray[np.float64], constant: float = FREQUENCY_CONSTANT) -> NDArray[np.float64]:
    """Computes a / (a + p) for word probabilities p of any shape (Arora, Liang and Ma 2017, equation 3).

    Args:
        probability: The share of each word among all tokens.
        constant: The a; a word with this share is halved.

    Raises:
        ValueError: If the constant is not positive.
    """
    if not constant > 0:
        raise ValueError(f"the constant of the frequency weight must be above 0, not {constant}")
    return constant / (constant + probability)


def read_counts(
    path: str | os.PathLike[str], tokenizer: PreTrainedTokenizerFast, vocabulary_size: int | None = None
) -> NDArray[np.int64]:
    """Counts the tokens of a file of text, or reads a file of counts.

    If the first line that is not blank is a word and a whole number, the file is a list of `WORD COUNT` lines, and all
    lines must be so; each word is tokenised and each of its tokens counts so often. Otherwise the file is text, one
    sentence a line.

    Args:
        path: The file, plain or compressed.
        tokenizer: The tokenizer whose tokens are counted.
        vocabulary_size: The length of the result; by default the tokenizer's.

    Returns:
        How often each id occurs (vocabulary,).

    Raises:
        InputError: With file and line, if the file is missing, empty, damaged or not UTF-8, if a line of a list of
            counts is no word and number, or if no token of the file is in the vocabulary.
    """
    path = Path(path)
    size = len(tokenizer) if vocabulary_size is None else vocabulary_size
    counts = np.zeros(size, np.int64)
    is_list: bool | None = None
    for batch in _batches(path):
        if is_list is None:
            is_list = _COUNT_LINE.fullmatch(batch[0][1]) is not None
        if is_list:
            words, numbers = zip(*(_word_and_count(line, path, number) for number, line in batch), strict=True)
        else:
            words, numbers = tuple(line for _, line in batch), (1,) * len(batch)
        encoded = tokenizer.backend_tokenizer.encode_batch_fast(list(words), add_special_tokens=False)
        lengths = [len(item.ids) for item in encoded]
        ids = np.fromiter((token for item in encoded for token in item.ids), np.int64, sum(lengths))
        np.add.at(counts, ids, np.repeat(np.array(numbers, np.int64), lengths))
    if is_list is None:
        raise InputError("the file is empty", path=path, remedy="give text, or lines of a word and its count")
    known = counts.copy()
    if tokenizer.unk_token_id is not None:
        known[tokenizer.unk_token_id] = 0
    if not known.any():
        raise InputError(
            "no word of this file is in the vocabulary",
            path=path,
            remedy="give text, or lines of a word and its count, in the language of the pairs",
        )
    return counts


def _word_and_count(line: str, path: Path, number: int) -> tuple[str, int]:
    found = _COUNT_LINE.fullmatch(line)
    if found is None:
        raise InputError(
            f"`{line.strip()[:40]}` is not a word and its count as on the lines before",
            path=path,
            line=number,
            remedy="give lines of WORD COUNT only, or text only",
        )
    return found[1], min(int(found[2]), 1 << 40)


def _batches(path: Path) -> Iterator[list[tuple[int, str]]]:
    batch: list[tuple[int, str]] = []
    for number, line in numbered_lines(path):
        batch.append((number, line))
        if len(batch) == _LINES_AT_A_TIME:
            yield batch
            batch = []
    if batch:
        yield batch
