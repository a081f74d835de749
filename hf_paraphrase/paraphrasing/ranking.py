"""Orders the paraphrases of a sentence: likely, similar in meaning, and worded differently from one another."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..text.ngrams import word_ngrams
from ..text.normalization import normalize_words

Ngrams = Counter[tuple[str, ...]]


def rank_diverse(pairs: Sequence[Mapping[str, Any]], num: int, min_similarity: float) -> list[dict[str, Any]]:
    """Chooses up to `num` pairs of one sentence greedily and numbers them by `rank`.

    Next comes the pair with the greatest product of its probability per token, its similarity above the minimum, and
    its minimum distance to the sentence and to the paraphrases chosen before. A pair without a probability or a
    similarity has a factor of 1.
    """
    left = [(pair, count_ngrams(pair["sentence2"])) for pair in pairs]
    seen = [count_ngrams(pairs[0]["sentence1"])] if pairs else []
    chosen: list[dict[str, Any]] = []

    def value(entry: tuple[Mapping[str, Any], Ngrams]) -> tuple[float, float]:
        pair, ngrams = entry
        # What is hardly similar enough is often an error, which is also what differs most.
        similarity = pair["similarity"] - min_similarity if "similarity" in pair else 1.0
        probability, total = _probability_per_token(pair)
        return probability * similarity * min(distance(ngrams, other) for other in seen), total

    while left and len(chosen) < num:
        best = max(left, key=value)
        left.remove(best)
        seen.append(best[1])
        chosen.append({**best[0], "rank": len(chosen)})
    return chosen


def _probability_per_token(pair: Mapping[str, Any]) -> tuple[float, float]:
    """Returns the geometric mean of the probabilities of the tokens, and the log-probability."""
    if pair.get("round_trip_log_prob") is not None:
        total, tokens = pair["round_trip_log_prob"], pair["num_tokens"] + pair["num_pivot_tokens"] + 2
    elif pair["log_prob"] is not None:
        total, tokens = pair["log_prob"], pair["num_tokens"] + 1
    else:
        return 1.0, 0.0
    return math.exp(total / tokens), total


def count_ngrams(text: str) -> Ngrams:
    """Counts words and pairs of words."""
    words = normalize_words(text).split()
    return Counter(word_ngrams(words, 1)) + Counter(word_ngrams(words, 2))


def distance(one: Ngrams, other: Ngrams) -> float:
    """Returns 1 − the Dice coefficient of two counts, from 0 to 1."""
    return 1.0 - 2.0 * (one & other).total() / max(1, one.total() + other.total())
