"""Encoders that are a table of token vectors, opened with NumPy, `tokenizers` and `safetensors` alone.

:func:`read_static` opens three kinds of folders in float32, without PyTorch and transformers, which take seconds to
import. The embeddings equal the embeddings of the library that made the folder:

* **this package**: an average (`avg`), or several side by side (`concatenation`), stored in floats, int8 or int4.
* **model2vec** (https://github.com/MinishLab/model2vec): the mean leaves unknown tokens out, and a text of unknown
  tokens embeds to zeros. A text is cut to `max_length` times m characters, where m is the median length of a token,
  and then to `max_length` tokens; `max_length` is 512 unless `config.json` has another value (null: no limit).
* **sentence-transformers**: `modules.json` names a `StaticEmbedding`, and optionally a `Normalize` after it. Unknown
  tokens count like any other, and only `tokenizer.json` can limit the length of a text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...artefacts.files import read_json_object, read_optional_json, wrap_load_errors
from ...artefacts.model_loading import class_of_folder, load_tokenizer
from ...artefacts.weights import DTYPE_KEY, INT4, INT8, TABLE, StoredMatrix, has_table, read_table
from ...errors import ModelError
from ...models.joined_tokenizers import PARTS_FILE, JoinedTokenizers, read_parts
from ...models.registry import MODELS, config_class, model_class
from .base import Backend, EmbeddingJob, TokenBackend, Tokenize
from .batch_tokenizer import InputProcessing
from .mean_pooler import MeanPooler, embed_averages
from .sentence_transformers_files import (
    find_module_folder,
    read_module_kinds,
    read_modules,
    read_processing,
)

if TYPE_CHECKING:
    import torch
    from tokenizers import Tokenizer
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

    from .torch_module import TorchModule

AVERAGE, CONCATENATION, MODEL2VEC = "avg", "concatenation", "model2vec"
"""The model types that are a table."""
_SPECIAL_TOKENS = ("pad_token", "unk_token", "bos_token", "eos_token", "sep_token", "cls_token", "mask_token")
_TOKENS_OF_MODEL2VEC = 512
_WEIGHTS = "model.safetensors"
_AGAIN = "copy the model again"


class StaticTable(TokenBackend):
    """A table with a vector for every token; the embedding of a text is the mean of its token vectors.

    It imports PyTorch only for `model` and for another device than the CPU.

    Attributes:
        model_type: `avg` or `concatenation`.
        config: The configuration of the PyTorch model, without its type.
        vectors: The vectors (vocabulary, columns) as they are stored.
        folder: The folder that was opened.
        special_ids: The ids of special tokens by name, such as `unk_token`.
        has_tokenizer: Whether transformers can open the tokenizer of the folder.
    """

    uses_accelerator = False

    def __init__(
        self,
        model_type: str,
        config: dict[str, Any],
        vectors: StoredMatrix,
        rust_tokenizer: Any,
        folder: Path,
        special_ids: dict[str, int],
        processing: InputProcessing,
        *,
        has_tokenizer: bool = True,
    ) -> None:
        super().__init__(processing)
        self.model_type, self.config, self.vectors = model_type, config, vectors
        self.rust_tokenizer, self.folder, self.special_ids = rust_tokenizer, folder, special_ids
        self.has_tokenizer = has_tokenizer
        self.dimension = int(vectors.values.shape[1]) * max(1, len(config.get("vocab_sizes") or ()))
        self.opened_processing = processing

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("model", "tokenizer", "pooler")}

    @cached_property
    def device(self) -> torch.device:
        """The CPU."""
        import torch

        return torch.device("cpu")

    @cached_property
    def model(self) -> PreTrainedModel:
        """The same encoder as a PyTorch model."""
        import torch

        config = config_class(self.model_type)(**self.config)
        config.name_or_path = str(self.folder)
        with torch.device("meta"):
            model = model_class(self.model_type)(config)
        model.load_state_dict({TABLE: torch.from_numpy(self.vectors.rounded())}, assign=True)
        return model.eval()

    @cached_property
    def tokenizer(self) -> PreTrainedTokenizerFast:
        """The tokenizer of transformers."""
        if self.has_tokenizer:
            return load_tokenizer(self.folder, len(self.vectors.values))
        from transformers import PreTrainedTokenizerFast

        special = {name: self.rust_tokenizer.id_to_token(token_id) for name, token_id in self.special_ids.items()}
        tokenizer = type(self.rust_tokenizer).from_str(self.rust_tokenizer.to_str())
        return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)

    @cached_property
    def pooler(self) -> MeanPooler:
        """Computes the means of token vectors."""
        return MeanPooler(self.vectors, self.config)

    def to(self, device: str | torch.device) -> Backend:
        """Return this table for the CPU, and a PyTorch module for any other device."""
        return self if str(device) == "cpu" else self.as_module().to(device)

    def as_module(self) -> TorchModule:
        """Return the same encoder as a PyTorch module, which can be trained."""
        from .torch_module import TorchModule

        module = TorchModule(self.model, self.tokenizer, self.processing)
        # The module may change its model and tokenizer, so the table makes new ones when asked again.
        del self.model, self.tokenizer
        return module

    def special_tokens(self) -> tuple[int | None, list[int]]:
        """Return the id of the unknown token, and the ids of special tokens."""
        return self.special_ids.get("unk_token"), list(self.special_ids.values())

    def embed_tokens(self, tokenize: Tokenize, blocks: list[slice], job: EmbeddingJob) -> Iterator[int]:
        """Fill the vectors of a job with the means of token vectors."""
        return embed_averages(self.pooler, tokenize, blocks, job)

    def save(self, folder: Path, options: Mapping[str, Any]) -> None:
        """Write a model folder in float32."""
        self.as_module().save(folder, options)


def read_static(folder: Path) -> StaticTable | None:
    """Open the folder of a static table; return None for any other folder."""
    config = read_optional_json(folder / "config.json")
    model_type = config.get("model_type")
    if model_type in (AVERAGE, CONCATENATION):
        return _own_table(folder, model_type, config)
    if (folder / "config.json").is_file() and model_type in (None, MODEL2VEC) and has_table(folder):
        return _model2vec(folder, config)
    kinds = read_module_kinds(folder) if model_type is None else []
    return _static_embedding(folder, kinds[1:]) if kinds[:1] == ["StaticEmbedding"] else None


def _own_table(folder: Path, model_type: str, config: dict[str, Any]) -> StaticTable | None:
    """Open an average of this package; return None for a user's class and a folder that only transformers opens."""
    is_joined = model_type == CONCATENATION
    file, settings_file = folder / (PARTS_FILE if is_joined else "tokenizer.json"), folder / "tokenizer_config.json"
    has_files = all(path.is_file() for path in (folder / _WEIGHTS, file, settings_file))
    is_plain = class_of_folder(folder, "AutoModel") in (None, f"modeling_{model_type}.{MODELS[model_type].model}")
    if not (has_files and is_plain) or config.get("normalize") or not has_table(folder):
        return None
    settings = read_json_object(settings_file, ModelError)
    vectors = read_table(folder / _WEIGHTS)
    with wrap_load_errors("the model", folder, _AGAIN):
        sizes = config["vocab_sizes"] if is_joined else [config["vocab_size"]]
        shape = (sum(sizes), config["part_size" if is_joined else "hidden_size"])
        if vectors.values.shape != shape or (config.get(DTYPE_KEY) in (INT8, INT4) and vectors.scales is None):
            raise ValueError(f"the weights do not fit the configuration: {vectors.values.shape}, wanted {shape}")
        truncation = None
        if is_joined:
            parts = read_parts(file)
        else:
            tokenizer, truncation = _open_tokenizer(folder)
            parts = [tokenizer]
        for part, size in zip(parts, sizes, strict=True):
            _check_ids(part, size, folder)
    rust_tokenizer: Any = JoinedTokenizers(parts, sizes) if is_joined else parts[0]
    named = {name: settings[name] for name in _SPECIAL_TOKENS if isinstance(settings.get(name), str)}
    token_ids = {name: parts[0].token_to_id(token) for name, token in named.items()}
    special_ids = {name: token_id for name, token_id in token_ids.items() if token_id is not None}
    left_out = {"transformers_version", "model_type", DTYPE_KEY, "max_length", "dtype"}
    left_out |= {"vocab_size", "hidden_size"} if is_joined else set()
    config = {key: value for key, value in config.items() if key not in left_out}
    processing = read_processing(folder, truncation)
    return StaticTable(model_type, config, vectors, rust_tokenizer, folder, special_ids, processing)


