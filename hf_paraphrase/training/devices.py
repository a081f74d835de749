"""The devices of models: the setting `device`, the settings of a Trainer's accelerator, and the command `env`."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from ..artefacts.provenance import versions
from ..errors import UsageError, choice_of
from ..messages import log
from ..settings import Settings, recipe, setting

if TYPE_CHECKING:
    from transformers import TrainingArguments

    A = TypeVar("A", bound=TrainingArguments)

CPU = "cpu"


def device_setting() -> Any:
    """Declare a field `device`; settings without :class:`DeviceSettings` call :func:`check_device` themselves."""
    return setting(
        "device for the models: cpu, or another one of this machine by its name in torch, such as cuda, cuda:1 or "
        "mps; results of different devices differ by rounding",
        CPU,
    )


@dataclass(kw_only=True)
class DeviceSettings(Settings):
    """The settings of a command that runs a model."""

    GROUP: ClassVar[str] = "computing"

    device: str = device_setting()

    def check(self) -> None:
        """Refuse a value out of range and a device that this machine does not have."""
        super().check()
        if getattr(self, "computes_here", True):
            check_device(self.device)


def check_device(device: str) -> str:
    """Return the name of a device, which must be one of this machine."""
    # The CPU is always available, and torch takes a second to import.
    if device != CPU and device not in (available := devices()):
        raise UsageError(f"this machine has no --device {device}", remedy=choice_of(device, available))
    return device


def devices() -> list[str]:
    """List the torch names of the devices of this machine."""
    import torch

    names = [CPU]
    for kind, module in (("cuda", torch.cuda), ("xpu", getattr(torch, "xpu", None))):
        if module is not None and module.is_available():
            names += [kind, *(f"{kind}:{index}" for index in range(module.device_count()))]
    if torch.backends.mps.is_available():
        names.append("mps")
    return names


def bf16_is_fast(device: str | None = None) -> bool:
    """Return whether a device, by default a GPU if there is one, multiplies bfloat16 matrices in hardware."""
    import torch

    if device != CPU and torch.cuda.is_available():
        return torch.cuda.is_bf16_supported(including_emulation=False)
    return torch.cpu._is_amx_tile_supported() or torch.cpu._is_avx512_bf16_supported()


def is_bf16(precision: str, device: str | None = None) -> bool:
    """Return whether a `--precision` means bfloat16: `bf16`, or `auto` on a device with fast bfloat16."""
    return precision == "bf16" or (precision == "auto" and bf16_is_fast(device))


@dataclass(kw_only=True)
class AcceleratorSettings(Settings):
    """The settings of a training's device and arithmetic."""

    device: str | None = setting(
        "device for training: cpu, or a type of device by its name in torch, such as cuda; each process uses one "
        "device [default: a GPU if available]",
        None,
    )

    def check(self) -> None:
        """Refuse a device that is missing or is one of several GPUs."""
        super().check()
        if self.device is not None:
            kind, _, index = check_device(self.device).partition(":")
            if index:
                problem = f"--device {self.device} names one of several GPUs, but training uses the first GPU"
                raise UsageError(problem, remedy=f"set CUDA_VISIBLE_DEVICES={index} and give --device {kind}")

    @property
    def is_on_cpu(self) -> bool:
        """Whether the training runs on the CPU."""
        import torch

        return self.device == CPU or (self.device is None and not torch.accelerator.is_available())

    @property
    def computing_device(self) -> str:
        """The device of the Trainer, for other models of the same training."""
        import torch

        return CPU if self.is_on_cpu else self.device or str(torch.accelerator.current_accelerator() or CPU)

    def trainer_arguments(self, arguments_class: type[A], **settings: Any) -> A:
        """Make the arguments of a Trainer on this device, on one GPU at most; `settings` override these settings."""
        arguments = arguments_class(**{"use_cpu": self.is_on_cpu, **settings})
        take_one_gpu(arguments)
        return arguments


def take_one_gpu(arguments: TrainingArguments) -> None:
    """Make a process train on one GPU, because `DataParallel` would split batches and so the sets of negatives."""
    if arguments.n_gpu > 1:
        arguments._n_gpu = 1
        log("training on one of several GPUs; `accelerate launch` or `torchrun` starts a process for each")


@dataclass(kw_only=True)
class EnvironmentSettings(Settings):
    """Print the versions of Python and of the main packages, the processor and the accelerators."""

    json: bool = setting("print JSON instead of lines", False)


@dataclass(frozen=True)
class Environment:
    """The versions of packages, the processor and the accelerators, printed as lines or as JSON."""

    facts: dict[str, str]
    json: bool = False

    def __str__(self) -> str:
        """Return the text, ending in a newline."""
        if self.json:
            return json.dumps(self.facts, indent=2) + "\n"
        width = max(map(len, self.facts))
        return "".join(f"{name:{width}}  {value}\n" for name, value in self.facts.items())


@recipe(EnvironmentSettings)
def env(settings: EnvironmentSettings) -> Environment:
    """Return the versions of Python and of the main packages, the processor and the accelerators."""
    import torch

    accelerators = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    facts = {
        **versions(),
        "platform": platform.platform(),
        "cpu cores": str(os.cpu_count()),
        "torch threads": str(torch.get_num_threads()),
        "bfloat16 in hardware": "yes" if bf16_is_fast() else "no",
        "accelerators": ", ".join(accelerators) or "none",
    }
    return Environment(facts, settings.json)
