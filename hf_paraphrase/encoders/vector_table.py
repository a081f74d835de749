"""Averaging encoders as a table and a tokenizer, without PyTorch and transformers, which take seconds to import.

:func:`open_table` opens the folders of our own averages that are in perfect order, as training and export write them.
It leaves all others to :mod:`..artefacts.model_loading`: what is damaged or unusual is opened, or refused and
explained, in one place.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.files import read_json_object
from ..artefacts.weights import DTYPE_KEY, INT8, TABLE, TensorEntry, read_headers, read_int8_table
from ..errors import ModelError
from ..tokenization.token_ids import TokenIds
from .word_averages import TableAverages, averages_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

AVERAGE, CONCATENATION = "avg", "concatenation"
"""The model types that are a table."""
LARGEST = 2.0**63
"""Numbers of tables are smaller; see :mod:`..artefacts.weights`."""
_NAME_OF_A_PART = re.compile(r"\[\d+\]")
_DROPOUTS = ("dropout", "word_dropout")
_UNKNOWN_ID = 1
"""The `unk_token_id` of an average whose configuration names none."""
_CONFIG_KEYS = {
    *("architectures", "auto_map", "transformers_version", "model_type", "vocab_size", "hidden_size", "pad_token_id"),
    *("unk_token_id", "vocab_sizes", "part_size", "part_weights", "initializer_range", *_DROPOUTS, DTYPE_KEY),
}
_CONFIG_VALUES: dict[str, tuple[Any, ...]] = {
    "dtype": ("float32",),
    "initial_distribution": ("normal", "uniform"),
    "normalize": (False,),
    "skip_unknown": (False, True),
    "use_cache": (False,),
    "max_length": (None,),
}
"""What the configuration of a plain folder may say beside these, and with what values."""
_TOKENIZER_CLASSES = {
    AVERAGE: {"PreTrainedTokenizerFast", "TokenizersBackend"},
    CONCATENATION: {"ConcatenationTokenizer"},
}
_SPECIAL_TOKENS = ("pad_token", "unk_token", "bos_token", "eos_token", "sep_token", "cls_token", "mask_token")
_TOKENIZER_SETTINGS = {
    *("tokenizer_class", "backend", "clean_up_tokenization_spaces", "model_input_names", "model_max_length"),
    *("auto_map", "padding_side", "is_local", "local_files_only", "added_tokens_decoder", *_SPECIAL_TOKENS),
}
_OTHER_TOKENIZER_FILES = ("special_tokens_map.json", "added_tokens.json", "vocab.txt", "vocab.json", "merges.txt")


@dataclass(frozen=True)
class Reading:
    """What other libraries do with texts and embeddings, and no model of ours does.

    Attributes:
        most_tokens: The tokens of a text that count, unknown words among them; None for all.
        most_characters: Its characters that are read; None for all.
        from_end: Whether the last tokens count, and not the first.
        normalizes: Whether embeddings always have the length 1.
    """

    prompt: str = ""
    most_tokens: int | None = None
    most_characters: int | None = None
    from_end: bool = False
    normalizes: bool = False

    def texts(self, texts: list[str]) -> list[str]:
        """Puts the prompt before texts, and cuts those off that are longer than what is read of them."""
        if self.prompt:
            texts = [self.prompt + text for text in texts]
        most = self.most_characters
        if most is None or all(len(text) <= most for text in texts):
            return texts
        return [text[:most] for text in texts]

    def ids(self, found: TokenIds) -> TokenIds:
        """Leaves out tokens that do not count."""
        if self.most_tokens is None or len(found.ids) <= self.most_tokens:
            return found
        lengths = found.lengths
        if lengths.max(initial=0) <= self.most_tokens:
            return found
        place = np.arange(len(found.ids)) - np.repeat(found.offsets[:-1], lengths)
        if self.from_end:
            place = np.repeat(lengths, lengths) - 1 - place
        offsets = np.concatenate([[0], np.minimum(lengths, self.most_tokens).cumsum()])
        return TokenIds(found.ids[place < self.most_tokens], offsets)


@dataclass
class VectorTable:
    """An averaging encoder.

    Attributes:
        model_type: `avg` or `concatenation`.
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
    reading: Reading = Reading()

    @property
    def hidden_size(self) -> int:
        """The number of components of an embedding."""
        return int(self.table.shape[1]) * max(1, len(self.config.get("vocab_sizes") or ()))

    def averages(self) -> TableAverages:
        """Returns what computes the embeddings."""
        defaults = {"skip_unknown": False, "unk_token_id": _UNKNOWN_ID, "part_weights": None}
        return averages_of(SimpleNamespace(**{**defaults, **self.config}), self.table)

    def truncated(self, truncate_dim: int) -> VectorTable:
        """Makes the average whose embeddings are the first components of those of this one."""
        table = np.ascontiguousarray(self.table[:, :truncate_dim])
        config = {**self.config, "hidden_size": truncate_dim}
        return dataclasses.replace(self, config=config, table=table)

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


