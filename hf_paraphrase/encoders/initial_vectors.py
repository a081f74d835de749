"""Reads initial word vectors from a text file or the table of an encoder, or distils them from another encoder."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ..artefacts.hub_models import fetched_folder
from ..data.text_files import numbered_lines
from ..errors import InputError, UsageError
from ..tokenization.ragged_ids import TokenIds, ends_of
from ..training.word_vectors import UNKNOWN_WORDS, WordVectors, is_header, read_word_vectors
from .backends.base import TokenBackend
from .backends.mean_pooler import MeanPooler
from .sentence_encoder import SentenceEncoder

DISTILLED_DIMENSION = 256
"""The default number of components of distilled vectors."""


def read_initial_vectors(
    source: str | os.PathLike[str],
    words: Sequence[str],
    *,
    first: int = 0,
    dimension: int | None = None,
    pieces: Sequence[str] | None = None,
    show_progress_bar: bool = False,
) -> WordVectors:
    """Read or make vectors for words.

    Args:
        source: A file in the text layout of GloVe or word2vec; the folder of an encoder with a table of word vectors
            (ours, model2vec, sentence-transformers' `StaticEmbedding`), or with several tables, as `builtin` has; or
            the folder of another sentence encoder, which is distilled.
        words: The distinct words.
        first: Read the first N words of a source with a table, too.
        dimension: The number of components; for a distilled encoder the number to keep (256 if None).
        pieces: The vocabulary of the new model by id, for :func:`read_table_vectors`.
        show_progress_bar: Show the progress of a sentence encoder on standard error.
    """
    path = fetched_folder(source) or Path(source)
    if not path.exists():
        remedy = "give a file of word vectors, or the folder of a sentence encoder"
        raise InputError("no such file or folder", path=path, remedy=remedy)
    if path.is_dir():
        encoder = SentenceEncoder.from_pretrained(path)
        if not hasattr(encoder.model, "embeddings"):
            return _distilled(encoder, words, dimension or DISTILLED_DIMENSION, show_progress_bar)
        vectors = read_table_vectors(encoder, words, first=first, pieces=pieces)
    else:
        vectors = read_word_vectors(path, set(words), first=first)
    size = vectors.matrix.shape[1]
    if dimension not in (None, size):
        what = f"the initial vectors have {size} components, but {dimension} are requested"
        raise UsageError(what, path=source, remedy="leave --hidden-size or --embedding-size out")
    return vectors


def read_table_vectors(
    encoder: SentenceEncoder, words: Sequence[str], *, first: int = 0, pieces: Sequence[str] | None = None
) -> WordVectors:
    """Read the vectors of words, and of the unknown word (:data:`UNKNOWN_WORDS`), from the table of an encoder.

    A word-level encoder has a vector for each of its words, and its `first` words are read too. With subword pieces or
    several tables, the vector of a word is the sum of its pieces; a word without a known piece has no vector. If
    `pieces`, the vocabulary of the new model by id, equals the vocabulary of the encoder, all tokens are read.
    """
    table: NDArray[np.float32] = encoder.model.embeddings.detach().float().numpy()
    vocabulary, unknown_id, special_ids = encoder.vocabulary()
    names, backend = sorted(vocabulary, key=vocabulary.__getitem__), cast(TokenBackend, encoder.backend)
    same = pieces is not None and {token: row for row, token in enumerate(pieces)} == vocabulary
    is_joined = hasattr(backend.rust_tokenizer, "parts")
    if same:
        kept, matrix = names, table[[vocabulary[token] for token in names]]
    elif is_joined or type(backend.rust_tokenizer.model).__name__ != "WordLevel":
        kept, matrix = _sums_of_pieces(encoder, words, table, unknown_id)
    else:
        own, wanted = [name for name in names if vocabulary[name] not in special_ids], set(words)
        kept = [word for index, word in enumerate(own) if index < first or word in wanted]
        matrix = table[[vocabulary[word] for word in kept]]
    if unknown_id is not None and not is_joined and table[unknown_id].any() and not set(UNKNOWN_WORDS) & set(kept):
        kept, matrix = [*kept, UNKNOWN_WORDS[0]], np.concatenate([matrix, table[[unknown_id]]])
    return WordVectors(kept, matrix, source=encoder.folder, by_token=same)


def _sums_of_pieces(
    encoder: SentenceEncoder, words: Sequence[str], table: NDArray[np.float32], unknown_id: int | None
) -> tuple[list[str], NDArray[np.float32]]:
    """Add the vectors of the tokens of each word, and leave words without known tokens out.

    `part_weights` scales each table once: the sums of the squared lengths of all words get these proportions, and the
    first table stays as it is.
    """
    config = encoder.model.config
    sizes, weights = getattr(config, "vocab_sizes", [len(table)]), getattr(config, "part_weights", None)
    parts = len(sizes)
    ids, offsets = encoder.token_ids(list(words))
    word = np.repeat(np.arange(len(words)), np.diff(offsets))[ids != unknown_id]
    ids = ids[ids != unknown_id]
    bags = word * parts + np.searchsorted(np.cumsum(sizes), ids, side="right")
    counts = np.bincount(bags, minlength=len(words) * parts).reshape(-1, parts, 1)
    token_ids = TokenIds(ids, ends_of(np.bincount(word, minlength=len(words))))
    means = MeanPooler(table, {"vocab_sizes": sizes}).prepared(len(words))(*token_ids)
    sums = means.reshape(len(words), parts, -1) * counts.astype(np.float32)
    if weights is not None:
        lengths = np.sqrt(np.einsum("wpc,wpc->p", sums, sums))
        scales = np.sqrt(weights) / np.where(lengths > 0, lengths, 1.0)
        sums *= (scales / scales[0])[:, None].astype(np.float32)
    matrix = sums.reshape(len(words), -1)
    kept = np.flatnonzero(matrix.any(axis=1))
    return [words[row] for row in kept.tolist()], matrix[kept]


def read_word_list(path: str | os.PathLike[str]) -> list[str]:
    """Read the first field of each line: words, or the words of a file of word vectors or counts."""
    path = Path(path)
    words: dict[str, None] = {}
    for number, line in numbered_lines(path):
        # A word may contain other white space, such as a no-break space.
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if fields and fields[0].strip() and not (number == 1 and is_header(fields)):
            words.setdefault(fields[0])
    if not words:
        raise InputError("the file has no words", path=path, remedy="give a file with one word per line")
    return list(words)


def _distilled(teacher: SentenceEncoder, words: Sequence[str], size: int, show_progress_bar: bool) -> WordVectors:
    """Encode words by a teacher, and project the embeddings on their principal components."""
    # The lengths of word vectors matter.
    layers = getattr(teacher.model, "layers", [])
    if len(layers) and getattr(layers[-1], "kind", None) == "Normalize":
        del layers[-1]
    vectors = teacher.encode(words, show_progress_bar=show_progress_bar)
    max_components = min(vectors.shape)
    if size > max_components:
        kind = "components of the sentence encoder" if max_components == vectors.shape[1] else "words"
        what = f"{max_components} {kind} do not give vectors of {size} components"
        raise InputError(what, remedy=f"give --hidden-size {max_components} or less")
    # As `PCA` of scikit-learn, up to signs.
    centred = vectors - vectors.mean(0, dtype=np.float64)
    return WordVectors(list(words), (centred @ compute_principal_axes(centred, size)).astype(np.float32))


def compute_principal_axes(vectors: NDArray[np.floating], count: int) -> NDArray[np.float64]:
    """Compute the directions (components, count) of the largest sums of squares of vectors (rows, components).

    They are orthonormal, in descending order; the largest entry of each is positive.
    """
    moments = np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(vectors), 1 << 14):
        block = np.asarray(vectors[start : start + (1 << 14)], np.float64)
        moments += block.T @ block
    axes = np.linalg.eigh(moments)[1][:, ::-1][:, :count]
    largest = axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])]
    return axes * np.where(largest < 0, -1.0, 1.0)
