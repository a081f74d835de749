"""Models that are one table of vectors, stored as 8-bit integers with a scale a row, and opened in float32.

`export --format safetensors --weights int8` makes such folders. Their `model.safetensors` has `embeddings`, int8
(vocab_size, columns), and `weights`, float32 or float16 (vocab_size,), by which the rows are multiplied; and their
`config.json` has `"embedding_dtype": "int8"`. Both are as model2vec has them, which opens those of type `avg` too. The
classes of the models refuse such a configuration, for transformers would take the integers for the vectors.
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
    """Tells from `config.json` whether the table of a folder is stored as integers."""
    path = Path(folder) / "config.json"
    return path.is_file() and read_json_object(path, ModelError).get(DTYPE_KEY) == INT8


def load_int8_table(
    folder: str | os.PathLike[str],
    model_class: type[PreTrainedModel],
    tensors: Mapping[str, TensorEntry],
    **settings: Any,
) -> PreTrainedModel:
    """Opens a model whose table is stored as integers.

    Args:
        folder: A folder that :func:`is_int8_folder` recognised.
        model_class: The class of the model, of one of :data:`TABLE_MODELS`.
        tensors: The header of its weights.
        **settings: Values of the configuration that replace those in the folder.

    Returns:
        The model with its table in float32.

    Raises:
        ModelError: If the weights do not fit the configuration, or are not finite.
    """
    import torch

    folder = Path(folder)
    if model_class.config_class.model_type not in TABLE_MODELS:
        raise ModelError(
            f"int8 weights of a model of type `{model_class.config_class.model_type}`, which is no table of vectors",
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
    """Reads a table that is stored as integers.

    Args:
        folder: The folder.
        tensors: The header of its weights.
        rows: The number of vectors in the configuration.
        columns: The number of their components.

    Returns:
        The table (rows, columns) in float32.

    Raises:
        ModelError: As :func:`load_int8_table`.
    """
    from safetensors.numpy import load_file

    path = Path(folder) / "model.safetensors"
    for name, dtypes, shape in ((TABLE, ("I8",), (rows, columns)), (SCALES, ("F32", "F16"), (rows,))):
        entry = tensors.get(name)
        if entry is None or entry.dtype not in dtypes or entry.shape != shape:
            stored_as = "is missing" if entry is None else f"is {entry.dtype} {list(entry.shape)}"
            raise ModelError(
                f"`{name}` of an int8 model {stored_as}, and must be {' or '.join(dtypes)} {list(shape)}",
                path=path,
                remedy=_REMEDY,
            )
    if others := sorted(set(tensors) - {TABLE, SCALES}):
        raise ModelError(f"an int8 model with other weights: {', '.join(others)[:80]}", path=path, remedy=_REMEDY)
    with opening("the model", path, _REMEDY):
        stored = load_file(path)
    scales = stored[SCALES].astype(np.float32)
    # The products must be finite too.
    with np.errstate(over="ignore"):
        broken = np.flatnonzero(~np.isfinite(scales * np.float32(128)))
    if len(broken):
        raise ModelError(f"the scale of row {broken[0]} is not finite", path=path, remedy=_REMEDY)
    table: NDArray[np.float32] = np.multiply(stored[TABLE], scales[:, None], dtype=np.float32)
    return table
