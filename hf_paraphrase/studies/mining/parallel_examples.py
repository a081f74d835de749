"""Parallel sentences as token ids, and the pairs that are not parallel with which a classifier is trained."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.fingerprints import normalise_all
from ...data.folder import DataFolder
from ...errors import InputError
from ...settings import setting
from ...tokenization.token_ids import TokenIds
from ...tokenization.token_lookup import ids_of, lookup_for
from ...tokenization.word_level import DIGITS, build_word_level_tokenizer, sentence_vocabulary
from ...training.run import RunSettings

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


TRAIN = "train"
VALIDATION = "validation"
NOTHING = -1
"""In a table of sentence numbers: there is none."""
_SIDES = ("source", "target")
_ROUNDS = 20
_PAIRS_AT_A_TIME = 512


@dataclass
class ParallelTexts:
    """The texts of a bitext."""

    source: dict[str, list[str]]
    target: dict[str, list[str]]
    source_lang: str
    target_lang: str


def read_parallel_texts(
    folder: str | os.PathLike[str], *, max_pairs: int | None = None, seed: int = 0
) -> ParallelTexts:
    """Reads the splits `train` and, where there is one, `validation` of a bitext into memory."""
    texts = ParallelTexts({}, {}, "", "")
    opened = DataFolder(folder)
    for split in (TRAIN, VALIDATION) if VALIDATION in opened.splits else (TRAIN,):
        table = opened.table(split, [*_SIDES, "source_lang", "target_lang"])
        if split == TRAIN:
            if not table.num_rows:
                raise InputError("the bitext has no rows", path=folder)
            if max_pairs is not None and max_pairs < table.num_rows:
                rows = np.sort(np.random.default_rng(seed).choice(table.num_rows, max_pairs, replace=False))
                table = table.take(pa.array(rows))
            texts.source_lang = str(table["source_lang"][0].as_py() or "")
            texts.target_lang = str(table["target_lang"][0].as_py() or "")
        for side, side_texts in zip(_SIDES, (texts.source, texts.target), strict=True):
            side_texts[split] = [text or "" for text in table[side].to_pylist()]
    return texts


@dataclass
class Side:
    """The different sentences of one language.

    Attributes:
        texts: The sentences; those of the training pairs come first.
        groups: A number for each (sentences,), int64, equal where sentences differ in nothing but upper case,
            punctuation and spaces.
        trained: How many of them occur in training pairs.
    """

    texts: list[str]
    ids: TokenIds
    groups: NDArray[np.int64]
    trained: int

    def __len__(self) -> int:
        return len(self.texts)


@dataclass
class ParallelExamples:
    """Parallel sentences to learn from and to choose the epoch on.

    Attributes:
        pairs: For each split the numbers of the source and of the target sentence of each pair (pairs, 2), int64.
        dropped: How many pairs were left out because a side had no words.
        known: What pairs are parallel: sorted numbers made of the groups of both sentences, int64.
    """

    source: Side
    target: Side
    pairs: dict[str, NDArray[np.int64]]
    dropped: int = 0
    known: NDArray[np.int64] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        every = np.concatenate(list(self.pairs.values()))
        self.known = np.unique(self._keys(every[:, 0], every[:, 1]))

    @classmethod
    def encode(
        cls, texts: ParallelTexts, source_tokenizer: PreTrainedTokenizerFast, target_tokenizer: PreTrainedTokenizerFast
    ) -> ParallelExamples:
        """Tokenises a bitext; a pair of which a side has no words is left out and counted."""
        sides, numbers = [], []
        for side_texts, tokenizer in ((texts.source, source_tokenizer), (texts.target, target_tokenizer)):
            side, number = _side(side_texts, tokenizer)
            sides.append(side)
            numbers.append(number)
        pairs, dropped = {}, 0
        for split in texts.source:
            both = np.stack([number[split] for number in numbers], axis=1)
            filled = np.all([side.ids.lengths[both[:, place]] > 0 for place, side in enumerate(sides)], axis=0)
            dropped += int((~filled).sum())
            pairs[split] = both[filled]
        if not len(pairs[TRAIN]):
            raise InputError("no usable pairs: every training pair has a side without words")
        if len(np.unique(sides[1].groups[pairs[TRAIN][:, 1]])) == 1:
            raise InputError(
                "all target sentences are the same: there is nothing that is not parallel", remedy="give more pairs"
            )
        if VALIDATION in pairs and not len(pairs[VALIDATION]):
            pairs.pop(VALIDATION)
        return cls(sides[0], sides[1], pairs, dropped)

    def are_parallel(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Returns which sentences are known to be each other's translations; the arrays are broadcast.

        A pair counts as known if the bitext has it, whatever its upper case, punctuation and spaces. The paper leaves
        out only the sentence's own translation (j ≠ i); where a bitext translates a sentence in several ways, those
        are no negatives either.
        """
        keys = self._keys(sources, targets)
        places = np.searchsorted(self.known, keys)
        is_parallel: NDArray[np.bool_] = self.known[np.minimum(places, len(self.known) - 1)] == keys
        return is_parallel

    def _keys(self, sources: NDArray[np.int64], targets: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.source.groups[sources] * (int(self.target.groups.max(initial=0)) + 1) + self.target.groups[targets]


def _side(
    texts: dict[str, list[str]], tokenizer: PreTrainedTokenizerFast
) -> tuple[Side, dict[str, NDArray[np.int64]]]:
    """Finds the different sentences, and which of them each row of each split has."""
    splits = list(texts)
    encoded = pa.array([text for split in splits for text in texts[split]], pa.large_string()).dictionary_encode()
    numbers = encoded.indices.to_numpy().astype(np.int64)
    ends = np.cumsum([len(texts[split]) for split in splits])
    parts = dict(zip(splits, np.split(numbers, ends[:-1]), strict=True))
    different = encoded.dictionary.cast(pa.string())
    normal = normalise_all(different).to_pylist()
    kept = different.to_pylist()
    # A sentence of nothing but punctuation is only equal to itself.
    names = pa.array([name or text for name, text in zip(normal, kept, strict=True)], pa.large_string())
    groups = names.dictionary_encode().indices.to_numpy().astype(np.int64)
    backend = tokenizer.backend_tokenizer
    ids = ids_of(backend, kept, lookup_for(backend))
    # Numbers are given in the order of first occurrence, and the training pairs come first.
    return Side(kept, ids, groups, int(parts[TRAIN].max(initial=-1)) + 1), parts


class NegativeDraw:
    """Draws target sentences that are not translations of given source sentences.

    Random negatives are the targets of other pairs of the same batch, as far as it has enough of them, and of the
    whole training data beyond. A batch is a random part of a shuffled epoch, so this is the paper's "randomly
    selecting" (paper 002, section 2.1) again in every epoch, and every sentence of a batch is encoded only once. With
    n-best lists a share of the negatives comes from the list of the source sentence instead, as the paper's sections
    4.3 and 5 propose.

    Args:
        candidates: The numbers of the target sentences that are most similar to each source sentence (sources, n),
            :data:`NOTHING` where there is none; None for random negatives alone.
        hard_share: The share of the negatives that come from these lists, as far as they are long enough.
    """

    def __init__(
        self,
        examples: ParallelExamples,
        negatives: int,
        *,
        candidates: NDArray[np.int32] | None = None,
        hard_share: float = 0.0,
    ) -> None:
        self.examples = examples
        self.negatives = negatives
        self.candidates = candidates
        self.hard_share = hard_share

    def __call__(self, pairs: NDArray[np.int64], seed: Sequence[int]) -> NDArray[np.int64]:
        """Draws the negatives of a batch of parallel pairs, numbers of sentences (pairs, 2).

        Returns:
            The numbers of target sentences (pairs, negatives), different ones for each pair; :data:`NOTHING` where
            there are not enough.
        """
        generator = np.random.default_rng(list(seed))
        drawn = np.full((len(pairs), self.negatives), NOTHING, np.int64)
        if self.candidates is not None and self.hard_share > 0:
            self._draw_hard(drawn, pairs[:, 0], generator)
        targets = np.unique(pairs[:, 1])
        order = generator.random((len(pairs), len(targets))).argsort(axis=1)
        self._fill(drawn, pairs[:, 0], targets[order])
        size = (len(pairs), _ROUNDS * self.negatives)
        self._fill(drawn, pairs[:, 0], generator.integers(self.examples.target.trained, size=size))
        return drawn

    def _draw_hard(self, drawn: NDArray[np.int64], sources: NDArray[np.int64], generator: np.random.Generator) -> None:
        assert self.candidates is not None
        listed = self.candidates[sources].astype(np.int64)
        order = np.where(listed == NOTHING, 2.0, generator.random(listed.shape)).argsort(axis=1)
        chosen = np.take_along_axis(listed, order, axis=1)[:, : self.negatives]
        # A share that is no whole number is kept to on average.
        wanted, rest = divmod(self.hard_share * self.negatives, 1.0)
        wanted_here = wanted + (generator.random(len(sources)) < rest)
        chosen[np.arange(chosen.shape[1]) >= wanted_here[:, None]] = NOTHING
        drawn[:, : chosen.shape[1]] = chosen

    def _fill(self, drawn: NDArray[np.int64], sources: NDArray[np.int64], proposals: NDArray[np.int64]) -> None:
        """Puts the first proposals (pairs, n) that are no translations and not there already into free places."""
        for tried in proposals.T:
            is_free = drawn == NOTHING
            good = is_free.any(1) & ~self.examples.are_parallel(sources, tried) & ~(drawn == tried[:, None]).any(1)
            drawn[good, is_free.argmax(1)[good]] = tried[good]
            if not is_free.any():
                return

    def labelled(self, pairs: NDArray[np.int64], seed: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Puts pairs (pairs, 2) and their negatives together, a few hundred pairs at a time.

        Returns:
            The numbers of the sentences of all pairs (rows, 2) and their labels (rows,), 1 for the parallel ones,
            which come first.
        """
        others = []
        for start in range(0, len(pairs), _PAIRS_AT_A_TIME):
            part = pairs[start : start + _PAIRS_AT_A_TIME]
            drawn = self(part, [*seed, start])
            rows, places = np.nonzero(drawn != NOTHING)
            others.append(np.stack([part[rows, 0], drawn[rows, places]], axis=1))
        negatives = np.concatenate(others) if others else pairs[:0]
        labels = np.repeat(np.array([1, 0]), [len(pairs), len(negatives)])
        return np.concatenate([pairs, negatives]), labels


@dataclass(kw_only=True)
class ParallelTextSettings(RunSettings):
    """The bitext and the words of a training on parallel sentences."""

    bitext: str = setting(
        "bitext folder that `prepare bitext` made (splits train and, if it has one, validation)", path=True
    )
    digits: str = setting(
        "what becomes of digits: keep, zero (each becomes 0) or remove; the tokenizers do it", "keep", choices=DIGITS
    )
    lower_case: bool = setting("lower-case all text", True, names=["--lower-case", "--lowercase"])
    vocabulary_size: int = setting(
        "words of each language at most, those of the training part; 0 for all",
        0,
        at_least=0,
        names=["--vocabulary-size", "--vocab-size"],
    )
    min_frequency: int = setting(
        "a word enters the vocabulary if it occurs at least N times in the training part", 2, above=0
    )
    max_pairs: int | None = setting("train on a random sample of N pairs", None, above=0)

    def texts(self) -> ParallelTexts:
        """Reads the bitext."""
        return read_parallel_texts(self.bitext, max_pairs=self.max_pairs, seed=self.seed)

    def tokenizers(self, texts: ParallelTexts) -> tuple[PreTrainedTokenizerFast, PreTrainedTokenizerFast]:
        """Builds word-level tokenizers of both languages; punctuation marks are words, apostrophes too."""
        style: dict[str, Any] = {"lower_case": self.lower_case, "contractions": False, "digits": self.digits}
        sizes: dict[str, Any] = {"min_frequency": self.min_frequency, "max_size": self.vocabulary_size or None}
        source, target = (
            build_word_level_tokenizer(sentence_vocabulary(side[TRAIN], **sizes, **style), **style)
            for side in (texts.source, texts.target)
        )
        return source, target

    @contextmanager
    def naming_the_bitext(self) -> Iterator[None]:
        """Puts the bitext into an error that names no file."""
        try:
            yield
        except InputError as error:
            raise InputError(error.message, path=error.path or self.bitext, remedy=error.remedy) from error
