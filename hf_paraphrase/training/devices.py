"""The setting `device` of what runs a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import UsageError, choice_of
from ..settings import Settings, setting

CPU = "cpu"


def device_setting() -> Any:
    """Declares a field `device`; who is no :class:`DeviceSettings` calls :func:`check_device`."""
    return setting(
        "where models compute: cpu, or a device of this machine as torch names it, such as cuda, cuda:1 or mps; "
        "results of different devices differ by rounding",
        CPU,
    )


@dataclass(kw_only=True)
class DeviceSettings(Settings):
    """The settings of what runs a model."""

    GROUP: ClassVar[str] = "computing"

    device: str = device_setting()

    def check(self) -> None:
        """Refuses what does not fit.

        Raises:
            UsageError: For a value out of range, and a device that is not here.
        """
        super().check()
        if getattr(self, "computes_here", True):
            check_device(self.device)


def check_device(device: str) -> str:
    """Returns a device that torch has on this machine.

    Raises:
        UsageError: If there is no such device here.
    """
    # The CPU is always there, and torch takes seconds to import.
    if device != CPU and device not in (found := devices()):
        raise UsageError(f"there is no --device {device} here", remedy=choice_of(device, found))
    return device


def devices() -> list[str]:
    """Lists the names that torch has for the devices of this machine."""
    import torch

    found = [CPU]
    for kind, module in (("cuda", torch.cuda), ("xpu", getattr(torch, "xpu", None))):
        if module is not None and module.is_available():
            found += [kind, *(f"{kind}:{number}" for number in range(module.device_count()))]
    if torch.backends.mps.is_available():
        found.append("mps")
    return found
