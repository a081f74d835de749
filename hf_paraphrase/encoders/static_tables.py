"""Encoders that are a table of token vectors, opened with NumPy, `tokenizers` and `safetensors` alone.

:func:`read_static` opens them all, in float32 whatever they are stored in. PyTorch and transformers, which take
seconds to import, are not needed, and neither are the libraries that made the folders, whose embeddings are given:

* **ours**: an average (`avg`), or several side by side (`concatenation`), stored in floats or as int8.
* **model2vec** (https://github.com/MinishLab/model2vec): unknown tokens are left out, and a text of nothing else
  embeds to zeros. Of a text the first `max_length` tokens are read, 512 unless `config.json` says something else
  (null: all), and before that its first `max_length` times m characters, where m is the median length of a token.
* **sentence-transformers**: `modules.json` names a `StaticEmbedding`, and perhaps a `Normalize` behind it. Unknown
  tokens count like any other. Texts are read whole, unless `tokenizer.json` has a truncation.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.files import opening, read_json, read_json_object
from ..artefacts.weights import DTYPE_KEY, INT8, TABLE, TensorEntry, read_header, read_headers, read_int8_table
from ..errors import ModelError
from .text_tokens import Reading
from .word_averages import TableAverages, averages_of

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

AVERAGE, CONCATENATION, MODEL2VEC = "avg", "concatenation", "model2vec"
"""The model types that are a table."""
_LARGEST = 2.0**63
"""Numbers of tables are smaller; see :mod:`..artefacts.weights`."""
_UNKNOWN_ID = 1
"""The `unk_token_id` of an average whose configuration names none."""
_SPECIAL_TOKENS = ("pad_token", "unk_token", "bos_token", "eos_token", "sep_token", "cls_token", "mask_token")
_TOKENS_OF_MODEL2VEC = 512
_MAPPING, _FACTORS = "mapping", "weights"
_NUMBERS = ("F16", "BF16", "F32", "F64")
_MODULES = "modules.json"
_WEIGHTS = "model.safetensors"
_TABLE_OF_TORCH = "embedding.weight"
_AGAIN = "copy the model again"
_REMEDY = "give a model folder with a table of word vectors and its tokenizer.json"


@dataclass
class VectorTable:
    """An averaging encoder.

    Attributes:
        model_type: `avg` or `concatenation`.
        config: What the configuration of its model takes.
        table: The vectors (vocabulary, columns), float32.
        backend: What turns texts into ids, as :mod:`..tokenization.token_lookup` takes it.
        special_ids: The ids of special tokens by their names, as `unk_token`.
        has_tokenizer: Whether its folder has a tokenizer that transformers opens.
        reading: What else is done with texts and embeddings.
    """

    model_type: str
    config: dict[str, Any]
    table: NDArray[np.float32]
    backend: Any
    folder: Path
    special_ids: dict[str, int]
    has_tokenizer: bool = True
    reading: Reading = field(default_factory=Reading)

    @property
    def hidden_size(self) -> int:
        """The number of components of an embedding."""
        return int(self.table.shape[1]) * max(1, len(self.config.get("vocab_sizes") or ()))

    def averages(self, size: int) -> TableAverages:
        """Returns what computes the first `size` components of the embeddings, or more of them."""
        table = self.table
        if self.model_type == AVERAGE and size < table.shape[1]:
            table = np.ascontiguousarray(table[:, :size])
        defaults = {"skip_unknown": False, "unk_token_id": _UNKNOWN_ID, "part_weights": None}
        return averages_of(SimpleNamespace(**{**defaults, **self.config}), table)

    def model(self) -> PreTrainedModel:
        """Makes the model of PyTorch; its parameter and the table are one array."""
        import torch

        from ..models.registry import config_class, model_class

        config = config_class(self.model_type)(**self.config)
        config.name_or_path = str(self.folder)
        with torch.device("meta"):
            model = model_class(self.model_type)(config)
        model.load_state_dict({TABLE: torch.from_numpy(self.table)}, assign=True)
        return model.eval()

    def tokenizer(self) -> PreTrainedTokenizerFast:
        """Makes the tokenizer of transformers."""
        if self.has_tokenizer:
            from ..artefacts.model_loading import load_tokenizer

            return load_tokenizer(self.folder, len(self.table))
        from transformers import PreTrainedTokenizerFast

        special = {name: self.backend.id_to_token(number) for name, number in self.special_ids.items()}
        return PreTrainedTokenizerFast(tokenizer_object=self.backend, **special)

    def vocabulary(self) -> dict[str, int]:
        """Returns the ids of all tokens, by the names that its tokenizer gives them."""
        if not hasattr(self.backend, "parts"):
            vocabulary: dict[str, int] = self.backend.get_vocab()
            return vocabulary
        names: dict[str, int] = {}
        for place, (part, offset) in enumerate(zip(self.backend.parts, self.backend.offsets, strict=True)):
            start = f"[{place}]" if place else ""
            names |= {start + token: offset + number for token, number in part.get_vocab().items()}
        return names


def read_static(folder: Path) -> VectorTable | None:
    """Opens the folder of an encoder that is a table; returns None for any other folder."""
    if not folder.is_dir():
        return None
    if (folder / "config.json").is_file():
        config = read_json_object(folder / "config.json", ModelError)
        model_type = config.get("model_type")
        if model_type in (AVERAGE, CONCATENATION):
            return _own_table(folder, model_type, config)
        if model_type not in (None, MODEL2VEC):
            return None
        if (folder / _WEIGHTS).is_file() and _table_name(folder / _WEIGHTS) == TABLE:
            return _model2vec(folder, config)
    modules = static_modules(folder)
    return None if modules is None else _static_embedding(folder, modules)


def static_modules(folder: Path) -> list[Any] | None:
    """Reads the modules of a folder of sentence-transformers, if the first of them is a `StaticEmbedding`."""
    path = folder / _MODULES
    modules = read_json(path, ModelError) if path.is_file() else None
    if not (isinstance(modules, list) and modules and all(isinstance(module, dict) for module in modules)):
        return None
    return modules if module_kind(modules[0]) == "StaticEmbedding" else None


def module_kind(module: Mapping[str, Any]) -> str:
    """Names the class of a module of sentence-transformers, without the packages that it is in."""
    return str(module.get("type")).rpartition(".")[2]


def module_folder(folder: Path, module: object) -> Path:
    """Returns the folder of a module, which must be in the model's own."""
    place = module.get("path", "") if isinstance(module, dict) else None
    if not isinstance(place, str) or Path(place).is_absolute() or ".." in Path(place).parts:
        raise ModelError(
            f"a module without a folder in this one: {str(module)[:100]}",
            path=folder / _MODULES,
            remedy="copy the model again, from a source that you trust",
        )
    return folder / place


