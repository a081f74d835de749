"""What a person typed, checked: every refusal is an error whose text the page shows."""

from __future__ import annotations

from ..errors import UsageError

MOST_SENTENCES = 12
"""Sentences that are compared with each other at a time: more make a heat map that nobody reads."""
LONGEST = 2_000
"""Characters of a sentence at most."""


def sentence_of(text: str | None, what: str = "the sentence") -> str:
    """Returns what was typed as one sentence, with single spaces."""
    sentence = " ".join((text or "").split())
    if not sentence:
        raise UsageError(f"{what} is empty", remedy="type one")
    if len(sentence) > LONGEST:
        raise UsageError(
            f"{what} has {len(sentence):,} characters", remedy=f"at most {LONGEST:,}: a sentence, not a document"
        )
    return sentence


def sentences_of(text: str | None) -> list[str]:
    """Returns the sentences that were typed, one a line; empty lines do not count."""
    lines = [line for line in (text or "").splitlines() if line.strip()]
    if len(lines) < 2:
        raise UsageError(
            "there is nothing to compare" if lines else "the text is empty", remedy="type two sentences, a line each"
        )
    if len(lines) > MOST_SENTENCES:
        raise UsageError(f"these are {len(lines):,} sentences", remedy=f"at most {MOST_SENTENCES}, a line each")
    return [sentence_of(line, f"sentence {number}") for number, line in enumerate(lines, 1)]
