"""The tokens over which the measures count."""

from __future__ import annotations

import re

# A word keeps its combining accents and the apostrophes inside it: `don't` is one token, `well-known` three.
WORD_CHARACTERS = r"\w\u0300-\u036f"
APOSTROPHES = "'’"
_TOKEN = re.compile(rf"[{WORD_CHARACTERS}]+(?:[{APOSTROPHES}][{WORD_CHARACTERS}]+)*|[^\w\s]")


def tokenize(text: str) -> list[str]:
    """Splits a lower-cased text at white space and around punctuation; each punctuation mark is a token.

    An apostrophe between letters does not split: `don't` is one token.
    """
    return _TOKEN.findall(text.lower())