def read_prompts(folder: Path) -> tuple[dict[str, str], str | None]:
    """Reads the prompts of a folder of sentence-transformers by their names, and the name of the default one."""
    path = folder / "config_sentence_transformers.json"
    settings = read_json_object(path, ModelError) if path.is_file() else {}
    named, default = settings.get("prompts"), settings.get("default_prompt_name")
    prompts = {name: text for name, text in named.items() if isinstance(text, str)} if isinstance(named, dict) else {}
    return prompts, default if default in prompts else None


def _own_table(folder: Path, model_type: str, config: dict[str, Any]) -> VectorTable | None:
    """Opens one of our averages; None for a class of the user, or a tokenizer that transformers must complete."""
    from ..artefacts.model_loading import class_of_folder
    from ..models.registry import MODELS

    code = class_of_folder(folder, "AutoModel")
    if code not in (None, f"modeling_{model_type}.{MODELS[model_type].model}"):
        return None
    tensors = read_headers(folder)
    opened = _own_tokenizer(folder, model_type, config) if (folder / _WEIGHTS).is_file() else None
    shape = _own_shape(config, model_type)
    if opened is None or shape is None:
        return None
    backend, special_ids = opened
    if config.get(DTYPE_KEY) == INT8:
        table = read_int8_table(folder, *shape)
    elif tensors.keys() == {TABLE} and tensors[TABLE].shape == shape and tensors[TABLE].dtype in _NUMBERS:
        table = read_table(folder / _WEIGHTS, TABLE)
    else:
        return None
    check_ids(backend, table, folder)
    derived = {"vocab_size", "hidden_size"} if model_type == CONCATENATION else set()
    left_out = {"transformers_version", "model_type", DTYPE_KEY, "max_length", "dtype", *derived}
    config = {key: value for key, value in config.items() if key not in left_out}
    return VectorTable(model_type, config, table, backend, folder, special_ids)


