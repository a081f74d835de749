"""Cuts English sentences into words, tags them, and knows the words that are never expanded."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from ...errors import UsageError

_END = r"(?![^\W_])"
_CLITIC = rf"['’](?:s|re|ve|ll|d|m){_END}"
_SPECIAL = r"/@\\_#=<>|~^*"
_WORD = re.compile(
    # An address, a name of a file, a mark-up tag: one word, which no dictionary has.
    rf"([^\s{_SPECIAL}]{{0,64}}[{_SPECIAL}]\S*"
    rf"|n['’]t{_END}|{_CLITIC}"
    rf"|[^\W_]{{1,32}}?(?=n['’]t{_END})"
    rf"|[^\W_]+(?:(?!n?{_CLITIC})[-.'’][^\W_]+)*)",
    re.IGNORECASE,
)
_NEW_SENTENCE = re.compile(r"[.!?:;]['\"”’)\]]*\s|[\"“„«(\[]\s*$|\n")


def split_words(sentence: str) -> list[str]:
    """Split a sentence into alternating gaps and words; the words have odd indices.

    Clitics are words of their own, as in the English Web Treebank: `do`, `n't`; `Tom`, `'s`.
    """
    return _WORD.split(sentence)


def begins_sentence(between: str) -> bool:
    """Return whether a capital may be due to the position: after a full stop, a colon or an opening quote."""
    return bool(_NEW_SENTENCE.search(between))


_CLOSED_CLASSES = """
a an the this that these those some any no every each either neither both all half such what which whose whatever
whichever another other others same own several few fewer fewest many more most much less least enough
i me my mine myself we us our ours ourselves you your yours yourself yourselves thou thee thy thine ye
he him his himself she her hers herself it its itself they them their theirs themselves one ones oneself
who whom whoever whomever somebody someone something anybody anyone anything nobody none nothing everybody
everyone everything somewhere anywhere nowhere everywhere
be am is are was were been being have has had having do does did done doing
can could may might must shall should will would ought need dare cannot let lets get gets got gotten getting
ca wo sha ai n't 's 're 've 'll 'd 'm not no nor yes yeah ok okay please oh ah hi hello hey
and or but yet so if unless until till while whereas because since although though lest whether than as like
of in on at by to from for with without within into onto upon over under above below beneath between among
amongst across against along alongside around about after before behind beside besides beyond despite down during
except inside near off out outside past per round through throughout toward towards underneath unlike up versus
via amid
here there where when why how now then once again ever never always often sometimes seldom too very quite rather
just only even also still already almost else away back perhaps maybe however therefore thus hence indeed instead
anyway further moreover otherwise meanwhile together apart ago soon later
one two three four five six seven eight nine ten eleven twelve first second third hundred thousand million billion
mr mrs ms dr etc e.g i.e vs
"""
STOP_WORDS = frozenset(_CLOSED_CLASSES.split())
"""Words of the closed classes, auxiliary verbs, numbers and the commonest adverbs, in lower case."""


class PartOfSpeechTagger:
    """The tagger of the package `denckring-en-pos`, for sentences without their punctuation.

    It is an averaged perceptron trained on the English Web Treebank. Tags are such as `NOUN|-` or `VERB|Fin`: a
    universal part of speech, and of verbs the form.
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        # Sentences come back in the next epoch or variant.
        self._tag: Callable[[tuple[str, ...]], list[str]] = lru_cache(maxsize=1 << 16)(model.tag)

    @classmethod
    def load(cls) -> PartOfSpeechTagger:
        """Open the tagger of the package `denckring-en-pos`."""
        try:
            from denckring_en_pos import tagger
        except ImportError as error:
            remedy = "pip install hf-paraphrase[expansion]"
            raise UsageError("the part-of-speech tagger is not installed", remedy=remedy) from error
        return cls(tagger())

    def __contains__(self, word: str) -> bool:
        """Return whether the model was trained on a word, given in lower case."""
        return word in self._model.vocabulary

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the label of every word."""
        return [self._tag(tuple(words)) for words in sentences]
