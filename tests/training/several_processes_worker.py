"""What two processes do for test_several_processes.py."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as distributed
from safetensors.torch import save_file

from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.training.processes import check_in_common
from hf_paraphrase.training.sparse_gradients import average_gradients

ROWS = 50
GRADIENTS = {"dense": ("dense", "dense"), "rows": ([3, 7, 3], [7, 9]), "no rows on one": ([5], [])}
"""By parameter what each process has: a dense gradient, or one of some rows."""


def gradient(name, process):
    """Returns the gradient that a process has for a parameter."""
    rows = GRADIENTS[name][process]
    generator = torch.Generator().manual_seed(17 * list(GRADIENTS).index(name) + process)
    if rows == "dense":
        return torch.randn(ROWS, 4, generator=generator)
    values = torch.randn(len(rows), 4, generator=generator)
    return torch.sparse_coo_tensor(torch.tensor([rows], dtype=torch.long), values, (ROWS, 4), check_invariants=True)


def main(output):
    distributed.init_process_group("gloo")
    process = distributed.get_rank()
    names = [*GRADIENTS, "without"]
    parameters = {name: torch.nn.Parameter(torch.zeros(ROWS, 4)) for name in names}
    for name in GRADIENTS:
        parameters[name].grad = gradient(name, process)
    average_gradients(parameters.values())
    averages = {name: item.grad for name, item in parameters.items() if item.grad is not None}
    sparse = {f"is sparse {name}": torch.tensor(item.is_sparse) for name, item in averages.items()}
    dense = {name: item.to_dense().contiguous() for name, item in averages.items()}
    save_file(dense | sparse, output / f"gradients {process}.safetensors")
    shared = output / "shared"
    if process == 0:
        shared.mkdir()
    messages = []
    for job, folder in ((0, shared), (process, shared), (0, output / f"of process {process}")):
        if process == 0:
            folder.mkdir(exist_ok=True)
        try:
            check_in_common(f"{job:02x}" * 32, folder)
            messages.append("")
        except HfParaphraseError as error:
            messages.append(str(error))
    (output / f"messages {process}").write_text("\n".join(messages))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
