"""Averages the weights of checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor


def average_checkpoints(folders: Sequence[Path]) -> dict[str, Tensor]:
    """Computes the mean of the weights of checkpoints of one training run.

    The weights of late checkpoints lie in one basin, so their mean is a model too, about as good as an ensemble of
    them and as fast as one of them (Junczys-Dowmunt et al. 2016 §4.1 found so for Adadelta-trained RNNsearch models).

    Args:
        folders: Model folders with `model.safetensors`; they are read one after the other.

    Returns:
        The mean of each weight, taken in float64, in the type in which the first checkpoint has it.

    Raises:
        ValueError: If there is no checkpoint, or two have different weights by name or shape.
    """
    from safetensors.torch import load_file

    if not folders:
        raise ValueError("there is no checkpoint to average")
    first = load_file(folders[0] / "model.safetensors")
    total = {name: weight.to(torch.float64) for name, weight in first.items()}
    for folder in folders[1:]:
        weights = load_file(folder / "model.safetensors")
        shapes = {name: weight.shape for name, weight in weights.items()}
        if shapes != {name: weight.shape for name, weight in first.items()}:
            raise ValueError(f"{folder.name} and {folders[0].name} have different weights")
        for name, weight in weights.items():
            total[name] += weight
    return {name: (weight / len(folders)).to(first[name].dtype) for name, weight in total.items()}
