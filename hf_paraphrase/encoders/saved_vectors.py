"""Word vectors out of a saved model that is a table of them: ours, a model2vec one, or a `StaticEmbedding`.

The table is read straight from `model.safetensors`, so neither of those libraries is needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.model_loading import check_model_type, load_model_folder
from ..errors import ModelError
from ..models.registry import model_class
from ..tokenization.token_ids import TokenIds
from ..training.word_vectors import UNKNOWN_WORDS, WordVectors
from .stored_tables import open_tokenizer, read_table, table_name, unknown_token
from .text_tokens import TextTokens
from .vector_table import CONCATENATION, Reading, open_table
from .word_averages import TableAverages

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_REMEDY = "give a model folder with a table of word vectors and its tokenizer.json"
_PIECES_AT_A_TIME = 10_000


def vector_table(folder: str | os.PathLike[str]) -> tuple[Path, str] | None:
    """Finds the table of word vectors of a model folder.

    Returns:
        The folder with the weights, and the name of the tensor; None if the model has no such table.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError("no such model folder", path=folder, remedy=_REMEDY)
    for place in (folder, *sorted(item for item in folder.glob("0*") if item.is_dir())):
        path = place / "model.safetensors"
        if path.is_file() and (name := table_name(path)) is not None:
            return place, name
    return None


def read_saved_vectors(
    folder: str | os.PathLike[str],
    words: Collection[str],
    *,
    first: int = 0,
    pieces: Sequence[str] | None = None,
) -> WordVectors:
    """Reads the vectors of words from a saved model.

    A word-level model has a vector for each of its words. Of one over sub-word pieces a word has what it adds to a
    sentence: the sum of the vectors of its pieces, unknown pieces left out. If the new model has the very
    vocabulary of the old one, the pieces keep their own vectors.

    Args:
        folder: The model folder.
        words: The wanted words.
        first: Of a word-level model, keep the first N words too: its own vocabulary.
        pieces: The vocabulary of the new model by id, to find out whether it is the same.

    Returns:
        The vectors; the model's vector of the unknown word is among them, as :data:`UNKNOWN_WORDS` has it.
    """
    folder = Path(folder)
    located = vector_table(folder)
    if located is None:
        raise ModelError("the model has no table of word vectors", path=folder, remedy=_REMEDY)
    place, name = located
    tokenizer = open_tokenizer(place if (place / "tokenizer.json").is_file() else folder)
    vocabulary = tokenizer.get_vocab()
    table = read_table(place / "model.safetensors", name, vocabulary)
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
    return WordVectors(list(kept), matrix, len(table), source=folder, by_token=same)


def read_joined_vectors(folder: Path, words: Sequence[str]) -> WordVectors:
    """Reads the vectors of words from an encoder whose tables are side by side, as `join` makes it.

    A word has what it adds to a sentence: of each table the sum of the vectors of its tokens. Where such an encoder
    gives each table its share of the cosine in every sentence, here each table is scaled once: the squares of the
    lengths of all words have these shares, and the first table stays as it is.
    """
    check_model_type(folder, [CONCATENATION], kind="encoder of tables side by side", verb="join")
    table, backend, sizes, weights = _side_by_side(folder)
    parts = len(sizes)
    ids = TokenIds.joined(TextTokens(lambda: backend, Reading()).blocks(list(words)))
    part = np.searchsorted(np.cumsum(sizes), ids.ids, side="right")
    counts = np.bincount(np.repeat(np.arange(len(words)) * parts, ids.lengths) + part, minlength=len(words) * parts)
    means = TableAverages(table, part_sizes=sizes).prepared()(*ids)
    sums = means.reshape(len(words), parts, -1) * counts.reshape(len(words), parts, 1).astype(np.float32)
    if weights is not None:
        lengths = np.sqrt(np.einsum("wpc,wpc->p", sums, sums))
        scales = np.sqrt(weights) / np.where(lengths > 0, lengths, 1.0)
        sums *= (scales / scales[0])[:, None].astype(np.float32)
    matrix = sums.reshape(len(words), -1)
    nonzero = np.flatnonzero(matrix.any(axis=1))
    return WordVectors([words[number] for number in nonzero.tolist()], matrix[nonzero], len(nonzero), source=folder)


def _side_by_side(folder: Path) -> tuple[NDArray[np.float32], Any, list[int], Sequence[float] | None]:
    """Opens an encoder of tables side by side: all rows, what turns texts into ids, sizes and shares of the tables."""
    if (opened := open_table(folder, CONCATENATION)) is not None:
        averages = opened.averages()
        return opened.table, opened.backend, averages.part_sizes, averages.part_weights
    # As one that is stored in half precision.
    loaded, tokenizer = load_model_folder(folder, model_class(CONCATENATION))
    model: Any = loaded
    table: NDArray[np.float32] = model.embeddings.detach().float().numpy()
    return table, tokenizer.backend_tokenizer, model.config.vocab_sizes, model.config.part_weights


def _whole_words(
    tokenizer: Tokenizer, words: Sequence[str], table: NDArray[np.float32], unknown_id: int | None
) -> tuple[list[str], list[NDArray[np.float32]]]:
    kept, rows = [], []
    for start in range(0, len(words), _PIECES_AT_A_TIME):
        block = words[start : start + _PIECES_AT_A_TIME]
        encoded = tokenizer.encode_batch_fast(block, add_special_tokens=False)
        for word, item in zip(block, encoded, strict=True):
            ids = [token for token in item.ids if token != unknown_id]
            if ids:
                kept.append(word)
                rows.append(table[ids].sum(0))
    return kept, rows
