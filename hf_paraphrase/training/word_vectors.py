"""Word vectors in the text layout of GloVe and word2vec, and the initial embedding matrix from them.

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

UNKNOWN_SPREAD = 0.01
"""The standard deviation of the vectors of words that the file does not have."""
UNKNOWN_WORDS = ("UUUNKKK", "<unk>", "[UNK]")
"""Names under which published vectors keep one for unknown words; UUUNKKK is that of PARAGRAM."""
_RAREST = 1000
_SIZE = re.compile(r"\d{1,18}")
_FRACTION = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")


@dataclass
class WordVectors:
    """Words in the order of a file, each once, and their vectors in `matrix` (words, dimension), float32.

    `lines` counts the vectors of the `source`. With `by_token` words are the tokens of the vocabulary that wants them.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    lines: int = 0
    source: Path | None = None
    by_token: bool = False
    index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.index = {word: row for row, word in enumerate(self.words)}


@dataclass
class Coverage:
    """How many words of a vocabulary, special tokens aside, have a vector, and how many tokens of training data do."""

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
    """Reads the vectors of the wanted words, by default of all; a word may contain spaces.

    The vector of unknown words (:data:`UNKNOWN_WORDS`) is always kept, and those of the `first` so many words.
    """
    path = Path(path)
    dimension = lines = 0
    rows: dict[str, NDArray[np.float32]] = {}
    for number, line in numbered_lines(path):
        fields = line.rstrip(" \t").replace("\t", " ").split(" ")
        if number == 1 and is_header(fields):
            dimension = int(fields[1])
            continue
        dimension = dimension or _trailing_numbers(fields)
        word = " ".join(fields[:-dimension])
        lines += 1
        wanted = words is None or word in words or (first is not None and lines <= first) or word in UNKNOWN_WORDS
        vector = _finite_vector(fields[-dimension:]) if wanted else None
        # A word of several parts is legitimate, but a fraction among the parts means a number too many.
        if not word or (wanted and vector is None) or any(map(_FRACTION.fullmatch, fields[1:-dimension])):
            message = f"`{line.strip()[:60]}` is not a word and {dimension or 'its'} finite numbers"
            raise InputError(message, path=path, line=number, remedy="correct or remove the line")
        if vector is not None:
            rows.setdefault(word, vector)
    if not lines:
        raise InputError("the file has no word vectors", path=path)
    matrix = np.stack(list(rows.values())) if rows else np.zeros((0, dimension), np.float32)
    return WordVectors(list(rows), matrix, lines, path)


def is_header(fields: Sequence[str]) -> bool:
    """Returns whether the fields of a file's first line are the number of vectors and that of their components."""
    return len(fields) == 2 and all(map(_SIZE.fullmatch, fields))


def initial_embeddings(
    vocabulary: Sequence[str],
    vectors: WordVectors | None,
    *,
    dimension: int,
    pad_id: int,
    unknown_id: int,
    counts: NDArray[np.int64],
    seed: int = 0,
    texts: Sequence[str | None] | None = None,
) -> tuple[NDArray[np.float32], Coverage]:
    """Makes the initial embedding matrix of a vocabulary.

    A word without a vector gets N(0, 0.01) in each component. The unknown word gets the file's own vector for it if
    there is one (:data:`UNKNOWN_WORDS`), otherwise the mean over the 1,000 words of the vocabulary that come last in
    the file, its rarest. The padding row is zero.

    Vectors are looked up by `texts`, the word that each id stands for (None for no word), and `counts`
    are those of the ids in the training data (vocabulary,).

    Returns:
        The matrix (vocabulary, dimension), float32, and the coverage.
    """
    generator = np.random.default_rng(seed)
    matrix = generator.normal(0.0, UNKNOWN_SPREAD, (len(vocabulary), dimension)).astype(np.float32)
    covered = np.zeros(len(vocabulary), bool)
    special = {pad_id, unknown_id}
    if vectors is not None:
        names = vocabulary if texts is None else texts
        sources = {
            row: vectors.index[word]
            for row, word in enumerate(names)
            if row not in special and word is not None and word in vectors.index
        }
        rows = list(sources)
        matrix[rows] = vectors.matrix[list(sources.values())]
        covered[rows] = True
        unknown = [vectors.index[name] for name in UNKNOWN_WORDS if name in vectors.index][:1]
        if averaged := unknown or sorted(sources.values())[-_RAREST:]:
            matrix[unknown_id] = vectors.matrix[averaged].mean(0)
    matrix[pad_id] = 0.0
    words = len(vocabulary) - len(special)
    return matrix, Coverage(words, int(covered.sum()), int(counts.sum()), int(counts[covered].sum()))


def _trailing_numbers(fields: list[str]) -> int:
    """Counts the numbers at the end of a line, of which the first field is none."""
    numbers = 0
    while numbers < len(fields) - 1 and _finite_vector([fields[-1 - numbers]]) is not None:
        numbers += 1
    return numbers


def _finite_vector(fields: list[str]) -> NDArray[np.float32] | None:
    try:
        with np.errstate(over="ignore"):
            vector = np.array(fields, np.float32)
    except ValueError:
        return None
    return vector if len(vector) and np.isfinite(vector).all() else None
