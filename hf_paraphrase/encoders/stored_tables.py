"""The tables in weights of other libraries, one row a token: model2vec's and those of a `StaticEmbedding`.

model2vec may share rows between tokens (`mapping`, the row of each token, after its "vocabulary quantization") and
keep a factor of each token separately (`weights`). Here every token gets its own row, times its factor, in float32.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.files import opening
from ..artefacts.weights import TensorEntry, read_header
from ..errors import ModelError
from .vector_table import LARGEST, is_finite

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TABLES = ("embeddings", "embedding.weight")
"""The names of the table in our models and model2vec's, and in those of sentence-transformers."""
_MAPPING, _WEIGHTS = "mapping", "weights"
_AGAIN = "copy the model again"
_REMEDY = "give a model folder with a table of word vectors and its tokenizer.json"
_INTEGERS = ("I8", "I16", "I32", "I64", "U8", "U16", "U32", "U64")
_NUMBERS = ("F16", "BF16", "F32", "F64")


def table_name(path: Path) -> str | None:
    """Finds the name of the table in a file of weights; None if it has none."""
    tensors = read_header(path)
    return next((name for name in TABLES if name in tensors), None)


def read_table(path: Path, name: str, vocabulary: Mapping[str, int]) -> NDArray[np.float32]:
    """Reads the vectors (tokens, columns) of all tokens in float32."""
    from safetensors import safe_open

    tensors = read_header(path)
    tensors_by_name: dict[str, NDArray[Any]] = {}
    for part, axes, dtypes in ((name, 2, (*_NUMBERS, *_INTEGERS)), (_MAPPING, 1, _INTEGERS), (_WEIGHTS, 1, _NUMBERS)):
        if part not in tensors:
            continue
        if len(tensors[part].shape) != axes or tensors[part].dtype not in dtypes:
            raise ModelError(
                f"`{part}` is {tensors[part].dtype} {list(tensors[part].shape)}, which no table has",
                path=path,
                remedy=_AGAIN,
            )
        with opening("the table of word vectors", path, _AGAIN), safe_open(path, framework="numpy") as weights:
            tensors_by_name[part] = _read(weights, path, part, tensors)
    with np.errstate(over="ignore"):
        table = tensors_by_name[name].astype(np.float32, copy=False)
    if _MAPPING in tensors_by_name:
        rows = tensors_by_name[_MAPPING].astype(np.int64)
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(table):
            raise ModelError(f"`{_MAPPING}` names rows that the table does not have", path=path, remedy=_AGAIN)
        table = table[rows]
    if _WEIGHTS in tensors_by_name:
        factors = tensors_by_name[_WEIGHTS].astype(np.float32, copy=False)
        if len(factors) != len(table):
            raise ModelError(
                f"`{_WEIGHTS}` has {len(factors)} factors for {len(table)} tokens", path=path, remedy=_AGAIN
            )
        with np.errstate(over="ignore", invalid="ignore"):
            table = table * factors[:, None]
    highest = max(vocabulary.values(), default=-1)
    if highest >= len(table):
        raise ModelError(
            f"`{name}` has the shape {table.shape}, the tokenizer ids up to {highest}",
            path=path,
            remedy="the tokenizer files belong to another model",
        )
    if not is_finite(table):
        broken = np.flatnonzero(~(np.abs(table) < LARGEST).all(1))
        names = {row: token for token, row in vocabulary.items()}
        raise ModelError(
            f"the vector of `{names.get(int(broken[0]), broken[0])}` is not finite "
            f"({len(broken)} such vector{'s' if len(broken) > 1 else ''})",
            path=path,
            remedy="train or copy the model again",
        )
    return np.ascontiguousarray(table)


def open_tokenizer(folder: Path) -> Tokenizer:
    """Opens the `tokenizer.json` of a folder, without padding and truncation."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError("no tokenizer.json", path=folder, remedy=_REMEDY)
    with opening("damaged tokenizer: it", path, _AGAIN):
        tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def unknown_token(tokenizer: Tokenizer) -> str | None:
    """Returns the name of the unknown token, if the tokenizer has one."""
    if hasattr(tokenizer.model, "unk_token"):
        token: str | None = tokenizer.model.unk_token
        return token
    place = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return None if place is None else tokenizer.id_to_token(int(place))


def _read(weights: Any, path: Path, name: str, tensors: Mapping[str, TensorEntry]) -> NDArray[Any]:
    entry = tensors[name]
    if entry.dtype != "BF16":
        read: NDArray[Any] = weights.get_tensor(name)
        return read
    # NumPy has no such type: its numbers are the upper halves of those of float32.
    halves = np.fromfile(path, "<u2", math.prod(entry.shape), offset=entry.offset)
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(entry.shape)
