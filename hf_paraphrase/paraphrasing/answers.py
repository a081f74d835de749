"""Extracts paraphrases from the answers of chat models, and detects refusals and other languages."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache
from typing import Any

from .generators import Candidate

_REFUSAL = re.compile(
    r"(?:i['’]?m (?:very )?sorry\b|sorry, (?:but )?i\b|i apologi[sz]e\b|as an? (?:\w+ )?(?:ai|language model)\b|"
    r"i(?: am|['’]m) (?:not able|unable|an ai|just an ai)\b|"
    r"(?:unfortunately, )?i (?:cannot|can['’]?t|can not|won['’]?t|will not|do not|don['’]?t) "
    r"(?:help|assist|paraphrase|rewrite|rephrase|provide|fulfil|comply|complete|do that|feel comfortable))",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"\W{0,2}(?:paraphrased?(?: sentence)?|(?:rewritten |new )?sentence)\W{0,2}:\W{0,2}\s+", re.IGNORECASE
)
_ITEM = re.compile(r"\s*(?:\d{1,2}[.)]|[-*•])\s+")
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "«": "»", "„": "“", "「": "」", "`": "`"}
_SURE = 0.8
_FEWEST_WORDS = 4


def paraphrases_in(answer: Candidate) -> list[Candidate]:
    """Extract the paraphrases of an answer: the items of a list, or the first line.

    Introductions that end in a colon, labels, and surrounding quotation marks are removed. A part of an answer has no
    log-probability.
    """
    lines = [line.strip() for line in answer.text.splitlines() if line.strip()]
    if len(lines) > 1 and lines[0].endswith(":"):
        del lines[0]
    items = [line for line in lines if _ITEM.match(line)]
    chosen = [_ITEM.sub("", line, count=1) for line in items] if len(items) > 1 else lines[:1]
    texts = [_without_quotes(_LABEL.sub("", text, count=1) if _LABEL.match(text) else text) for text in chosen]
    whole = answer.text.strip()
    return [
        answer._replace(text=text)
        if text == whole
        else answer._replace(
            text=text, log_prob=None, num_tokens=None, is_finished=answer.is_finished or len(lines) > 1
        )
        for text in texts or [""]
    ]


def _without_quotes(text: str) -> str:
    text = text.strip()
    end = _QUOTES.get(text[:1])
    inner = text[1:-1]
    return inner.strip() if end and len(text) > 2 and text.endswith(end) and end not in inner else text


def is_refusal(text: str, sentence: str) -> bool:
    """Return whether a text, but not its sentence, begins like a refusal."""
    return _REFUSAL.match(text.strip()) is not None and _REFUSAL.match(sentence.strip()) is None


def is_other_language(text: str, sentence: str) -> bool:
    """Return whether the script or, with high probability, the language of a text differs from its sentence.

    Languages are compared in texts of at least four words, if the package py3langid is installed.
    """
    scripts = _script(text), _script(sentence)
    if None not in scripts and scripts[0] != scripts[1]:
        return True
    if min(len(text.split()), len(sentence.split())) < _FEWEST_WORDS or (identifier := _identifier()) is None:
        return False
    (language, probability), (own, own_probability) = map(identifier.classify, (text.lower(), sentence.lower()))
    return bool(language != own and min(probability, own_probability) >= _SURE)


def _script(text: str) -> str | None:
    """Return the script of most letters by the first word of their Unicode names; None without letters."""
    names = (unicodedata.name(letter, "").partition(" ")[0] for letter in text if letter.isalpha())
    counts = Counter("CJK" if name in {"HIRAGANA", "KATAKANA"} else name for name in names)
    return max(counts, key=counts.__getitem__, default=None)


@cache
def _identifier() -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError:
        return None
    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
