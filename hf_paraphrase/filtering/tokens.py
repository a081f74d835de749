"""The tokens over which the measures count."""

from __future__ import annotations

import re
from itertools import chain

import numpy as np

_COMBINING = "\u0300-\u036f"
# A word keeps its combining accents and the apostrophes inside it: `don't` is one token, `well-known` three.
_TOKEN = re.compile(rf"[\w{_COMBINING}]+(?:['’][\w{_COMBINING}]+)*|[^\w\s]")


def tokenize(text: str) -> list[str]:
    """Splits a lower-cased text at white space and around punctuation; each punctuation mark is a token.

    An apostrophe between letters does not split: `don't` is one token.
    """
    return _TOKEN.findall(text.lower())


class TokenIds:
    """Sentences as numbers, one number a distinct token, all in one flat array.

    Attributes:
        ids: The tokens of all sentences one after the other, int64 (tokens,).
        lengths: Tokens a sentence, int64 (sentences,).
        starts: Where each sentence begins in `ids`, int64 (sentences,).
    """

    def __init__(self, sentences: list[list[str]], vocabulary: dict[str, int]) -> None:
        """Numbers the tokens; `vocabulary` grows by those it lacks."""
        flat = list(chain.from_iterable(sentences))
        for token in dict.fromkeys(flat):
            vocabulary.setdefault(token, len(vocabulary))
        self.ids = np.fromiter(map(vocabulary.__getitem__, flat), dtype=np.int64, count=len(flat))
        self.lengths = np.fromiter(map(len, sentences), dtype=np.int64, count=len(sentences))
        self.starts = np.cumsum(self.lengths) - self.lengths
