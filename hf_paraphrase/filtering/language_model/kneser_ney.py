"""Interpolated modified Kneser-Ney smoothing (Chen and Goodman 1998, section 3), as KenLM's `lmplz`; ARPA files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...artefacts.files import written_whole
from .counts import ORDER, WORD_BITS, WORD_MASK, TrigramCounter

FALLBACK = (0.5, 1.0, 1.5)
"""Discounts where the counts of counts give none: those that `lmplz --discount_fallback` takes."""


@dataclass(frozen=True)
class Discounts:
    """What is taken off an adjusted count of 1, of 2, and of 3 or more, for one order.

    Attributes:
        values: D1, D2 and D3+.
        estimated: Whether they come from the counts of counts; false for :data:`FALLBACK`.
    """

    values: tuple[float, float, float]
    estimated: bool

    def of(self, counts: np.ndarray) -> np.ndarray:
        """Returns the discount of each count, float64 (n-grams,); 0 for a count of 0."""
        return np.array((0.0, *self.values))[np.minimum(counts, 3)]


@dataclass(frozen=True)
class Estimate:
    """A backoff model as ARPA files hold it.

    Attributes:
        keys: For each order the packed n-grams, ascending, int64 (n-grams,).
        probabilities: For each order p(w | h) with all lower orders interpolated, float64 (n-grams,).
        backoffs: For each order but the highest, what the probability given a shorter history is multiplied by
            where a word was not seen after this n-gram, float64 (n-grams,).
    """

    words: list[str]
    keys: list[np.ndarray]
    probabilities: list[np.ndarray]
    backoffs: list[np.ndarray]
    discounts: list[Discounts]


def estimate_discounts(counts: np.ndarray) -> Discounts:
    """Estimates the discounts of one order from its counts of counts (Chen and Goodman 1998, equation 26).

    With n_k the number of n-grams of adjusted count k and Y = n_1 / (n_1 + 2 n_2), D_k = k − (k + 1) Y n_{k+1} / n_k
    for k = 1, 2, 3. Where an n_k of k ≤ 3 is 0, or a D_k is not above 0 and at most k, all three are :data:`FALLBACK`.
    """
    number = np.bincount(np.minimum(counts, 5), minlength=6).astype(np.float64)
    if (number[1:4] == 0).any():
        return Discounts(FALLBACK, False)
    share = number[1] / (number[1] + 2 * number[2])
    first, second, third = (k - (k + 1) * share * number[k + 1] / number[k] for k in (1, 2, 3))
    if not (0 < first <= 1 and 0 < second <= 2 and 0 < third <= 3):
        return Discounts(FALLBACK, False)
    return Discounts((float(first), float(second), float(third)), True)


def estimate(counter: TrigramCounter) -> Estimate:
    """Estimates the probability of every seen n-gram and the backoff weight of every seen history.

        p(w | h) = (a(hw) − D(a(hw))) / Σ_x a(hx) + γ(h) p(w | h'),   γ(h) = Σ_x D(a(hx)) / Σ_x a(hx)

    with a the adjusted counts and h' the history h without its first word. Below the words stands the uniform
    distribution over all words, `</s>` and `<unk>` but not `<s>`; from it `<unk>` has its probability.
    """
    adjusted = counter.adjusted()
    discounts = [estimate_discounts(counts) for _, counts in adjusted]
    keys = [order_keys for order_keys, _ in adjusted]
    words, counts = adjusted[0]
    total = counts.sum()
    uniform = 1.0 / (len(words) - 1)
    left_over = discounts[0].of(counts).sum() / total
    probabilities = [(counts - discounts[0].of(counts)) / total + left_over * uniform]
    # As `lmplz` has it: the begin mark is given, never predicted.
    probabilities[0][1] = 1.0
    backoffs = []
    for order in range(2, ORDER + 1):
        order_keys, counts = adjusted[order - 1]
        discount = discounts[order - 1].of(counts)
        histories, begins, sizes = np.unique(order_keys >> WORD_BITS, return_index=True, return_counts=True)
        totals = np.add.reduceat(counts, begins)
        gammas = np.add.reduceat(discount, begins) / totals
        shorter = np.searchsorted(
            keys[order - 2], order_keys & (WORD_MASK if order == 2 else (1 << 2 * WORD_BITS) - 1)
        )
        probabilities.append(
            (counts - discount) / np.repeat(totals, sizes) + np.repeat(gammas, sizes) * probabilities[-1][shorter]
        )
        backoff = np.ones(len(keys[order - 2]))
        backoff[np.searchsorted(keys[order - 2], histories)] = gammas
        backoffs.append(backoff)
    return Estimate(counter.words, keys, probabilities, backoffs, discounts)


def write_arpa(path: str | os.PathLike[str], estimate: Estimate) -> None:
    """Writes a model, n-grams in the order of their word numbers, logarithms to base 10 with seven digits."""
    # Whole, because parts of a job that begin together write the same file, and the first of them reads it by then.
    with (
        written_whole(path) as temporary,
        temporary.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as file,
    ):
        file.write("\\data\\\n")
        file.writelines(f"ngram {order}={len(keys)}\n" for order, keys in enumerate(estimate.keys, 1))
        for order in range(1, len(estimate.keys) + 1):
            file.write(f"\n\\{order}-grams:\n")
            file.writelines(_lines(estimate, order))
        file.write("\n\\end\\\n")


def _lines(estimate: Estimate, order: int) -> Iterator[str]:
    keys = estimate.keys[order - 1]
    columns = [((keys >> WORD_BITS * place) & WORD_MASK).tolist() for place in reversed(range(order))]
    grams = (" ".join([estimate.words[number] for number in gram]) for gram in zip(*columns, strict=True))
    probabilities = [f"{value:.7g}" for value in np.log10(estimate.probabilities[order - 1]).tolist()]
    backoffs = [""] * len(keys)
    if order <= len(estimate.backoffs):
        backoffs = [f"\t{value:.7g}" for value in np.log10(estimate.backoffs[order - 1]).tolist()]
    for probability, gram, backoff in zip(probabilities, grams, backoffs, strict=True):
        yield f"{probability}\t{gram}{backoff}\n"
