"""The part-of-speech tagger of the package `denckring-en-pos`, with a cache.

It is an averaged perceptron over the features of Honnibal's tagger, trained on the English Web Treebank of Universal
Dependencies; its weights are JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...errors import UsageError

_MOST_KNOWN = 1 << 16


class PartOfSpeechTagger:
    """Tags the words of sentences, given without their punctuation.

    Tags are the labels of the model, such as `NOUN|-` or `VERB|Fin`: a universal part of speech, and of verbs the
    form. Sentences come back in the next epoch or variant, so the last ones are kept.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        self._known: dict[tuple[str, ...], list[str]] = {}

    @classmethod
    def load(cls) -> PartOfSpeechTagger:
        """Opens the tagger of the package `denckring-en-pos`."""
        try:
            from denckring_en_pos import tagger
        except ImportError as error:
            remedy = "pip install hf-paraphrase[expansion]"
            raise UsageError("the part-of-speech tagger is not installed", remedy=remedy) from error
        return cls(tagger())

    def __contains__(self, word: str) -> bool:
        """Returns whether the model was trained on a word, given in lower case."""
        return word in self._model.vocabulary

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Returns the label of every word."""
        return [self._tag(tuple(words)) for words in sentences]

    def _tag(self, words: tuple[str, ...]) -> list[str]:
        labels = self._known.get(words)
        if labels is None:
            if len(self._known) == _MOST_KNOWN:
                self._known.clear()
            labels = self._known[words] = self._model.tag(words)
        return labels
