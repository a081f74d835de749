"""A 3-gram language model for the measure `perplexity`, estimated from sentences into an ARPA file.

Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998, section 3), as KenLM's `lmplz`: a sentence
w_1 … w_n is counted as `<s>` w_1 … w_n `</s>`, with a single begin mark.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from ..artefacts.files import atomic_write
from ..data.folder import DataFolder
from ..errors import InputError
from ..messages import log
from ..text.hashing import are_among, draw_keys
from ..text.normalization import lower_text
from ..text.words import tokenize

UNKNOWN, BEGIN, END = "<unk>", "<s>", "</s>"
"""The marks of ARPA files. None can be a token: `tokenize` splits at the angle brackets."""
_BEGIN_ID, _END_ID = 1, 2
_WORD_BITS = 21
"""Bits of a word id; three ids form a 64-bit key."""
_WORD_MASK, _BIGRAM_MASK = (1 << _WORD_BITS) - 1, (1 << 2 * _WORD_BITS) - 1
_MOST_WORDS = 1 << _WORD_BITS
"""Maximum number of words; words that occur later count as `<unk>`."""
FALLBACK = (0.5, 1.0, 1.5)
"""Discounts if the counts of counts give none, as in `lmplz --discount_fallback`."""


class Estimate(NamedTuple):
    """A backoff model, with the values of an ARPA file.

    Attributes:
        keys: For each order the packed n-grams, ascending, int64 (n-grams,).
        probabilities: For each order p(w | h) with all lower orders interpolated, float64 (n-grams,).
        backoffs: For each order except the highest, the factor of the probability given a shorter history, for words
            that were not seen after the n-gram, float64 (n-grams,).
    """

    words: list[str]
    keys: list[np.ndarray]
    probabilities: list[np.ndarray]
    backoffs: list[np.ndarray]


class Trigrams(NamedTuple):
    """The trigrams of sentences, packed and ascending, and their counts, both int64 (trigrams,).

    `words` has the word of each id; the first three are `<unk>`, `<s>` and `</s>`.
    """

    words: list[str]
    keys: np.ndarray
    counts: np.ndarray


def count_trigrams(blocks: Iterable[Sequence[str]], source: str | os.PathLike[str]) -> Trigrams:
    """Count the trigrams of all sentences that have a token; distinct words after the first 2²¹ become `<unk>`."""
    word_ids = {word: word_id for word_id, word in enumerate((UNKNOWN, BEGIN, END))}
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64))]

    def get_id(word: str) -> int:
        return word_ids.setdefault(word, len(word_ids)) if len(word_ids) < _MOST_WORDS else word_ids.get(word, 0)

    for block in blocks:
        sentences = (
            [_BEGIN_ID, *map(get_id, words), _END_ID] for words in map(tokenize, map(lower_text, block)) if words
        )
        grams = [gram for ids in sentences for gram in zip(ids, ids[1:], ids[2:], strict=False)]
        packed = np.array(grams, np.int64).reshape(-1, 3) @ np.array([1 << 2 * _WORD_BITS, 1 << _WORD_BITS, 1])
        parts.append(np.unique(packed, return_counts=True))
    if len(word_ids) == 3:
        problem, remedy = "the text of the language model has no words", "give sentences with words, one per line"
        raise InputError(problem, path=source, remedy=remedy)
    if len(word_ids) == _MOST_WORDS:
        log(f"{source}: the language model has the first {_MOST_WORDS:,} distinct words; others are {UNKNOWN}")
    keys, counts = map(np.concatenate, zip(*parts, strict=True))
    keys, places = np.unique(keys, return_inverse=True)
    return Trigrams(list(word_ids), keys, np.bincount(places, counts).astype(np.int64))


def adjust_counts(trigrams: Trigrams) -> list[tuple[np.ndarray, np.ndarray]]:
    """Compute the Kneser-Ney counts of each order: keys and counts (Chen and Goodman 1998, section 2.7).

    The count of a trigram is its frequency. The count of a bigram or word is the number of distinct words before it,
    except that a bigram after `<s>`, which has none, is counted by its frequency. Keys are ascending; all word ids are
    keys, with count 0 for `<unk>` and `<s>`.
    """
    words, keys, occurrences = trigrams
    # A sentence has a word, so every bigram that begins one begins a trigram.
    is_first = keys >> 2 * _WORD_BITS == _BEGIN_ID
    openings, begins = np.unique(keys[is_first] >> _WORD_BITS, return_index=True)
    opening_counts = np.add.reduceat(occurrences[is_first], begins)
    bigrams, lefts = np.unique(keys & _BIGRAM_MASK, return_counts=True)
    bigrams, lefts = np.concatenate([openings, bigrams]), np.concatenate([opening_counts, lefts])
    order = np.argsort(bigrams)
    bigrams, lefts = bigrams[order], lefts[order]
    counts = np.bincount(bigrams & _WORD_MASK, minlength=len(words))
    return [(np.arange(len(words)), counts), (bigrams, lefts), (keys, occurrences)]


def estimate_discounts(counts: np.ndarray) -> tuple[float, float, float]:
    """Estimate the discounts of one order from its counts of counts (Chen and Goodman 1998, equation 26).

    With n_k the number of n-grams of adjusted count k and Y = n_1 / (n_1 + 2 n_2), D_k = k − (k + 1) Y n_{k+1} / n_k
    for k = 1, 2, 3. Where an n_k of k ≤ 3 is 0, or a D_k is not above 0 and at most k, all three are :data:`FALLBACK`.
    """
    frequencies = np.bincount(np.minimum(counts, 5), minlength=6).astype(np.float64)
    if (frequencies[1:4] == 0).any():
        return FALLBACK
    y = frequencies[1] / (frequencies[1] + 2 * frequencies[2])
    first, second, third = (float(k - (k + 1) * y * frequencies[k + 1] / frequencies[k]) for k in (1, 2, 3))
    return (first, second, third) if 0 < first <= 1 and 0 < second <= 2 and 0 < third <= 3 else FALLBACK


def _select_discounts(counts: np.ndarray, discounts: tuple[float, float, float]) -> np.ndarray:
    return np.array((0.0, *discounts))[np.minimum(counts, 3)]


def estimate(trigrams: Trigrams) -> Estimate:
    """Estimate the probability of every seen n-gram and the backoff weight of every seen history.

        p(w | h) = (a(hw) − D(a(hw))) / Σ_x a(hx) + γ(h) p(w | h'),   γ(h) = Σ_x D(a(hx)) / Σ_x a(hx)

    with a the adjusted counts and h' the history h without its first word. Words are interpolated with
    the uniform distribution over all words, `</s>` and `<unk>` but not `<s>`, which gives `<unk>` its probability.
    """
    adjusted = adjust_counts(trigrams)
    discounts = [estimate_discounts(counts) for _, counts in adjusted]
    keys = [order_keys for order_keys, _ in adjusted]
    words, counts = adjusted[0]
    total, discount = counts.sum(), _select_discounts(counts, discounts[0])
    probabilities = [(counts - discount + discount.sum() / (len(words) - 1)) / total]
    # As in `lmplz`, the begin mark is given, never predicted.
    probabilities[0][_BEGIN_ID] = 1.0
    backoffs = []
    for order, mask in ((2, _WORD_MASK), (3, _BIGRAM_MASK)):
        order_keys, counts = adjusted[order - 1]
        discount = _select_discounts(counts, discounts[order - 1])
        histories, begins, sizes = np.unique(order_keys >> _WORD_BITS, return_index=True, return_counts=True)
        totals = np.add.reduceat(counts, begins)
        gammas = np.add.reduceat(discount, begins) / totals
        shorter = probabilities[-1][np.searchsorted(keys[order - 2], order_keys & mask)]
        probabilities.append((counts - discount) / np.repeat(totals, sizes) + np.repeat(gammas, sizes) * shorter)
        backoff = np.ones(len(keys[order - 2]))
        backoff[np.searchsorted(keys[order - 2], histories)] = gammas
        backoffs.append(backoff)
    return Estimate(trigrams.words, keys, probabilities, backoffs)


def write_arpa(path: str | os.PathLike[str], model: Estimate) -> None:
    """Write a model with n-grams in the order of their word ids and base-10 logarithms of seven digits."""
    # Atomic: parts of a job that begin together write the same file, and one may read it already.
    with (
        atomic_write(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as file,
    ):
        file.write("\\data\\\n")
        file.writelines(f"ngram {order}={len(keys)}\n" for order, keys in enumerate(model.keys, 1))
        for order in range(1, len(model.keys) + 1):
            file.write(f"\n\\{order}-grams:\n")
            file.writelines(_format_lines(model, order))
        file.write("\n\\end\\\n")


def _format_lines(model: Estimate, order: int) -> Iterator[str]:
    keys = model.keys[order - 1]
    columns = [((keys >> _WORD_BITS * position) & _WORD_MASK).tolist() for position in reversed(range(order))]
    grams = (" ".join([model.words[word_id] for word_id in gram]) for gram in zip(*columns, strict=True))
    probabilities = [f"{value:.7g}" for value in np.log10(model.probabilities[order - 1]).tolist()]
    backoffs = [""] * len(keys)
    if order <= len(model.backoffs):
        backoffs = [f"\t{value:.7g}" for value in np.log10(model.backoffs[order - 1]).tolist()]
    for probability, gram, backoff in zip(probabilities, grams, backoffs, strict=True):
        yield f"{probability}\t{gram}{backoff}\n"


def train_language_model(
    blocks: Iterable[Sequence[str]], path: str | os.PathLike[str], *, source: str | os.PathLike[str]
) -> None:
    """Estimate a 3-gram model of the lower-cased tokens of sentences, which come from `source`, and write it."""
    write_arpa(path, estimate(count_trigrams(blocks, source)))


def draw_held_out(folder: DataFolder, split: str, count: int, seed: int) -> list[str]:
    """Draw distinct references of a split, to hold out from the pairs (Wieting et al. 2017, section 5.6).

    The draw depends on the seed and the set of references, not on their order; memory grows with `count` only. An
    empty reference is never drawn.
    """
    lowest = np.empty(0, dtype=np.uint64)
    for keys, _ in _hash_references(folder, split, seed):
        lowest = np.unique(np.concatenate([lowest, keys]))[: count + 1]
    if len(lowest) <= count:
        problem = f"split `{split}` has {len(lowest):,} distinct references, and {count:,} are to be held out"
        raise InputError(problem, path=folder.path, remedy="hold out fewer, so that pairs are left")
    drawn: dict[str, None] = {}
    for keys, texts in _hash_references(folder, split, seed):
        drawn |= dict.fromkeys(compress(texts, are_among(keys, lowest[:count])))
    return list(drawn)


def _hash_references(folder: DataFolder, split: str, seed: int) -> Iterator[tuple[np.ndarray, list[str]]]:
    """Stream references with the first 64 bits of BLAKE2b of seed and text, uint64 (references,)."""
    for batch in folder.batches(split, ["sentence1"]):
        texts = [text for text in batch.column("sentence1").to_pylist() if text]
        yield draw_keys(pa.array(texts, pa.string()), seed=seed), texts
