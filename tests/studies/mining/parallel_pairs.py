"""Pairs of sentences in two languages, small classifiers of them, and their trainers."""

from __future__ import annotations

import numpy as np
import torch

from hf_paraphrase.models.configuration_parallel_bigru import ParallelBiGruConfig
from hf_paraphrase.models.modeling_parallel_bigru import ParallelBiGruModel
from hf_paraphrase.studies.mining.parallel_examples import (
    TRAIN,
    VALIDATION,
    NegativeDraw,
    ParallelExamples,
    ParallelTexts,
)
from hf_paraphrase.studies.mining.parallel_trainer import ParallelTrainer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary
from hf_paraphrase.training.epoch_trainer import EpochTrainingArguments


def texts_of(train, dev=()):
    splits = {TRAIN: list(train), **({VALIDATION: list(dev)} if dev else {})}
    source, target = ({split: [row[side] for row in rows] for split, rows in splits.items()} for side in (0, 1))
    return ParallelTexts(source, target, "fr", "en")


def examples_of(train, dev=()):
    texts = texts_of(train, dev)
    tokenizers = (
        build_word_level_tokenizer(sentence_vocabulary(side[TRAIN], contractions=False), contractions=False)
        for side in (texts.source, texts.target)
    )
    return ParallelExamples.encode(texts, *tokenizers)


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
