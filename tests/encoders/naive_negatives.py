"""Which sentences say the same by the pairs of a batch, and the negative of one, by their definitions."""

from __future__ import annotations

from hf_paraphrase.encoders.negatives import NO_NEGATIVE


def related_texts(texts, pairs, sentence):
    """The texts of all pairs that have a text of the sentence's pair; `texts` are sentences, partners, others."""
    own = {texts[sentence % pairs], texts[sentence % pairs + pairs]}
    found = set()
    for pair in range(pairs):
        sides = {texts[pair], texts[pair + pairs]}
        if sides & own:
            found |= sides
    return found


def admissible(texts, pairs, sentence, mode):
    """The sentences that may serve as the negative of one."""
    related = related_texts(texts, pairs, sentence)
    return [
        other
        for other, text in enumerate(texts)
        if text not in related and (mode == "both" or (other >= pairs) != (sentence >= pairs))
    ]


def chosen_negative(sentence, texts, pairs, cosine, mode):
    """The negative of one sentence; `cosine` compares two sentences."""
    allowed = admissible(texts, pairs, sentence, mode)
    return max(allowed, key=lambda other: cosine(sentence, other)) if allowed else NO_NEGATIVE
