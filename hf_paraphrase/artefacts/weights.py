"""Weights in safetensors: their headers, a check for divergence, and tables of vectors of any type.

A table of 8-bit integers is in the format of model2vec: `embeddings`, int8 (vocab_size, columns), their row scales
`weights` (vocab_size,), and `"embedding_dtype": "int8"` in `config.json`. A table of 4-bit integers has
`packed_embeddings`, uint8 (vocab_size, columns / 2), instead: byte i of a row holds column i in its lower half and
column columns / 2 + i in its upper half, where q stands for 2 q - 15, to be multiplied by the scale.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import ModelError
from .files import wrap_load_errors

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel

_LARGEST = 2.0**63
"""The square of a larger number overflows single precision, so that lengths and cosines are undefined."""
TABLE_MODELS = ("avg", "concatenation")
"""The model types whose only parameter is a table of vectors."""
TABLE, SCALES, _MAPPING = "embeddings", "weights", "mapping"
PACKED_TABLE = "packed_embeddings"
DTYPE_KEY, INT8, INT4 = "embedding_dtype", "int8", "int4"
_REMEDY = "export or copy the model again"


class TensorEntry(NamedTuple):
    """The type of a tensor in a file, e.g. `F32`, and its shape."""

    dtype: str
    shape: tuple[int, ...]


def read_header(path: str | os.PathLike[str]) -> dict[str, TensorEntry]:
    """Read the types and shapes in a safetensors file; a missing or damaged file is a `ModelError`."""
    from safetensors import safe_open

    with wrap_load_errors("the weights", path), safe_open(path, framework="numpy") as file:
        parts = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        return {name: TensorEntry(part.get_dtype(), tuple(part.get_shape())) for name, part in parts.items()}


def read_headers(folder: str | os.PathLike[str]) -> dict[str, TensorEntry]:
    """Read the headers of all safetensors files of a model folder."""
    paths = sorted(Path(folder).glob("*.safetensors"))
    return {name: entry for path in paths for name, entry in read_header(path).items()}


def check_finite(model: Module | Mapping[str, Tensor], folder: str | os.PathLike[str] | None = None) -> None:
    """Refuse a model, or its weights by name, with a weight that is infinite, NaN, or too large."""
    for name, values in (model if isinstance(model, Mapping) else model.state_dict()).items():
        if values.is_floating_point() and values.numel():
            # Both are NaN if a weight is, and no array of booleans is needed.
            least, greatest = values.aminmax()
            if not (least.item() > -_LARGEST and greatest.item() < _LARGEST):
                problem = f"the training diverged: weights of {name} are NaN, infinite or too large"
                raise ModelError(problem, path=folder, remedy="train again with a lower --learning-rate")


def has_table(folder: str | os.PathLike[str]) -> bool:
    """Return whether a folder has a table of token vectors, in floats or integers."""
    return not {TABLE, PACKED_TABLE}.isdisjoint(read_headers(folder))


def load_integer_table(
    folder: str | os.PathLike[str], model_class: type[PreTrainedModel], **settings: Any
) -> PreTrainedModel:
    """Open a model whose table is stored as integers."""
    import torch

    if (model_type := model_class.config_class.model_type) not in TABLE_MODELS:
        raise ModelError(f"a model of type `{model_type}` cannot have integer weights", path=folder, remedy=_REMEDY)
    with wrap_load_errors("the model", folder, _REMEDY), torch.device("meta"):
        config: Any = model_class.config_class.from_pretrained(folder, local_files_only=True, **settings)
        vars(config).pop(DTYPE_KEY, None)
        model = model_class(config)
    table = read_table(Path(folder) / "model.safetensors")
    if table.scales is None or table.values.shape != model.get_parameter(TABLE).shape:
        raise ModelError("the table does not fit the configuration", path=folder, remedy=_REMEDY)
    model.load_state_dict({TABLE: torch.from_numpy(table.rounded())}, assign=True)
    return model.eval()


@dataclass(frozen=True)
class StoredMatrix:
    """A stored matrix (rows, columns) or vector, in float or in int8 with a factor per row, `scales` (rows,)."""

    values: NDArray[Any]
    scales: NDArray[np.float32] | None = None

    def rounded(self) -> NDArray[np.float32]:
        """Compute the matrix (rows, columns) in float32, with the rounding of the stored type."""
        if self.scales is None:
            return np.asarray(self.values, np.float32)
        return np.multiply(self.values, self.scales[:, None], dtype=np.float32)


def read_table(path: Path, name: str = TABLE) -> StoredMatrix:
    """Read the vectors (tokens, columns) of all tokens, in float32 or, with their scales, in int8 (also of int4).

    model2vec may share rows between tokens (`mapping`, the row of each token) and keep a factor of each token
    separately (`weights`). Here every token gets its own row, times its factor.
    """
    from safetensors import safe_open

    tensors = read_header(path)
    with wrap_load_errors("the table of word vectors", path), np.errstate(over="ignore", invalid="ignore"):
        with safe_open(path, framework="numpy") as weights:
            read: dict[str, NDArray[Any]] = {
                part: _read_bfloat16(path, part) if tensors[part].dtype == "BF16" else weights.get_tensor(part)
                for part in (name, PACKED_TABLE, _MAPPING, SCALES)
                if part in tensors
            }
        if PACKED_TABLE in read:
            if name in read or SCALES not in read:
                raise ValueError(f"`{PACKED_TABLE}` needs the scales `{SCALES}`, and no `{name}`")
            read[name] = unpack_int4(read[PACKED_TABLE])
        values, scales = read[name], read.get(SCALES)
        if values.ndim != 2:
            raise ValueError(f"`{name}` has the shape {list(values.shape)}")
        if _MAPPING in read:
            rows = read[_MAPPING].astype(np.int64)
            if (rows < 0).any():
                raise ValueError(f"`{_MAPPING}` names rows that the table does not have")
            values = values[rows]
        scales = None if scales is None else scales.astype(np.float32)
        if scales is not None and scales.shape != (len(values),):
            raise ValueError(f"`{SCALES}` has the shape {list(scales.shape)}, and there are {len(values)} tokens")
        if scales is not None and values.dtype != np.int8:
            values, scales = values.astype(np.float32) * scales[:, None], None
        if scales is None:
            values = np.ascontiguousarray(values, np.float32)
    checked, bound = (values, _LARGEST) if scales is None else (scales[:, None], _LARGEST / 128)
    if checked.size and not (checked.min() > -bound and checked.max() < bound):
        broken = np.flatnonzero(~(np.abs(checked) < bound).all(1))
        problem = f"the vector of token {broken[0]} is not finite, and {len(broken) - 1} others"
        raise ModelError(problem, path=path, remedy="train or copy the model again")
    return StoredMatrix(values, scales)


def pack_int4(values: NDArray[np.int8]) -> NDArray[np.uint8]:
    """Pack the odd numbers from -15 to 15 of a matrix (rows, columns) into bytes (rows, columns / 2)."""
    lower, upper = np.split(((values + 15) // 2).astype(np.uint8), 2, axis=1)
    return np.bitwise_or(lower, upper << 4, dtype=np.uint8)


def unpack_int4(packed: NDArray[np.uint8]) -> NDArray[np.int8]:
    """Return the matrix (rows, columns) that :func:`pack_int4` has packed."""
    values = np.empty((len(packed), 2 * packed.shape[1]), np.int8)
    lower, upper = np.split(values.view(np.uint8), 2, axis=1)
    np.bitwise_and(packed, 15, out=lower)
    np.right_shift(packed, 4, out=upper)
    values *= 2
    values -= 15
    return values


def _read_bfloat16(path: Path, name: str) -> NDArray[np.float32]:
    # NumPy has no bfloat16: its bits are the upper half of a float32.
    from safetensors import deserialize

    entry = dict(deserialize(path.read_bytes()))[name]
    halves = np.frombuffer(entry["data"], "<u2").reshape(entry["shape"])
    return (halves.astype(np.uint32) << 16).view(np.float32)
