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

_MAX_CHARACTERS, _MIN_CHARACTERS = 200, 20
_NO_SENTENCE_END = r"(?<!\b[A-Za-z].)(?<!\bDr.)(?<!\bMr.)(?<!\bMrs.)(?<!\bMs.)(?<!\bSt.)"
_SENTENCE_END = re.compile(
    rf"[.!?…؟।॥]{_NO_SENTENCE_END}['\"”’»)\]]{{0,3}}(?=\s)"  # a space follows
    r"|[。！？｡]+[」』”’）]*"  # in Chinese and Japanese without a space
    r"|\n\s*\n"  # the end of a heading or a paragraph
)


@cache
def _word_pattern() -> re.Pattern[str]:
    """Compile a pattern of words; a long span without spaces is cut into pieces of half a passage."""
    return re.compile(rf"\S{{1,{_MAX_CHARACTERS // 2}}}[{python_class(combining_marks())}]*")


def split_passages(text: str) -> list[str]:
    """Split a text of more than 200 characters into its sentences, and longer sentences into windows.

    A sentence of fewer than 20 characters, such as a heading or an abbreviation, goes with the next one. Windows begin
    and end where words do, and overlap by half, so that an answer is not cut in two.
    """
    if len(text) <= _MAX_CHARACTERS:
        return [text]
    passages, start = [], 0
    for end in chain((match.end() for match in _SENTENCE_END.finditer(text)), [len(text)]):
        if end - start >= _MIN_CHARACTERS or end == len(text):
            passages.extend(_split_windows(text[start:end].strip()))
            start = end
    return passages or [""]


def _split_windows(sentence: str) -> list[str]:
    if len(sentence) <= _MAX_CHARACTERS:
        return [sentence] if sentence else []
    windows, first, last = [], 0, -1
    spans = [match.span() for match in _word_pattern().finditer(sentence)]
    while last + 1 < len(spans):
        last = first
        while last + 1 < len(spans) and spans[last + 1][1] - spans[first][0] <= _MAX_CHARACTERS:
            last += 1
        windows.append(sentence[spans[first][0] : spans[last][1]])
        first = (first + last) // 2 + 1
    return windows


def find_best_passages(
    queries: Sequence[str],
    vectors: NDArray[np.float32],
    texts: Sequence[Sequence[str]],
    embed: Callable[[Sequence[str]], NDArray[np.float32]],
) -> list[list[str]]:
    """Find in each hit of each query the passage with the highest cosine to the query.

    `vectors` (queries, dim) are the unit vectors of the queries, `texts` the hits per query. All passages are embedded
    in one call. For a query of unknown words, with a zero vector, the passage with the most of its words is chosen.
    """
    passages_of = {text: split_passages(text) for text in chain.from_iterable(texts)}
    distinct = dict.fromkeys(chain.from_iterable(each for each in passages_of.values() if len(each) > 1))
    rows_of = {passage: row for row, passage in enumerate(distinct)}
    embedded = embed(list(distinct)) if distinct else vectors[:0]

    def choose(query: str, vector: NDArray[np.float32], passages: list[str]) -> str:
        if len(passages) == 1:
            return passages[0]
        if vector.any():
            rows = embedded[[rows_of[passage] for passage in passages]]
            # A passage without a word that the encoder knows is no answer.
            scores = np.where(rows.any(axis=1), unit_row_cosines(rows, np.broadcast_to(vector, rows.shape)), -1)
        else:
            words = set(split_words(query))
            scores = np.array([len(words.intersection(split_words(passage))) for passage in passages])
        return passages[scores.argmax()]

    return [
        [choose(query, vector, passages_of[text]) for text in own]
        for query, vector, own in zip(queries, vectors, texts, strict=True)
    ]
