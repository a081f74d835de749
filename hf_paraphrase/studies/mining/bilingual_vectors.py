"""Word vectors of two languages in one space from aligned sentences: BilBOWA (Gouws, Bengio and Corrado 2015)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ...tokenization.token_ids import TokenIds
from ...training.row_adam import RowAdam
from .skip_gram import NoiseWords, WindowBlocks, keep_probabilities, skip_gram

TABLES = ("source", "target", "source_contexts", "target_contexts")
"""The names of the tables of vectors: those that are wanted, and those with which skip-gram compares them."""
_NOISE_WORDS = 256


@dataclass(frozen=True)
class BilingualSettings:
    """How bilingual word vectors are trained; `dimension`, `epochs` and `subsampling` as in paper 002, section 3.2.

    Attributes:
        window: Words on either side that skip-gram predicts at most; each word draws from 1 to so many.
        subsampling: The threshold above whose share of all words occurrences of a word are left out at random; 0 for
            none.
        aligned_weight: λ, the weight of the squared distance between the means of aligned sentences.
        learning_rate: The learning rate of Adam at the start; it falls to 0 in a straight line.
    """

    dimension: int = 300
    epochs: int = 10
    window: int = 5
    negatives: int = 5
    subsampling: float = 1e-4
    aligned_weight: float = 30.0
    batch_size: int = 256
    learning_rate: float = 2e-2
    seed: int = 0


@dataclass(frozen=True)
class BatchLoss:
    """The parts of the objective of a batch."""

    source: float
    target: float
    aligned: float


class BilingualTraining:
    """Trains the vectors of two languages together.

    The objective is that of Gouws et al. (2015), equations 4 and 5: skip-gram with negative sampling on each side by
    itself, and for every aligned pair λ times the squared distance between the means of the word vectors of both
    sentences. It needs no word alignments.

    Where their program lets threads overwrite one another's updates, every update here is one of Adam on a batch of
    sentence pairs, so a seed gives the same vectors again. Words outside the vocabulary are left out, as there. The
    mean is over all words of a sentence, because the sum of all of them is what the vectors are for (paper 002,
    equation 3); subsampling is for skip-gram alone.
    """

    def __init__(
        self, sides: tuple[TokenIds, TokenIds], vocabulary_sizes: tuple[int, int], settings: BilingualSettings
    ) -> None:
        if len(sides[0].lengths) != len(sides[1].lengths):
            raise ValueError(f"{len(sides[0].lengths)} source sentences, but {len(sides[1].lengths)} target sentences")
        self.sides = sides
        self.settings = settings
        generator = torch.Generator().manual_seed(settings.seed)
        self.tables: dict[str, Tensor] = {}
        self._keep: list[NDArray[np.float64]] = []
        self._noise: list[NoiseWords] = []
        for name, ids, size in zip(TABLES, sides, vocabulary_sizes, strict=False):
            counts = np.bincount(ids.ids, minlength=size)
            # As in word2vec: small input vectors, and output vectors that start at nothing.
            start = (torch.rand(size, settings.dimension, generator=generator) - 0.5) / settings.dimension
            start[torch.from_numpy(counts == 0)] = 0.0
            self.tables[name] = start
            self.tables[f"{name}_contexts"] = torch.zeros(size, settings.dimension)
            self._keep.append(keep_probabilities(counts, settings.subsampling))
            self._noise.append(NoiseWords(counts))
        self.optimizer = RowAdam([self.tables[name] for name in TABLES], lr=settings.learning_rate)

    def __len__(self) -> int:
        return len(self.sides[0].lengths)

    @property
    def batches(self) -> int:
        """The number of batches in an epoch."""
        return -(-len(self) // self.settings.batch_size)

    def epoch(self, number: int, progress: Callable[[int], object] = lambda pairs: None) -> Iterator[BatchLoss]:
        """Trains for an epoch, counted from 0.

        Yields:
            The objective of every batch before its update.
        """
        settings = self.settings
        order = np.random.default_rng([settings.seed, number]).permutation(len(self))
        total = self.batches * settings.epochs
        for batch in range(self.batches):
            rows = order[batch * settings.batch_size : (batch + 1) * settings.batch_size]
            done = number * self.batches + batch
            for group in self.optimizer.param_groups:
                group["lr"] = settings.learning_rate * (1.0 - done / total)
            yield self.step(rows, np.random.default_rng([settings.seed, number, batch]))
            progress(len(rows))

    def step(self, rows: NDArray[np.int64], generator: np.random.Generator) -> BatchLoss:
        """Makes an update on some sentence pairs (pairs,), and gives the objective before it."""
        losses, gradients = self.gradients(rows, generator)
        for name, (ids, values) in gradients.items():
            table = self.tables[name]
            table.grad = torch.sparse_coo_tensor(
                ids.unsqueeze(0), values / len(rows), table.shape, is_coalesced=True, check_invariants=False
            )
        self.optimizer.step()
        return losses

    def gradients(
        self, rows: NDArray[np.int64], generator: np.random.Generator
    ) -> tuple[BatchLoss, dict[str, tuple[Tensor, Tensor]]]:
        """Computes the objective of some sentence pairs and its gradient.

        Args:
            rows: The numbers of the pairs (pairs,).
            generator: Draws the words that are kept, the reach of windows and the noise words.

        Returns:
            The objective a pair, and for every table the ids of its rows in rising order (ids,) and the gradient of
            the sum over the pairs by these (ids, dim).
        """
        sums: dict[str, list[tuple[Tensor, Tensor]]] = {name: [] for name in TABLES}
        skip_gram_losses, means, places = [], [], []
        for name, ids, keep, noise in zip(TABLES, self.sides, self._keep, self._noise, strict=False):
            lengths = ids.lengths[rows]
            words = ids.of_texts(rows)
            sentences = np.repeat(np.arange(len(rows)), lengths)
            skip_gram_losses.append(self._skip_gram(name, words, sentences, keep, noise, generator, sums))
            vectors = self.tables[name][torch.from_numpy(words)]
            owner = torch.from_numpy(sentences)
            total = vectors.new_zeros(len(rows), vectors.shape[1]).index_add_(0, owner, vectors)
            means.append(total / torch.from_numpy(lengths).clamp_min(1).unsqueeze(1))
            places.append((torch.from_numpy(words), owner, torch.from_numpy(lengths)))
        filled = ((places[0][2] > 0) & (places[1][2] > 0)).unsqueeze(1)
        difference = (means[0] - means[1]) * filled
        for name, sign, (words_, owner, lengths_) in zip(TABLES, (1.0, -1.0), places, strict=False):
            of_mean = difference * (2.0 * sign * self.settings.aligned_weight)
            of_word = of_mean / lengths_.clamp_min(1).unsqueeze(1)
            sums[name].append((words_, of_word[owner]))
        losses = BatchLoss(
            skip_gram_losses[0] / len(rows),
            skip_gram_losses[1] / len(rows),
            float(difference.square().sum()) / len(rows),
        )
        return losses, {name: _joined(parts, self.settings.dimension) for name, parts in sums.items()}

    def _skip_gram(
        self,
        name: str,
        words: NDArray[np.int64],
        sentences: NDArray[np.int64],
        keep: NDArray[np.float64],
        noise: NoiseWords,
        generator: np.random.Generator,
        sums: dict[str, list[tuple[Tensor, Tensor]]],
    ) -> float:
        """Adds the gradient of one side's skip-gram objective to `sums`, and gives the objective."""
        settings = self.settings
        kept = generator.random(len(words)) < keep[words]
        words, sentences = words[kept], sentences[kept]
        reach = generator.integers(1, settings.window + 1, size=len(words))
        if not len(words):
            return 0.0
        windows = WindowBlocks.of_sentences(sentences, reach, settings.window)
        drawn = torch.from_numpy(noise(_NOISE_WORDS, generator))
        places = torch.from_numpy(words)
        table, contexts = self.tables[name], self.tables[f"{name}_contexts"]
        loss, of_inputs, of_outputs, of_noise = skip_gram(
            table[places], contexts[places], contexts[drawn], windows, settings.negatives
        )
        sums[name].append((places, of_inputs))
        sums[f"{name}_contexts"] += [(places, of_outputs), (drawn, of_noise)]
        return loss

    def sentence_sums(self, side: str, ids: TokenIds) -> NDArray[np.float32]:
        """Adds up the word vectors of sentences (paper 002, equation 3, before its division by the length)."""
        owner = torch.from_numpy(np.repeat(np.arange(len(ids.lengths)), ids.lengths))
        vectors = self.tables[side][torch.from_numpy(ids.ids)]
        sums: NDArray[np.float32] = (
            vectors.new_zeros(len(ids.lengths), vectors.shape[1]).index_add_(0, owner, vectors).numpy()
        )
        return sums

    def state(self) -> dict[str, Tensor]:
        """Returns everything that changes in training, by names that :meth:`load_state` knows."""
        state = dict(self.tables)
        for name in TABLES:
            for key, value in self.optimizer.state[self.tables[name]].items():
                state[f"{name}.{key}"] = value
        return state

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Continues from a state."""
        for name in TABLES:
            table = self.tables[name]
            if state[name].shape != table.shape:
                raise ValueError(f"{name} is {tuple(state[name].shape)}, not {tuple(table.shape)}")
            table.copy_(state[name])
            self.optimizer.state[table] = {key: state[f"{name}.{key}"] for key in ("step", "exp_avg", "exp_avg_sq")}


def without_unknown(ids: TokenIds, unknown_id: int) -> TokenIds:
    """Leaves the unknown words of sentences out."""
    is_known = ids.ids != unknown_id
    ends = np.concatenate([np.zeros(1, np.int64), is_known.cumsum()])
    return TokenIds(ids.ids[is_known], ends[ids.offsets])


def _joined(parts: list[tuple[Tensor, Tensor]], dimension: int) -> tuple[Tensor, Tensor]:
    """Adds up the gradients of equal rows."""
    if not parts:
        return torch.zeros(0, dtype=torch.long), torch.zeros(0, dimension)
    rows, places = torch.cat([ids for ids, _ in parts]).unique(return_inverse=True)
    values = torch.cat([item for _, item in parts])
    return rows, values.new_zeros(len(rows), dimension).index_add_(0, places, values)
