"""Definitions that fit into the place of a word: cleaned, inflected, and with their article separated.

WordNet defines a noun by a noun phrase, a verb by a verb phrase in the base form, adjectives and adverbs by phrases of
many kinds. The paper (004, Table 1) puts them into the sentence as they are (`I take the first step or steps ... but
stopped`); here the head of the definition takes over number and tense of the word, as far as the head can be found
with certainty.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ...data.fingerprints import Fingerprints
from .inflection import Analysis, analyse, inflected, is_verb
from .wordnet import WordNet
from .words import PartOfSpeechTagger, split_words

_BRACKETS = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_SPACES = re.compile(r"\s+")
_ARTICLES = frozenset(["a", "an", "the"])
_PERSON = {"someone": "person", "somebody": "person", "something": "thing"}
_BEFORE_HEAD = frozenset(["ADJ", "ADV", "NUM", "PROPN"])


class Definition(NamedTuple):
    """What may stand in the place of a word.

    Attributes:
        text: The definition, inflected as the word was, without a leading article.
        article: The article that the definition began with; empty if it had none, or if the word is a plural.
        form: The word's form, as a tag of the Penn Treebank.
    """

    text: str
    article: str
    form: str


class Definitions:
    """The definitions of words by their form and label; each is made once.

    A word has the definition of its most frequent sense that is no name (`March`). The first clause is kept: what
    follows a semicolon says more about the thing (`occurs in many breeds`) or says the same again.

    Args:
        avoid: Senses whose definition is a sentence of these sets are left out. The sets OnWN and FNWN of STS 2012 to
            2014 are made of WordNet's definitions.
    """

    def __init__(self, wordnet: WordNet, tagger: PartOfSpeechTagger, *, avoid: Fingerprints | None = None) -> None:
        self.wordnet, self.tagger, self.avoid = wordnet, tagger, avoid
        self._of: dict[tuple[str, str], Definition | None] = {}

    def find(self, word: str, label: str) -> Definition | None:
        """Returns the definition of a word in lower case; None if it has none."""
        if (word, label) not in self._of:
            self._of[word, label] = self._find(word, label)
        return self._of[word, label]

    def _find(self, word: str, label: str) -> Definition | None:
        analysis = analyse(word, label, self.wordnet)
        if analysis is None:
            return None
        for sense in self.wordnet.senses(analysis.lemma, analysis.pos):
            text = clean_definition(sense.definition)
            parts = split_words(text)
            if len(parts) > 1 and not sense.is_name and not self._is_avoided(sense.definition):
                (labels,) = self.tagger.tag([parts[1::2]])
                return fitted(parts, labels, analysis)
        return None

    def _is_avoided(self, gloss: str) -> bool:
        if self.avoid is None:
            return False
        matched, _ = self.avoid.match([[clean_definition(gloss)], [gloss], [clean_definition(gloss, whole=True)]])
        return bool(matched[0])


def clean_definition(gloss: str, *, whole: bool = False) -> str:
    """Drops remarks in brackets, attributions of quotations and stray punctuation."""
    previous = ""
    while previous != gloss:
        previous, gloss = gloss, _BRACKETS.sub(" ", gloss)
    gloss = re.sub(r"[()\[\]\"]", " ", gloss)
    clauses = [_SPACES.sub(" ", clause).strip(" ,.:`'") for clause in gloss.split(";")]
    clauses = [clause.replace(" ,", ",") for clause in clauses if clause and not clause.startswith("-")]
    return "; ".join(clauses if whole else clauses[:1])


def fitted(parts: list[str], labels: list[str], analysis: Analysis) -> Definition:
    """Inflects a definition as a word is inflected, and takes its article off."""
    words = parts[1::2]
    between = parts[0::2]
    article = ""
    if analysis.pos == "n":
        if words[0].lower() in _ARTICLES and len(words) > 1:
            article = words[0].lower()
            words, labels, between = words[1:], labels[1:], ["", *between[2:]]
        elif words[0].lower() in _PERSON and len(words) > 1:
            article, words[0], labels = "a", _PERSON[words[0].lower()], ["NOUN|-", *labels[1:]]
        if analysis.form == "NNS":
            article, words = "", _plural(words, labels, between)
    elif analysis.pos == "v":
        words = _conjugated(words, labels, between, analysis.form)
    elif analysis.form[-1] in "RS" and analysis.form != "RB":
        between[0] = ("more " if analysis.form.endswith("R") else "most ") + between[0]
    text = "".join(piece for pair in zip(between, [*words, ""], strict=True) for piece in pair)
    return Definition(text, article, analysis.form)


def _plural(words: list[str], labels: list[str], between: list[str]) -> list[str]:
    """Puts the head of a noun phrase into the plural; leaves the phrase as it is where the head is not clear."""
    # The head is the last noun of the first sequence of nouns and adjectives that has one, after nothing but
    # adjectives, adverbs, numbers, and `and` or `or` between adjectives. Nouns joined to it change too.
    kinds = [label.partition("|")[0] for label in labels]
    place = 0
    while place < len(words) and kinds[place] != "NOUN":
        joins = kinds[place] == "CCONJ" and place > 0 and kinds[place - 1] == "ADJ"
        if kinds[place] not in _BEFORE_HEAD and not joins:
            return words
        place += 1
    head = None
    while place < len(words) and kinds[place] in {"NOUN", "ADJ"} and (head is None or between[place] == " "):
        head = place if kinds[place] == "NOUN" else head
        place += 1
    if head is None:
        return words
    result = list(words)
    last = head
    while True:
        plural = inflected(words[last], "NNS")
        if plural is None:
            return words
        result[last] = plural
        joined = last + 2 < len(words) and words[last + 1] in {"or", "and"} and kinds[last + 2] == "NOUN"
        if not joined or (last + 3 < len(words) and kinds[last + 3] == "NOUN"):
            break
        last += 2
    return result


def _conjugated(words: list[str], labels: list[str], between: list[str], form: str) -> list[str]:
    """Puts the verbs that head a definition into the form of the word."""
    # They are the first word, or the first after an adverb, and the verbs joined to it by commas, `or` and `and`.
    kinds = [label.partition("|")[0] for label in labels]
    place = 1 if len(words) > 1 and kinds[0] == "ADV" and not is_verb(words[0]) and is_verb(words[1]) else 0
    if not is_verb(words[place]):
        return words
    result = list(words)
    while True:
        result[place] = inflected(words[place], form) or words[place]
        step = 1
        joined = place + 1 < len(words) and words[place + 1] in {"or", "and"}
        if joined:
            step = 2
        elif place + 1 < len(words) and between[place + 1].strip() != ",":
            break
        place += step
        if place >= len(words) or not is_verb(words[place]):
            break
    return result
