"""What an encoder finds near a sentence (paper 003, section 4.2.1).

Queries are sentences of a text, half of them negated; for each its ten nearest other sentences are looked up among a
sample of the text, and its cosines with all of it. Of word averages the paper says that their neighbours are "bags of
synonyms" and, where the query is negated, negated sentences, which make a second bump in the distribution of cosines.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import gaussian_filter1d
from scipy.signal import find_peaks

from hf_paraphrase.errors import InputError

Numbers = NDArray[np.float64]
SEED, NEAREST = 0, 10
NEGATIONS = {"not", "never", "no", "nobody", "nothing", "nowhere", "none", "neither", "nor", "cannot"}
FUNCTION_WORDS = 150
"""So many of the most frequent words of the text are no content words."""
DEVIATIONS = np.linspace(-8, 8, 161)
SMOOTHED, LEAST_RISE = 3.0, 0.02
"""A bump is a peak of the distribution, smoothed over so many bins, that rises above the valleys beside it by this
share of the highest peak."""
MEASURES = ("shared", "topic", "negated", "apart", "bumps")
"""Words of the neighbour that the query has (%), content words of the query that the neighbour has (%), neighbours of
a negated query that are negated too (%), how much nearer negated sentences are to it (deviations × 100), and whether
they make a second bump (%)."""


class Neighbours:
    """The sentences that are looked at, and the queries among them."""

    def __init__(self, text: str, sentences: int = 100_000, queries: int = 200) -> None:
        lines = [line for line in dict.fromkeys(Path(text).read_text(encoding="utf-8").split("\n")) if line.strip()]
        self.sentences = random.Random(SEED).sample(lines, min(sentences, len(lines)))
        # The words of each, punctuation left out, and whether it is negated (sentences,).
        self.words = [frozenset(words_of(text)) for text in self.sentences]
        self.negated = np.array([is_negated(words) for words in self.words])
        # The places of sentences of five to nine words, every other one negated.
        short = [place for place, text in enumerate(self.sentences) if 5 <= len(words_of(text)) <= 9]
        kinds = [[place for place in short if self.negated[place] == negated] for negated in (True, False)]
        if min(map(len, kinds)) < queries // 2:
            raise InputError(f"fewer than {queries // 2} sentences to ask for", path=text)
        self.queries = [place for pair in zip(*kinds, strict=False) for place in pair][:queries]

    def look(self, encode: Callable[[list[str]], Any]) -> dict[str, Numbers]:
        """Measures what one encoder finds: each measure for every query (queries,), NaN where it has none."""
        vectors = np.asarray(encode(self.sentences), np.float32)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        frequent = Counter(word for words in self.words for word in words).most_common(FUNCTION_WORDS)
        function = {word for word, _ in frequent}
        found = {name: np.full(len(self.queries), np.nan) for name in MEASURES}
        for place, query in enumerate(self.queries):
            cosines = vectors @ vectors[query]
            others = np.arange(len(cosines)) != query
            nearest = np.argsort(np.where(others, -cosines, np.inf), kind="stable")[:NEAREST]
            own, near = self.words[query], [self.words[number] for number in nearest]
            found["shared"][place] = 100 * np.mean([len(own & other) / max(1, len(other)) for other in near])
            if content := own - function:
                found["topic"][place] = 100 * np.mean([len(content & other) / len(content) for other in near])
            if self.negated[query]:
                sides = [cosines[self.negated & others], cosines[~self.negated]]
                centre, deviation = cosines[others].mean(), max(float(cosines[others].std()), 1e-12)
                standard = np.stack([np.histogram((side - centre) / deviation, DEVIATIONS)[0] for side in sides])
                found["negated"][place] = 100 * self.negated[nearest].mean()
                found["apart"][place] = 100 * (sides[0].mean() - sides[1].mean()) / deviation
                found["bumps"][place] = 100.0 * has_second_bump(standard)
        return found


def words_of(text: str) -> list[str]:
    """Splits a text at spaces, without case and punctuation around the words."""
    words = (word.strip('.,;:!?"()[]“”«»…-').lower() for word in text.split())
    return [word for word in words if word]


def is_negated(words: Sequence[str] | frozenset[str]) -> bool:
    """Returns whether a sentence has a word of negation."""
    return any(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in words)


def has_second_bump(distributions: Numbers) -> bool:
    """Returns whether a distribution has a peak to the right of its highest one that mainly negated sentences make.

    Args:
        distributions: Those of negated sentences and of others, which make it together (2, bins).
    """
    negated, others = gaussian_filter1d(np.asarray(distributions, np.float64), SMOOTHED, mode="constant")
    smooth = negated + others
    peaks, _ = find_peaks(smooth, prominence=LEAST_RISE * smooth.max())
    return bool(((peaks > smooth.argmax()) & (negated > others)[peaks]).any())
