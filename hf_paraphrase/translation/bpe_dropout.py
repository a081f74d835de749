"""BPE-dropout: another segmentation of the training sentences in every epoch."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator, Sequence

from tokenizers import Encoding, Tokenizer

VARIANTS = 4
"""How many segmentations of a word an epoch has at most."""


class BpeMerges:
    """The merges of a BPE tokenizer, applied to single words while some are left out at random.

    Provilkov, Emelianenko and Voita 2020, Algorithm 1: again and again the first of the merges that apply is carried
    out, but each one of them is passed over with probability `dropout`, until none is left. The `tokenizers` library
    has the same thing without a seed, so that a run could not be repeated.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        model = json.loads(tokenizer.to_str())["model"]
        if model["type"] != "BPE" or model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
            raise ValueError("not a BPE tokenizer without prefixes and suffixes")
        self._ids: dict[str, int] = model["vocab"]
        self._units = {number: unit for unit, number in self._ids.items()}
        self._ranks = {tuple(merge): rank for rank, merge in enumerate(model["merges"])}

    def spelling(self, units: Sequence[int]) -> str:
        """Returns the word that these units make up."""
        return "".join(self._units[unit] for unit in units)

    def segment(self, word: str, dropout: float, generator: random.Random) -> list[int]:
        """Cuts a word into units.

        Args:
            word: A word all of whose characters are units.
            dropout: Probability to pass over a merge; 0 gives the tokenizer's own segmentation, 1 the characters.
            generator: The source of chance.
        """
        symbols = list(word)
        draw = generator.random
        ranks = self._ranks
        while len(symbols) > 1:
            merges = [
                (ranks[pair], position)
                for position, pair in enumerate(itertools.pairwise(symbols))
                if pair in ranks and draw() >= dropout
            ]
            if not merges:
                break
            _, position = min(merges)
            symbols[position : position + 2] = [symbols[position] + symbols[position + 1]]
        return [self._ids[symbol] for symbol in symbols]


class RedrawnSentences(Sequence[list[int]]):
    """Tokenised sentences whose words are cut again in every epoch.

    Before the first :meth:`set_epoch` they are the tokenizer's own, and so are their :meth:`__len__` and lengths. An
    epoch draws at most :data:`VARIANTS` segmentations of a word and takes one of them at each of its occurrences; what
    it draws depends on the seed and the epoch's number alone. Special tokens and words with unknown characters stay
    as they are.
    """

    def __init__(
        self, encodings: Sequence[Encoding], merges: BpeMerges, unknown: int | None, *, dropout: float, seed: int
    ) -> None:
        self._merges = merges
        self._dropout = dropout
        self._seed = seed
        numbers: dict[tuple[int, ...], int] = {}
        counts: Counter[int] = Counter()
        fixed: set[int] = set()
        self._sentences: list[list[int]] = []
        for encoding in encodings:
            sentence = []
            for units, changes in _words(encoding):
                number = numbers.setdefault(units, len(numbers))
                if not changes or unknown in units:
                    fixed.add(number)
                sentence.append(number)
            counts.update(sentence)
            self._sentences.append(sentence)
        self._words = list(numbers)
        self._counts = counts
        self._fixed = fixed
        self._picked: list[list[int]] | None = None
        self._variants: list[list[list[int]]] = [[list(units)] for units in self._words]

    def set_epoch(self, epoch: int) -> None:
        """Draws the segmentations of an epoch."""
        # Not the sum of both: seed 0, epoch 1 must not be seed 1, epoch 0.
        generator = random.Random(f"{self._seed} {epoch}")
        self._variants = [
            [list(units)]
            if number in self._fixed
            else [
                self._merges.segment(word, self._dropout, generator)
                for word in [self._merges.spelling(units)] * min(VARIANTS, self._counts[number])
            ]
            for number, units in enumerate(self._words)
        ]
        sizes = [len(variants) for variants in self._variants]
        draw = generator.random
        self._picked = [[int(draw() * sizes[number]) for number in sentence] for sentence in self._sentences]

    def __len__(self) -> int:
        return len(self._sentences)

    def __getitem__(self, index: int) -> list[int]:  # type: ignore[override]
        sentence = self._sentences[index]
        picked = self._picked[index] if self._picked is not None else [0] * len(sentence)
        variants = self._variants
        return [unit for number, pick in zip(sentence, picked, strict=True) for unit in variants[number][pick]]


def _words(encoding: Encoding) -> Iterator[tuple[tuple[int, ...], bool]]:
    """Yields the words of a sentence as units, and whether they are words and not special tokens."""
    units: list[int] = []
    before: int | None = None
    for unit, word in zip(encoding.ids, encoding.word_ids, strict=True):
        if word is None:
            if units:
                yield tuple(units), True
            yield (unit,), False
            units = []
        elif units and word != before:
            yield tuple(units), True
            units = [unit]
        else:
            units.append(unit)
        before = word
    if units:
        yield tuple(units), True
