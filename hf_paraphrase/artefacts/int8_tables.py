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

from ..errors import ModelError
from .untrusted_files import read_json_object
from .untrusted_models import TensorEntry, opening

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from transformers import PreTrainedModel

TABLE_MODELS = ("avg", "concatenation")
"""The model types whose only parameter is a table of vectors."""
TABLE, SCALES = "embeddings", "weights"
"""The names of the integers and of their scales."""
DTYPE_KEY, INT8 = "embedding_dtype", "int8"
"""What the configuration says of them."""
_SCALE_TYPES = ("F32", "F16")
_REMEDY = "export or copy the model again"


def is_int8_folder(folder: str | os.PathLike[str]) -> bool:
    """Tells whether a folder holds its table as integers, by its configuration; no other reader takes such a folder.

    Raises:
        ModelError: If `config.json` is damaged.
    """
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
        tensors: What :func:`~.untrusted_models.check_model_folder` says of its weights.
        **settings: Values of the configuration that are other than in the folder.

    Returns:
        The model with its table in float32, as if it had always been.

    Raises:
        ModelError: If the table or its scales are missing, of another type or shape than the configuration asks for,
            or not finite, or if there is something else.
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
    rows, columns = model.get_parameter(TABLE).shape
    table = read_int8_table(folder, tensors, rows, columns)
    with opening("the model", folder, _REMEDY):
        model.load_state_dict({TABLE: torch.from_numpy(table)}, assign=True)
    return model.eval()


def read_int8_table(
    folder: str | os.PathLike[str], tensors: Mapping[str, TensorEntry], rows: int, columns: int
) -> NDArray[np.float32]:
    """Reads a table that is stored as integers.

    Args:
        folder: The folder.
        tensors: What :func:`~.untrusted_models.check_model_folder` says of its weights.
        rows: How many vectors the configuration asks for.
        columns: How many components.

    Returns:
        The table (rows, columns) in float32.

    Raises:
        ModelError: As :func:`load_int8_table`.
    """
    _check(Path(folder), tensors, rows, columns)
    return _read(Path(folder))


def _check(folder: Path, tensors: Mapping[str, TensorEntry], rows: int, columns: int) -> None:
    """Compares what the header says with what the configuration asks for."""
    for name, dtypes, shape in ((TABLE, ("I8",), (rows, columns)), (SCALES, _SCALE_TYPES, (rows,))):
        if name not in tensors:
            what = "the table" if name == TABLE else "the scales of the rows"
            raise ModelError(f"an int8 model without `{name}`, {what}", path=folder, remedy=_REMEDY)
        found = tensors[name]
        if found.dtype not in dtypes or found.shape != shape:
            raise ModelError(
                f"`{name}` of an int8 model must be {' or '.join(dtypes)} {list(shape)}, "
                f"not {found.dtype} {list(found.shape)}",
                path=folder,
                remedy=_REMEDY,
            )
    if others := sorted(set(tensors) - {TABLE, SCALES}):
        raise ModelError(f"an int8 model with other weights: {', '.join(others)[:80]}", path=folder, remedy=_REMEDY)


def _read(folder: Path) -> NDArray[np.float32]:
    """Reads the table (rows, columns) in float32."""
    import numpy as np
    from safetensors.numpy import load_file

    path = folder / "model.safetensors"
    with opening("the model", path, _REMEDY):
        found = load_file(path)
        integers, scales = found[TABLE], found[SCALES].astype(np.float32)
    # As large as the products may be, they must be numbers too.
    with np.errstate(over="ignore"):
        broken = np.flatnonzero(~np.isfinite(scales * np.float32(128)))
    if len(broken):
        raise ModelError(
            f"the scale of row {broken[0]} is not finite ({len(broken)} such scale{'s' if len(broken) > 1 else ''})",
            path=path,
            remedy=_REMEDY,
        )
    table: NDArray[np.float32] = np.multiply(integers, scales[:, None], dtype=np.float32)
    return table
