"""Models that are one table of vectors, stored as 8-bit integers with a scale a row, and opened in float32.

`export --format safetensors --weights int8` makes such folders, in the format of model2vec: `embeddings`, int8
(vocab_size, columns), and `weights`, float32 or float16 (vocab_size,), by which the rows are multiplied; and
`"embedding_dtype": "int8"` in `config.json`, which the classes of the models refuse.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ModelError
from .files import read_json_object
from .quiet_libraries import opening
from .weights import TensorEntry

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedModel

TABLE_MODELS = ("avg", "concatenation")
"""The model types whose only parameter is a table of vectors."""
TABLE, SCALES = "embeddings", "weights"
"""The names of the integers and of their scales."""
DTYPE_KEY, INT8 = "embedding_dtype", "int8"
"""The key and value of the configuration of such a folder."""
_REMEDY = "export or copy the model again"


def is_int8_folder(folder: str | os.PathLike[str]) -> bool:
    """Returns whether `config.json` says that the table of a folder is stored as integers."""
    path = Path(folder) / "config.json"
    return path.is_file() and read_json_object(path, ModelError).get(DTYPE_KEY) == INT8


def load_int8_table(
    folder: str | os.PathLike[str],
    model_class: type[PreTrainedModel],
    tensors: Mapping[str, TensorEntry],
    **settings: Any,
) -> PreTrainedModel:
    """Opens a model whose table is stored as integers; `tensors` is the header of its weights."""
    import torch

    folder = Path(folder)
    model_type = model_class.config_class.model_type
    if model_type not in TABLE_MODELS:
        raise ModelError(
            f"int8 weights of a model of type `{model_type}`, which is not a table of vectors",
            path=folder,
            remedy="export it with --weights float16",
        )
    with opening("the model", folder, _REMEDY), torch.device("meta"):
        config: Any = model_class.config_class.from_pretrained(folder, local_files_only=True, **settings)
        if hasattr(config, DTYPE_KEY):
            delattr(config, DTYPE_KEY)
        model = model_class(config)
    table = read_int8_table(folder, tensors, *model.get_parameter(TABLE).shape)
    model.load_state_dict({TABLE: torch.from_numpy(table)}, assign=True)
    return model.eval()


def read_int8_table(
    folder: str | os.PathLike[str], tensors: Mapping[str, TensorEntry], rows: int, columns: int
) -> NDArray[np.float32]:
    """Reads a table that is stored as integers in float32, (rows, columns) by the configuration."""
    from safetensors.numpy import load_file

    path = Path(folder) / "model.safetensors"
    scales_dtype = tensors[SCALES].dtype if SCALES in tensors else None
    wanted = {
        TABLE: TensorEntry("I8", (rows, columns)),
        SCALES: TensorEntry("F16" if scales_dtype == "F16" else "F32", (rows,)),
    }
    if dict(tensors) != wanted:
        given = ", ".join(f"`{name}` {entry.dtype} {list(entry.shape)}" for name, entry in sorted(tensors.items()))
        raise ModelError(
            f"an int8 model has `{TABLE}` I8 {[rows, columns]} and `{SCALES}` F32 or F16 {[rows]}, not {given[:200]}",
            path=path,
            remedy=_REMEDY,
        )
    with opening("the model", path, _REMEDY):
        stored = load_file(path)
    scales = stored[SCALES].astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        table: NDArray[np.float32] = np.multiply(stored[TABLE], scales[:, None], dtype=np.float32)
    if not np.isfinite(table).all():
        raise ModelError("the scales of the table are not finite", path=path, remedy=_REMEDY)
    return table
