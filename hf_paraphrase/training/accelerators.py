"""Where and how a Trainer computes: its device, the arithmetic of its matrices, and whether the model is compiled."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..errors import UsageError
from ..messages import log
from ..settings import Settings, setting
from .devices import CPU, check_device

if TYPE_CHECKING:
    from transformers import TrainingArguments

    A = TypeVar("A", bound=TrainingArguments)

_COMPILERS = ("c++", "g++", "clang++")


@dataclass(kw_only=True)
class AcceleratorSettings(Settings):
    """What a training verb is told about the device that it trains on."""

    GROUP: ClassVar[str] = "computing"

    device: str | None = setting(
        "where to train: cpu, or a kind of device of this machine as torch names it, such as cuda, of which a process "
        "takes one [default: a GPU where there is one]",
        None,
    )
    tf32: bool = setting(
        "multiply float32 matrices with 10 bits of their mantissa on GPUs that can: faster; nothing changes elsewhere",
        False,
    )
    torch_compile: bool = setting(
        "compile the model before it is trained, which takes minutes, needs a C++ compiler and changes results by "
        "rounding",
        False,
    )

    def check(self) -> None:
        """Refuses values that do not fit.

        Raises:
            UsageError: For a value out of range, a device that is not here, one of several GPUs, which is chosen
                otherwise, and for compiling without a compiler.
        """
        super().check()
        if self.device is not None:
            kind, _, number = check_device(self.device).partition(":")
            if number:
                raise UsageError(
                    f"--device {self.device} is for verbs that do not train: a training takes the first GPU it sees",
                    remedy=f"CUDA_VISIBLE_DEVICES={number} and --device {kind}; or a process for each, by accelerate",
                )
        if self.torch_compile and not any(map(shutil.which, (os.environ.get("CXX", ""), *_COMPILERS))):
            raise UsageError("--torch-compile needs a C++ compiler, and none is here", remedy="install g++")

    @property
    def is_on_cpu(self) -> bool:
        """Whether the training takes place on the processor."""
        import torch

        return self.device == CPU or (self.device is None and not torch.accelerator.is_available())

    @property
    def computing_device(self) -> str:
        """The device that a Trainer takes, for what else computes in a training."""
        import torch

        found = None if self.is_on_cpu else self.device or torch.accelerator.current_accelerator()
        return CPU if found is None else str(found)

    def trainer_arguments(self, arguments_class: type[A], **settings: Any) -> A:
        """Makes the arguments of a Trainer that computes so, on one GPU at most.

        Args:
            arguments_class: Their class.
            **settings: The other settings; they win over these.
        """
        from transformers.utils import is_torch_tf32_available

        own = {
            "use_cpu": self.is_on_cpu,
            # Elsewhere the Trainer refuses it, and one file of settings would not serve two machines.
            "tf32": True if self.tf32 and not self.is_on_cpu and is_torch_tf32_available() else None,
            "torch_compile": self.torch_compile,
        }
        arguments = arguments_class(**{**own, **settings})
        take_one_gpu(arguments)
        return arguments


def take_one_gpu(arguments: TrainingArguments) -> bool:
    """Has a process train on one GPU however many it sees, and tells whether it would have taken more.

    `DataParallel` would cut the batches of a process, and with them the sets of negatives, into pieces.
    """
    if arguments.n_gpu <= 1:
        return False
    arguments._n_gpu = 1
    return True


def take_one_gpu_aloud(arguments: TrainingArguments) -> None:
    """Does the same where somebody else has made the arguments, and says so."""
    if take_one_gpu(arguments):
        log("training on one GPU of those that are here; `accelerate launch` or `torchrun` starts a process for each")
