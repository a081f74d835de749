"""Trains small encoders for test_joint_training.py, in one process or in two, which then also gather and compare."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import torch
from safetensors.torch import save_file
from tiny_training import KillAt, Killed, make, tokenizer, trainer_of
from transformers import TrainerCallback

from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.training.callbacks import last_checkpoint
from hf_paraphrase.training.processes import check_in_common, gather_rows, num_processes, process_index, wait_for_all

JOINT = 6
"""Pairs in a joint batch."""

ROWS = {"dense_optimizer": False}
"""Sparse gradients, unless other settings need dense gradients."""
RUNS = {
    # 23 pairs leave 5 for the last joint batch, which two processes share unequally; 19 leave 1, and one has nothing.
    "avg": {},
    "idle process": {"max_pairs": 19},
    "fewer pairs than processes": {"max_pairs": 1},
    "mega-batches opposite": {
        "mega_batch_size": 2,
        "negatives_from": "opposite",
        "kind": "lstm",
        "max_grad_norm": 0.1,
    },
    "accumulated": {"mega_batch_size": 3, "gradient_accumulation_steps": 2, "max_pairs": 19},
    "rows and a network": {**ROWS, "kind": "gru", "scramble": 0.5, "lambda_c": 0.01, "max_grad_norm": 0.01},
    "resumed rows": {**ROWS, "kind": "gru", "mega_batch_size": 2, "kill": 5},
}


class Noting(TrainerCallback):
    """Keeps the gradients of every update."""

    def __init__(self):
        self.gradients = []

    def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
        named = getattr(model, "module", model).named_parameters()
        self.gradients.append({name: weight.grad.to_dense().clone() for name, weight in named})


def train(folder, pairs_folder, kind="avg", max_pairs=None, kill=None, **settings):
    """Trains for two epochs; returns the losses and gradients (stacked over the updates) and the final weights."""
    pairs = encode_pairs(pairs_folder, tokenizer(), max_pairs=max_pairs)
    batch = JOINT // int(os.environ.get("WORLD_SIZE", "1"))
    options = {"logging_strategy": "steps", "logging_steps": 1, "dense_optimizer": True, **settings}

    def trainer():
        model = make(kind).double()
        made = trainer_of(folder, (tokenizer(), pairs), model, per_device_train_batch_size=batch, **options)
        made.add_callback(noting)
        assert made.sparse_gradients is not options["dense_optimizer"]
        return made

    noting = Noting()
    running = trainer()
    if kill is None:
        running.train()
    else:
        running.add_callback(KillAt(kill))
        try:
            running.train()
        except Killed:
            running = trainer()
            noting.gradients.pop()  # the lost step
            running.train(resume_from_checkpoint=str(last_checkpoint(Path(folder))))
    losses = [entry["loss"] for entry in running.state.log_history if "loss" in entry]
    result = {f"weight {name}": value.contiguous() for name, value in running.model.state_dict().items()}
    for name in noting.gradients[0]:
        result[f"gradient {name}"] = torch.stack([step[name] for step in noting.gradients])
    return {"losses": torch.tensor(losses, dtype=torch.float64), **result}


def main(pairs_folder, output):
    for name, settings in RUNS.items():
        result = train(output / name, pairs_folder, **settings)
        save_file(result, output / f"{name} {process_index()}.safetensors")
    # Rows of processes with 0 and 2 rows, and a loss that both compute from all rows.
    rows = torch.arange(6.0).reshape(2, 3)[: 2 * process_index()].requires_grad_()
    gathered = gather_rows(rows)
    (gathered.square().sum() / num_processes()).backward()
    # Waiting for all processes makes the slow work of process 1 visible to process 0.
    if process_index():
        time.sleep(1)
        (output / "done").touch()
    wait_for_all()
    result = {
        "gathered": gathered.detach(),
        "gradient": rows.grad,
        "waited": torch.tensor((output / "done").is_file()),
    }
    save_file(result, output / f"gathered {process_index()}.safetensors")
    # The errors of a run with the same inputs, with other inputs, and with a folder that a process does not see.
    messages = []
    for job, folder in ((0, output), (process_index(), output), (0, output / f"of process {process_index()}")):
        if process_index() == 0:
            folder.mkdir(exist_ok=True)
        try:
            check_in_common(f"{job:02x}" * 32, folder)
            messages.append("")
        except HfParaphraseError as error:
            messages.append(str(error))
    (output / f"messages {process_index()}").write_text("\n".join(messages))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
