"""Gives the words of English sentences the parts of speech that a tagger finds."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from ..expansion.tagger import PartOfSpeechTagger
from .tagged_text import TAG, LabelledSentence

PUNCTUATION = "PUNCT"
"""The label of words without a letter or digit, which the tagger does not see."""


def with_tags(tagger: PartOfSpeechTagger, sentences: Sequence[LabelledSentence]) -> list[LabelledSentence]:
    """Labels every word with its universal part of speech.

    Args:
        tagger: A tagger of English, which gets the words without punctuation, as it was trained.
        sentences: Sentences whose words are known.

    Returns:
        The same sentences with the labels :data:`~.tagged_text.TAG`.
    """
    seen = [[word for word in sentence.words if _has_letter(word)] for sentence in sentences]
    labelled = []
    for sentence, labels in zip(sentences, tagger.tag(seen), strict=True):
        following = iter(labels)
        # Of verbs the labels tell the form too, behind a bar.
        tags = [next(following).partition("|")[0] if _has_letter(word) else PUNCTUATION for word in sentence.words]
        labelled.append(dataclasses.replace(sentence, labels={**sentence.labels, TAG: tuple(tags)}))
    return labelled


def _has_letter(word: str) -> bool:
    return any(letter.isalnum() for letter in word)
