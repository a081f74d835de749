"""Encoders that are a table of token vectors, opened with NumPy, `tokenizers` and `safetensors` alone.

:func:`read_static` opens them all, in float32 whatever they are stored in. PyTorch and transformers, which take
seconds to import, are not needed, and neither are the libraries that made the folders, whose embeddings are given:

* **ours**: an average (`avg`), or several side by side (`concatenation`), stored in floats or as int8.
* **model2vec** (https://github.com/MinishLab/model2vec): unknown tokens are left out, and a text of nothing else
  embeds to zeros. Of a text the first `max_length` tokens are read, 512 unless `config.json` says something else
  (null: all), and before that its first `max_length` times m characters, where m is the median length of a token.
* **sentence-transformers**: `modules.json` names a `StaticEmbedding`, and perhaps a `Normalize` after it. Unknown
  tokens count like any other. Texts are read whole, unless `tokenizer.json` has a truncation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...artefacts.files import opening, read_json, read_json_object
from ...artefacts.weights import DTYPE_KEY, INT8, TABLE, StoredMatrix, read_headers, read_table
from ...errors import ModelError
from .batch_tokenizer import InputProcessing
from .mean_pooler import MeanPooler, averages_of
from .sentence_transformers_files import MODULES_FILE, module_folder, module_kind, optional_json

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

AVERAGE, CONCATENATION, MODEL2VEC = "avg", "concatenation", "model2vec"
"""The model types that are a table."""
_SPECIAL_TOKENS = ("pad_token", "unk_token", "bos_token", "eos_token", "sep_token", "cls_token", "mask_token")
_TOKENS_OF_MODEL2VEC = 512
_WEIGHTS = "model.safetensors"
_AGAIN = "copy the model again"


@dataclass
class StaticTable:
    """An averaging encoder, of type `avg` or `concatenation`, with what the configuration of its model takes.

    `vectors` are those of all tokens (vocabulary, columns), `backend` is what turns texts into ids, `special_ids` are
    those of special tokens by their names, as `unk_token`. `has_tokenizer`: transformers opens that of the folder.
    """

    model_type: str
    config: dict[str, Any]
    vectors: StoredMatrix
    backend: Any
    folder: Path
    special_ids: dict[str, int]
    has_tokenizer: bool = True
    reading: InputProcessing = field(default_factory=InputProcessing)

    @property
    def hidden_size(self) -> int:
        """The number of components of an embedding."""
        return int(self.vectors.values.shape[1]) * max(1, len(self.config.get("vocab_sizes") or ()))

    def averages(self, size: int) -> MeanPooler:
        """Returns what computes the first `size` components of the embeddings, or more of them."""
        vectors = self.vectors
        if self.model_type == AVERAGE and size < vectors.values.shape[1]:
            vectors = StoredMatrix(np.ascontiguousarray(vectors.values[:, :size]), vectors.scales)
        return averages_of(self.config, vectors)

    def model(self) -> PreTrainedModel:
        """Makes the model of PyTorch."""
        import torch

        from ...models.registry import config_class, model_class

        config = config_class(self.model_type)(**self.config)
        config.name_or_path = str(self.folder)
        with torch.device("meta"):
            model = model_class(self.model_type)(config)
        model.load_state_dict({TABLE: torch.from_numpy(self.vectors.rounded())}, assign=True)
        return model.eval()

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """Makes the tokenizer of transformers."""
        if self.has_tokenizer:
            from ...artefacts.model_loading import load_tokenizer

            return load_tokenizer(self.folder, len(self.vectors.values))
        from transformers import PreTrainedTokenizerFast

        special = {name: self.backend.id_to_token(number) for name, number in self.special_ids.items()}
        return PreTrainedTokenizerFast(tokenizer_object=self.backend, **special)


def read_static(folder: Path) -> StaticTable | None:
    """Opens the folder of an encoder that is a table; returns None for any other folder."""
    path, modules = folder / "config.json", folder / MODULES_FILE
    config = optional_json(path)
    model_type = config.get("model_type")
    if model_type in (AVERAGE, CONCATENATION):
        return _own_table(folder, model_type, config)
    if path.is_file() and model_type in (None, MODEL2VEC) and TABLE in read_headers(folder):
        return _model2vec(folder, config)
    listed = read_json(modules, ModelError) if model_type is None and modules.is_file() else []
    is_static = listed and isinstance(listed, list) and module_kind(listed[0]) == "StaticEmbedding"
    return _static_embedding(folder, listed) if is_static else None


def _own_table(folder: Path, model_type: str, config: dict[str, Any]) -> StaticTable | None:
    """Opens one of our averages; None for a class of the user, and for a folder that only transformers can judge."""
    from ...artefacts.model_loading import class_of_folder
    from ...models.joined_tokenizers import PARTS_FILE, JoinedTokenizers, read_parts
    from ...models.registry import MODELS

    is_joined = model_type == CONCATENATION
    file, settings_file = folder / (PARTS_FILE if is_joined else "tokenizer.json"), folder / "tokenizer_config.json"
    has_files = all(path.is_file() for path in (folder / _WEIGHTS, file, settings_file))
    is_plain = class_of_folder(folder, "AutoModel") in (None, f"modeling_{model_type}.{MODELS[model_type].model}")
    if not (has_files and is_plain) or config.get("normalize") or TABLE not in read_headers(folder):
        return None
    settings = read_json_object(settings_file, ModelError)
    vectors = read_table(folder / _WEIGHTS)
    with opening("the model", folder, _AGAIN):
        sizes = config["vocab_sizes"] if is_joined else [config["vocab_size"]]
        shape = (sum(sizes), config["part_size" if is_joined else "hidden_size"])
        if vectors.values.shape != shape or (config.get(DTYPE_KEY) == INT8 and vectors.scales is None):
            raise ValueError(f"the weights do not fit the configuration: {vectors.values.shape}, wanted {shape}")
        parts = read_parts(file) if is_joined else [_open_tokenizer(folder)]
        for part, size in zip(parts, sizes, strict=True):
            _check_ids(part, size, folder)
    backend: Any = JoinedTokenizers(parts, sizes) if is_joined else parts[0]
    named = {name: settings[name] for name in _SPECIAL_TOKENS if isinstance(settings.get(name), str)}
    ids = {name: parts[0].token_to_id(token) for name, token in named.items()}
    derived = {"vocab_size", "hidden_size"} if is_joined else set()
    left_out = {"transformers_version", "model_type", DTYPE_KEY, "max_length", "dtype", *derived}
    config = {key: value for key, value in config.items() if key not in left_out}
    special_ids = {name: number for name, number in ids.items() if number is not None}
    return StaticTable(model_type, config, vectors, backend, folder, special_ids)


def _model2vec(folder: Path, config: Mapping[str, Any]) -> StaticTable:
    most = config.get("max_length", _TOKENS_OF_MODEL2VEC)
    table = _third_party_table(folder, folder, TABLE)
    unknown = table.config["unk_token_id"]
    if unknown is not None:
        # What is left out of other texts is all that there is in some, which embed to zeros.
        table.config["skip_unknown"] = True
        table.vectors.values[unknown] = 0
    length = int(np.median([len(token) for token in table.backend.get_vocab()]))
    table.reading = InputProcessing(
        most_tokens=most,
        most_characters=None if most is None else most * length,
        normalizes=bool(config.get("normalize", False)),
        cuts_first=True,
    )
    return table


def _static_embedding(folder: Path, modules: list[Any]) -> StaticTable | None:
    """Opens a table of sentence-transformers; returns None for one that is followed by layers, or reads otherwise."""
    others, place = set(map(module_kind, modules[1:])), module_folder(folder, modules[0])
    truncation = optional_json(place / "tokenizer.json").get("truncation") or {}
    if others - {"Normalize"} or truncation.get("direction") == "Left":
        return None
    table = _third_party_table(folder, place, "embedding.weight")
    table.reading = InputProcessing(most_tokens=truncation.get("max_length"), normalizes=bool(others))
    return table


def _third_party_table(folder: Path, place: Path, name: str) -> StaticTable:
    """Opens the encoder that averages the vectors of all tokens of a text, unknown ones among them."""
    vectors, backend = read_table(place / _WEIGHTS, name), _open_tokenizer(place)
    rows, columns = vectors.values.shape
    _check_ids(backend, rows, folder)
    # Texts are read without special tokens.
    backend.post_processor = None
    if hasattr(backend.model, "unk_token"):
        unknown = backend.model.unk_token
        unknown_id = None if unknown is None else backend.token_to_id(unknown)
    else:
        unknown_id = json.loads(backend.to_str())["model"].get("unk_id")
    config = {"vocab_size": rows, "hidden_size": columns, "pad_token_id": None, "unk_token_id": unknown_id}
    special = {} if unknown_id is None else {"unk_token": unknown_id}
    return StaticTable(AVERAGE, config, vectors, backend, folder, special, has_tokenizer=False)


def _open_tokenizer(folder: Path) -> Tokenizer:
    """Opens the tokenizer of a folder, without padding and truncation."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError("no tokenizer.json", path=folder, remedy=_AGAIN)
    with opening("damaged tokenizer: it", path, _AGAIN):
        tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def _check_ids(backend: Tokenizer, rows: int, folder: Path) -> None:
    """Refuses a tokenizer with more tokens than there are vectors."""
    if (tokens := backend.get_vocab_size()) > rows:
        what = f"the tokenizer has {tokens} tokens, the model {rows} vectors"
        raise ModelError(what, path=folder, remedy="the tokenizer files belong to another model")
