"""Measures that compare the words of two sentences, most of Wieting et al. (2017), sections 5.6 and 5.7.

chrF and TER of sacrebleu, token F1 and Kendall's tau are computed on request only, by `--measures` or `--keep`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from ...text.ngrams import PairNgrams, TokenSpans
from ...text.words import tokenize
from . import Measure, PairBatch


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
        ratio = _divide(translation, reference, otherwise=np.nan)
        return dict(zip(self.columns, (translation, reference, ratio), strict=True))


@dataclass(frozen=True)
class Overlap(Measure):
    """Compute the fraction of the n-grams of the shorter sentence that occur in the longer one, for n = 1, 2, 3.

    The n-grams are of lower-cased tokens. The shorter sentence has fewer n-grams; with equally many it is `sentence1`.
    Every occurrence counts, and a repeated n-gram is present as soon as the longer sentence has it once, as in the
    authors' published code. 0 if the shorter sentence has no n-gram.
    """

    columns = ("overlap_1", "overlap_2", "overlap_3")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute one column (pairs,), float64 from 0 to 1, for each order."""
        shares = []
        for counts in map(batch.ngrams.shared, (1, 2, 3)):
            present = np.where(counts.total1 <= counts.total2, counts.present1, counts.present2)
            shares.append(_divide(present, np.minimum(counts.total1, counts.total2)))
        return dict(zip(self.columns, shares, strict=True))


@dataclass(frozen=True)
class SentenceBleu(Measure):
    """Compute BLEU with add-one smoothing throughout (Nakov, Guzmán and Vogel 2012; used in Wieting et al. 2017).

    The hypothesis is `sentence2`, the reference `sentence1`, both as lower-cased tokens, c and r their lengths:

        BLEU = exp(min(0, 1 − (r + 1) / c)) · (Π_{n=1..4} (m_n + 1) / (t_n + 1))^{1/4}

    with m_n the clipped matches and t_n the number of hypothesis n-grams. One is added for all n, unigrams included,
    and to the reference length in the brevity penalty. 0 for an empty hypothesis. The column `bleu` is from 0 to 1;
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

    Insertions, deletions and substitutions of a character (code point, white space included) cost 1 each. 0 for equal
    texts, also if both are empty, and 1 for texts without a common character.
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
            _divide(words.repeated2, words.total2),
            _divide(trigrams.repeated2, trigrams.total2),
            _divide(words.repeated1, words.total1),
            _divide(trigrams.repeated1, trigrams.total1),
        )
        return dict(zip(self.columns, shares, strict=True))


@dataclass(frozen=True)
class SourceCopyRate(Measure):
    """Compute the fraction of the words of the translation that occur in the source, such as untranslated words.

    `copy_rate_source` counts the lower-cased tokens of `sentence2` with at least three characters, names and numbers
    included. NaN if there is no such word.
    """

    for_bitext = True
    columns = ("copy_rate_source",)
    requires = ("source", "sentence2")

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0 to 1."""
        spans = TokenSpans([*batch.lowered("source"), *batch.lowered2])
        words = PairNgrams(spans).shared_words()
        return {"copy_rate_source": _divide(words.present2, words.total2, otherwise=np.nan)}


@dataclass(frozen=True)
class CharacterFScore(Measure):
    """Compute chrF (Popović 2015), as sacrebleu does by default: character 6-grams, beta 2, cased, without spaces.

    `chrf` is from 0 to 1; the hypothesis is `sentence2`, the reference `sentence1`.
    """

    by_default = False
    columns = ("chrf",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0 to 1."""
        return {"chrf": _score_sentences("CHRF", batch.texts("sentence1"), batch.texts("sentence2"))}


@dataclass(frozen=True)
class TranslationEditRate(Measure):
    """Compute TER (Snover et al. 2006), as sacrebleu does, over lower-cased tokens of all scripts.

    `ter` is the number of edits, shifts of phrases included, per token of the reference `sentence1`; it can exceed 1.
    """

    by_default = False
    columns = ("ter",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0."""
        sides = ([" ".join(tokenize(text)) for text in texts] for texts in (batch.lowered1, batch.lowered2))
        return {"ter": _score_sentences("TER", *sides)}


@dataclass(frozen=True)
class TokenFScore(Measure):
    """Compute the F1 of the lower-cased tokens that the sentences share (as SQuAD does, Rajpurkar et al. 2016).

    A token counts as shared as often as it occurs in both sentences (the smaller count). 0 if both are empty.
    """

    by_default = False
    columns = ("token_f1",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from 0 to 1."""
        counts = batch.ngrams.shared(1)
        return {"token_f1": 2 * counts.clipped / np.maximum(counts.total1 + counts.total2, 1)}


@dataclass(frozen=True)
class WordOrder(Measure):
    """Compute Kendall's tau of the order of the tokens that occur once in both sentences (Birch and Osborne 2010).

    1 for the same order, −1 for the reverse one; NaN where fewer than two tokens can be compared.
    """

    by_default = False
    columns = ("kendall_tau",)

    def compute(self, batch: PairBatch) -> dict[str, np.ndarray]:
        """Compute the column (pairs,), float64 from −1 to 1."""
        pairs = zip(batch.lowered1, batch.lowered2, strict=True)
        return {
            "kendall_tau": np.array([_compute_kendall_tau(tokenize(one), tokenize(two)) for one, two in pairs], float)
        }


def _compute_kendall_tau(first: list[str], second: list[str]) -> float:
    single = [{token for token in side if side.count(token) == 1} for side in (first, second)]
    positions = np.array([second.index(token) for token in first if token in single[0] & single[1]])
    if len(positions) < 2:
        return float("nan")
    later = np.triu(np.sign(positions[None, :] - positions[:, None]), 1)
    return float(later.sum() / (len(positions) * (len(positions) - 1) / 2))


def _score_sentences(metric: str, references: list[str], hypotheses: list[str]) -> np.ndarray:
    score = _open_metric(metric).sentence_score
    pairs = zip(references, hypotheses, strict=True)
    return np.array([score(hypothesis, [reference]).score / 100 for reference, hypothesis in pairs], float)


@cache
def _open_metric(name: str) -> Any:
    from sacrebleu import metrics

    return getattr(metrics, name)()


def _divide(part: np.ndarray, whole: np.ndarray, otherwise: float = 0.0) -> np.ndarray:
    """Divide element by element, with the value `otherwise` for a denominator of 0."""
    share = np.full(len(part), otherwise)
    np.divide(part, whole, out=share, where=whole > 0)
    return share
