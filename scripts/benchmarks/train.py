"""Time the training of a word-averaging encoder: row-wise Adam, dense Adam and sentence-transformers, in one run.

All train on the same pairs with the same vocabulary, dimension and batch size. A turn is a run of the Trainer from its
start. Its rate covers the steps after the first tenth, without start-up and final checkpoint. sentence-transformers
trains a `StaticEmbedding` with `MultipleNegativesRankingLoss`, which costs as much as our loss with the hardest
negative: all cosines of a batch.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerFast, PrinterCallback, Trainer, TrainerCallback, TrainerState

import interleaved as bench
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.models.configurations import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.training.devices import AcceleratorSettings

FLAGS = {
    "rounds": (5, bench.ROUNDS),
    "clock": bench.CLOCK,
    "vocabulary": (61_000, "word vectors; unused words fill it up"),
    "dimension": (256, "components of a vector"),
    "batch": (100, "pairs in a mini-batch"),
    "steps": (600, "updates in a turn of row-wise training"),
    "slow-steps": (60, "updates in a turn of the others"),
}


class StepTimes(TrainerCallback):
    """Note when each update ended, by one of the `bench.CLOCKS`."""

    def __init__(self, clock: str) -> None:
        self.now = bench.CLOCKS[clock]
        self.ends: list[float] = []

    def on_step_end(self, args: Any, state: TrainerState, *others: Any, **kwargs: Any) -> None:
        """Note the time."""
        self.ends.append(self.now())


def pairs_per_second(trainer: Trainer, batch: int, clock: str) -> float:
    """Train and compute the rate over the updates after the first tenth."""
    times = StepTimes(clock)
    trainer.add_callback(times)
    trainer.train()
    skipped = len(times.ends) // 10
    return batch * (len(times.ends) - 1 - skipped) / (times.ends[-1] - times.ends[skipped])


def train_sentence_transformers(
    arguments: argparse.Namespace, common: dict[str, Any], tokenizer: PreTrainedTokenizerFast, texts: pa.Table
) -> float:
    """Train with sentence-transformers and return pairs per second."""
    library = importlib.import_module("sentence_transformers")
    modules = importlib.import_module("sentence_transformers.sentence_transformer.modules")
    losses = importlib.import_module("sentence_transformers.sentence_transformer.losses")
    torch.manual_seed(0)
    embedding = modules.StaticEmbedding(tokenizer, embedding_dim=arguments.dimension)
    model = library.SentenceTransformer(modules=[embedding], device="cpu")
    data = Dataset(texts.rename_columns(["anchor", "positive"]))
    settings = library.SentenceTransformerTrainingArguments(
        learning_rate=1e-3, use_cpu=True, logging_strategy="no", max_steps=arguments.slow_steps, **common
    )
    loss = losses.MultipleNegativesRankingLoss(model)
    trainer = library.SentenceTransformerTrainer(model=model, args=settings, train_dataset=data, loss=loss)
    # It prints to standard output.
    trainer.remove_callback(PrinterCallback)
    return pairs_per_second(trainer, arguments.batch, arguments.clock)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measure everything and return the ratios."""
    english = [pair.english for pair in sample_bitext()["train"]]
    # For speed it does not matter which sentences make a pair.
    texts = pa.table({"sentence1": english, "sentence2": [*english[1:], english[0]]})
    write_split(folder / "pairs", "train", [texts], PAIRS)
    tokenizer = bench.words_tokenizer(english, arguments.vocabulary)
    pairs = encode_pairs(folder / "pairs", tokenizer)
    bench.write(f"{len(pairs.tokens) / len(pairs.keys):.1f} tokens per sentence")
    # A checkpoint between two updates would count.
    common: dict[str, Any] = {"save_strategy": "no", "report_to": "none", "disable_tqdm": True}
    common |= {"output_dir": str(folder / "training"), "per_device_train_batch_size": arguments.batch}

    def ours(steps: int, *, dense: bool = False) -> float:
        """Train with this package and return pairs per second."""
        torch.manual_seed(0)
        model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=arguments.dimension))
        settings = AcceleratorSettings(device="cpu").trainer_arguments(
            EncoderTrainingArguments,
            dense_optimizer=dense,
            max_steps=steps,
            **common,
        )
        trainer = EncoderTrainer(model, settings, pairs, tokenizer)
        return pairs_per_second(trainer, arguments.batch, arguments.clock)

    contestants = {"row-wise Adam": partial(ours, arguments.steps)}
    contestants["dense Adam"] = partial(ours, arguments.slow_steps, dense=True)
    keys = {"dense Adam": "avg_train_vs_dense"}
    if bench.installed("sentence_transformers"):
        peer = partial(train_sentence_transformers, arguments, common, tokenizer, texts)
        contestants["sentence-transformers"] = peer
        keys["sentence-transformers"] = "avg_train_vs_sentence_transformers"
    return bench.compare("pairs/s", contestants, arguments.rounds, keys)


if __name__ == "__main__":
    sys.exit(bench.run_benchmark(run, __doc__, FLAGS))
