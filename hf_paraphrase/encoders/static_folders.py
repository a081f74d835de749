"""Opens the tables of other libraries as they are: folders of model2vec, and of a `StaticEmbedding`.

Neither library is needed. The embeddings are those that it gives, in float32 whatever the weights are stored in:

* **model2vec** (https://github.com/MinishLab/model2vec): `config.json` of the model type `model2vec`, or of none, and
  `embeddings` in `model.safetensors`. Unknown tokens are left out, and a text of nothing else embeds to zeros. Of a
  text the first `max_length` tokens count, 512 unless the configuration says something else (null: all), and before
  that its first `max_length` times m characters, where m is the median length of a token. With `normalize` in the
  configuration embeddings have the length 1.
* **sentence-transformers**: `modules.json` that names a `StaticEmbedding`, and perhaps a `Normalize` behind it.
  Unknown tokens count like any other. Texts are read whole, unless `tokenizer.json` has a truncation; a default prompt
  stands before each.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..artefacts.files import read_json, read_json_object
from ..errors import ModelError
from .distillation.sentence_transformers_modules import default_prompt, module_folder
from .stored_tables import open_tokenizer, read_table, table_name, unknown_token
from .vector_table import AVERAGE, Reading, VectorTable

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

MODEL2VEC = "model2vec"
"""The model type of its folders."""
_MOST_TOKENS = 512
_MODULES = "modules.json"
_REMEDY = "open it with its own library"


def open_static_folder(folder: Path) -> VectorTable | None:
    """Opens a folder of model2vec or of a `StaticEmbedding`.

    Returns:
        The encoder; None for a folder of another kind.
    """
    if (folder / "config.json").exists():
        config = read_json_object(folder / "config.json", ModelError)
        if config.get("model_type") not in (None, MODEL2VEC):
            return None
        weights = folder / "model.safetensors"
        if weights.is_file() and (name := table_name(weights)) == "embeddings":
            return _model2vec(folder, config, name)
    modules = static_modules(folder)
    return None if modules is None else _static_embedding(folder, modules)


def static_modules(folder: Path) -> list[Any] | None:
    """Reads the modules of a folder of sentence-transformers, if the first of them is a `StaticEmbedding`."""
    path = folder / _MODULES
    modules = read_json(path, ModelError) if path.is_file() else None
    if not (isinstance(modules, list) and modules and all(isinstance(module, dict) for module in modules)):
        return None
    return modules if _kind(modules[0]) == "StaticEmbedding" else None


def _model2vec(folder: Path, config: Mapping[str, Any], name: str) -> VectorTable:
    most = config.get("max_length", _MOST_TOKENS)
    if most is not None and not (type(most) is int and most > 0):
        raise ModelError(f"`max_length` is {str(most)[:40]}", path=folder / "config.json", remedy=_REMEDY)
    table = _opened(folder, folder, name)
    vocabulary = table.backend.get_vocab()
    if len(table.table) != len(vocabulary):
        raise ModelError(
            f"the tokenizer has {len(vocabulary)} tokens, the model {len(table.table)} vectors",
            path=folder,
            remedy="the tokenizer files belong to another model",
        )
    unknown = table.config["unk_token_id"]
    if unknown is not None:
        # What is left out of other texts is all that there is in some, which embed to zeros.
        table.config["skip_unknown"] = True
        table.table[unknown] = 0
    length = int(np.median([len(token) for token in vocabulary]))
    reading = Reading(
        most_tokens=most,
        most_characters=None if most is None else most * length,
        normalizes=bool(config.get("normalize", False)),
    )
    return dataclasses.replace(table, reading=reading)


def _static_embedding(folder: Path, modules: list[Any]) -> VectorTable:
    others = [_kind(module) for module in modules[1:]]
    if set(others) - {"Normalize"}:
        raise ModelError(
            f"modules behind the table that are not known: {', '.join(others)[:80]}",
            path=folder / _MODULES,
            remedy=_REMEDY,
        )
    place = module_folder(folder, modules[0])
    weights = place / "model.safetensors"
    name = table_name(weights) if weights.is_file() else None
    if name is None:
        raise ModelError("the model has no table of vectors (model.safetensors)", path=place, remedy=_REMEDY)
    table = _opened(folder, place, name)
    truncation = read_json_object(place / "tokenizer.json", ModelError).get("truncation") or {}
    reading = Reading(
        prompt=default_prompt(folder),
        most_tokens=truncation.get("max_length"),
        from_end=truncation.get("direction") == "Left",
        normalizes=bool(others),
    )
    return dataclasses.replace(table, reading=reading)


def _opened(folder: Path, place: Path, name: str) -> VectorTable:
    """Opens the table and the tokenizer of one folder."""
    backend = open_tokenizer(place)
    table = read_table(place / "model.safetensors", name, backend.get_vocab())
    return plain_average(table, backend, folder)


def plain_average(table: NDArray[np.float32], backend: Tokenizer, folder: Path) -> VectorTable:
    """Makes the encoder that averages the vectors of all tokens of a text, unknown ones among them.

    Args:
        table: The vectors (tokens, columns).
        backend: The tokenizer, which from now on reads texts without special tokens.
        folder: Where it comes from.
    """
    backend.post_processor = None
    unknown = unknown_token(backend)
    unknown_id = None if unknown is None else backend.token_to_id(unknown)
    config = {
        "vocab_size": len(table),
        "hidden_size": table.shape[1],
        "pad_token_id": None,
        "unk_token_id": unknown_id,
        "skip_unknown": False,
    }
    special = {} if unknown_id is None else {"unk_token": unknown_id}
    return VectorTable(AVERAGE, config, table, backend, folder, special, has_tokenizer=False)


def _kind(module: Mapping[str, Any]) -> str:
    return str(module.get("type")).rpartition(".")[2]
