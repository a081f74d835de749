"""Reads word vectors in the text layout of GloVe and word2vec and makes the initial embedding matrix from them.

One word and its numbers a line, separated by single spaces or tabs, optionally after a line `COUNT DIMENSION`; plain,
.gz, .bz2 or .xz. Such files may be larger than memory: they are streamed and only the wanted words are kept.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ..data.text_files import numbered_lines
from ..errors import InputError
from .word_frequencies import FREQUENCY_CONSTANT as FREQUENCY_CONSTANT
from .word_frequencies import frequency_weight as frequency_weight

UNKNOWN_SPREAD = 0.01
"""The standard deviation of the vectors of words that the file does not have."""
UNKNOWN_WORDS = ("UUUNKKK", "<unk>", "[UNK]")
"""Names under which published vectors keep one for unknown words; UUUNKKK is that of PARAGRAM."""
_RAREST = 1000
_SIZE = re.compile(r"\d{1,18}")
_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?|[-+]?(nan|inf)", re.IGNORECASE)
_FRACTION = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?|[-+]?(nan|inf)", re.IGNORECASE)


def is_header(fields: Sequence[str]) -> bool:
    """Tells whether the fields of a file's first line are the number of its vectors and that of their components."""
    return len(fields) == 2 and all(map(_SIZE.fullmatch, fields))


