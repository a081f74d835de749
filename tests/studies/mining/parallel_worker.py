"""Small classifiers of parallel sentences and their trainers; as a program, a step of one of two processes."""

from __future__ import annotations

import sys
from pathlib import Path

import torch
from parallel_pairs import examples_of, many
from safetensors.torch import save_file

from hf_paraphrase.models.configuration_parallel_bigru import ParallelBiGruConfig
from hf_paraphrase.models.modeling_parallel_bigru import ParallelBiGruModel
from hf_paraphrase.studies.mining.parallel_examples import NegativeDraw
from hf_paraphrase.studies.mining.parallel_trainer import ParallelTrainer, ParallelTrainingArguments
from hf_paraphrase.training.processes import process_index


def model_of(examples, **config):
    torch.manual_seed(0)
    sizes = {"source_vocab_size": 500, "target_vocab_size": 500, "embedding_size": 5, "hidden_size": 4}
    return ParallelBiGruModel(ParallelBiGruConfig(**{**sizes, "initializer_range": 1.0, **config}))


def trainer_of(folder, examples, model, **options):
    common = {"output_dir": str(folder), "use_cpu": True, "report_to": "none", "num_train_epochs": 2.0, "seed": 3}
    args = ParallelTrainingArguments(**{**common, **options})
    return ParallelTrainer(model, args, examples, NegativeDraw(examples, args.negatives))


def trainer(folder):
    """A trainer of one step, on three parallel pairs a process, whose gradient is clipped."""
    examples = examples_of(many(12))
    options = {"per_device_train_batch_size": 18, "max_steps": 1, "max_grad_norm": 0.05}
    return trainer_of(folder, examples, model_of(examples), **options)


if __name__ == "__main__":
    output = Path(sys.argv[1])
    running = trainer(output / f"run {process_index()}")
    running.train()
    save_file(dict(running.model.state_dict()), output / f"weights {process_index()}.safetensors")
