"""Word vectors in the text layout of GloVe and word2vec, and the initial embedding matrix from them.

A line has one word and its numbers, separated by spaces or tabs. A first line `COUNT DIMENSION` is optional. Files are
plain, .gz, .bz2 or .xz, and may be larger than memory: they are streamed, and only the requested words are kept.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..data.text_files import numbered_lines
from ..errors import InputError
from ..messages import log

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedTokenizerFast

UNKNOWN_SPREAD = 0.01
"""The standard deviation of the random vectors of missing words."""
UNKNOWN_WORDS = ("UUUNKKK", "<unk>", "[UNK]")
"""The names of the unknown word in published vectors; UUUNKKK is from PARAGRAM."""
_RAREST = 1000
_SIZE = re.compile(r"\d{1,18}")
_FRACTION = re.compile(r"[-+]?\d*\.\d+([eE][-+]?\d+)?")


@dataclass
class WordVectors:
    """Distinct words in the order of a file, and their vectors in `matrix` (words, dimension), float32.

    With `by_token` the words are tokens of the vocabulary.
    """

    words: list[str]
    matrix: NDArray[np.float32]
    source: Path | None = None
    by_token: bool = False
    index: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.index = {word: row for row, word in enumerate(self.words)}


@dataclass
class Coverage:
    """The coverage of a vocabulary without special tokens, and of the training tokens, by vectors."""

    words: int
    with_vector: int
    tokens: int
    tokens_with_vector: int

    def __str__(self) -> str:
        of_tokens = f", {100 * self.tokens_with_vector / self.tokens:.1f} % of the tokens" if self.tokens else ""
        return f"{self.with_vector} of {self.words} words have a vector{of_tokens}"


def read_word_vectors(
    path: str | os.PathLike[str], words: Collection[str] | None = None, *, first: int | None = None
) -> WordVectors:
    """Read the vectors of some words, by default of all; a word may contain spaces.

    The vectors of :data:`UNKNOWN_WORDS` and of the first `first` words of the file are read as well.
    """
    path = Path(path)
    dimension = lines = announced = 0
    rows: dict[str, NDArray[np.float32]] = {}
    for line_number, line in numbered_lines(path):
        line = line.rstrip(" \t").replace("\t", " ")
        fields = line.split(" ")
        if "  " in line:
            fields = [field for field in fields if field]
        if line_number == 1 and is_header(fields):
            announced, dimension = map(int, fields)
            continue
        dimension = dimension or _trailing_numbers(fields)
        word = " ".join(fields[:-dimension])
        lines += 1
        wanted = words is None or word in words or (first is not None and lines <= first) or word in UNKNOWN_WORDS
        vector = _finite_vector(fields[-dimension:]) if wanted else None
        # A word may contain spaces, but a fraction in it means too many numbers.
        if not word or (wanted and vector is None) or any(map(_FRACTION.fullmatch, fields[1:-dimension])):
            message = f"`{line.strip()[:60]}` is not a word and {dimension or 'its'} finite numbers"
            raise InputError(message, path=path, line=line_number, remedy="correct or remove the line")
        if vector is not None:
            rows.setdefault(word, vector)
    if not lines:
        raise InputError("the file has no word vectors", path=path, remedy="give one word and its vector per line")
    if announced not in (0, lines):
        problem = f"the first line announces {announced} vectors, but the file has {lines}; all are read"
        log(f"{path}: {problem}", warning=True)
    matrix = np.stack(list(rows.values())) if rows else np.zeros((0, dimension), np.float32)
    return WordVectors(list(rows), matrix, path)


def is_header(fields: Sequence[str]) -> bool:
    """Return whether the fields of a first line are a number of vectors and a dimension."""
    return len(fields) == 2 and all(map(_SIZE.fullmatch, fields))


def words_of_tokens(tokenizer: PreTrainedTokenizerFast) -> list[str | None]:
    """Return the word of each token of a vocabulary.

    Tokens of a word-level tokenizer are words. A subword token has a word if the tokenizer maps this word to the token
    alone. Tokens from inside a word (`##ing`) have None.
    """
    backend = tokenizer.backend_tokenizer
    tokens: list[str] = tokenizer.convert_ids_to_tokens(range(len(tokenizer)))
    if json.loads(backend.to_str())["model"]["type"] == "WordLevel":
        return list(tokens)
    backend.no_padding()
    backend.no_truncation()
    texts = [backend.decode([token], skip_special_tokens=False).strip() for token in range(len(tokens))]
    encoded = backend.encode_batch_fast(texts, add_special_tokens=False)
    return [text if own.ids == [row] else None for row, (text, own) in enumerate(zip(texts, encoded, strict=True))]


def fill_embeddings(
    embeddings: Tensor, tokenizer: PreTrainedTokenizerFast, vectors: WordVectors, counts: NDArray[np.int64], seed: int
) -> Coverage:
    """Fill the first rows of a model's embeddings (rows, dimension) with the initial vectors of a tokenizer.

    Components of missing words are drawn from N(0, 0.01). The unknown word gets its vector from the file
    (:data:`UNKNOWN_WORDS`), or the mean over the 1,000 words of the vocabulary that are last in the file. The padding
    row is zero. `counts` (vocabulary,) are the counts of ids in the training data.
    """
    import torch

    size, special = len(tokenizer), {tokenizer.pad_token_id, tokenizer.unk_token_id}
    generator = np.random.default_rng(seed)
    matrix = generator.normal(0.0, UNKNOWN_SPREAD, (size, embeddings.shape[1])).astype(np.float32)
    words = tokenizer.convert_ids_to_tokens(range(size)) if vectors.by_token else words_of_tokens(tokenizer)
    sources = {
        row: vectors.index[word]
        for row, word in enumerate(words)
        if row not in special and word is not None and word in vectors.index
    }
    rows = list(sources)
    matrix[rows] = vectors.matrix[list(sources.values())]
    unknown = [vectors.index[name] for name in UNKNOWN_WORDS if name in vectors.index][:1]
    if averaged := unknown or sorted(sources.values())[-_RAREST:]:
        matrix[tokenizer.unk_token_id] = vectors.matrix[averaged].mean(0)
    matrix[tokenizer.pad_token_id] = 0.0
    coverage = Coverage(size - len(special), len(rows), int(counts.sum()), int(counts[rows].sum()))
    if coverage.tokens and not coverage.tokens_with_vector:
        remedy = "give vectors in the same language and casing (see --lower-case)"
        raise InputError("no training word has a vector", path=vectors.source, remedy=remedy)
    with torch.no_grad():
        embeddings[:size].copy_(torch.from_numpy(matrix))
    return coverage


def _trailing_numbers(fields: list[str]) -> int:
    """Count the numbers at the end of a line, without the first field."""
    count = 0
    while count < len(fields) - 1 and _finite_vector([fields[-1 - count]]) is not None:
        count += 1
    return count


def _finite_vector(fields: list[str]) -> NDArray[np.float32] | None:
    try:
        with np.errstate(over="ignore"):
            vector = np.array(fields, np.float32)
    except ValueError:
        return None
    return vector if len(vector) and np.isfinite(vector).all() else None
