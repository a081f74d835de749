"""Weights that are numbers: what a training that diverged leaves is neither written nor opened."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

_LARGEST = 2.0**63
"""The square of a greater number is none any more in single precision: no length and no cosine comes of it."""
_REMEDY = "train again with a lower --learning-rate, or a longer warm-up where the verb has one"


def check_finite(model: Module | Mapping[str, Tensor], folder: str | os.PathLike[str] | None = None) -> None:
    """Refuses a model whose training diverged.

    Args:
        model: The model, or its weights by name.
        folder: Where it lies, for the message; none for one that is being trained.

    Raises:
        ModelError: If a weight is infinite, not a number, or too large to compute with.
    """
    _check((model if isinstance(model, Mapping) else model.state_dict()).items(), folder)


def check_finite_files(folder: Path, *, but: Path) -> None:
    """Refuses weights that a training has written, in all safetensors files below a folder.

    Args:
        folder: The folder.
        but: A folder in it that is left out, with all that is below it.

    Raises:
        ModelError: If a weight is infinite, not a number, or too large to compute with.
    """
    from safetensors import safe_open

    for path in sorted(folder.rglob("*.safetensors")):
        if but not in path.parents:
            with safe_open(path, framework="pt") as weights:
                _check(((name, weights.get_tensor(name)) for name in weights.keys()), None)  # noqa: SIM118


def _check(weights: Iterable[tuple[str, Tensor]], folder: str | os.PathLike[str] | None) -> None:
    for name, values in weights:
        if values.is_floating_point() and values.numel():
            # Two numbers instead of an array of truth values: neither NaN nor infinity gets lost in them.
            least, greatest = values.aminmax()
            if not (least.item() > -_LARGEST and greatest.item() < _LARGEST):
                raise ModelError(
                    f"the training diverged: weights of {name} are no numbers that can be computed with",
                    path=folder,
                    remedy=_REMEDY,
                )
