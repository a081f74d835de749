"""A part-of-speech tagger for whole batches of sentences, fast enough to stand before training.

The model is that of the package `denckring-en-pos`: an averaged perceptron over the features of Honnibal's tagger,
trained on the gold tags of the English Web Treebank of Universal Dependencies, which ships inside the package as JSON.
Here it is run over many sentences at a time; the tags are those that the package's own loop gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import ModelError, UsageError

START, END = "<s>", "</s>"
"""What stands beyond the ends of a sentence."""
_TEMPLATES = frozenset(
    ["bias", "suf3", "suf2", "suf1", "pre1", "shape", "w", "t-1", "t-2", "t-1t-2", "w-1", "w-2", "w+1", "w+2"]
)
_NEIGHBOURS = ("w-1", "w-2", "w+1", "w+2")
# The stored weights have three decimals; as integers their sums are exact, so ties are broken alike everywhere.
_SCALE = 1000
_MOST_FORMS = 1 << 17


class PartOfSpeechTagger:
    """Tags the words of sentences, given without their punctuation.

    Tags are the labels of the model, such as `NOUN|-` or `VERB|Fin`: a universal part of speech, and of verbs the
    form. Each word gets the label with the greatest sum of weights of its features: the word, its affixes and shape,
    the two words on either side and the two labels to the left.

    Attributes:
        labels: The labels in the order of the numbers that stand for them.
        vocabulary: The words that the model was trained on.
    """

    def __init__(
        self,
        weights: Mapping[str, Mapping[str, float]],
        fixed: Mapping[str, str],
        labels: Sequence[str],
        vocabulary: frozenset[str] = frozenset(),
    ) -> None:
        # From the last to the first, because among equal sums the last label wins and `argmax` takes the first.
        self.labels = sorted(labels, reverse=True)
        self.vocabulary = vocabulary
        self._label = {label: number for number, label in enumerate(self.labels)}
        self._fixed = {word: self._label[label] for word, label in fixed.items()}
        self._rows: dict[str, dict[str, int]] = {}
        self._after: dict[str, list[tuple[int, int]]] = {}
        try:
            self._weights = self._laid_out(weights)
            for number, feature in enumerate(weights):
                self._add(feature, number)
        except (ValueError, KeyError) as error:
            raise ModelError(f"the tagger has an unknown feature or label: {error}", remedy=_REMEDY) from error
        if found := set(self._rows) - _TEMPLATES:
            raise ModelError(f"the tagger has unknown features: {', '.join(sorted(found))}", remedy=_REMEDY)
        self._left = self._left_contexts()
        self._clear()

    @classmethod
    def load(cls) -> PartOfSpeechTagger:
        """Opens the tagger of the package `denckring-en-pos`."""
        try:
            from denckring_en_pos import tagger
        except ImportError as error:
            raise UsageError(
                "the part-of-speech tagger is not installed", remedy="pip install hf-paraphrase[expansion]"
            ) from error
        model = tagger()
        return cls(model.weights, model.tagdict, model.classes, model.vocabulary)

    def __reduce__(self) -> tuple[Any, ...]:
        # The words met so far stay behind: they are found again faster than they are sent.
        return _restored, (self._weights, self._rows, self._after, self._fixed, self.labels, self.vocabulary)

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Returns the label of every word."""
        flat = self.tag_forms(self.numbers(sentences), np.array([len(words) for words in sentences], np.int64))
        ends = np.cumsum([len(words) for words in sentences])
        named = [self.labels[number] for number in flat.tolist()]
        return [named[end - len(words) : end] for words, end in zip(sentences, ends, strict=True)]

    def numbers(self, sentences: Sequence[Sequence[str]]) -> NDArray[np.int64]:
        """Returns the number of every word, valid until :meth:`numbers` is called again (words of all sentences,)."""
        if len(self.forms) > _MOST_FORMS:
            self._clear()
        ids_by_word = self._number
        try:
            flat = [ids_by_word[word] for words in sentences for word in words]
        except KeyError:
            for words in sentences:
                for word in words:
                    if word not in ids_by_word:
                        self._meet(word)
            flat = [ids_by_word[word] for words in sentences for word in words]
        return np.array(flat, np.int64)

    def tag_forms(self, forms: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the number of every word's label (words,).

        Args:
            forms: The numbers of the words of all sentences, laid end to end (words,).
            lengths: The words of each sentence (sentences,).
        """
        if not len(forms):
            return np.empty(0, np.int64)
        ends = lengths.cumsum()
        starts = ends - lengths
        # Two places on either side of each sentence hold what stands beyond its ends.
        shift = 4 * np.arange(len(lengths)) + 2
        places = np.arange(len(forms)) + np.repeat(shift, lengths)
        laid = np.ones(len(forms) + 4 * len(lengths), np.int64)
        laid[(starts + shift - 2)] = laid[(starts + shift - 1)] = 0
        laid[places] = forms
        scores = self._own[forms]
        for template, step in zip(_NEIGHBOURS, (-1, -2, 1, 2), strict=True):
            scores += self._beside[template][laid[places + step]]
        order = (-lengths).argsort(kind="stable")
        by_length = lengths[order]
        labels = np.empty(len(forms), np.int64)
        beyond = len(self.labels)
        previous = np.full(len(order), beyond)
        before = previous.copy()
        for place in range(int(by_length[0])):
            active = int(np.searchsorted(-by_length, -place))
            rows = starts[order[:active]] + place
            previous, before = previous[:active], before[:active]
            here = forms[rows]
            sums = scores[rows] + self._left[before, previous] + self._pairs[self._pair_row[here, previous]]
            fixed = self._one_label[here]
            chosen = np.where(fixed >= 0, fixed, sums.argmax(1))
            labels[rows] = chosen
            previous, before = chosen, previous
        return labels

    def _laid_out(self, weights: Mapping[str, Mapping[str, float]]) -> NDArray[np.int32]:
        """Formats the weights of all features (features, labels), at once: one by one takes several times as long."""
        lengths = np.fromiter(map(len, weights.values()), np.int64, len(weights))
        columns = np.fromiter((self._label[label] for row in weights.values() for label in row), np.int64)
        values = np.fromiter((weight for row in weights.values() for weight in row.values()), np.float64)
        table = np.zeros((len(weights), len(self.labels)), np.int32)
        table[np.repeat(np.arange(len(weights)), lengths), columns] = np.rint(values * _SCALE)
        return table

    def _add(self, feature: str, number: int) -> None:
        """Notes which feature has the weights of a row."""
        template, _, value = feature.partition(" ")
        # `t-1 w LABEL WORD`, whereas the value of `t-1` is one label alone.
        if template == "t-1" and value.startswith("w "):
            label, _, word = value.removeprefix("w ").partition(" ")
            previous = len(self.labels) if label == START else self._label[label]
            self._after.setdefault(word, []).append((previous, number))
        else:
            self._rows.setdefault(template, {})[value] = number

    def _left_contexts(self) -> NDArray[np.int32]:
        """Sums what the two labels to the left add (label before the previous one, previous label, labels)."""
        names = [*self.labels, START]
        size = len(names)
        table = np.zeros((size, size, len(self.labels)), np.int32)
        for before, first in enumerate(names):
            for previous, second in enumerate(names):
                for template, value in (("t-1", second), ("t-2", first), ("t-1t-2", f"{second} {first}")):
                    row = self._rows.get(template, {}).get(value)
                    if row is not None:
                        table[before, previous] += self._weights[row]
        return table

    def _clear(self) -> None:
        size = len(self.labels)
        self.forms: list[str] = []
        self._number: dict[str, int] = {}
        self._own = np.zeros((1024, size), np.int32)
        self._beside = {template: np.zeros((1024, size), np.int32) for template in _NEIGHBOURS}
        self._one_label = np.full(1024, -1, np.int64)
        self._pair_row = np.zeros((1024, size + 1), np.int64)
        self._pairs = np.zeros((1024, size), np.int32)
        self._pair_count = 1
        for word in (START, END):
            self._meet(word)

    def _meet(self, word: str) -> None:
        """Assigns a number to a word, and sums the features that depend on nothing but it."""
        number = len(self.forms)
        if number == len(self._own):
            self._own, self._one_label = _doubled(self._own), _doubled(self._one_label)
            self._pair_row = _doubled(self._pair_row)
            self._beside = {template: _doubled(table) for template, table in self._beside.items()}
        self.forms.append(word)
        self._number[word] = number
        lower = word.lower()
        shape = ("X" if word[:1].isupper() else "x") + ("d" if any(sign.isdigit() for sign in word) else "")
        own = {"bias": "", "suf3": lower[-3:], "suf2": lower[-2:], "suf1": lower[-1:], "pre1": lower[:1]}
        own |= {"shape": shape, "w": lower}
        for template, value in own.items():
            row = self._rows.get(template, {}).get(value)
            if row is not None:
                self._own[number] += self._weights[row]
        for template, table in self._beside.items():
            row = self._rows.get(template, {}).get(lower)
            if row is not None:
                table[number] = self._weights[row]
        self._one_label[number] = self._fixed.get(lower, -1)
        for label, row in self._after.get(lower, ()):
            if self._pair_count == len(self._pairs):
                self._pairs = _doubled(self._pairs)
            self._pairs[self._pair_count] = self._weights[row]
            self._pair_row[number, label] = self._pair_count
            self._pair_count += 1


_REMEDY = "install the version of denckring-en-pos that constraints.txt names"


def _doubled(table: NDArray[Any]) -> NDArray[Any]:
    return np.concatenate([table, np.full_like(table, -1) if table.ndim == 1 else np.zeros_like(table)])


def _restored(
    weights: NDArray[np.int32],
    rows: dict[str, dict[str, int]],
    after: dict[str, list[tuple[int, int]]],
    fixed: dict[str, int],
    labels: list[str],
    vocabulary: frozenset[str],
) -> PartOfSpeechTagger:
    tagger = PartOfSpeechTagger({}, {}, labels, vocabulary)
    tagger._weights, tagger._rows, tagger._after, tagger._fixed = weights, rows, after, fixed
    tagger._left = tagger._left_contexts()
    tagger._clear()
    return tagger
