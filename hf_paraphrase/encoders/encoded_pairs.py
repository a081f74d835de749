"""Pairs as token ids: tokenized once before training, written to files, and made into batches."""

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

from ..data.pair_rows import PairRows, PairSource, require_label
from ..data.schema import BACK_TRANSLATED, BITEXT, is_number
from ..errors import InputError, OutputError
from ..messages import log
from ..text.hashing import hash64
from ..tokenization.fast_tokenize import ids_of, lookup_for
from ..tokenization.ragged_ids import TokenIds, ends_of, ranges
from ..training.batches import Item

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

    from .sentence_encoder import SentenceEncoder


@dataclass
class Sentences:
    """Concatenated token ids of sentences, and a hash of each text before scrambling, `keys` (sentences,)."""

    tokens: NDArray[np.integer]
    offsets: NDArray[np.int64]
    keys: NDArray[np.int64]

    @property
    def ids(self) -> TokenIds:
        """The token ids without the keys."""
        return TokenIds(self.tokens, self.offsets)  # type: ignore[arg-type]

    def padded(self, rows: NDArray[np.int64], pad_token_id: int | None) -> tuple[Tensor, Tensor]:
        """Pad some of the sentences (rows,) on the right: `input_ids` and `attention_mask`, int64.

        Without a `pad_token_id` a token of the batch is used, so that only its row of a table gets a gradient.
        """
        if pad_token_id is None:
            first = self.ids.of_texts(rows[:1])
            pad_token_id = int(first[0]) if len(first) else 0
        ids, mask = self.ids.padded(rows, pad_token_id)
        return torch.from_numpy(ids), torch.from_numpy(mask.astype(np.int64))

    def take(self, rows: NDArray[np.int64]) -> Sentences:
        """Return some of the sentences in the order of `rows` (rows,)."""
        return Sentences(*self.ids.take(rows), self.keys[rows])


class GrowingArray:
    """An append-only array in an unnamed temporary file, which is deleted when the process ends."""

    def __init__(self, dtype: type[np.generic], scratch: str | os.PathLike[str] | None, what: str) -> None:
        self._dtype, self._what = dtype, what
        self._folder = Path(scratch or tempfile.gettempdir())
        with self._writing():
            self._file = tempfile.TemporaryFile(dir=scratch)  # noqa: SIM115

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise OutputError(f"cannot write {self._what}: {error.strerror or error}", path=self._folder) from error

    def append(self, values: NDArray[Any] | bytes) -> None:
        """Add values."""
        with self._writing():
            self._file.write(values if isinstance(values, bytes) else values.astype(self._dtype).tobytes())

    def map(self) -> NDArray[Any]:
        """Map all values; the map keeps the file alive."""
        with self._writing():
            self._file.flush()
        # An empty file cannot be mapped.
        return np.asarray(np.memmap(self._file, self._dtype, "r") if self._file.tell() else np.empty(0, self._dtype))


class TokenArrays:
    """Sentences in temporary files."""

    def __init__(self, scratch: str | os.PathLike[str] | None) -> None:
        self.num_sentences = 0
        dtypes: tuple[type[np.generic], ...] = (np.int32, np.int64, np.int64)
        self._tokens, self._lengths, self._keys = (GrowingArray(dtype, scratch, "the token ids") for dtype in dtypes)

    def append(self, ids: TokenIds) -> None:
        """Add sentences."""
        self._tokens.append(ids.ids)
        self._lengths.append(ids.lengths)
        self._keys.append(hash_token_ids(ids))
        self.num_sentences += len(ids.lengths)

    def finish(self) -> Sentences:
        """Map the files."""
        return Sentences(self._tokens.map(), ends_of(self._lengths.map()), self._keys.map())


def hash_token_ids(ids: TokenIds) -> NDArray[np.int64]:
    """Compute a 64-bit hash of each token sequence (texts,).

    Texts with equal hashes are never negatives of each other. The probability that any two of a hundred million
    different texts have the same hash is about 1/4000.
    """
    tokens, ends = memoryview(ids.ids.astype(np.int32).tobytes()), (4 * ids.offsets).tolist()
    return hash64(tokens[start:end] for start, end in pairwise(ends)).view(np.int64)


