"""Times the training of a word-averaging encoder: row-wise Adam, dense Adam and sentence-transformers, in one run.

All train the same pairs with the same vocabulary, dimension and batch size. A turn is a run of the Trainer from its
start; its rate is that of the steps after the first tenth, so neither start-up nor the final checkpoint counts.
sentence-transformers trains a `StaticEmbedding` with its `MultipleNegativesRankingLoss`, whose cost is that of our
loss with the hardest negative: all cosines of a batch. Ratios are of row-wise Adam without mega-batches.

Started by `torchrun --nproc-per-node 2`, the contestants of this package train in two processes with a joint batch
twice as large, and a rate is that of both together; dense Adam then exchanges whole gradients of the table, as
`DistributedDataParallel` does, row-wise Adam the rows of the joint batch. Seconds are those of the first process.
"""

from __future__ import annotations

import argparse
import importlib
import logging
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
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.messages import process_count
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.training.devices import AcceleratorSettings


class StepTimes(TrainerCallback):
    """Notes when each update ended, by one of the `bench.CLOCKS`."""

    def __init__(self, clock: str) -> None:
        self.now = bench.CLOCKS[clock]
        self.ends: list[float] = []

    def on_step_end(self, args: Any, state: TrainerState, *others: Any, **kwargs: Any) -> None:
        """Notes the time; where the rate begins and ends, that at which a GPU has done its work."""
        if state.global_step in {state.max_steps // 10 + 1, state.max_steps} and torch.cuda.is_available():
            torch.cuda.synchronize()
        self.ends.append(self.now())


def pairs_per_second(trainer: Trainer, batch: int, clock: str) -> float:
    """Trains and computes the rate over the updates after the first tenth."""
    times = StepTimes(clock)
    trainer.add_callback(times)
    trainer.train()
    skipped = len(times.ends) // 10
    return batch * (len(times.ends) - 1 - skipped) / (times.ends[-1] - times.ends[skipped])


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = bench.argument_parser(__doc__, clock=True)
    parser.add_argument("--vocabulary", type=int, default=61_000, help="word vectors; unused words fill it up")
    parser.add_argument("--dimension", type=int, default=256, help="components of a vector")
    parser.add_argument("--batch", type=int, default=100, help="pairs in a mini-batch")
    parser.add_argument("--mega-batch", type=int, default=20, help="mini-batches in a mega-batch; 1 = not timed")
    parser.add_argument("--steps", type=int, default=600, help="updates in a turn of row-wise training")
    parser.add_argument("--slow-steps", type=int, default=60, help="updates in a turn of the others")
    # The Trainers' advice about settings is not what is measured.
    logging.getLogger("transformers").setLevel(logging.ERROR)
    return bench.run_benchmark(parser, run)


def train_sentence_transformers(
    arguments: argparse.Namespace, common: dict[str, Any], tokenizer: PreTrainedTokenizerFast, texts: pa.Table
) -> float:
    """Trains with sentence-transformers and returns pairs per second."""
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
    """Measures everything and returns the ratios."""
    texts = bench.sample_pairs()
    write_split(folder / "pairs", "train", [texts], PAIRS)
    tokenizer = bench.words_tokenizer(texts["sentence1"].to_pylist(), arguments.vocabulary)
    pairs = encode_pairs(folder / "pairs", tokenizer)
    bench.write(
        f"{len(pairs):,} pairs, {len(pairs.tokens) / len(pairs.keys):.1f} tokens a sentence, {len(tokenizer):,} x "
        f"{arguments.dimension} vectors, {process_count()} processes, in each {arguments.batch} pairs a batch and "
        f"{torch.get_num_threads()} threads"
    )
    # A checkpoint between two updates would count.
    common: dict[str, Any] = {"save_strategy": "no", "report_to": "none", "disable_tqdm": True}
    common |= {"output_dir": str(folder / "training"), "per_device_train_batch_size": arguments.batch}

    def ours(steps: int, mega_batch: int = 1, *, dense: bool = False) -> float:
        """Trains with this package and returns pairs per second."""
        torch.manual_seed(0)
        model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=arguments.dimension))
        settings = AcceleratorSettings(device="cpu").trainer_arguments(
            EncoderTrainingArguments,
            mega_batch_size=mega_batch,
            dense_optimizer=dense,
            max_steps=steps,
            **common,
        )
        trainer = EncoderTrainer(model, settings, pairs, tokenizer)
        return pairs_per_second(trainer, arguments.batch * process_count(), arguments.clock)

    contestants = [bench.Contestant("", "row-wise Adam", partial(ours, arguments.steps))]
    if arguments.mega_batch > 1:
        name = f"row-wise Adam, mega-batches of {arguments.mega_batch}"
        # The pools are what costs, so a turn has whole ones, and the untimed first tenth too.
        steps = max(1, arguments.steps // (10 * arguments.mega_batch)) * 10 * arguments.mega_batch
        contestants.append(bench.Contestant("", name, partial(ours, steps, arguments.mega_batch)))
    dense = partial(ours, arguments.slow_steps, dense=True)
    contestants.append(bench.Contestant("avg_train_vs_dense", "dense Adam", dense))
    # It is timed in one process.
    if process_count() == 1 and (library := bench.installed("sentence_transformers")):
        rate = partial(train_sentence_transformers, arguments, common, tokenizer, texts)
        name = f"sentence-transformers {library.__version__}"
        contestants.append(bench.Contestant("avg_train_vs_sentence_transformers", name, rate))
    return bench.compare("pairs/s", contestants, arguments.rounds)


if __name__ == "__main__":
    sys.exit(main())
