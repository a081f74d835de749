"""What launchers and arguments may ask for that spreads one model over several processes, and that is refused."""

from __future__ import annotations

import os
from typing import Any

from ..errors import UsageError

_SWITCHES = {
    "ACCELERATE_USE_FSDP": "FSDP",
    "ACCELERATE_USE_DEEPSPEED": "DeepSpeed",
    "ACCELERATE_USE_MEGATRON_LM": "Megatron-LM",
    "ACCELERATE_USE_PARALLELISM_CONFIG": "a parallelism configuration",
}
"""The variables by which `accelerate launch` says what its flags and its configuration file ask for."""
_ON = {"1", "true", "yes", "on", "y", "t"}


def refuse_sharding(arguments: Any = None) -> None:
    """Refuses to train where a model would be spread over processes: here each of them holds the whole of it.

    The largest models of this package are far smaller than one GPU, and their optimizers, checkpoints and sparse
    gradients are those of whole models.

    Args:
        arguments: `TrainingArguments` that may ask for it; what the launcher asks for is always looked at.

    Raises:
        UsageError: If FSDP, DeepSpeed, Megatron-LM or a parallelism configuration is asked for.
    """
    asked = [
        (library, f"the launcher sets {name}")
        for name, library in _SWITCHES.items()
        if os.environ.get(name, "").strip().lower() in _ON
    ]
    asked += [
        (library, f"the arguments have {name}={value!r}")
        for name, library in (("fsdp", "FSDP"), ("deepspeed", "DeepSpeed"))
        if (value := getattr(arguments, name, None))
    ]
    if asked:
        library, by = asked[0]
        raise UsageError(
            f"{library} is asked for ({by}), and in a training here every process holds the whole model",
            remedy="leave it out, and start the processes with torchrun or accelerate launch --multi_gpu",
        )
