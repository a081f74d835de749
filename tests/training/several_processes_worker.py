"""What two processes do for test_several_processes.py."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
import torch.distributed as distributed
from safetensors.torch import save_file

from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.training import sparse_gradients
from hf_paraphrase.training.joining import check_in_common, lost_processes_told
from hf_paraphrase.training.sparse_gradients import average_gradients

ROWS = 50

GRADIENTS = {
    "dense on both": ("dense", "dense"),
    "rows on both": ([3, 7, 3], [7, 9]),
    "rows on one": ([3, 3], None),
    "no rows on one": ([5], []),
    "dense on one, rows on the other": ([5, 2], "dense"),
    "dense on one": (None, "dense"),
    "of another type": ("dense", "dense"),
    "none": (None, None),
}
"""By parameter what each process has: a dense gradient, one of some rows, or none."""


def gradient(name, process):
    """What a process has for a parameter."""
    found = GRADIENTS[name][process]
    generator = torch.Generator().manual_seed(17 * list(GRADIENTS).index(name) + process)
    dtype = torch.float64 if name == "of another type" else torch.float32
    if found is None:
        return None
    if found == "dense":
        return torch.randn(ROWS, 4, generator=generator, dtype=dtype)
    values = torch.randn(len(found), 4, generator=generator, dtype=dtype)
    return torch.sparse_coo_tensor(torch.tensor([found], dtype=torch.long), values, (ROWS, 4), check_invariants=True)


def main(output):
    distributed.init_process_group("gloo")
    process = distributed.get_rank()
    parameters = {}
    for name in GRADIENTS:
        kind = torch.float64 if name == "of another type" else torch.float32
        parameters[name] = torch.nn.Parameter(torch.zeros(ROWS, 4, dtype=kind))
        parameters[name].grad = gradient(name, process)
    parameters["frozen"] = torch.nn.Parameter(torch.zeros(3), requires_grad=False)
    sent = []
    gathered = sparse_gradients.all_rows
    sparse_gradients.all_rows = lambda rows, counts: (sent.append(rows.shape[0]), gathered(rows, counts))[1]
    average_gradients(parameters.values())
    found = {name: item.grad for name, item in parameters.items() if item.grad is not None}
    sparse = torch.tensor([name in found and found[name].is_sparse for name in GRADIENTS])
    dense = {name: value.to_dense().contiguous() for name, value in found.items()}
    save_file(
        {**dense, "is sparse": sparse, "rows sent": torch.tensor(sent)}, output / f"gradients {process}.safetensors"
    )
    shared = output / "shared"
    if process == 0:
        shared.mkdir()
    said = []
    for job, folder in ((0, shared), (process, shared), (0, output / f"of process {process}")):
        if process == 0:
            folder.mkdir(exist_ok=True)
        try:
            check_in_common(f"{job:02x}" * 32, folder, patience=0.5)
            said.append("")
        except HfParaphraseError as error:
            said.append(str(error))
    # The second process ends; the first one waits for it.
    if process == 0:
        try:
            with lost_processes_told():
                distributed.barrier()
        except HfParaphraseError as error:
            said.append(str(error))
        try:
            with lost_processes_told():
                raise RuntimeError("of its own")
        except RuntimeError as error:
            said.append(str(error))
    (output / f"said {process}").write_text("\n".join(said))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