@dataclass
class EncodedPairs(Sentences):
    """Token ids of paraphrase pairs: rows 2 * i and 2 * i + 1 are the sentences of pair i.

    Attributes:
        labels: The degree of paraphrase of each pair, from 0 to 1 (pairs,), float32; None for pairs without labels.
        dropped: The number of pairs left out because a sentence had no tokens.
        not_paraphrases: The number of pairs left out because of their label.
        negatives: The hard negatives that the data give for first sentences, pair by pair; None without any.
        negative_offsets: The start of the negatives of each pair, and the end (pairs + 1,), int64.
    """

    labels: NDArray[np.floating] | None = None
    dropped: int = 0
    not_paraphrases: int = 0
    negatives: Sentences | None = None
    negative_offsets: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.keys) // 2

    def negatives_of(self, pairs: NDArray[np.int64]) -> Sentences | None:
        """Return the negatives that the data give for some pairs (pairs,), in their order; None if there are none."""
        if self.negatives is None or self.negative_offsets is None:
            return None
        starts, ends = self.negative_offsets[pairs], self.negative_offsets[pairs + 1]
        return self.negatives.take(ranges(starts, ends - starts))

    def counts(self, vocab_size: int) -> NDArray[np.int64]:
        """Count how often each id occurs (vocabulary,)."""
        return self.ids.counts(vocab_size)


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
    """Tokenize pairs, and leave out pairs in which a sentence has no tokens.

    The pairs are streamed, and their ids go to temporary files in the folder `scratch` (None for the folder of the
    system), so that memory holds one block of rows. A fast tokenizer adds no special tokens; an encoder adds its own.
    `labelled` keeps the labels, or else the scores. Otherwise pairs labelled as no paraphrases are left out.
    `positive_label` is the label of paraphrases, if it is unusual.
    """
    tokenize = make_tokenize_function(tokenizer)
    source = PairRows(pairs, split, positive_label=positive_label)
    # A score does not say whether a pair is a paraphrase.
    graded = source.label or (source.score if labelled else None)
    if labelled and graded is None:
        require_label(source.columns, source.path)
    columns = [*source.sides, *source.negatives, *([graded] if graded else [])]
    # Numeric columns are measures, such as the command `score` adds.
    numeric = {field.name for field in source.rows.schema if is_number(field.type)}
    expected = {*columns, *BACK_TRANSLATED.names, *BITEXT.names, *(numeric - {source.score})}
    if unused := [name for name in source.columns if name not in expected]:
        log(f"columns of the pairs that are not used: {', '.join(unused)}", warning=True)
        if graded is None and source.score in unused:
            what = f"all pairs count as paraphrases, whatever their {source.score}"
            log(f"{what}: --loss labelled or cosent learns from scores", warning=True)
    dropped = unlike = 0
    all_labels: list[NDArray[np.float32]] = []
    counts: list[NDArray[np.int64]] = []
    arrays, given = TokenArrays(scratch), TokenArrays(scratch)
    for start, batch in source.batches(columns, max_pairs=max_pairs, seed=seed):
        labels = _read_grades(batch, source, start, graded, labelled=labelled)
        if not labelled:
            unlike += int((labels == 0).sum())
            batch, labels = batch.filter(pa.array(labels == 1)), labels[labels == 1]
        first, second = map(tokenize, source.texts(batch))
        kept = np.flatnonzero((first.lengths > 0) & (second.lengths > 0))
        dropped += len(labels) - len(kept)
        arrays.append(TokenIds.joined([first, second]).take(np.stack([kept, kept + len(labels)], 1).ravel()))
        all_labels.append(labels[kept])
        if source.negatives:
            negatives = source.negatives_of(batch)
            counts.append(np.array([len(negatives[row]) for row in kept], np.int64))
            # A negative without tokens stays: its cosine with any text is 0.
            given.append(tokenize([text for row in kept for text in negatives[row]]))
    source.labels.finish(complete=True)
    if not arrays.num_sentences:
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
        negatives=given.finish() if given.num_sentences else None,
        negative_offsets=ends_of(np.concatenate(counts)) if given.num_sentences else None,
    )