def _own_shape(config: Mapping[str, Any], model_type: str) -> tuple[int, int] | None:
    """Returns the shape (vocabulary, columns) of the table of one of our averages; None if the class must check it."""
    rows, columns = config.get("vocab_size"), config.get("hidden_size")
    if model_type == CONCATENATION:
        sizes, columns = config.get("vocab_sizes"), config.get("part_size")
        rows = sum(sizes) if isinstance(sizes, list) and all(type(size) is int for size in sizes) else None
    unknown = config.get("unk_token_id", _UNKNOWN_ID)
    if config.get("normalize") or (config.get("skip_unknown") and type(unknown) is not int):
        return None
    return (rows, columns) if type(rows) is int and type(columns) is int else None


def _own_tokenizer(folder: Path, model_type: str, config: Mapping[str, Any]) -> tuple[Any, dict[str, int]] | None:
    """Opens the tokenizer and the ids of its special tokens, if transformers would add nothing to its file."""
    from ..models.joined_tokenizers import PARTS_FILE, read_parts

    file = folder / (PARTS_FILE if model_type == CONCATENATION else "tokenizer.json")
    if (
        not (file.is_file() and (folder / "tokenizer_config.json").is_file())
        or (folder / "added_tokens.json").exists()
    ):
        return None
    settings = read_json_object(folder / "tokenizer_config.json", ModelError)
    with opening("the tokenizer", file, _AGAIN):
        backend: Any = _joined(read_parts(file), config) if model_type == CONCATENATION else open_tokenizer(folder)
    first = backend.parts[0] if model_type == CONCATENATION else backend
    named = {name: settings[name] for name in _SPECIAL_TOKENS if settings.get(name) is not None}
    added = {token.content for token in first.get_added_tokens_decoder().values()} | {settings.get("unk_token")}
    # Others would be added to the tokenizer, and cut out of texts from then on.
    if not all(isinstance(token, str) and token in added for token in named.values()):
        return None
    ids = {name: first.token_to_id(token) for name, token in named.items()}
    return backend, {name: number for name, number in ids.items() if number is not None}


def _joined(parts: list[Tokenizer], config: Mapping[str, Any]) -> Any:
    """Joins tokenizers; the sizes of the configuration spare a list of all tokens, where they can be right."""
    from ..models.joined_tokenizers import JoinedTokenizers

    sizes = config.get("vocab_sizes") or ()
    fits = len(sizes) == len(parts) and all(map(lambda part, size: part.get_vocab_size() <= size, parts, sizes))
    return JoinedTokenizers(parts, sizes if fits else None)


def _model2vec(folder: Path, config: Mapping[str, Any]) -> VectorTable:
    most = config.get("max_length", _TOKENS_OF_MODEL2VEC)
    if most is not None and not (type(most) is int and most > 0):
        raise ModelError(f"`max_length` is {str(most)[:40]}", path=folder / "config.json", remedy=_AGAIN)
    table = _foreign_table(folder, folder, TABLE)
    vocabulary = table.backend.get_vocab()
    unknown = table.config["unk_token_id"]
    if unknown is not None:
        # What is left out of other texts is all that there is in some, which embed to zeros.
        table.config["skip_unknown"] = True
        table.table[unknown] = 0
    length = int(np.median([len(token) for token in vocabulary]))
    table.reading = Reading(
        most_tokens=most,
        most_characters=None if most is None else most * length,
        normalizes=bool(config.get("normalize", False)),
    )
    return table


