"""The recipe of the verb `env`: what this machine and its packages are, for a bug report."""

from __future__ import annotations

import json
import os
import platform
from dataclasses import dataclass

from ..artefacts.provenance import versions
from ..settings import Settings, recipe, setting


@dataclass(kw_only=True)
class EnvironmentSettings(Settings):
    """Print the versions of Python and of the packages that matter, the processor and the accelerators."""

    json: bool = setting("print JSON instead of lines", False)


@dataclass(frozen=True)
class Environment:
    """What was found; it prints as lines of a name and a value, or as JSON.

    Attributes:
        facts: The versions by the names of packages, then the processor and the accelerators.
        json: Whether it prints as JSON.
    """

    facts: dict[str, str]
    json: bool = False

    def __str__(self) -> str:
        """Returns the text, ending in a newline."""
        if self.json:
            return json.dumps(self.facts, indent=2) + "\n"
        width = max(map(len, self.facts))
        return "".join(f"{name:{width}}  {value}\n" for name, value in self.facts.items())


@recipe(EnvironmentSettings)
def environment(settings: EnvironmentSettings) -> Environment:
    """Finds the versions of Python and of the packages that matter, the processor and the accelerators.

    Returns:
        The facts by their names; it prints as the verb does.
    """
    import torch

    from .arguments import bf16_is_fast

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
