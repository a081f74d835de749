"""Word vectors of two languages in one space from aligned sentences: BilBOWA (Gouws, Bengio and Corrado 2015)."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedTokenizerFast

from ...tokenization.fast_tokenize import word_ids
from ...tokenization.ragged_ids import TokenIds, ends_of
from ...training.batches import EpochBatches, Item
from ...training.epoch_trainer import EpochTrainer, EpochTrainingArguments
from ...training.sparse_gradients import SparseGradientTrainer
from .parallel_examples import SIDES

_NOISE_WORDS = 256


class BilingualVectors(nn.Module):
    """The vectors of two languages, with the objective of Gouws et al. (2015), equations 4 and 5.

    The objective is skip-gram with negative sampling in each language, plus `aligned_weight` times the squared
    distance between the mean word vectors of both sentences of a pair. The means are over all words, because mining
    sums all word vectors (Grégoire and Langlais 2017, equation 3). Subsampling applies to skip-gram only.

    Args:
        counts: The count of each word, for each language (vocabulary,).
        aligned_weight: λ.
    """

    def __init__(
        self, counts: list[NDArray[np.int64]], dimension: int, negatives: int, aligned_weight: float, seed: int = 0
    ) -> None:
        super().__init__()
        self.negatives, self.aligned_weight = negatives, aligned_weight
        generator = torch.Generator().manual_seed(seed)
        tables = {}
        for side, occurrences in zip(SIDES, counts, strict=True):
            # As in word2vec: small input vectors, and output vectors of zeros.
            start = (torch.rand(len(occurrences), dimension, generator=generator) - 0.5) / dimension
            start[torch.from_numpy(occurrences == 0)] = 0.0
            tables[side] = nn.Parameter(start)
            tables[f"{side}_contexts"] = nn.Parameter(torch.zeros_like(start))
        self.tables = nn.ParameterDict(tables)

    def forward(self, pairs: Tensor, **inputs: Tensor) -> SimpleNamespace:
        """Compute the objective per pair of a batch of :class:`BilingualTrainer`; `pairs` has a zero for each pair.

        The inputs have for each language the concatenated `words` of all sentences, the `offsets` of the sentences,
        and for skip-gram the words that are `kept`, the drawn `noise`, and the `windows` of :func:`window_pairs`.
        """
        objectives, means, filled = [], [], []
        for side in SIDES:
            words, offsets, kept, noise, windows = (
                inputs[f"{side}_{name}"] for name in ("words", "offsets", "kept", "noise", "windows")
            )
            vectors, outputs = self.tables[side], self.tables[f"{side}_contexts"]
            objectives.append(
                skip_gram(_rows(vectors, kept), _rows(outputs, kept), _rows(outputs, noise), windows, self.negatives)
            )
            means.append(
                functional.embedding_bag(words, vectors, offsets, mode="mean", sparse=True, include_last_offset=True)
            )
            filled.append(offsets.diff() > 0)
        aligned = ((means[0] - means[1]) * (filled[0] & filled[1]).unsqueeze(1)).square().sum()
        return SimpleNamespace(loss=(sum(objectives) + self.aligned_weight * aligned) / len(pairs))


def _rows(table: Tensor, ids: Tensor) -> Tensor:
    return functional.embedding(ids, table, sparse=True)


def skip_gram(inputs: Tensor, outputs: Tensor, noise: Tensor, windows: Tensor, negatives: float) -> Tensor:
    """Compute the objective of a batch of words (Mikolov et al. 2013, equation 4).

    With u the input vector of a word and v the output vector of a word in its window,

        L = Σ over (word, context)  −log σ(u·v) − k/K Σ over the K noise words n  log σ(−u·v_n)

    where k is `negatives`. word2vec draws k noise words for every pair. Here all pairs of a batch share K draws with
    the weight k/K, which has the same expectation. `windows` are the rows of words and their contexts (2, pairs) in
    inputs and outputs (words, dim); noise is (K, dim).
    """
    centres, contexts = windows
    scores = (inputs[centres] * outputs[contexts]).sum(1)
    weights = torch.bincount(centres, minlength=len(inputs)).unsqueeze(1) * (negatives / len(noise))
    return functional.softplus(-scores).sum() + (functional.softplus(inputs @ noise.T) * weights).sum()


def window_pairs(sentences: NDArray[np.int64], reach: NDArray[np.int64], window: int) -> NDArray[np.int64]:
    """List the rows of words and their contexts (2, pairs) in concatenated sentences.

    A window stays within the sentence number of its word in `sentences` (words,) and extends to `reach` (words,) words
    on either side, at most `window`.
    """
    pairs = [np.empty((2, 0), np.int64)]
    for distance in range(1, window + 1):
        before = np.flatnonzero(sentences[distance:] == sentences[:-distance])
        for pair in ((before, before + distance), (before + distance, before)):
            pairs.append(np.stack(pair)[:, reach[pair[0]] >= distance])
    return np.concatenate(pairs, axis=1)


def keep_probabilities(counts: NDArray[np.int64], threshold: float) -> NDArray[np.float64]:
    """Compute the probability √(t/f) + t/f, at most 1, of keeping each occurrence of a word (vocabulary,).

    f is the relative frequency of the word and t the `threshold`, as in the program word2vec.
    """
    if not threshold:
        return np.ones(len(counts))
    shares = np.maximum(counts, 1) / max(1, int(counts.sum()))
    return np.asarray(np.minimum(1.0, np.sqrt(threshold / shares) + threshold / shares), np.float64)


def noise_probabilities(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Compute the probability to draw each noise word: its count to the power of 3/4 (Mikolov et al.)."""
    powers = counts.astype(np.float64) ** 0.75
    return np.asarray(powers / powers.sum(), np.float64)


