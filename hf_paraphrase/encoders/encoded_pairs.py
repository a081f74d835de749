"""Pairs as token ids: tokenised once, before training, into flat arrays on disk, and made into batches."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..data.labels import require_label
from ..data.pair_rows import PairRows, PairSource
from ..data.schema import BACK_TRANSLATED, BITEXT, is_number
from ..errors import InputError, OutputError
from ..messages import log
from ..text.hashing import hash64
from ..tokenization.fast_tokenize import ids_of, lookup_for
from ..tokenization.ragged_ids import TokenIds, ends_of, id_counts, ranges
from ..training.batches import Item

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from .sentence_encoder import SentenceEncoder


@dataclass
class Sentences:
    """Token ids of sentences laid end to end, and numbers of the unscrambled texts, `keys` (sentences,)."""

    tokens: NDArray[np.integer]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]

    @property
    def ids(self) -> TokenIds:
        """The token ids without the keys."""
        return TokenIds(self.tokens, self.offsets)  # type: ignore[arg-type]

    def padded(self, rows: NDArray[np.int64], pad_token_id: int | None) -> tuple[Tensor, Tensor]:
        """Make a batch of some of the sentences (rows,), padded on the right.

        `input_ids` and `attention_mask`, int64. Short sentences are filled up with `pad_token_id`; None is a token of
        theirs, so that in training no row of a table seems to occur that does not.
        """
        if pad_token_id is None:
            some = self.ids.of_texts(rows[:1])
            pad_token_id = int(some[0]) if len(some) else 0
        ids, mask = self.ids.padded(rows, pad_token_id)
        return torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64))

    def take(self, rows: NDArray[np.int64]) -> Sentences:
        """Return the sentences of these numbers (rows,), in their order."""
        return Sentences(*self.ids.take(rows), self.keys[rows])


class GrowingArray:
    """Numbers of one type that grow in a file without a name, which the system removes with the process."""

    def __init__(self, kind: type[np.generic], scratch: str | os.PathLike[str] | None, what: str) -> None:
        self._kind, self._what = kind, what
        self._folder = Path(scratch or tempfile.gettempdir())
        with self._writing():
            self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"cannot write {self._what}: {error.strerror or error}", path=self._folder) from error

    def append(self, numbers: NDArray[Any] | bytes) -> None:
        """Add numbers."""
        with self._writing():
            self._file.write(numbers if isinstance(numbers, bytes) else numbers.astype(self._kind).tobytes())

    def map(self) -> NDArray[Any]:
        """Map all numbers that were added; the map keeps the file alive."""
        with self._writing():
            self._file.flush()
        # Nothing cannot be mapped.
        mapped = np.memmap(self._file, self._kind, "r") if self._file.tell() else np.empty(0, self._kind)
        return np.asarray(mapped)


class TokenArrays:
    """Sentences that grow in files without a name."""

    def __init__(self, scratch: str | os.PathLike[str] | None) -> None:
        self.rows = 0
        kinds: tuple[type[np.generic], ...] = (np.int32, np.int64, np.int64)
        self._tokens, self._lengths, self._keys = (GrowingArray(kind, scratch, "the token ids") for kind in kinds)

    def append(self, ids: TokenIds) -> None:
        """Add sentences."""
        self._tokens.append(ids.ids)
        self._lengths.append(ids.lengths)
        self._keys.append(token_keys(ids))
        self.rows += len(ids.lengths)

    def finish(self) -> Sentences:
        """Map the files."""
        return Sentences(self._tokens.map(), ends_of(self._lengths.map()), self._keys.map())


def token_keys(ids: TokenIds) -> NDArray[np.int64]:
    """Compute a number for each token sequence (texts,), equal where they are equal.

    It is 64 bits of a digest, so that no table of what was seen is needed: two different ones among a hundred million
    share it with a probability of one in a few thousand, and then merely do not serve as each other's negatives.
    """
    tokens, ends = memoryview(ids.ids.astype(np.int32).tobytes()), (4 * ids.offsets).tolist()
    return hash64(tokens[start:end] for start, end in pairwise(ends)).view(np.int64)


@dataclass
class EncodedPairs(Sentences):
    """Token ids of paraphrase pairs: sentence `side` (0 or 1) of pair i is row 2 * i + side.

    Attributes:
        labels: How much of a paraphrase each pair is, from 0 to 1 (pairs,), float32; None if pairs carry no labels.
        dropped: How many pairs were left out because a side had no tokens.
        not_paraphrases: How many pairs were left out because their label says that they are not paraphrases.
        negatives: The texts that were given as negatives of first sentences, pair by pair; None if there are none.
        negative_offsets: Where those of each pair begin, and the end (pairs + 1,), int64.
    """

    labels: NDArray[np.floating] | None = None
    dropped: int = 0
    not_paraphrases: int = 0
    negatives: Sentences | None = None
    negative_offsets: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.keys) // 2

    def negatives_of(self, pairs: NDArray[np.int64]) -> Sentences | None:
        """Return the negatives that some pairs (pairs,) were given, in their order; None if no pair has any."""
        if self.negatives is None or self.negative_offsets is None:
            return None
        starts, ends = self.negative_offsets[pairs], self.negative_offsets[pairs + 1]
        return self.negatives.take(ranges(starts, ends - starts))

    def counts(self, vocab_size: int) -> NDArray[np.int64]:
        """Count how often each id occurs (vocabulary,)."""
        return id_counts(self.tokens, vocab_size)


def encode_pairs(
    pairs: PairSource,
    tokenizer: PreTrainedTokenizerFast | SentenceEncoder,
    *,
    max_pairs: int | None = None,
    seed: int = 0,
    split: str = "train",
    labelled: bool = False,
    positive_label: str | None = None,
    scratch: str | os.PathLike[str] | None = None,
) -> EncodedPairs:
    """Tokenize pairs; a pair with a side that has no tokens is left out and counted.

    The pairs are streamed, and their ids go to files without a name in the folder `scratch` (that of the system for
    None); memory stays at one block of rows. A fast tokenizer adds no special tokens; an encoder reads as it does.
    With `labelled` the labels, or else the scores, are kept. Otherwise pairs that are labelled as no paraphrases are
    left out and counted. `positive_label` is the label that means paraphrase, where it is none of the usual ones.
    """
    tokenize = tokenizing(tokenizer)
    source = PairRows(pairs, split, positive_label=positive_label)
    # A score does not say whether a pair is a paraphrase.
    graded = source.label or (source.score if labelled else None)
    if labelled and graded is None:
        require_label(source.columns, source.path)
    columns = [*source.sides, *source.negatives, *([graded] if graded else [])]
    # Numbers are measures, as `score` adds them; nobody expects them to be trained on.
    numbers = {field.name for field in source.rows.schema if is_number(field.type)}
    known = {*columns, *BACK_TRANSLATED.names, *BITEXT.names, *(numbers - {source.score})}
    unused = [name for name in source.columns if name not in known]
    if unused:
        log(f"columns of the pairs that are not used: {', '.join(unused)}", warning=True)
    dropped = unlike = 0
    all_labels: list[NDArray[np.float32]] = []
    counts: list[NDArray[np.int64]] = []
    without_labels: set[bool] = set()
    arrays, given = TokenArrays(scratch), TokenArrays(scratch)
    for start, batch in source.batches(columns, max_pairs=max_pairs, seed=seed):
        labels = _grades(batch, source, start, graded, labelled=labelled)
        if graded and batch.num_rows and not labelled:
            without_labels.add(batch.column(graded).null_count == batch.num_rows)
            if len(without_labels) > 1:
                problem = f"rows with and without {graded}: the blocks before and after row {start + 1} differ"
                raise InputError(problem, path=source.path, remedy="give every pair a label, or none")
        if not labelled:
            unlike += int((labels == 0).sum())
            batch, labels = batch.filter(pa.array(labels == 1)), labels[labels == 1]
        texts = source.texts(batch)
        first, second = map(tokenize, texts)
        kept = np.flatnonzero((first.lengths > 0) & (second.lengths > 0))
        dropped += len(labels) - len(kept)
        arrays.append(TokenIds.joined([first, second]).take(np.stack([kept, kept + len(labels)], 1).ravel()))
        all_labels.append(labels[kept])
        if source.negatives:
            negatives = source.negatives_of(batch)
            counts.append(np.array([len(negatives[place]) for place in kept], np.int64))
            # A text without tokens stays: it is similar to nothing.
            given.append(tokenize([text for place in kept for text in negatives[place]]))
    if True in without_labels:
        log(f"{source.path}: the column {graded} is empty, so every pair counts as a paraphrase", warning=True)
    source.require_positive()
    if not arrays.rows:
        reason = "no usable pairs: every pair has an empty side" if dropped else "the data set has no pairs"
        reason = "no pair is labelled as a paraphrase" if unlike else reason
        raise InputError(reason, path=source.path, remedy="give pairs of sentences in sentence1 and sentence2")
    for warning in tokenizer.backend.take_warnings() if hasattr(tokenizer, "token_ids") else ():
        log(warning, warning=True)
    return EncodedPairs(
        **vars(arrays.finish()),
        labels=np.concatenate(all_labels) if labelled else None,
        dropped=dropped,
        not_paraphrases=unlike,
        negatives=given.finish() if given.rows else None,
        negative_offsets=ends_of(np.concatenate(counts)) if given.rows else None,
    )


def tokenizing(tokenizer: Any) -> Callable[[list[str]], TokenIds]:
    """Return what computes the ids of texts: of a transformer with special tokens, of ours without."""
    if hasattr(tokenizer, "token_ids") and hasattr(tokenizer.model, "transformer"):
        return lambda texts: tokenizer.token_ids(texts)
    backend = getattr(tokenizer, "tokenizer", tokenizer).backend_tokenizer
    lookup = lookup_for(backend)
    return lambda texts: ids_of(backend, texts, lookup)


def _grades(
    batch: pa.RecordBatch, source: PairRows, start: int, column: str | None, *, labelled: bool
) -> NDArray[np.float32]:
    """Return how much of a paraphrase each pair is, 1 without a column of labels or scores."""
    # Pairs without any labels, as the training part of Opusparcus, are all taken for paraphrases.
    if column is None or (not labelled and batch.column(column).null_count == batch.num_rows):
        return np.ones(batch.num_rows, np.float32)
    if column != source.label:
        return source.read_scores(batch, start)
    labels = source.read_labels(batch, start)
    if labels.null_count:
        row = start + labels.is_null().index(True).as_py() + 1
        problem = f"row {row} has no {column}"
        raise InputError(problem, path=source.path, remedy="give it one, 1 for a paraphrase and 0 for another pair")
    return labels.to_numpy(zero_copy_only=False).astype(np.float32)


@dataclass
class PairCollator:
    """Makes a batch of token ids from numbers of pairs, scrambling the words of some pairs.

    Scrambling: with probability `scramble`, drawn once for each pair and epoch, the words of both its sentences are
    put in random order, each independently of the other (section 4.2 of Wieting and Gimpel 2017). The draws depend on
    the seed, the epoch and the pair alone, so neither worker processes nor a resumed run change them.
    """

    pairs: EncodedPairs
    pad_token_id: int | None
    scramble: float = 0.0
    seed: int = 0

    def __call__(self, items: Sequence[Item]) -> dict[str, Any]:
        """Make a batch from the epoch and the number of each pair.

        Returns:
            `input_ids` and `attention_mask` (sentences, length), int64: first all first sentences, then their partners
            in the same order, then the negatives that they were given; `keys` (sentences,), which stay an array; the
            number of `pairs`; and of labelled pairs, `labels` (pairs,).
        """
        pairs = np.array([pair for _, pair in items], np.int64)
        sentences = self.sentences([epoch for epoch, _ in items], pairs)
        ids, mask = sentences.padded(np.arange(len(sentences.keys)), self.pad_token_id)
        batch = {"input_ids": ids, "attention_mask": mask, "keys": sentences.keys, "pairs": len(pairs)}
        if self.pairs.negative_offsets is not None:
            batch["given_negatives"] = self._first_negatives(pairs)
        if self.pairs.labels is not None:
            batch["labels"] = torch.from_numpy(self.pairs.labels[pairs].astype(np.float32))
        return batch

    def _first_negatives(self, pairs: NDArray[np.int64]) -> Tensor:
        """Return the row of the first negative of each pair in its batch (pairs,), or -1."""
        offsets = self.pairs.negative_offsets
        assert offsets is not None
        counts = offsets[pairs + 1] - offsets[pairs]
        return torch.from_numpy(np.where(counts > 0, 2 * len(pairs) + ends_of(counts)[:-1], -1))

    def sentences(self, epochs: Sequence[int], pairs: NDArray[np.int64]) -> Sentences:
        """Look up the sentences of some pairs, scramble the chosen ones, and append given negatives."""
        sentences = self.pairs.take(np.concatenate([2 * pairs, 2 * pairs + 1]))
        if self.scramble > 0:
            sentences.tokens = sentences.tokens[self._order(epochs, pairs, np.diff(sentences.offsets))]
        negatives = self.pairs.negatives_of(pairs)
        if negatives is None:
            return sentences
        ids = TokenIds.joined([sentences.ids, negatives.ids])
        return Sentences(*ids, np.concatenate([sentences.keys, negatives.keys]))

    def _order(self, epochs: Sequence[int], pairs: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Compute the order of the tokens (total,) in which scrambled sentences are permuted and others are not."""
        ends = lengths.cumsum()
        order = np.arange(ends[-1])
        for place, (epoch, pair) in enumerate(zip(epochs, pairs, strict=True)):
            generator = np.random.default_rng([self.seed, epoch, int(pair)])
            if generator.random() >= self.scramble:
                continue
            for row in (place, place + len(pairs)):
                generator.shuffle(order[ends[row] - lengths[row] : ends[row]])
        return order