@dataclass
class WordVectors:
    """Word vectors in memory.

    Attributes:
        words: The words in the order of the file, each once.
        matrix: Their vectors (words, dimension), float32.
        lines: How many vectors the file or model holds.
        repeated: How many lines repeated a word; the first one counts.
        source: Where they come from.
        by_token: Whether `words` are not words but the tokens of the very vocabulary for which they are wanted.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    lines: int = 0
    repeated: int = 0
    source: Path | None = None
    by_token: bool = False
    index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.index = {word: row for row, word in enumerate(self.words)}


@dataclass
class Coverage:
    """How well word vectors cover a vocabulary.

    Attributes:
        words: The size of the vocabulary without special tokens.
        with_vector: How many of them have a vector.
        tokens: The number of tokens counted in the training data.
        tokens_with_vector: How many of those are of a word with a vector.
    """

    words: int
    with_vector: int
    tokens: int
    tokens_with_vector: int

    def __str__(self) -> str:
        of_tokens = f", {100 * self.tokens_with_vector / self.tokens:.1f} % of the tokens" if self.tokens else ""
        return f"{self.with_vector} of {self.words} words have a vector{of_tokens}"


def read_word_vectors(
    path: str | os.PathLike[str],
    words: Collection[str] | None = None,
    *,
    first: int | None = None,
) -> WordVectors:
    """Reads the vectors of the wanted words.

    A word may contain spaces: the last numbers of a line are the vector, what stands before them is the word. Every
    line must have enough fields; the numbers of words that are not wanted are not looked at.

    Args:
        path: The file.
        words: The wanted words; None for all. The unknown-word vector (:data:`UNKNOWN_WORDS`) is always kept.
        first: Keep the first so many words of the file too, whether they are wanted or not: such files begin with the
            most frequent words.

    Raises:
        InputError: With file and line, for a missing, empty or damaged file, one that is not UTF-8, a line with too
            few or too many numbers, something that is not a finite number, and a header that names another number of
            vectors or components than the file has.
    """
    path = Path(path)
    dimension = 0
    kept: list[str] = []
    rows: list[NDArray[np.float32]] = []
    seen: set[str] = set()
    lines = repeated = number = 0
    promised: int | None = None
    for number, line in numbered_lines(path):
        fields = line.rstrip(" \t").replace("\t", " ").split(" ")
        if number == 1 and is_header(fields):
            promised, dimension = int(fields[0]), int(fields[1])
            continue
        if promised is not None and not lines and (found := _dimension(fields, path, number)) != dimension:
            raise InputError(
                f"{found} numbers where the first line promises {dimension}",
                path=path,
                line=number,
                remedy="correct the first line, or remove it",
            )
        if not dimension:
            dimension = _dimension(fields, path, number)
        word = _word(fields, dimension, path, number)
        lines += 1
        wanted = words is None or word in words or (first is not None and lines <= first) or word in UNKNOWN_WORDS
        if not wanted:
            continue
        if word in seen:
            repeated += 1
            continue
        seen.add(word)
        kept.append(word)
        rows.append(_vector(fields[-dimension:], path, number))
    if not lines:
        raise InputError("the file holds no word vectors", path=path)
    if promised is not None and promised != lines:
        raise InputError(
            f"the first line promises {promised} vectors, the file has {lines}",
            path=path,
            line=number,
            remedy="fetch the file again if it was cut off; otherwise correct the first line, or remove it",
        )
    matrix = np.stack(rows) if rows else np.zeros((0, dimension), np.float32)
    return WordVectors(kept, matrix, lines, repeated, path)


def initial_embeddings(
    vocabulary: Sequence[str],
    vectors: WordVectors | None,
    *,
    dimension: int,
    pad_id: int,
    unknown_id: int,
    counts: NDArray[np.int64],
    frequency_weights: bool = False,
    seed: int = 0,
    weight_counts: NDArray[np.int64] | NDArray[np.float64] | None = None,
    constant: float = FREQUENCY_CONSTANT,
    texts: Sequence[str | None] | None = None,
) -> tuple[NDArray[np.float32], Coverage]:
    """Makes the initial embedding matrix of a vocabulary.

    A word with a vector gets it. A word without one gets N(0, 0.01) in each component, so that a word about which
    nothing is known adds next to nothing to the mean of a sentence, yet can be trained. The unknown word gets the
    file's own vector for it if there is one (:data:`UNKNOWN_WORDS`), otherwise the mean over the 1,000 words of the
    vocabulary that come last in the file, which are its rarest: an unknown word is most like those. The padding row is
    zero.

    With `frequency_weights` each row is multiplied by a / (a + p), where p is the share of the word among the tokens
    of the training data, or of `weight_counts` (Arora, Liang and Ma 2017, equation 3), and 0 for words that do not
    occur there.

    Args:
        vocabulary: The words by id, special tokens included.
        vectors: What was read from a file; None starts all words at random.
        dimension: The number of components.
        pad_id: The row of the padding token.
        unknown_id: The row of the unknown word.
        counts: How often each id occurs in the training data (vocabulary,).
        frequency_weights: Whether to weight the rows.
        seed: Seed of the random vectors.
        weight_counts: Counts (vocabulary,) for the weights, where they are others than `counts`.
        constant: The a of the weights.
        texts: The word that each id stands for, under which its vector is sought, or None for an id that stands for no
            word (vocabulary,); by default `vocabulary`. Pieces of a sub-word tokenizer carry marks (`▁house`).

    Returns:
        The matrix (vocabulary, dimension), float32, and the coverage.
    """
    generator = np.random.default_rng(seed)
    matrix = generator.normal(0.0, UNKNOWN_SPREAD, (len(vocabulary), dimension)).astype(np.float32)
    covered = np.zeros(len(vocabulary), bool)
    if vectors is not None:
        names = vocabulary if texts is None else texts
        places = [(row, vectors.index[word]) for row, word in enumerate(names) if word in vectors.index]
        places = [(row, place) for row, place in places if row not in (pad_id, unknown_id)]
        for row, place in places:
            matrix[row] = vectors.matrix[place]
            covered[row] = True
        own = [vectors.index[name] for name in UNKNOWN_WORDS if name in vectors.index]
        if own:
            matrix[unknown_id] = vectors.matrix[own[0]]
        elif places:
            rarest = sorted(place for _, place in places)[-_RAREST:]
            matrix[unknown_id] = vectors.matrix[rarest].mean(0)
    total = int(counts.sum())
    weighting = counts if weight_counts is None else weight_counts
    if frequency_weights and weighting.sum():
        matrix *= frequency_weight(weighting / weighting.sum(), constant)[:, None].astype(np.float32)
    matrix[pad_id] = 0.0
    words = len(vocabulary) - len({pad_id, unknown_id})
    return matrix, Coverage(words, int(covered.sum()), total, int(counts[covered].sum()))


def _dimension(fields: list[str], path: Path, line: int) -> int:
    count = 0
    for item in reversed(fields[1:]):
        if _NUMBER.fullmatch(item) is None:
            break
        count += 1
    if not count:
        raise InputError(
            "not a word followed by numbers",
            path=path,
            line=line,
            remedy="give vectors in the GloVe or word2vec layout",
        )
    return count


def _word(fields: list[str], dimension: int, path: Path, line: int) -> str:
    numbers = len(fields) - 1
    # A word of several parts is legitimate, but a fraction among the parts means a number too many.
    if numbers < dimension or any(_FRACTION.fullmatch(item) for item in fields[1:-dimension]):
        raise InputError(
            f"{numbers} numbers where {dimension} are expected",
            path=path,
            line=line,
            remedy="mend or remove the line",
        )
    return " ".join(fields[:-dimension])


def _vector(fields: list[str], path: Path, line: int) -> NDArray[np.float32]:
    try:
        with np.errstate(over="ignore"):
            vector = np.array(fields, np.float32)
    except ValueError:
        wrong = next(item for item in fields if _NUMBER.fullmatch(item) is None)
        raise InputError(
            f"`{wrong}` is not a number", path=path, line=line, remedy="mend or remove the line"
        ) from None
    if not np.isfinite(vector).all():
        wrong = fields[int(np.flatnonzero(~np.isfinite(vector))[0])]
        raise InputError(f"`{wrong}` is not finite", path=path, line=line, remedy="mend or remove the line")
    return vector