def _static_embedding(folder: Path, modules: list[Any]) -> VectorTable:
    others = [module_kind(module) for module in modules[1:]]
    if set(others) - {"Normalize"}:
        raise ModelError(
            f"modules behind the table that are not known: {', '.join(others)[:80]}",
            path=folder / _MODULES,
            remedy="open it with its own library",
        )
    place = module_folder(folder, modules[0])
    name = _table_name(place / _WEIGHTS) if (place / _WEIGHTS).is_file() else None
    if name is None:
        raise ModelError(f"the model has no table of vectors ({_WEIGHTS})", path=place, remedy=_REMEDY)
    table = _foreign_table(folder, place, name)
    truncation = read_json_object(place / "tokenizer.json", ModelError).get("truncation") or {}
    table.reading = Reading(
        most_tokens=truncation.get("max_length"),
        from_end=truncation.get("direction") == "Left",
        normalizes=bool(others),
    )
    return table


def _foreign_table(folder: Path, place: Path, name: str) -> VectorTable:
    """Opens the encoder that averages the vectors of all tokens of a text, unknown ones among them."""
    table, backend = read_table(place / _WEIGHTS, name), open_tokenizer(place)
    check_ids(backend, table, folder)
    # Texts are read without special tokens.
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


def find_table(folder: Path) -> tuple[Path, str] | None:
    """Finds the folder with the weights of a model that is one table, and the name of the tensor; None without one."""
    if not folder.is_dir():
        raise ModelError("no such model folder", path=folder, remedy=_REMEDY)
    for place in (folder, *sorted(item for item in folder.glob("0*") if item.is_dir())):
        path = place / _WEIGHTS
        if path.is_file() and (name := _table_name(path)) is not None:
            return place, name
    return None


def _table_name(path: Path) -> str | None:
    tensors = read_header(path)
    return next((name for name in (TABLE, _TABLE_OF_TORCH) if name in tensors), None)


def read_table(path: Path, name: str) -> NDArray[np.float32]:
    """Reads the vectors (tokens, columns) of all tokens in float32.

    model2vec may share rows between tokens (`mapping`, the row of each token) and keep a factor of each token
    separately (`weights`). Here every token gets its own row, times its factor.
    """
    from safetensors import safe_open

    tensors = read_header(path)
    with opening("the table of word vectors", path, _AGAIN), np.errstate(over="ignore", invalid="ignore"):
        with safe_open(path, framework="numpy") as weights:
            read: dict[str, NDArray[Any]] = {
                part: _read_bfloat16(path, tensors[part])
                if tensors[part].dtype == "BF16"
                else weights.get_tensor(part)
                for part in (name, _MAPPING, _FACTORS)
                if part in tensors
            }
        table: NDArray[np.float32] = read[name].astype(np.float32, copy=False)
        if _MAPPING in read:
            rows = read[_MAPPING].astype(np.int64)
            if (rows < 0).any():
                raise ValueError(f"`{_MAPPING}` names rows that the table does not have")
            table = table[rows]
        if _FACTORS in read:
            table = table * read[_FACTORS].astype(np.float32)[:, None]
        if table.ndim != 2:
            raise ValueError(f"`{name}` has the shape {list(table.shape)}")
    if table.size and not (table.min() > -_LARGEST and table.max() < _LARGEST):
        broken = np.flatnonzero(~(np.abs(table) < _LARGEST).all(1))
        raise ModelError(
            f"the vector of token {broken[0]} is not finite, and {len(broken) - 1} others",
            path=path,
            remedy="train or copy the model again",
        )
    return np.ascontiguousarray(table)


def _read_bfloat16(path: Path, entry: TensorEntry) -> NDArray[np.float32]:
    # NumPy has no such type: its numbers are the upper halves of those of float32.
    halves = np.fromfile(path, "<u2", math.prod(entry.shape), offset=entry.offset)
    return (halves.astype(np.uint32) << 16).view(np.float32).reshape(entry.shape)


def open_tokenizer(folder: Path) -> Tokenizer:
    """Opens the tokenizer of a folder, without padding and truncation."""
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


def check_ids(backend: Any, table: NDArray[np.float32], folder: Path) -> None:
    """Refuses a tokenizer with more ids than there are vectors."""
    parts = hasattr(backend, "parts")
    highest = sum(backend.sizes) - 1 if parts else max(backend.get_vocab().values(), default=-1)
    if highest >= len(table):
        raise ModelError(
            f"the tokenizer has ids up to {highest}, the model {len(table)} vectors",
            path=folder,
            remedy="the tokenizer files belong to another model",
        )
