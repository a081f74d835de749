"""`env`: versions and devices, for a bug report."""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import sys
from collections.abc import Sequence

from ..artefacts.provenance import versions
from ..settings import setting
from .arguments import parse


@dataclasses.dataclass
class Arguments:
    """Print the versions of Python and of the packages that matter, the processor and the accelerators."""

    json: bool = setting("print JSON instead of lines", False)


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    arguments = parse(Arguments, "env", argv)
    import torch

    from ..training.arguments import bf16_is_fast

    facts = {
        **versions(),
        "platform": platform.platform(),
        "cpu cores": str(os.cpu_count()),
        "torch threads": str(torch.get_num_threads()),
        "bfloat16 in hardware": "yes" if bf16_is_fast() else "no",
        "accelerators": ", ".join(_accelerators()) or "none",
    }
    if arguments.json:
        sys.stdout.write(json.dumps(facts, indent=2) + "\n")
        return
    width = max(map(len, facts))
    sys.stdout.write("".join(f"{name:{width}}  {value}\n" for name, value in facts.items()))


def _accelerators() -> list[str]:
    import torch

    return [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
