"""Snippets: the passage of a long text that answers a query best."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from ..text.words import combining_marks, python_class, split_words
from ..vectors.similarity import unit_row_cosines

_MOST_CHARACTERS = 200
_LEAST_CHARACTERS = 20
_NO_SENTENCE_END = r"(?<!\b[A-Za-z].)(?<!\bDr.)(?<!\bMr.)(?<!\bMrs.)(?<!\bMs.)(?<!\bSt.)"
_SENTENCE_END = re.compile(
    rf"[.!?…؟।॥]{_NO_SENTENCE_END}['\"”’»)\]]{{0,3}}(?=\s)"  # a space follows
    r"|[。！？｡]+[」』”’）]*"  # in Chinese and Japanese none does
    r"|\n\s*\n"  # a heading or a paragraph ends
)


@cache
def _units() -> re.Pattern[str]:
    """Matches words; of a long run of characters without space, pieces of half a passage."""
    return re.compile(rf"\S{{1,{_MOST_CHARACTERS // 2}}}[{python_class(combining_marks())}]*")


def passages(text: str) -> list[str]:
    """Splits a text of more than 200 characters into its sentences, and longer sentences into windows.

    A sentence of fewer than 20 characters, such as a heading or an abbreviation, goes with the next one. Windows begin
    and end where words do, and overlap by half, so that an answer is not cut in two.
    """
    if len(text) <= _MOST_CHARACTERS:
        return [text]
    found, start = [], 0
    for end in chain((match.end() for match in _SENTENCE_END.finditer(text)), [len(text)]):
        if end - start >= _LEAST_CHARACTERS or end == len(text):
            found.extend(_windows(text[start:end]))
            start = end
    return found or [""]


def _windows(sentence: str) -> list[str]:
    sentence = sentence.strip()
    if len(sentence) <= _MOST_CHARACTERS:
        return [sentence] if sentence else []
    found, first, last = [], 0, -1
    spans = [match.span() for match in _units().finditer(sentence)]
    while last + 1 < len(spans):
        last = first
        while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= _MOST_CHARACTERS:
            last += 1
        found.append(sentence[spans[first][0] : spans[last][1]])
        first = (first + last) // 2 + 1
    return found


def best_passages(
    queries: Sequence[str],
    vectors: NDArray[np.float32],
    texts: Sequence[Sequence[str]],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
) -> list[list[str]]:
    """Finds the passage of the greatest cosine to a query in each of the texts found for it.

    The queries have unit vectors (queries, dim). All passages are embedded in one call. A query of unknown words,
    whose vector is zero, gets the passage that has most of them.
    """
    passages_of = {text: passages(text) for text in chain.from_iterable(texts)}
    several = chain.from_iterable(items for items in passages_of.values() if len(items) > 1)
    numbers = {passage: number for number, passage in enumerate(dict.fromkeys(several))}
    embedded = embed(list(numbers)) if numbers else vectors[:0]

    def best(query: str, vector: NDArray[np.float32], items: list[str]) -> str:
        if len(items) == 1:
            return items[0]
        if vector.any():
            rows = embedded[[numbers[item] for item in items]]
            # What has no known word is no answer.
            scores = np.where(rows.any(axis=1), unit_row_cosines(rows, np.broadcast_to(vector, rows.shape)), -1)
        else:
            words = set(split_words(query))
            scores = np.array([len(words.intersection(split_words(item))) for item in items])
        return items[scores.argmax()]

    return [
        [best(query, vector, passages_of[text]) for text in found]
        for query, vector, found in zip(queries, vectors, texts, strict=True)
    ]
