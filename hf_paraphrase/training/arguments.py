"""Arguments of the Trainer: those that a trainer of this package settles itself, and the arithmetic."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from transformers import TrainingArguments

from .devices import CPU
from .sharding import refuse_sharding

Settled = Mapping[str, tuple[tuple[Any, ...], str]]
"""By the names of settings: the values that say nothing else, and what to do instead of giving another."""

_EVERY_EPOCH = "the dev part is measured and a checkpoint written at the end of every epoch"
EVERY_EPOCH: Settled = {
    "eval_strategy": (("no", "epoch"), _EVERY_EPOCH),
    "eval_steps": ((None,), _EVERY_EPOCH),
    "save_strategy": (("steps", "epoch"), _EVERY_EPOCH),
    "save_steps": ((500,), _EVERY_EPOCH),
}
"""Those of the trainers that measure and save at the end of every epoch."""

_ADAM = "the optimizer is Adam without weight decay; for another override the trainer's `create_optimizer`"
BATCHES_AND_LOSS: Settled = {
    "label_smoothing_factor": ((0.0,), "the trainer computes its own loss; for another override its `compute_loss`"),
    "dataloader_drop_last": ((False,), "an epoch trains on all of its examples, the last batch included"),
}
"""Those of all trainers here: what a batch and its loss are."""
ADAM: Settled = {
    "optim": (("adamw_torch", "adamw_torch_fused"), _ADAM),  # one of the two is the default of the Trainer
    "optim_args": ((None,), _ADAM),
    "weight_decay": ((0.0,), _ADAM),
}
"""Those of the trainers that make their optimizer themselves."""


def refuse_without_effect(arguments: TrainingArguments, settled: Settled) -> None:
    """Refuses a value that would be overwritten or that nothing reads, and models that are spread over processes.

    Raises:
        ValueError: If a setting has one, with what to do instead.
    """
    refuse_sharding(arguments)
    for name, (accepted, remedy) in settled.items():
        value = getattr(arguments, name)
        if value not in accepted:
            raise ValueError(f"{name}={value!r} would have no effect: {remedy}")


def bf16_is_fast(device: str | None = None) -> bool:
    """Tells whether a device of this machine multiplies bfloat16 matrices in hardware.

    Args:
        device: As torch names it; None for a GPU where there is one.
    """
    if device != CPU and torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()


def is_bf16(precision: str, device: str | None = None) -> bool:
    """Tells whether a `--precision` is bfloat16: `bf16` is, and `auto` where it is fast on the device."""
    return precision == "bf16" or (precision == "auto" and bf16_is_fast(device))
