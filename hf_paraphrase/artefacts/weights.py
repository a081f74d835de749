"""Weights in safetensors: what their headers say, whether they have diverged, and tables of 8-bit integers.

Such a table is in the format of model2vec: `embeddings`, int8 (vocab_size, columns), and `weights` (vocab_size,), by
which the rows are multiplied; and `"embedding_dtype": "int8"` in `config.json`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from .files import opening, read_json_object

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from torch import Tensor
    from torch.nn import Module
    from transformers import PreTrainedModel

_LARGEST = 2.0**63
"""The square of a greater number is infinite in single precision, so that no length or cosine can be computed."""
TABLE_MODELS = ("avg", "concatenation")
"""The model types whose only parameter is a table of vectors."""
TABLE, SCALES = "embeddings", "weights"
DTYPE_KEY, INT8 = "embedding_dtype", "int8"
_REMEDY = "export or copy the model again"


@dataclass(frozen=True)
class TensorEntry:
    """The type of a tensor in a file, e.g. `F32`, its shape, and the byte at which its data begin."""

    dtype: str
    shape: tuple[int, ...]
    offset: int = field(default=0, compare=False)


def read_header(path: str | os.PathLike[str]) -> dict[str, TensorEntry]:
    """Reads which tensors a safetensors file has; raises a `ModelError` if it is missing, damaged or cut off."""
    from safetensors import safe_open

    with opening("the weights", path), safe_open(path, framework="numpy"), Path(path).open("rb") as stream:
        # The library checks the file, but does not return the offsets.
        length = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(length))
    header.pop("__metadata__", None)
    return {
        name: TensorEntry(entry["dtype"], tuple(entry["shape"]), 8 + length + entry["data_offsets"][0])
        for name, entry in header.items()
    }


def read_headers(folder: str | os.PathLike[str]) -> dict[str, TensorEntry]:
    """Reads the headers of all safetensors files of a model folder."""
    tensors: dict[str, TensorEntry] = {}
    for path in sorted(Path(folder).glob("*.safetensors")):
        tensors |= read_header(path)
    return tensors


def check_finite(model: Module | Mapping[str, Tensor], folder: str | os.PathLike[str] | None = None) -> None:
    """Refuses a model, or its weights by name, with a weight that is infinite, NaN, or too large."""
    for name, values in (model if isinstance(model, Mapping) else model.state_dict()).items():
        if values.is_floating_point() and values.numel():
            # Both are NaN if a weight is, and no array of booleans is needed.
            least, greatest = values.aminmax()
            if not (least.item() > -_LARGEST and greatest.item() < _LARGEST):
                problem = f"the training diverged: weights of {name} are NaN, infinite or too large"
                raise ModelError(problem, path=folder, remedy="train again with a lower --learning-rate")


def is_int8_folder(folder: str | os.PathLike[str]) -> bool:
    """Returns whether `config.json` says that the table of a folder is stored as integers."""
    path = Path(folder) / "config.json"
    return path.is_file() and read_json_object(path, ModelError).get(DTYPE_KEY) == INT8


def load_int8_table(
    folder: str | os.PathLike[str], model_class: type[PreTrainedModel], **settings: Any
) -> PreTrainedModel:
    """Opens a model whose table is stored as integers."""
    import torch

    if (model_type := model_class.config_class.model_type) not in TABLE_MODELS:
        raise ModelError(f"int8 weights of a model of type `{model_type}`, which is not a table", path=folder)
    with opening("the model", folder, _REMEDY), torch.device("meta"):
        config: Any = model_class.config_class.from_pretrained(folder, local_files_only=True, **settings)
        vars(config).pop(DTYPE_KEY, None)
        model = model_class(config)
    table = read_int8_table(Path(folder), *model.get_parameter(TABLE).shape)
    model.load_state_dict({TABLE: torch.from_numpy(table)}, assign=True)
    return model.eval()


def read_int8_table(folder: str | os.PathLike[str], rows: int, columns: int) -> NDArray[np.float32]:
    """Reads a table that is stored as integers in float32, (rows, columns) by the configuration."""
    from safetensors.numpy import load_file

    path = Path(folder) / "model.safetensors"
    with opening("the model", path, _REMEDY):
        stored = load_file(path)
        integers, scales = stored[TABLE], stored[SCALES]
    if (integers.dtype, integers.shape, scales.shape) != (np.int8, (rows, columns), (rows,)):
        given = f"{integers.dtype} {[*integers.shape]} and {scales.dtype} {[*scales.shape]}"
        problem = f"an int8 model has `{TABLE}` int8 {[rows, columns]} and `{SCALES}` {[rows]}, not {given}"
        raise ModelError(problem, path=path, remedy=_REMEDY)
    factors = scales.astype(np.float32)[:, None]
    # Smaller than any number of the table, and far fewer to look at.
    if not (np.abs(factors) < np.finfo(np.float32).max / 128).all():
        raise ModelError("the scales of the table are not finite", path=path, remedy=_REMEDY)
    table: NDArray[np.float32] = np.multiply(integers, factors, dtype=np.float32)
    return table
