"""Weights in safetensors: what their headers say, and whether they have diverged."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ModelError
from .quiet_libraries import opening

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_LARGEST = 2.0**63
"""The square of a greater number is infinite in single precision, so that no length or cosine can be computed."""


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
    """Refuses a model, or its weights by name, with a weight that is infinite, NaN, or too large to compute with."""
    for name, values in (model if isinstance(model, Mapping) else model.state_dict()).items():
        if values.is_floating_point() and values.numel():
            # Both are NaN if a weight is, and no array of booleans is needed.
            least, greatest = values.aminmax()
            if not (least.item() > -_LARGEST and greatest.item() < _LARGEST):
                raise ModelError(
                    f"the training diverged: weights of {name} are NaN, infinite or too large",
                    path=folder,
                    remedy="train again with a lower --learning-rate, or a longer warm-up where the verb has one",
                )


def check_finite_files(folder: Path, *, but: Path) -> None:
    """Does the same for all safetensors files below a folder, except those below `but`."""
    from safetensors.torch import load_file

    for path in sorted(folder.rglob("*.safetensors")):
        if but not in path.parents:
            check_finite(load_file(path))
