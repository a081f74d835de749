"""Where initial word vectors come from: a text file, a model that is a table, or a sentence encoder to distil."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..artefacts.hub_models import fetched_folder
from ..artefacts.model_loading import check_model_type
from ..artefacts.weights import read_table
from ..data.text_files import numbered_lines
from ..errors import InputError, ModelError, UsageError
from ..models.joined_tokenizers import PARTS_FILE
from ..tokenization.token_ids import TokenIds
from ..training.word_vectors import UNKNOWN_WORDS, WordVectors, is_header, read_word_vectors
from .sentence_encoder import SentenceEncoder
from .static_tables import CONCATENATION, check_ids, find_table, open_tokenizer, unknown_token
from .word_averages import TableAverages

if TYPE_CHECKING:
    from tokenizers import Tokenizer


FILE, SAVED_MODEL, SIDE_BY_SIDE, SENTENCE_ENCODER = (
    "word vectors",
    "saved model",
    "tables side by side",
    "distilled from the sentence encoder",
)
DISTILLED_DIMENSION = 256
"""How many components are kept unless another number is asked for."""
_REMEDY = "give a file of word vectors, or the folder of a sentence encoder"
_WORDS_AT_A_TIME = 10_000


def kind_of_source(source: str | os.PathLike[str]) -> str:
    """Returns whether a path, or `builtin`, is a file, a model with one table or several, or another model."""
    path = fetched_folder(source) or Path(source)
    if path.is_dir():
        if (path / PARTS_FILE).is_file():
            return SIDE_BY_SIDE
        if find_table(path) is not None:
            return SAVED_MODEL
        return SENTENCE_ENCODER
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy=_REMEDY)
    return FILE


def read_initial_vectors(
    source: str | os.PathLike[str],
    words: Sequence[str],
    *,
    first: int | None = None,
    dimension: int | None = None,
    pieces: Sequence[str] | None = None,
    device: str | None = None,
    show_progress_bar: bool = False,
) -> WordVectors:
    """Reads or makes vectors for words.

    Args:
        source: A file in the text layout of GloVe or word2vec; the folder of a model with a table of word vectors
            (ours, model2vec, sentence-transformers' `StaticEmbedding`), or with several side by side, as the built-in
            encoder `builtin` has them; or that of any other sentence encoder, which is then distilled.
        words: The wanted words, each once; the words to distil.
        first: Keep the first N words of the source too. A sentence encoder has none.
        dimension: The number of components wanted; for a sentence encoder, how many to keep (256 if None).
        pieces: As for :func:`read_saved_vectors`.
        device: Where a sentence encoder computes; None for the CPU.
        show_progress_bar: Show the progress of a sentence encoder on standard error.
    """
    kind, path = kind_of_source(source), fetched_folder(source) or Path(source)
    if kind == SENTENCE_ENCODER:
        encoder = SentenceEncoder.from_pretrained(path, device=device)
        # The lengths of the vectors of words count.
        encoder.reading = dataclasses.replace(encoder.reading, normalizes=False)
        vectors = distill_word_vectors(
            encoder, words, dimension=dimension or DISTILLED_DIMENSION, show_progress_bar=show_progress_bar
        )
        vectors.source = Path(source)
        return vectors
    if kind == SIDE_BY_SIDE:
        vectors = read_joined_vectors(path, words)
    elif kind == SAVED_MODEL:
        vectors = read_saved_vectors(path, set(words), first=first or 0, pieces=pieces)
    else:
        vectors = read_word_vectors(path, set(words), first=first)
    size = vectors.matrix.shape[1]
    if dimension not in (None, size):
        raise UsageError(
            f"the initial vectors have {size} components, and {dimension} are asked for",
            path=source,
            remedy="leave --hidden-size or --embedding-size out",
        )
    return vectors


def read_saved_vectors(
    folder: str | os.PathLike[str],
    words: Collection[str],
    *,
    first: int = 0,
    pieces: Sequence[str] | None = None,
) -> WordVectors:
    """Reads the vectors of words from a saved model, with that of its unknown word (:data:`UNKNOWN_WORDS`).

    A word-level model has a vector for each of its words, of which the `first` are kept too. Of one over sub-word
    pieces a word has what it adds to a sentence: the sum of the vectors of its pieces, unknown pieces left out. If
    `pieces`, the vocabulary of the new model by id, is the very vocabulary of the old one, they keep their own
    vectors.
    """
    folder = Path(folder)
    located = find_table(folder)
    if located is None:
        raise ModelError("the model has no table of word vectors", path=folder, remedy=_REMEDY)
    place, name = located
    tokenizer = open_tokenizer(place if (place / "tokenizer.json").is_file() else folder)
    vocabulary = tokenizer.get_vocab()
    table = read_table(place / "model.safetensors", name).rounded()
    check_ids(tokenizer, len(table), place)
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    names = sorted(vocabulary, key=vocabulary.__getitem__)
    unknown = unknown_token(tokenizer)
    same = pieces is not None and {token: row for row, token in enumerate(pieces)} == vocabulary
    if same:
        kept, rows = names, [table[vocabulary[token]] for token in names]
    elif json.loads(tokenizer.to_str())["model"]["type"] == "WordLevel":
        own = [token for token in names if token not in special and token != unknown]
        kept = [word for place_, word in enumerate(own) if place_ < first or word in words]
        rows = [table[vocabulary[word]] for word in kept]
    else:
        kept, rows = _whole_words(tokenizer, sorted(words), table, vocabulary.get(unknown or ""))
    if unknown in vocabulary and not set(UNKNOWN_WORDS) & set(kept):
        kept, rows = [*kept, UNKNOWN_WORDS[0]], [*rows, table[vocabulary[unknown]]]
    matrix = np.stack(rows) if rows else np.zeros((0, table.shape[1]), np.float32)
    return WordVectors(list(kept), matrix, source=folder, by_token=same)


def read_joined_vectors(folder: Path, words: Sequence[str]) -> WordVectors:
    """Reads the vectors of words from an encoder whose tables are side by side, as `join` makes it.

    A word has what it adds to a sentence: of each table the sum of the vectors of its tokens. Where such an encoder
    gives each table its share of the cosine in every sentence, here each table is scaled once: the squares of the
    lengths of all words have these shares, and the first table stays as it is.
    """
    check_model_type(folder, [CONCATENATION], kind="encoder of tables side by side", verb="join")
    encoder = SentenceEncoder.from_pretrained(folder)
    config = encoder.model.config
    table: NDArray[np.float32] = encoder.model.embeddings.detach().float().numpy()
    sizes, weights = config.vocab_sizes, config.part_weights
    parts = len(sizes)
    ids: TokenIds = encoder.token_ids(list(words))
    part = np.searchsorted(np.cumsum(sizes), ids.ids, side="right")
    counts = np.bincount(np.repeat(np.arange(len(words)) * parts, ids.lengths) + part, minlength=len(words) * parts)
    means = TableAverages(table, part_sizes=sizes).prepared(len(words))(*ids)
    sums = means.reshape(len(words), parts, -1) * counts.reshape(len(words), parts, 1).astype(np.float32)
    if weights is not None:
        lengths = np.sqrt(np.einsum("wpc,wpc->p", sums, sums))
        scales = np.sqrt(weights) / np.where(lengths > 0, lengths, 1.0)
        sums *= (scales / scales[0])[:, None].astype(np.float32)
    matrix = sums.reshape(len(words), -1)
    nonzero = np.flatnonzero(matrix.any(axis=1))
    return WordVectors([words[number] for number in nonzero.tolist()], matrix[nonzero], source=folder)


def _whole_words(
    tokenizer: Tokenizer, words: Sequence[str], table: NDArray[np.float32], unknown_id: int | None
) -> tuple[list[str], list[NDArray[np.float32]]]:
    pieces = [
        [token for token in item.ids if token != unknown_id]
        for start in range(0, len(words), _WORDS_AT_A_TIME)
        for item in tokenizer.encode_batch_fast(words[start : start + _WORDS_AT_A_TIME], add_special_tokens=False)
    ]
    known = {word: ids for word, ids in zip(words, pieces, strict=True) if ids}
    return list(known), [table[ids].sum(0) for ids in known.values()]


def read_word_list(path: str | os.PathLike[str]) -> list[str]:
    """Reads words from a file, one a line, or the words of a file of word vectors or counts: what stands first."""
    path = Path(path)
    words: dict[str, None] = {}
    for number, line in numbered_lines(path):
        # As in files of vectors, in which a word may have a no-break space or U+0085 in it.
        fields = [field for field in line.replace("\t", " ").split(" ") if field]
        if fields and fields[0].strip() and not (number == 1 and is_header(fields)):
            words.setdefault(fields[0])
    if not words:
        raise InputError("the file has no words", path=path, remedy="give a file with a word a line")
    return list(words)


def distill_word_vectors(
    teacher: SentenceEncoder,
    words: Sequence[str],
    *,
    dimension: int = DISTILLED_DIMENSION,
    show_progress_bar: bool = False,
) -> WordVectors:
    """Makes vectors of words: each is encoded by the teacher, then projected on the principal components."""
    vectors = teacher.encode(words, show_progress_bar=show_progress_bar)
    most = min(vectors.shape)
    if dimension > most:
        kind = "components of the sentence encoder" if most == vectors.shape[1] else "words"
        raise InputError(
            f"{dimension} components from {most} {kind}", remedy=f"ask for at most {most} (--hidden-size)"
        )
    return WordVectors(list(words), principal_components(vectors, dimension))


def principal_components(vectors: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """Projects centred vectors on the directions of their greatest variance, without whitening.

    It is the full decomposition, in float64 over the covariance: the same as scikit-learn's `PCA` but for signs, which
    are set so that the largest entry of each direction is positive.
    """
    centre = vectors.mean(0, dtype=np.float64)
    covariance = np.zeros((vectors.shape[1], vectors.shape[1]))
    for block in _blocks(vectors):
        centred = block - centre
        covariance += centred.T @ centred
    directions = np.linalg.eigh(covariance)[1][:, ::-1][:, :dimension]
    largest = directions[np.abs(directions).argmax(0), np.arange(dimension)]
    directions = directions * np.where(largest < 0, -1.0, 1.0)
    parts = [((block - centre) @ directions).astype(np.float32) for block in _blocks(vectors)]
    return np.concatenate(parts) if parts else np.zeros((0, dimension), np.float32)


def _blocks(vectors: NDArray[np.float32], size: int = 1 << 14) -> list[NDArray[np.float32]]:
    return [vectors[start : start + size] for start in range(0, len(vectors), size)]
