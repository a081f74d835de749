"""Word vectors out of a saved model that is a table of them: ours, a model2vec one, or a `StaticEmbedding`.

The table is read straight from `model.safetensors`, so neither of those libraries is needed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..artefacts.foreign_models import check_model_folder, opening
from ..errors import ModelError
from ..training.word_vectors import UNKNOWN_WORDS, WordVectors

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_TABLES = ("embeddings", "embedding.weight")
"""The names of the table in our models and model2vec's, and in those of sentence-transformers."""
_REMEDY = "give a model folder with a table of word vectors and its tokenizer.json"
_PIECES_AT_A_TIME = 10_000


def vector_table(folder: str | os.PathLike[str]) -> tuple[Path, str] | None:
    """Finds the table of word vectors of a model folder.

    Args:
        folder: The folder; `modules.json` of sentence-transformers may point to one below it.

    Returns:
        The folder with the weights, and the name of the tensor; None if the model has no such table.

    Raises:
        ModelError: If the folder is missing or its files are damaged.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise ModelError("no such model folder", path=folder, remedy=_REMEDY)
    check_model_folder(folder, ours=False)
    from safetensors import SafetensorError, safe_open

    for place in (folder, *sorted(item for item in folder.glob("0*") if item.is_dir())):
        path = place / "model.safetensors"
        if not path.is_file():
            continue
        try:
            with safe_open(path, framework="pt") as weights:
                names = set(weights.keys())
        except (SafetensorError, OSError) as error:
            raise ModelError(f"damaged weights: {error}", path=path, remedy="copy the model again") from error
        for name in _TABLES:
            if name in names:
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

    A word-level model has a vector for each of its words. One over sub-word pieces embeds a word as it would embed a
    sentence of that word alone: as the mean over its pieces, unknown pieces left out. If the new model has the very
    vocabulary of the old one, the pieces keep their own vectors.

    Args:
        folder: The model folder.
        words: The wanted words.
        first: Of a word-level model, keep the first so many words too: its own vocabulary.
        pieces: The vocabulary of the new model by id, to find out whether it is the same.

    Returns:
        The vectors; the model's vector of the unknown word is among them, as :data:`UNKNOWN_WORDS` has it.

    Raises:
        ModelError: If the folder is missing, damaged, has no table of vectors, or a vector is not finite.
    """
    folder = Path(folder)
    found = vector_table(folder)
    if found is None:
        raise ModelError("the model has no table of word vectors", path=folder, remedy=_REMEDY)
    place, name = found
    tokenizer = _tokenizer(place if (place / "tokenizer.json").is_file() else folder)
    vocabulary = tokenizer.get_vocab()
    table = _table(place / "model.safetensors", name, vocabulary)
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    names = sorted(vocabulary, key=vocabulary.__getitem__)
    unknown = _unknown(tokenizer)
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
                rows.append(table[ids].mean(0))
    return kept, rows


def _table(path: Path, name: str, vocabulary: dict[str, int]) -> NDArray[np.float32]:
    from safetensors.torch import load_file

    with opening("the table of word vectors", path, "copy the model again"):
        tensors = load_file(path)
        table: NDArray[np.float32] = tensors[name].float().numpy()
        # model2vec may share rows between tokens and keep the weights of tokens apart.
        if "mapping" in tensors:
            table = table[tensors["mapping"].numpy()]
        if "weights" in tensors:
            table = table * tensors["weights"].float().numpy()[:, None]
    highest = max(vocabulary.values(), default=-1)
    if table.ndim != 2 or highest >= len(table):
        raise ModelError(
            f"`{name}` has the shape {table.shape}, the tokenizer ids up to {highest}",
            path=path,
            remedy="the tokenizer files belong to another model",
        )
    broken = np.flatnonzero(~np.isfinite(table).all(1))
    if len(broken):
        names = {row: token for token, row in vocabulary.items()}
        raise ModelError(
            f"the vector of `{names.get(int(broken[0]), broken[0])}` is not finite "
            f"({len(broken)} such vector{'s' if len(broken) > 1 else ''})",
            path=path,
            remedy="train or copy the model again",
        )
    return table


def _tokenizer(folder: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError("no tokenizer.json", path=folder, remedy=_REMEDY)
    with opening("damaged tokenizer: it", path, "copy the model again"):
        tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _unknown(tokenizer: Tokenizer) -> str | None:
    model = json.loads(tokenizer.to_str())["model"]
    if model.get("unk_token") is not None:
        return str(model["unk_token"])
    place = model.get("unk_id")
    return None if place is None else tokenizer.id_to_token(int(place))