def open_table(folder: Path, model_type: str) -> VectorTable | None:
    """Opens the folder of one of our averages if it is a plain one.

    Returns:
        The encoder; None for a folder that :func:`~..artefacts.model_loading.load_model_folder` must open or refuse.
    """
    if model_type not in _TOKENIZER_CLASSES:
        return None
    tensors = read_headers(folder)
    config = read_json_object(folder / "config.json", ModelError)
    if not _is_plain(config):
        return None
    shape = _shape(config, model_type)
    table = None if shape is None else _table(folder, tensors, shape, config)
    opened = None if table is None else _backend(folder, model_type)
    if table is None or opened is None or _highest_id(opened[0]) >= len(table):
        return None
    derived = {"vocab_size", "hidden_size"} if model_type == CONCATENATION else set()
    left_out = {"transformers_version", "model_type", DTYPE_KEY, "max_length", *derived}
    config = {key: value for key, value in config.items() if key not in left_out}
    return VectorTable(model_type, config, table, opened[0], folder, opened[1])


def is_finite(table: NDArray[np.floating]) -> bool:
    """Returns whether all numbers of a table can be computed with."""
    return not table.size or bool(table.min() > -LARGEST and table.max() < LARGEST)


def _is_plain(config: Mapping[str, Any]) -> bool:
    """Returns whether a configuration says nothing but what those of plain folders say."""
    rates = [config.get(name, 0) for name in _DROPOUTS]
    if not all(type(rate) in (int, float) and 0 <= rate < 1 for rate in rates) or all(rates):
        return False
    if not isinstance(config.get("initializer_range", 0), int | float):
        return False
    return all(key in _CONFIG_KEYS or value in _CONFIG_VALUES.get(key, ()) for key, value in config.items())


def _shape(config: Mapping[str, Any], model_type: str) -> tuple[int, int] | None:
    """Reads the shape (vocabulary, columns) of the table, if all that has to do with it is in order."""
    if model_type == CONCATENATION:
        sizes, columns, weights = config.get("vocab_sizes"), config.get("part_size"), config.get("part_weights")
        if not (isinstance(sizes, list) and sizes and all(type(size) is int and size > 0 for size in sizes)):
            return None
        if weights is not None and not (
            isinstance(weights, list)
            and len(weights) == len(sizes)
            and all(type(weight) in (int, float) and 0 < weight < LARGEST for weight in weights)
        ):
            return None
        rows: Any = sum(sizes)
    else:
        rows, columns = config.get("vocab_size"), config.get("hidden_size")
    ids = [config.get("pad_token_id"), config.get("unk_token_id")]
    if not (type(rows) is int and type(columns) is int and columns > 0):
        return None
    if not all(number is None or (type(number) is int and 0 <= number < rows) for number in ids):
        return None
    if config.get("skip_unknown") and config.get("unk_token_id", _UNKNOWN_ID) is None:
        return None
    return rows, columns