def _model2vec(folder: Path, config: Mapping[str, Any]) -> StaticTable:
    rust_tokenizer, _ = _open_tokenizer(folder)
    max_tokens = config.get("max_length", _TOKENS_OF_MODEL2VEC)
    length = int(np.median([len(token) for token in rust_tokenizer.get_vocab()]))
    processing = InputProcessing(
        max_tokens=max_tokens,
        max_characters=None if max_tokens is None else max_tokens * length,
        normalize=bool(config.get("normalize", False)),
        truncate_first=True,
    )
    table = _third_party_table(folder, read_table(folder / _WEIGHTS), rust_tokenizer, processing)
    unknown = table.config["unk_token_id"]
    if unknown is not None:
        # The mean leaves unknown tokens out; a text without other tokens embeds to zeros.
        table.config["skip_unknown"] = True
        table.vectors.values[unknown] = 0
    return table


def _static_embedding(folder: Path, other_kinds: Sequence[str | None]) -> StaticTable | None:
    """Open a table of sentence-transformers; return None if other layers follow or the left end is truncated."""
    subfolder = find_module_folder(folder, read_modules(folder)[0])
    if {*other_kinds} - {"Normalize"}:
        return None
    rust_tokenizer, truncation = _open_tokenizer(subfolder)
    if str(truncation.get("direction")).lower() == "left":
        return None
    processing = InputProcessing(max_tokens=truncation.get("max_length"), normalize=bool(other_kinds))
    vectors = read_table(subfolder / _WEIGHTS, "embedding.weight")
    return _third_party_table(folder, vectors, rust_tokenizer, processing)