class BilingualTrainer(SparseGradientTrainer, EpochTrainer):
    """Trains bilingual word vectors with Adam on batches of sentence pairs."""

    criterion = "loss"
    sparse_gradients = True

    def __init__(
        self,
        model: BilingualVectors,
        args: EpochTrainingArguments,
        sides: Sequence[TokenIds],
        *,
        window: int = 5,
        subsampling: float = 1e-4,
    ) -> None:
        self.sides = sides
        self.window = window
        counts = [ids.counts(len(model.tables[side])) for side, ids in zip(SIDES, sides, strict=True)]
        self._keep = [keep_probabilities(occurrences, subsampling) for occurrences in counts]
        self._noise = [noise_probabilities(occurrences) for occurrences in counts]
        batches = EpochBatches(len(sides[0].lengths), args.per_device_train_batch_size, args.seed, args.world_size)
        super().__init__(model, args, batches, self._collate, dev_size=None)

    def _collate(self, items: list[Item]) -> dict[str, Tensor]:
        """Make a batch: draw the words to keep, the reach of windows and the noise words."""
        rows = np.array([number for _, number in items], np.int64)
        generator = np.random.default_rng([self.args.seed, *items[0]])
        batch: dict[str, NDArray[Any]] = {"pairs": np.zeros(len(rows), np.int64)}
        for side, ids, keep, noise in zip(SIDES, self.sides, self._keep, self._noise, strict=True):
            words = ids.of_texts(rows)
            owner = np.repeat(np.arange(len(rows)), ids.lengths[rows])
            is_kept = generator.random(len(words)) < keep[words]
            reach = generator.integers(1, self.window + 1, size=int(is_kept.sum()))
            batch |= {
                f"{side}_words": words,
                f"{side}_offsets": ends_of(ids.lengths[rows]),
                f"{side}_kept": words[is_kept],
                f"{side}_noise": generator.choice(len(noise), _NOISE_WORDS, p=noise),
                f"{side}_windows": window_pairs(owner[is_kept], reach, self.window),
            }
        return {name: torch.from_numpy(values) for name, values in batch.items()}


def known_words(texts: pa.ChunkedArray, tokenizer: PreTrainedTokenizerFast) -> TokenIds:
    """Tokenize sentences and drop unknown words."""
    ids = word_ids(tokenizer, [text or "" for text in texts.to_pylist()])
    is_known = ids.ids != tokenizer.unk_token_id
    return TokenIds(ids.ids[is_known], ends_of(is_known)[ids.offsets])
