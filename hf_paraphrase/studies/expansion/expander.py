"""Expands sentences: a share of their words gives place to definitions (paper 004, section 2.1)."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import xxhash
from numpy.typing import NDArray

from ...data.fingerprints import Fingerprints
from ...errors import UsageError, choice_of
from .definitions import Definition, Definitions
from .inflection import a_or_an
from .tagger import PartOfSpeechTagger
from .wordnet import WordNet
from .words import STOP_WORDS, begins_sentence, split_words

SENSES = ("first", "random")
SHARE = 0.3
"""Paper 004 speaks of "a certain percentage of words"; of the content words in its Table 1 about a third."""
_BLOCK = 4096
_FEWEST_WORDS = 4
_POSSESSIVES = frozenset(["my", "your", "his", "her", "its", "our", "their", "whose", "'s", "’s"])
_DETERMINERS = frozenset(["DET", "ADJ", "NUM", "NOUN", "PROPN"])
_PLURAL = frozenset(["we", "you", "they", "these", "those"])
_GOLDEN = 0x9E3779B97F4A7C15
_UNSEEN, _NONE = -2, -1
# What the letters of a word allow: any place, only the first place of a sentence (else it is a name), no place.
_FREE, _CAPITAL, _NEVER = 0, 1, 2


@dataclass
class Expanded:
    """Sentences with definitions in the place of some words.

    Attributes:
        texts: The sentences (sentences).
        expanded: How many words of each were replaced (sentences,).
        expandable: How many could have been (sentences,).
        words: How many words of each, names and numbers aside, could be looked up (sentences,).
        known: How many of these are English words (sentences,).
    """

    texts: list[str]
    expanded: NDArray[np.int64]
    expandable: NDArray[np.int64]
    words: NDArray[np.int64]
    known: NDArray[np.int64]

    @property
    def foreign(self) -> NDArray[np.bool_]:
        """Which sentences are left alone because most of their words are not English (sentences,)."""
        return _foreign(self.words, self.known)


class Expander:
    """Replaces words by the definitions that WordNet gives them.

    A word can be expanded if it is a noun, verb, adjective or adverb by its tag and WordNet defines it as one. Left
    alone are stop words, auxiliary verbs, names (words tagged so, and words with a capital inside a sentence),
    numbers, nouns that stand before another noun (`credit card`) or a clitic (`the dog's`), and all words of a
    sentence of four words or more of which most are no English words.

    Of the n words of a sentence that can be expanded, `share` * n are, rounded up or down at random so that the mean
    is exact. The draws depend on the sentence, the seed and the epoch alone: neither the batch nor the order nor the
    process that does the work changes a result.

    Beyond the paper, the definition takes over number, tense and degree of the word where its head is clear; its
    article goes where the word has a determiner already, `a` and `an` follow the sound, and a capital at the beginning
    of the sentence stays.

    Args:
        wordnet: The dictionary.
        tagger: Tells the part of speech of words.
        share: The share of the words to expand, from 0 to 1.
        seed: Seed of the draws, at least 0.
        senses: `first` takes the most frequent sense of a word and part of speech, as the paper does; `random` draws
            one of all.
        whole: Take all clauses of a definition instead of the first.
        at_least: Expand at least so many words of a sentence, as far as there are so many that can be.
        avoid: Definitions that are sentences of these evaluation sets are not used.
    """

    def __init__(
        self,
        wordnet: WordNet,
        tagger: PartOfSpeechTagger,
        *,
        share: float = SHARE,
        seed: int = 0,
        senses: str = "first",
        whole: bool = False,
        at_least: int = 0,
        avoid: Fingerprints | None = None,
    ) -> None:
        if not 0 <= share <= 1:
            raise UsageError(f"the share of words to expand is {share}", remedy="give a number from 0 to 1")
        if not 0 <= seed < 1 << 63:
            raise UsageError(f"the seed is {seed}", remedy="give 0 or more")
        if senses not in SENSES:
            raise UsageError(f"unknown choice of senses `{senses}`", remedy=choice_of(senses, SENSES))
        if at_least < 0:
            raise UsageError(f"the least number of words to expand is {at_least}", remedy="give 0 or more")
        self.share = share
        self.at_least = at_least
        self.seed = seed
        self.senses = senses
        self.tagger = tagger
        self.definitions = Definitions(wordnet, tagger, whole=whole, avoid=avoid)
        self._choices: list[tuple[Definition, ...]] = []
        # What is known of the tagger's words, by their numbers: the number of their definitions under each label
        # (words, labels), where their letters let them be expanded, and whether they are English words (words,).
        self._forms: list[str] | None = None
        self._seen = 0
        self._entry = np.empty((0, len(tagger.labels)), np.int64)
        self._letters = np.empty(0, np.int8)
        self._is_word = np.empty(0, np.bool_)
        kinds = [label.partition("|")[0] for label in tagger.labels]
        self._is_noun = np.array([kind == "NOUN" for kind in kinds])
        self._heads_on = np.array([kind in {"NOUN", "PROPN"} for kind in kinds])
        self._determines = [kind in _DETERMINERS for kind in kinds]

    @classmethod
    def from_wordnet(
        cls,
        path: str | os.PathLike[str] | None = None,
        *,
        share: float = SHARE,
        seed: int = 0,
        senses: str = "first",
        whole: bool = False,
        at_least: int = 0,
        avoid: Fingerprints | None = None,
    ) -> Expander:
        """Makes an expander with the tagger of `denckring-en-pos`."""
        return cls(
            WordNet(path),
            PartOfSpeechTagger.load(),
            share=share,
            seed=seed,
            senses=senses,
            whole=whole,
            at_least=at_least,
            avoid=avoid,
        )

    def expand(self, sentences: Sequence[str], epoch: int = 0) -> list[str]:
        """Expands sentences; one with nothing to expand comes back as it is."""
        return self.expand_counted(sentences, epoch).texts

    def expand_counted(self, sentences: Sequence[str], epoch: int = 0) -> Expanded:
        """Expands sentences, and counts."""
        blocks = [self._expand(sentences[at : at + _BLOCK], epoch) for at in range(0, max(len(sentences), 1), _BLOCK)]
        counts = [np.concatenate(found) for found in zip(*(counted for _, counted in blocks), strict=True)]
        return Expanded([text for texts, _ in blocks for text in texts], *counts)

    def _expand(self, sentences: Sequence[str], epoch: int) -> tuple[list[str], tuple[NDArray[np.int64], ...]]:
        cut = [split_words(sentence) for sentence in sentences]
        words = [parts[1::2] for parts in cut]
        lengths = np.array([len(found) for found in words], np.int64)
        forms = self.tagger.numbers(words)
        labels = self.tagger.tag_forms(forms, lengths)
        sentence = np.repeat(np.arange(len(cut)), lengths)
        first = lengths.cumsum() - lengths
        entries = self._entries(forms, labels)

        letters = self._letters[forms]
        begins = np.zeros(len(forms), bool)
        begins[first[lengths > 0]] = True
        for token in np.flatnonzero((letters == _CAPITAL) & ~begins).tolist():
            begins[token] = begins_sentence(cut[sentence[token]][2 * (token - first[sentence[token]])])
        looked_up = (letters == _FREE) | ((letters == _CAPITAL) & begins)
        counted = np.bincount(sentence[looked_up], minlength=len(cut))
        is_known = looked_up & (self._is_word[forms] | (entries >= 0))
        num_known = np.bincount(sentence[is_known], minlength=len(cut))

        can = looked_up & (entries >= 0)
        # A noun before a noun, with one space between, or before a clitic, with nothing between.
        spaced = np.array([gap == " " for parts in cut for gap in parts[2::2]], bool)
        joined = np.array([gap == "" for parts in cut for gap in parts[2::2]], bool)
        leads = np.zeros(len(forms), bool)
        heads_on = joined[:-1] | (spaced[:-1] & self._heads_on[labels[1:]])
        leads[:-1] = (sentence[1:] == sentence[:-1]) & heads_on
        can &= ~(self._is_noun[labels] & leads)
        can &= ~_foreign(counted, num_known)[sentence]
        expandable = np.bincount(sentence[can], minlength=len(cut))
        chosen, draws = self._choose(sentences, epoch, np.flatnonzero(can), sentence, first, expandable)

        texts = list(sentences)
        for at, tokens in _runs(sentence[chosen].tolist(), chosen.tolist()):
            parts = cut[at]
            # From the last to the first: what stands before a word decides about its article.
            for token in reversed(tokens):
                options = self._choices[entries[token]]
                sense = 0 if self.senses == "first" else int(draws[token] % np.uint64(len(options)))
                place = 2 * (token - int(first[at])) + 1
                before = int(labels[token - 1]) if place > 1 else None
                self._put(parts, place, options[sense], before)
            texts[at] = "".join(parts)
        expanded = np.bincount(sentence[chosen], minlength=len(cut))
        return texts, (expanded, expandable, counted, num_known)

    def _choose(
        self,
        sentences: Sequence[str],
        epoch: int,
        tokens: NDArray[np.int64],
        sentence: NDArray[np.int64],
        first: NDArray[np.int64],
        expandable: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Draws the words to expand: those of `tokens` in order, and a random number for every token of the batch."""
        salt = xxhash.xxh3_64_intdigest(struct.pack("<qq", self.seed, epoch))
        hashes = [xxhash.xxh3_64_intdigest(text.encode("utf-8", "surrogatepass"), salt) for text in sentences]
        hashed = np.array(hashes, np.uint64)
        at = sentence[tokens]
        priority = _mixed(hashed[at] + (tokens - first[at] + 1).astype(np.uint64) * np.uint64(_GOLDEN))
        draws = np.zeros(len(sentence), np.uint64)
        draws[tokens] = _mixed(priority + np.uint64(_GOLDEN))
        chance = (_mixed(hashed) >> np.uint64(11)).astype(np.float64) * 2.0**-53
        number = np.maximum(np.floor(self.share * expandable + chance).astype(np.int64), self.at_least)
        order = np.lexsort((priority, at))
        rank = np.empty(len(tokens), np.int64)
        rank[order] = np.arange(len(tokens))
        rank -= (expandable.cumsum() - expandable)[at]
        return tokens[rank < number[at]], draws

    def _entries(self, forms: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns for every word the number of its definitions in `_choices`; below 0 if it has none."""
        if self._forms is not self.tagger.forms or len(self.tagger.forms) > self._seen:
            self._know(self.tagger.forms)
        entries = self._entry[forms, labels]
        unseen = np.flatnonzero(entries == _UNSEEN)
        if len(unseen):
            places = np.unique(np.stack([forms[unseen], labels[unseen]], 1), axis=0).tolist()
            keys = {
                (form, label): (self.tagger.forms[form].lower(), self.tagger.labels[label]) for form, label in places
            }
            usable = {place: key for place, key in keys.items() if key[0] not in STOP_WORDS}
            definitions = self.definitions.find(usable.values())
            for place in keys:
                options = definitions[usable[place]] if place in usable else ()
                self._entry[place] = len(self._choices) if options else _NONE
                if options:
                    self._choices.append(options)
            entries = self._entry[forms, labels]
        return entries

    def _know(self, forms: list[str]) -> None:
        """Looks at the letters of the words that are new."""
        if self._forms is not forms:
            self._forms, self._seen = forms, 0
            self._choices.clear()
            self._entry = self._entry[:0]
            self._letters, self._is_word = self._letters[:0], self._is_word[:0]
        if len(forms) > len(self._entry):
            size = max(2 * len(self._entry), len(forms), 1024)
            grown = np.full((size, len(self.tagger.labels)), _UNSEEN, np.int64)
            grown[: len(self._entry)] = self._entry
            self._entry = grown
            self._letters = np.concatenate([self._letters, np.zeros(size - len(self._letters), np.int8)])
            self._is_word = np.concatenate([self._is_word, np.zeros(size - len(self._is_word), bool)])
        for number in range(self._seen, len(forms)):
            self._letters[number] = _letters_of(forms[number])
            lower = forms[number].lower()
            self._is_word[number] = lower in STOP_WORDS or lower in self.tagger.vocabulary
        self._seen = len(forms)

    def _put(self, parts: list[str], place: int, definition: Definition, before: int | None) -> None:
        """Puts a definition into the place of a word, and makes the article before it fit."""
        word, text = parts[place], definition.text
        previous = parts[place - 2].lower() if before is not None and parts[place - 1] == " " else ""
        if definition.article:
            determined = before is not None and previous and (self._determines[before] or previous in _POSSESSIVES)
            if not determined:
                text = f"{a_or_an(text) if definition.article != 'the' else 'the'} {text}"
        elif definition.form == "VBP" and text.startswith("are "):
            # Without a subject before it, it is an imperative.
            text = {"": "be", "i": "am"}.get(previous, "are") + text[3:]
        elif text.startswith("was ") and (previous in _PLURAL or _is_plural(previous)):
            text = "were" + text[3:]
        if previous in {"a", "an"}:
            article = a_or_an(text)
            parts[place - 2] = article.capitalize() if parts[place - 2][0].isupper() else article
        if word[0].isupper():
            text = text[0].upper() + text[1:]
        parts[place] = text


def _foreign(words: NDArray[np.int64], known: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (words >= _FEWEST_WORDS) & (2 * known < words)


def _is_plural(word: str) -> bool:
    return word.endswith("s") and not word.endswith(("ss", "us", "is", "'s", "’s"))


def _letters_of(word: str) -> int:
    """Returns where a word can be expanded, by its letters."""
    plain = word.replace("-", "").replace("'", "").replace("’", "")
    if len(plain) < 2 or not plain.isalpha():
        return _NEVER
    if word.islower():
        return _FREE
    return _CAPITAL if word[0].isupper() and word[1:].islower() else _NEVER


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scrambles 64 bits (the finaliser of SplitMix64)."""
    numbers = (numbers ^ (numbers >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    numbers = (numbers ^ (numbers >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return numbers ^ (numbers >> np.uint64(31))


def _runs(keys: list[int], values: list[int]) -> Iterator[tuple[int, list[int]]]:
    """Groups values whose keys, which are sorted, are equal."""
    start = 0
    for place in range(1, len(keys) + 1):
        if place == len(keys) or keys[place] != keys[start]:
            yield keys[start], values[start:place]
            start = place