def _third_party_table(
    folder: Path, vectors: StoredMatrix, rust_tokenizer: Tokenizer, processing: InputProcessing
) -> StaticTable:
    """Make the table of another library, which averages all tokens of a text except special tokens."""
    rows, columns = vectors.values.shape
    _check_ids(rust_tokenizer, rows, folder)
    rust_tokenizer.post_processor = None
    if hasattr(rust_tokenizer.model, "unk_token"):
        unknown = rust_tokenizer.model.unk_token
        unknown_id = None if unknown is None else rust_tokenizer.token_to_id(unknown)
    else:
        unknown_id = json.loads(rust_tokenizer.to_str())["model"].get("unk_id")
    config = {"vocab_size": rows, "hidden_size": columns, "pad_token_id": None, "unk_token_id": unknown_id}
    special = {} if unknown_id is None else {"unk_token": unknown_id}
    return StaticTable(AVERAGE, config, vectors, rust_tokenizer, folder, special, processing, has_tokenizer=False)


def _open_tokenizer(folder: Path) -> tuple[Tokenizer, dict[str, Any]]:
    """Open the tokenizer of a folder without padding and truncation; return it and the truncation it had."""
    from tokenizers import Tokenizer

    path = folder / "tokenizer.json"
    if not path.is_file():
        raise ModelError("no tokenizer.json", path=folder, remedy=_AGAIN)
    with wrap_load_errors("damaged tokenizer: it", path, _AGAIN):
        tokenizer = Tokenizer.from_file(str(path))
    truncation: dict[str, Any] = tokenizer.truncation or {}
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, truncation


def _check_ids(rust_tokenizer: Tokenizer, rows: int, folder: Path) -> None:
    """Refuse a tokenizer with more tokens than the model has vectors."""
    if (tokens := rust_tokenizer.get_vocab_size()) > rows:
        what = f"the tokenizer has {tokens} tokens, the model {rows} vectors"
        raise ModelError(what, path=folder, remedy="the tokenizer files belong to another model")