def _table(
    folder: Path, tensors: Mapping[str, TensorEntry], shape: tuple[int, int], config: Mapping[str, Any]
) -> NDArray[np.float32] | None:
    """Reads the table, if it is all that is in the only file of weights."""
    path = folder / "model.safetensors"
    if [item.name for item in folder.glob("*.safetensors*")] != [path.name]:
        return None
    if DTYPE_KEY in config:
        return read_int8_table(folder, *shape) if config[DTYPE_KEY] == INT8 else None
    if dict(tensors) != {TABLE: TensorEntry("F32", shape)}:
        return None
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as weights:
            if (weights.metadata() or {}).get("format") != "pt":
                return None
            table: NDArray[np.float32] = weights.get_tensor(TABLE)
    except (SafetensorError, OSError):
        return None
    return table if is_finite(table) else None


def _backend(folder: Path, model_type: str) -> tuple[Any, dict[str, int]] | None:
    """Opens the tokenizer and the ids of its special tokens, if transformers would change nothing of its file."""
    from ..models.joined_tokenizers import PARTS_FILE, JoinedTokenizers, read_parts

    names = {item.name for item in folder.iterdir()}
    file = PARTS_FILE if model_type == CONCATENATION else "tokenizer.json"
    if not {file, "tokenizer_config.json"} <= names or names & set(_OTHER_TOKENIZER_FILES):
        return None
    settings = read_json_object(folder / "tokenizer_config.json", ModelError)
    if (
        not settings.keys() <= _TOKENIZER_SETTINGS
        or settings.get("tokenizer_class") not in _TOKENIZER_CLASSES[model_type]
    ):
        return None
    try:
        if model_type == CONCATENATION:
            joined = JoinedTokenizers(read_parts(folder / file))
            return (joined, _special_ids(joined.parts[0], settings)) if _is_plain_joined(joined, settings) else None
        from tokenizers import Tokenizer

        backend = Tokenizer.from_file(str(folder / file))
    except BaseException as error:
        # A library written in Rust that gives up raises what is no Exception.
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            return None
        raise
    added = {token.content: number for number, token in backend.get_added_tokens_decoder().items()}
    # Others would be added, and cut out of texts from then on.
    named = [settings[name] for name in _SPECIAL_TOKENS if settings.get(name) is not None]
    if not all(isinstance(name, str) and name in added for name in named) or settings.get("added_tokens_decoder"):
        return None
    return backend, _special_ids(backend, settings)


def _special_ids(backend: Any, settings: Mapping[str, Any]) -> dict[str, int]:
    """Returns the ids of the special tokens that the settings name and the tokenizer has."""
    ids = {name: backend.token_to_id(settings[name]) for name in _SPECIAL_TOKENS if settings.get(name) is not None}
    return {name: number for name, number in ids.items() if number is not None}


def _is_plain_joined(joined: Any, settings: Mapping[str, Any]) -> bool:
    """Returns whether all token names differ, and those that the settings name are tokens of the first part."""
    first = joined.parts[0].get_vocab()
    # Tokens of the other parts have such names.
    if any(token.startswith("[") and _NAME_OF_A_PART.match(token) for token in first):
        return False
    named = {name: settings.get(name) for name in _SPECIAL_TOKENS}
    if not isinstance(named.pop("pad_token"), str) or settings["pad_token"] not in first:
        return False
    if named.pop("unk_token") not in {None, *first} or any(named.values()):
        return False
    entries = settings.get("added_tokens_decoder", {})
    return isinstance(entries, dict) and all(
        isinstance(entry, dict) and str(first.get(entry.get("content"))) == number for number, entry in entries.items()
    )


def _highest_id(backend: Any) -> int:
    """Returns the highest id that a tokenizer can give, -1 if it has none."""
    if hasattr(backend, "parts"):
        return sum(backend.sizes) - 1
    return max(backend.get_vocab().values(), default=-1)
