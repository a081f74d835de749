"""Pairs of sentences in two languages, small classifiers of them, and their trainers."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import torch

from hf_paraphrase.models.configuration_parallel_bigru import ParallelBiGruConfig
from hf_paraphrase.models.modeling_parallel_bigru import ParallelBiGruModel
from hf_paraphrase.studies.mining.parallel_examples import (
    TRAIN,
    VALIDATION,
    NegativeDraw,
    ParallelExamples,
    word_level_tokenizers,
)
from hf_paraphrase.studies.mining.parallel_trainer import ParallelTrainer
from hf_paraphrase.training.epoch_trainer import EpochTrainingArguments


def examples_of(train, dev=()):
    texts = {
        split: pa.table({name: [row[side] for row in rows] for side, name in enumerate(("source", "target"))})
        for split, rows in {TRAIN: train, VALIDATION: dev}.items()
        if rows
    }
    return ParallelExamples.encode(texts, word_level_tokenizers(texts, min_frequency=1))


def many(count, seed=0):
    generator = np.random.default_rng(seed)
    return [
        (f"s{row} {' '.join(f'w{i}' for i in generator.integers(9, size=3))}", f"t{row} v{row % 5}")
        for row in range(count)
    ]


def model_of(examples, **config):
    torch.manual_seed(0)
    sizes = {"source_vocab_size": 500, "target_vocab_size": 500, "embedding_size": 5, "hidden_size": 4}
    return ParallelBiGruModel(ParallelBiGruConfig(**{**sizes, "initializer_range": 1.0, **config}))


def trainer_of(folder, examples, model, negatives=5, **options):
    common = {"output_dir": str(folder), "use_cpu": True, "report_to": "none", "num_train_epochs": 2.0, "seed": 3}
    common |= {"per_device_train_batch_size": 128, "learning_rate": 2e-4}
    args = EpochTrainingArguments(**{**common, **options})
    return ParallelTrainer(model, args, examples, NegativeDraw(examples, negatives))