def make_tokenize_function(tokenizer: Any) -> Callable[[list[str]], TokenIds]:
    """Return the function that computes token ids, with special tokens for a transformer only."""
    if hasattr(tokenizer, "token_ids") and hasattr(tokenizer.model, "transformer"):
        return lambda texts: tokenizer.token_ids(texts)
    backend = getattr(tokenizer, "tokenizer", tokenizer).backend_tokenizer
    lookup = lookup_for(backend)
    return lambda texts: ids_of(backend, texts, lookup)


def _read_grades(
    batch: pa.RecordBatch, source: PairRows, start: int, column: str | None, *, labelled: bool
) -> NDArray[np.float32]:
    """Read the degree of paraphrase of each pair, which is 1 without a column of labels or scores."""
    if column is not None and column != source.label:
        return source.read_scores(batch, start)
    labels = None if column is None else source.labels.read(batch[column], start)
    # An empty column, as in the training part of Opusparcus, counts as no column.
    if labels is None or (not labelled and batch[column].null_count == batch.num_rows):
        return np.ones(batch.num_rows, np.float32)
    if labels.null_count:
        row = start + labels.is_null().index(True).as_py() + 1
        problem = f"row {row} has no {column}"
        raise InputError(problem, path=source.path, remedy="give it 1 for a paraphrase and 0 for another pair")
    return labels.to_numpy(zero_copy_only=False).astype(np.float32)


@dataclass
class PairCollator:
    """Makes batches of token ids, and scrambles the words of some pairs.

    With probability `scramble`, drawn once per pair and epoch, the words of both sentences of a pair are put in random
    order, independently (section 4.2 of Wieting and Gimpel 2017). The draws depend on the seed, the epoch and the pair
    alone, so worker processes and resumed runs do not change them.
    """

    pairs: EncodedPairs
    pad_token_id: int | None
    scramble: float = 0.0
    seed: int = 0

    def __call__(self, items: Sequence[Item]) -> dict[str, Any]:
        """Make a batch from the epoch and the index of each pair.

        Returns:
            `input_ids` and `attention_mask` (sentences, length), int64: the first sentences, then their partners in
            the same order, then the negatives in the data; `keys` (sentences,), an array; the number of `pairs`; and
            `labels` (pairs,) of labelled pairs.
        """
        pairs = np.array([pair for _, pair in items], np.int64)
        sentences = self.sentences([epoch for epoch, _ in items], pairs)
        ids, mask = sentences.padded(np.arange(len(sentences.keys)), self.pad_token_id)
        batch = {"input_ids": ids, "attention_mask": mask, "keys": sentences.keys, "pairs": len(pairs)}
        if (offsets := self.pairs.negative_offsets) is not None:
            counts = offsets[pairs + 1] - offsets[pairs]
            # The row of the first negative of each pair, or -1.
            first_rows = np.where(counts > 0, 2 * len(pairs) + ends_of(counts)[:-1], -1)
            batch["given_negatives"] = torch.from_numpy(first_rows)
        if self.pairs.labels is not None:
            batch["labels"] = torch.from_numpy(self.pairs.labels[pairs].astype(np.float32))
        return batch

    def sentences(self, epochs: Sequence[int], pairs: NDArray[np.int64]) -> Sentences:
        """Look up the sentences of some pairs, scramble some of them, and append the negatives in the data."""
        sentences = self.pairs.take(np.concatenate([2 * pairs, 2 * pairs + 1]))
        if self.scramble > 0:
            sentences.tokens = sentences.tokens[self._order(epochs, pairs, np.diff(sentences.offsets))]
        negatives = self.pairs.negatives_of(pairs)
        if negatives is None:
            return sentences
        ids = TokenIds.joined([sentences.ids, negatives.ids])
        return Sentences(*ids, np.concatenate([sentences.keys, negatives.keys]))

    def _order(self, epochs: Sequence[int], pairs: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
        """Compute an order of the tokens (total,) that permutes the tokens of scrambled sentences."""
        ends = lengths.cumsum()
        order = np.arange(ends[-1])
        for first, (epoch, pair) in enumerate(zip(epochs, pairs, strict=True)):
            generator = np.random.default_rng([self.seed, epoch, int(pair)])
            if generator.random() >= self.scramble:
                continue
            for row in (first, first + len(pairs)):
                generator.shuffle(order[ends[row] - lengths[row] : ends[row]])
        return order
