"""The skip-gram objective with negative sampling and its gradient, for a whole batch in a few matrix products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

CENTRES_PER_BLOCK = 64
"""Words whose contexts are looked up in one small product: the larger, the more of it is thrown away."""


@dataclass(frozen=True)
class WindowBlocks:
    """Which words are in whose window, for words laid end to end.

    The words are cut into blocks; the contexts of a block are its own words and those up to a window before and
    behind.

    Attributes:
        contexts: The places of the contexts (blocks, contexts); places outside are 0 and are never inside a window.
        inside: Whether a context is in the window of a centre (blocks, centres, contexts).
        counts: How many contexts each word has (words,).
    """

    contexts: Tensor
    inside: Tensor
    counts: Tensor

    @classmethod
    def of_sentences(
        cls, sentences: NDArray[np.int64], reach: NDArray[np.int64], window: int, size: int = CENTRES_PER_BLOCK
    ) -> WindowBlocks:
        """Finds the windows.

        Args:
            sentences: The number of the sentence of each word (words,); a window does not leave a sentence.
            reach: How far the window of each word reaches on either side (words,), at most `window`.
            window: The greatest reach.
            size: Centres in a block.
        """
        words = len(sentences)
        blocks = -(-words // size)
        centres = np.arange(blocks * size).reshape(blocks, size)
        contexts = (np.arange(blocks) * size - window)[:, None] + np.arange(size + 2 * window)
        valid = (contexts >= 0) & (contexts < words)
        contexts = np.where(valid, contexts, 0)
        # Behind the last word there are centres without a window.
        padding = (0, blocks * size - words)
        sentence = np.pad(sentences, padding)[centres]
        distance = np.abs(contexts[:, None, :] - centres[:, :, None])
        inside = valid[:, None, :] & (distance > 0) & (distance <= np.pad(reach, padding)[centres][:, :, None])
        inside &= sentences[contexts][:, None, :] == sentence[:, :, None]
        counts = inside.sum(2).reshape(-1)[:words]
        return cls(torch.from_numpy(contexts), torch.from_numpy(inside), torch.from_numpy(counts))


def skip_gram(
    inputs: Tensor, outputs: Tensor, noise: Tensor, windows: WindowBlocks, negatives: float
) -> tuple[float, Tensor, Tensor, Tensor]:
    """Computes the objective of a batch of words and its gradient (Mikolov et al. 2013, equation 4).

    With u the input vector of a word and v the output vector of a word in its window,

        L = Σ over (word, context)  −log σ(u·v) − k/K Σ over the K noise words n  log σ(−u·v_n)

    where k is `negatives`. word2vec draws k noise words for every pair; here all pairs of a batch share K draws, each
    of which counts k/K, which is the same in expectation.

    Args:
        inputs: The input vectors of the words, laid end to end (words, dim).
        outputs: Their output vectors (words, dim).
        noise: The output vectors of the noise words (K, dim).
        windows: Which words are in whose window.
        negatives: k.

    Returns:
        L, and its gradient by `inputs`, `outputs` and `noise`.
    """
    words, dim = inputs.shape
    blocks, size = windows.inside.shape[:2]
    centres = functional.pad(inputs, (0, 0, 0, blocks * size - words)).view(blocks, size, dim)
    contexts = outputs[windows.contexts]
    scores = torch.bmm(centres, contexts.transpose(1, 2))
    inside = windows.inside.to(scores.dtype)
    loss = (functional.softplus(-scores) * inside).sum()
    of_scores = (scores.sigmoid() - 1) * inside
    of_inputs = torch.bmm(of_scores, contexts).view(-1, dim)[:words]
    of_outputs = torch.zeros_like(outputs)
    of_outputs.index_add_(0, windows.contexts.flatten(), torch.bmm(of_scores.transpose(1, 2), centres).flatten(0, 1))
    if not len(noise):
        return float(loss), of_inputs, of_outputs, torch.zeros_like(noise)
    weights = (windows.counts.to(inputs.dtype) * (negatives / len(noise))).unsqueeze(1)
    scores = inputs @ noise.T
    loss = loss + (functional.softplus(scores) * weights).sum()
    of_scores = scores.sigmoid() * weights
    return float(loss), of_inputs + of_scores @ noise, of_outputs, of_scores.T @ inputs


def keep_probabilities(counts: NDArray[np.int64], threshold: float) -> NDArray[np.float64]:
    """Computes with which probability an occurrence of each word is kept (vocabulary,).

    With f the word's share of all words, √(t/f) + t/f, at most 1, as word2vec's program computes it (the paper of
    Mikolov et al. 2013, equation 5, leaves the second term out).
    """
    if not threshold:
        return np.ones(len(counts))
    shares = np.maximum(counts, 1) / max(1, int(counts.sum()))
    kept: NDArray[np.float64] = np.minimum(1.0, np.sqrt(threshold / shares) + threshold / shares)
    return kept


class NoiseWords:
    """Draws words with a probability proportional to their count to the power of 3/4 (Mikolov et al. 2013)."""

    def __init__(self, counts: NDArray[np.int64]) -> None:
        self._ends = np.cumsum(counts.astype(np.float64) ** 0.75)

    def __call__(self, number: int, generator: np.random.Generator) -> NDArray[np.int64]:
        """Draws some words, with repetition (number,)."""
        drawn: NDArray[np.int64] = np.searchsorted(
            self._ends, generator.random(number) * self._ends[-1], side="right"
        ).astype(np.int64)
        return drawn
