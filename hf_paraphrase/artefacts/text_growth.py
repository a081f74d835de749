"""Bounds how long the rules of a tokenizer can make a text, without applying them.

Rules that each make one letter two make it 2ⁿ together. They are followed from the last to the first: what a character
weighs before a rule is how many characters it can become by that rule and all behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

MOST_GROWTH = 1_000.0
"""What one character may become at most; NFKC makes one of Unicode's 18."""
_AT_FIRST = {"NFC": 3.0, "NFD": 4.0, "NFKC": 18.0, "NFKD": 18.0, "Lowercase": 2.0}
"""How many characters steps make of one at most that change nothing when they are done again."""
_EACH_TIME = {"BertNormalizer": 8.0, "ByteLevel": 4.0, "Precompiled": 18.0}
_NO_LONGER = {"Strip", "StripAccents", "Nmt", "Fuse", "ByteFallback", "Metaspace", "WordPiece", "BPEDecoder", "CTC"}
_UNKNOWN = 8.0
_PIECE = re.compile(
    # What matches between characters: anchors, and looking around with no groups inside.
    r"(?P<between>\\[AzZbB]|[\^$]|\(\?<?[=!](?:\\.|\[(?:\\.|[^\]\\\[])+\]|[^()\\\[])*\))"
    r"|(?P<alternative>\|)"
    # What matches one character, and how often; what else may stand behind it means several things.
    r"|(?:\\x\{[0-9A-Fa-f]+\}|\\u[0-9A-Fa-f]{4}|\\[pP]\{\^?\w+\}|\\[dDhHsSwWnrtfv]|\\[^\w]"
    r"|\[(?:\\.|[^\]\\\[])+\]|[^\\\[\](){}*+?|])"
    r"(?P<times>[*?+]\??|\{(?P<least>\d*)(?:,\d*)?\})?",
    re.DOTALL,
)


def growth(steps: Iterable[Mapping[str, Any]]) -> float:
    """Returns how many characters one character of a text can become at most.

    Args:
        steps: The steps of a normalizer or decoder in their order, as in `tokenizer.json`.
    """
    weights: dict[str, float] = {}
    other, done = 1.0, set()
    for step in reversed(list(steps)):
        kind = str(step.get("type"))
        if kind in _NO_LONGER or kind in done:
            continue
        content = "".join(str(step.get(key) or "") for key in ("content", "prepend"))
        total = sum(weights.get(character, other) for character in content)
        given = step.get("pattern") if kind == "Replace" else None
        pattern = given if isinstance(given, dict) else {}
        if kind not in ("Replace", "Prepend"):
            # Any character may become any others. A step without a type is known by its keys, and may be all of these.
            other = max(other, *weights.values(), 1.0) * _AT_FIRST.get(kind, _EACH_TIME.get(kind, _UNKNOWN)) + total
            weights.clear()
            done |= {kind} & _AT_FIRST.keys()
            continue
        if pattern.get("String"):
            for character in str(pattern["String"]):
                weight = total / len(str(pattern["String"]))
                weights[character] = max(weights.get(character, other), weight)
            continue
        # What need not match a character may stand before each of them as well.
        more = 0.0 if always_takes_a_character(str(pattern.get("Regex", ""))) else total
        other = max(other, total) + more
        weights = {character: max(weight, total) + more for character, weight in weights.items()}
    return max(other, *weights.values(), 1.0)


def always_takes_a_character(pattern: str) -> bool:
    """Tells of a regular expression whether it cannot match an empty text; False where that is not plain to see.

    Args:
        pattern: In the language of Oniguruma.
    """
    place, takes, plain = 0, False, True
    while place < len(pattern):
        piece = _PIECE.match(pattern, place)
        if piece is None:
            return False
        place = piece.end()
        if piece["alternative"]:
            plain, takes = plain and takes, False
        elif not piece["between"]:
            times = piece["times"]
            takes = takes or times is None or times[0] == "+" or int(piece["least"] or 0) > 0
    return plain and takes
