"""Measure the nearest neighbours of sentences (Sjöblom et al. 2018, section 4.2.1).

The queries are sentences of a text, half of them negated. For each query, the ten nearest sentences in a sample of the
text and the cosines with the whole sample are computed. The paper reports that the neighbours in word averages are
"bags of synonyms". For a negated query they are negated sentences, which form a second bump in the distribution of
cosines.
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
"""The number of most frequent words of the text that do not count as content words."""
DEVIATIONS = np.linspace(-8, 8, 161)
SMOOTHED, LEAST_RISE = 3.0, 0.02
"""The smoothing of the distribution, in bins, and the least prominence of a bump (fraction of the highest peak)."""
MEASURES = ("shared", "topic", "negated", "apart", "bumps")
"""Fraction of the neighbour's words in the query (%), fraction of the query's content words in the neighbour (%),
fraction of negated sentences among the neighbours of a negated query (%), difference of the mean cosines of negated
and other sentences (standard deviations × 100), and whether negated sentences form a second bump (%)."""


class Neighbours:
    """A sample of the sentences of a text, and the queries among them."""

    def __init__(self, text: str, sentences: int = 100_000, queries: int = 200) -> None:
        lines = [line for line in dict.fromkeys(Path(text).read_text(encoding="utf-8").split("\n")) if line.strip()]
        self.sentences = random.Random(SEED).sample(lines, min(sentences, len(lines)))
        # The words of each sentence without punctuation, and whether it is negated (sentences,).
        self.words = [frozenset(words_of(text)) for text in self.sentences]
        self.negated = np.array([is_negated(words) for words in self.words])
        # Sentences of five to nine words; negated and other sentences alternate.
        short = [place for place, text in enumerate(self.sentences) if 5 <= len(words_of(text)) <= 9]
        kinds = [[place for place in short if self.negated[place] == negated] for negated in (True, False)]
        if min(map(len, kinds)) < queries // 2:
            raise InputError(f"fewer than {queries // 2} sentences to ask for", path=text)
        self.queries = [place for pair in zip(*kinds, strict=False) for place in pair][:queries]

    def measure(self, encode: Callable[[list[str]], Any]) -> dict[str, Numbers]:
        """Compute each measure of an encoder for every query (queries,); NaN where it is undefined."""
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
    """Split a text at spaces, without case and punctuation around the words."""
    words = (word.strip('.,;:!?"()[]“”«»…-').lower() for word in text.split())
    return [word for word in words if word]


def is_negated(words: Sequence[str] | frozenset[str]) -> bool:
    """Return whether a sentence contains a negation."""
    return any(word in NEGATIONS or word.endswith(("n't", "n’t")) for word in words)


def has_second_bump(distributions: Numbers) -> bool:
    """Return whether mainly negated sentences form a peak to the right of the highest peak.

    Args:
        distributions: The histograms of negated and of other sentences; their sum is the distribution (2, bins).
    """
    negated, others = gaussian_filter1d(np.asarray(distributions, np.float64), SMOOTHED, mode="constant")
    smooth = negated + others
    peaks, _ = find_peaks(smooth, prominence=LEAST_RISE * smooth.max())
    return bool(((peaks > smooth.argmax()) & (negated > others)[peaks]).any())
