"""Measures that compare the words of the two sides (Wieting, Mallinson and Gimpel 2017, sections 5.6 and 5.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...text.ngrams import PairNgrams, TokenSpans
from ..pair_batch import PairBatch
from . import Measure


@dataclass(frozen=True)
class Length(Measure):
    """Count tokens, punctuation included.

    * `length`: tokens of `sentence2`, the translation.
    * `length_reference`: tokens of `sentence1`.
    * `length_ratio`: the first divided by the second; NaN where `sentence1` is empty.
    """

    for_bitext = True
    columns = ("length", "length_reference", "length_ratio")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the three columns (pairs,): int64, int64, float64."""
        reference, translation = batch.lengths
        ratio = _share(translation, reference, otherwise=np.nan)
        return dict(zip(self.columns, (translation, reference, ratio), strict=True))


@dataclass(frozen=True)
class Overlap(Measure):
    """Compute the fraction of the n-grams of the shorter side that occur in the longer one, for n = 1, 2, 3.

    The n-grams are of lower-cased tokens. "Shorter" is by number of n-grams; of equally long sides `sentence1` counts
    as the shorter. Every occurrence counts, and a repeated n-gram is present as soon as the longer side has it once,
    as in the authors' published code. 0 where the shorter side has no n-gram.
    """

    columns = ("overlap_1", "overlap_2", "overlap_3")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute one column (pairs,), float64 from 0 to 1, for each order."""
        shares = []
        for counts in map(batch.ngrams.shared, (1, 2, 3)):
            present = np.where(counts.total1 <= counts.total2, counts.present1, counts.present2)
            shares.append(_share(present, np.minimum(counts.total1, counts.total2)))
        return dict(zip(self.columns, shares, strict=True))


@dataclass(frozen=True)
class SentenceBleu(Measure):
    """Compute BLEU with add-one smoothing throughout (Nakov, Guzmán and Vogel 2012; used in Wieting et al. 2017).

    The hypothesis is `sentence2`, the reference `sentence1`, both as lower-cased tokens, c and r their lengths:

        BLEU = exp(min(0, 1 − (r + 1) / c)) · (Π_{n=1..4} (m_n + 1) / (t_n + 1))^{1/4}

    with m_n the clipped matches and t_n the number of hypothesis n-grams. One is added for all n, unigrams included,
    and to the reference length in the brevity penalty. 0 for an empty hypothesis. The column `bleu` runs from 0 to 1;
    a perfect copy of c tokens has exp(−1/c), a little less than 1.
    """

    columns = ("bleu",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64."""
        reference, hypothesis = batch.lengths
        logarithm = np.zeros(batch.num_rows)
        for counts in map(batch.ngrams.shared, (1, 2, 3, 4)):
            logarithm += np.log((counts.clipped + 1) / (counts.total2 + 1)) / 4
        brevity = np.minimum(0.0, 1.0 - (reference + 1) / np.maximum(hypothesis, 1))
        return {"bleu": np.where(hypothesis > 0, np.exp(brevity + logarithm), 0.0)}


@dataclass(frozen=True)
class EditDistance(Measure):
    """Compute the Levenshtein distance of the lower-cased texts divided by the length of the longer one.

    Insertions, deletions and substitutions of a character (code point) cost 1 each, white space counts. 0 for equal
    texts, two empty ones included, and 1 for texts that have nothing in common.
    """

    columns = ("edit_distance",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0 to 1."""
        from rapidfuzz.distance import Levenshtein
        from rapidfuzz.process import cpdist

        distance = cpdist(
            batch.lowered1, batch.lowered2, scorer=Levenshtein.normalized_distance, dtype=np.float64, workers=1
        )
        return {"edit_distance": np.asarray(distance, dtype=np.float64)}


@dataclass(frozen=True)
class Repetition(Measure):
    """Compute the fraction of the words and trigrams of a sentence that repeat earlier ones of the sentence.

    * `repetition_1`: of the tokens of `sentence2` with at least three characters.
    * `repetition_3`: of the trigrams of tokens of `sentence2`, punctuation included.
    * `repetition_reference_1`, `repetition_reference_3`: the same of `sentence1`.

    Tokens are lower-cased. 0 for a sentence that has no such word or trigram.
    """

    columns = ("repetition_1", "repetition_3", "repetition_reference_1", "repetition_reference_3")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the four columns (pairs,), float64 from 0 to 1."""
        words, trigrams = batch.ngrams.shared_words(), batch.ngrams.shared(3)
        shares = (
            _share(words.repeated2, words.total2),
            _share(trigrams.repeated2, trigrams.total2),
            _share(words.repeated1, words.total1),
            _share(trigrams.repeated1, trigrams.total1),
        )
        return dict(zip(self.columns, shares, strict=True))


@dataclass(frozen=True)
class SourceCopyRate(Measure):
    """Compute the fraction of the words of the translation that occur in the source, as untranslated words do.

    `copy_rate_source` counts the lower-cased tokens of `sentence2` with at least three characters; names and numbers
    are among them rightly. NaN where there is no such word.
    """

    for_bitext = True
    columns = ("copy_rate_source",)
    requires = ("source", "sentence2")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0 to 1."""
        spans = TokenSpans([*map(str.lower, batch.texts("source")), *batch.lowered2])
        words = PairNgrams(spans).shared_words()
        return {"copy_rate_source": _share(words.present2, words.total2, otherwise=np.nan)}


def _share(part: np.ndarray, whole: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
    """Divides, with a value of its own where there is nothing to divide by."""
    share = np.full(len(part), otherwise)
    np.divide(part, whole, out=share, where=whole > 0)
    return share
