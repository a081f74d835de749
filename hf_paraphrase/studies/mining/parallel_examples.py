"""Training examples of a classifier of parallel sentences: tokenized pairs and drawn negatives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...data.sentences import naming
from ...errors import InputError
from ...mining.collections import SIDES
from ...settings import setting
from ...text.hashing import are_among
from ...text.normalization import normalize_words_all
from ...tokenization.fast_tokenize import word_ids
from ...tokenization.ragged_ids import TokenIds
from ...tokenization.word_level import DIGITS, build_word_level_tokenizer, sentence_vocabulary
from ...training.run import TrainingRunSettings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

TRAIN = "train"
VALIDATION = "validation"
NOTHING = -1
"""Marks an empty cell in a table of sentence numbers."""
HARD_SHARE = 0.8
"""Fraction of the negatives from the n-best lists, if given."""
_ROUNDS = 20
_PAIRS_AT_A_TIME = 512


def languages_of(texts: Mapping[str, pa.Table]) -> list[str]:
    """Return the codes of the source and the target language of a bitext; empty ones are unknown."""
    return [str(texts[TRAIN][f"{side}_lang"][0].as_py() or "") for side in SIDES]


def word_level_tokenizers(
    texts: Mapping[str, pa.Table], *, min_frequency: int, digits: str = "keep"
) -> list[PreTrainedTokenizerFast]:
    """Build lower-casing word-level tokenizers of both languages; punctuation marks, apostrophes too, are words."""
    style: dict[str, Any] = {"contractions": False, "lower_case": True, "digits": digits}
    sides = ([text or "" for text in texts[TRAIN][side].to_pylist()] for side in SIDES)
    return [
        build_word_level_tokenizer(sentence_vocabulary(side, min_frequency=min_frequency, **style), **style)
        for side in sides
    ]


@dataclass
class Side:
    """The distinct sentences of one language; the first `trained` sentences are from training pairs.

    Sentences that differ only in case, punctuation and spaces have equal numbers in `groups` (sentences,).
    """

    texts: list[str]
    ids: TokenIds
    groups: NDArray[np.int64]
    trained: int


@dataclass
class ParallelExamples:
    """Parallel sentences for training and for the choice of the epoch.

    Attributes:
        pairs: For each split the numbers of the source and the target sentence of each pair (pairs, 2).
        known: Sorted keys of the parallel pairs, made of the groups of both sentences.
    """

    source: Side
    target: Side
    pairs: dict[str, NDArray[np.int64]]
    known: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        every = np.concatenate(list(self.pairs.values()))
        self.known = np.unique(self._keys(every[:, 0], every[:, 1]))

    @classmethod
    def encode(cls, texts: Mapping[str, pa.Table], tokenizers: Sequence[PreTrainedTokenizerFast]) -> ParallelExamples:
        """Tokenize a bitext and drop pairs in which a sentence has no words."""
        (source, source_numbers), (target, target_numbers) = (
            _side({split: table[side] for split, table in texts.items()}, tokenizer)
            for side, tokenizer in zip(SIDES, tokenizers, strict=True)
        )
        pairs = {}
        for split in texts:
            both = np.stack([source_numbers[split], target_numbers[split]], axis=1)
            filled = (source.ids.lengths[both[:, 0]] > 0) & (target.ids.lengths[both[:, 1]] > 0)
            if split == TRAIN or filled.any():
                pairs[split] = both[filled]
        if len(np.unique(target.groups[pairs[TRAIN][:, 1]])) < 2:
            raise InputError("no two training pairs have words and different targets", remedy="give more pairs")
        return cls(source, target, pairs)

    def are_parallel(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return which sentences are known to be each other's translations; the arrays are broadcast.

        Pairs of the bitext match regardless of case, punctuation and spaces. The paper excludes only the sentence's
        own translation (j ≠ i).
        """
        return are_among(self._keys(sources, targets), self.known)

    def _keys(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.source.groups[sources] * (int(self.target.groups.max(initial=0)) + 1) + self.target.groups[targets]


def _side(
    texts: Mapping[str, pa.ChunkedArray], tokenizer: PreTrainedTokenizerFast
) -> tuple[Side, dict[str, NDArray[np.int64]]]:
    """Return the distinct sentences, and for each split the sentence number of each row."""
    every = pa.array([text or "" for column in texts.values() for text in column.to_pylist()], pa.large_string())
    encoded = every.dictionary_encode()
    indices = encoded.indices.to_numpy().astype(np.int64)
    ends = np.cumsum([len(column) for column in texts.values()])
    parts = dict(zip(texts, np.split(indices, ends[:-1]), strict=True))
    different = encoded.dictionary.cast(pa.string())
    kept = different.to_pylist()
    # A sentence of punctuation alone equals only itself.
    names = [name or text for name, text in zip(normalize_words_all(different).to_pylist(), kept, strict=True)]
    groups = pa.array(names, pa.large_string()).dictionary_encode().indices.to_numpy().astype(np.int64)
    # Sentences are numbered by first occurrence, and training pairs come first.
    trained = int(parts[TRAIN].max(initial=-1)) + 1
    return Side(kept, word_ids(tokenizer, kept), groups, trained), parts


class NegativeDraw:
    """Draws target sentences that are not translations of given source sentences.

    Random negatives are targets in the batch, which are encoded anyway, and if necessary targets of all training data.
    Batches are random, so this equals the paper's "randomly selecting" (section 2.1). With `candidates` most negatives
    come from the candidates of the source sentence, as sections 4.3 and 5 propose.

    Args:
        candidates: Numbers of the most similar targets of each source (sources, n), padded with :data:`NOTHING`; None
            for random negatives alone.
    """

    def __init__(
        self, examples: ParallelExamples, negatives: int, candidates: NDArray[np.int32] | None = None
    ) -> None:
        self.examples = examples
        self.negatives = negatives
        self.candidates = candidates

    def __call__(self, pairs: NDArray[np.int64], seed: Sequence[int]) -> NDArray[np.int64]:
        """Draw distinct negatives for each parallel pair of a batch (pairs, 2).

        Returns:
            Numbers of target sentences (pairs, negatives), padded with :data:`NOTHING`.
        """
        generator = np.random.default_rng(list(seed))
        drawn = np.full((len(pairs), self.negatives), NOTHING, np.int64)
        if self.candidates is not None:
            listed = self.candidates[pairs[:, 0]].astype(np.int64)
            order = np.where(listed == NOTHING, 2.0, generator.random(listed.shape)).argsort(axis=1)
            chosen = np.take_along_axis(listed, order, axis=1)[:, : round(HARD_SHARE * self.negatives)]
            drawn[:, : chosen.shape[1]] = chosen
        targets = np.unique(pairs[:, 1])
        order = generator.random((len(pairs), len(targets))).argsort(axis=1)
        self._fill(drawn, pairs[:, 0], targets[order])
        size = (len(pairs), _ROUNDS * self.negatives)
        self._fill(drawn, pairs[:, 0], generator.integers(self.examples.target.trained, size=size))
        return drawn

    def _fill(self, drawn: NDArray[np.int64], sources: NDArray[np.int64], proposals: NDArray[np.int64]) -> None:
        """Fill empty cells with the first proposals (pairs, n) that are neither translations nor drawn already."""
        for tried in proposals.T:
            is_free = drawn == NOTHING
            good = is_free.any(1) & ~self.examples.are_parallel(sources, tried) & ~(drawn == tried[:, None]).any(1)
            drawn[good, is_free.argmax(1)[good]] = tried[good]
            if not is_free.any():
                return

    def labelled(self, pairs: NDArray[np.int64], seed: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return parallel pairs (pairs, 2) followed by their negatives (rows, 2), and the labels (rows,)."""
        rows = [pairs]
        for start in range(0, len(pairs), _PAIRS_AT_A_TIME):
            part = pairs[start : start + _PAIRS_AT_A_TIME]
            drawn = self(part, [*seed, start])
            row, column = np.nonzero(drawn != NOTHING)
            rows.append(np.stack([part[row, 0], drawn[row, column]], axis=1))
        return np.concatenate(rows), np.repeat(np.array([1, 0]), [len(pairs), sum(map(len, rows[1:]))])


@dataclass(kw_only=True)
class ParallelTextSettings(TrainingRunSettings):
    """The settings of the bitext and the vocabularies of a training on parallel sentences."""

    bitext: str = setting("bitext folder, with the split train and perhaps validation", path=True, dataset=True)
    digits: str = setting("digits in the tokenizers: keep, zero (each becomes 0) or remove", "keep", choices=DIGITS)
    min_frequency: int = setting("minimum frequency of a word of the vocabulary in the split train", 2, above=0)
    max_pairs: int | None = setting("train on a random sample of N pairs", None, above=0)

    def read(self) -> tuple[dict[str, pa.Table], list[PreTrainedTokenizerFast]]:
        """Read the bitext into memory, and build the tokenizers of both languages."""
        opened = DataFolder(self.bitext)
        columns = [*SIDES, *(f"{side}_lang" for side in SIDES)]
        texts = {
            split: opened.table(split, columns) for split in (TRAIN, VALIDATION) if split in (TRAIN, *opened.splits)
        }
        rows = texts[TRAIN].num_rows
        if not rows:
            raise InputError("the bitext has no rows", path=self.bitext, remedy="give another --bitext")
        if self.max_pairs is not None and self.max_pairs < rows:
            sample = np.sort(np.random.default_rng(self.seed).choice(rows, self.max_pairs, replace=False))
            texts[TRAIN] = texts[TRAIN].take(pa.array(sample))
        with naming(self.bitext):
            return texts, word_level_tokenizers(texts, min_frequency=self.min_frequency, digits=self.digits)
