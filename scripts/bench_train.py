"""Times the training of a word-averaging encoder: row-wise Adam, dense Adam and sentence-transformers, in one run.

All train the same pairs with the same vocabulary, dimension and batch size and take turns, so that a slow minute of
the machine meets all of them. A turn is a run of the Trainer from its start; its rate is that of the steps after the
first tenth, so neither start-up nor the final checkpoint counts. sentence-transformers trains a `StaticEmbedding` with
its `MultipleNegativesRankingLoss`, whose cost is that of our loss with the hardest negative: all cosines of a batch.
Ratios are of the medians, above 1 = this package, with row-wise Adam and no mega-batches, is faster.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import torch
from transformers import PreTrainedTokenizerFast, PrinterCallback, TrainerCallback

from hf_paraphrase.data.parquet import write_split
from hf_paraphrase.data.sample.bitext import sample_bitext
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.models.avg.configuration_avg import AvgConfig
from hf_paraphrase.models.avg.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary
from hf_paraphrase.training.arguments import EncoderTrainingArguments
from hf_paraphrase.training.pairs import EncodedPairs, encode_pairs, iterate_pairs
from hf_paraphrase.training.trainer import EncoderTrainer

KEYS = {"avg_train_vs_dense": "dense", "avg_train_vs_sentence_transformers": "sentence-transformers"}


class Contestant(NamedTuple):
    """What is timed.

    Attributes:
        key: What the ratio is called after.
        name: What the table says.
        rate: Trains and returns pairs per second.
    """

    key: str
    name: str
    rate: Callable[[], float]


class StepTimes(TrainerCallback):
    """Notes when each update ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def on_step_end(self, *args: Any, **kwargs: Any) -> None:
        """Notes the time."""
        self.ends.append(time.perf_counter())

    def rate(self, batch: int) -> float:
        """Computes pairs per second over the updates after the first tenth."""
        skipped = len(self.ends) // 10
        return batch * (len(self.ends) - 1 - skipped) / (self.ends[-1] - self.ends[skipped])


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    arguments = read_arguments()
    # The Trainers' advice about settings is not what is measured.
    logging.getLogger("transformers").setLevel(logging.ERROR)
    try:
        check(arguments)
        with tempfile.TemporaryDirectory() as folder:
            run(arguments, Path(folder))
    except HfParaphraseError as error:
        sys.stderr.write(f"bench_train: error: {error}\n")
        return 2
    return 0


def read_arguments() -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").partition("\n")[0], formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    parser.add_argument("--pairs", help="data folder with sentence1 and sentence2; none = made from the sample")
    parser.add_argument("--vocabulary", type=int, default=61_000, help="word vectors; unused words fill it up")
    parser.add_argument("--dimension", type=int, default=256, help="components of a vector")
    parser.add_argument("--batch", type=int, default=100, help="pairs in a mini-batch")
    parser.add_argument("--mega-batch", type=int, default=20, help="mini-batches in a mega-batch; 1 = not timed")
    parser.add_argument("--steps", type=int, default=600, help="updates in a turn of row-wise training")
    parser.add_argument("--slow-steps", type=int, default=60, help="updates in a turn of the others")
    parser.add_argument("--rounds", type=int, default=5, help="timed turns of each contestant, after one to warm up")
    return parser.parse_args()


def check(arguments: argparse.Namespace) -> None:
    """Refuses numbers that make no sense.

    Raises:
        UsageError: If a number is too small.
    """
    least = {"vocabulary": 3, "dimension": 1, "batch": 2, "mega_batch": 1, "steps": 10, "slow_steps": 10, "rounds": 1}
    for name, bound in least.items():
        if getattr(arguments, name) < bound:
            raise UsageError(f"--{name.replace('_', '-')} must be at least {bound}, not {getattr(arguments, name)}")


def sample_pairs(folder: Path) -> Path:
    """Writes pairs of English sample sentences, each with the next one: for speed it does not matter which."""
    texts = [pair.english for pair in sample_bitext()["train"]]
    write_split(folder, "train", [pa.table({"sentence1": texts, "sentence2": [*texts[1:], texts[0]]})], PAIRS)
    return folder


def train_ours(
    arguments: argparse.Namespace,
    tokenizer: PreTrainedTokenizerFast,
    pairs: EncodedPairs,
    steps: int,
    mega_batch: int = 1,
    dense: bool = False,
) -> float:
    """Trains with this package and returns pairs per second."""
    torch.manual_seed(0)
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=arguments.dimension))
    times = StepTimes()
    with tempfile.TemporaryDirectory() as folder:
        settings = EncoderTrainingArguments(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=arguments.batch,
            mega_batch_size=mega_batch,
            dense_optimizer=dense,
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
        )
        trainer = EncoderTrainer(model, settings, pairs, tokenizer)
        # A checkpoint between two updates would count.
        trainer.marks.marks.clear()
        trainer.add_callback(times)
        trainer.train()
    return times.rate(arguments.batch)


def train_sentence_transformers(
    arguments: argparse.Namespace, tokenizer: PreTrainedTokenizerFast, texts: list[tuple[str, str]], library: Any
) -> float:
    """Trains with sentence-transformers and returns pairs per second."""
    datasets = importlib.import_module("datasets")
    modules = importlib.import_module("sentence_transformers.sentence_transformer.modules")
    losses = importlib.import_module("sentence_transformers.sentence_transformer.losses")
    torch.manual_seed(0)
    embedding = modules.StaticEmbedding(tokenizer, embedding_dim=arguments.dimension)
    model = library.SentenceTransformer(modules=[embedding], device="cpu")
    data = datasets.Dataset.from_dict({"anchor": [item[0] for item in texts], "positive": [item[1] for item in texts]})
    times = StepTimes()
    with tempfile.TemporaryDirectory() as folder:
        settings = library.SentenceTransformerTrainingArguments(
            output_dir=folder,
            max_steps=arguments.slow_steps,
            per_device_train_batch_size=arguments.batch,
            learning_rate=1e-3,
            use_cpu=True,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )
        trainer = library.SentenceTransformerTrainer(
            model=model, args=settings, train_dataset=data, loss=losses.MultipleNegativesRankingLoss(model)
        )
        # It prints to standard output.
        trainer.remove_callback(PrinterCallback)
        trainer.add_callback(times)
        trainer.train()
    return times.rate(arguments.batch)


def run(arguments: argparse.Namespace, folder: Path) -> None:
    """Measures everything and writes the report, the ratios as one JSON object on its last line."""
    source = sample_pairs(folder / "pairs") if arguments.pairs is None else Path(arguments.pairs)
    texts = [item for first, second in iterate_pairs(source) for item in zip(first, second, strict=True) if all(item)]
    sides = (side for item in texts for side in item)
    words = sentence_vocabulary(sides, min_frequency=1, max_size=arguments.vocabulary - 2)
    fillers = (f"filler{number}" for number in range(arguments.vocabulary - 2 - len(words)))
    tokenizer = build_word_level_tokenizer([*words, *fillers])
    pairs = encode_pairs(source, tokenizer)
    write(
        f"{len(pairs):,} pairs, {len(pairs.tokens) / len(pairs.keys):.1f} tokens a sentence, {len(tokenizer):,} x "
        f"{arguments.dimension} vectors, {arguments.batch} pairs a batch, {torch.get_num_threads()} threads"
    )
    ours = partial(train_ours, arguments, tokenizer, pairs)
    contestants = [Contestant("", "row-wise Adam", partial(ours, arguments.steps))]
    if arguments.mega_batch > 1:
        name = f"row-wise Adam, mega-batches of {arguments.mega_batch}"
        # The pools are what costs, so a turn has whole ones, and the untimed first tenth too.
        steps = max(1, arguments.steps // (10 * arguments.mega_batch)) * 10 * arguments.mega_batch
        contestants.append(Contestant("mega-batches", name, partial(ours, steps, arguments.mega_batch)))
    contestants.append(Contestant("dense", "dense Adam", partial(ours, arguments.slow_steps, dense=True)))
    try:
        library = importlib.import_module("sentence_transformers")
    except ImportError as error:
        write(f"sentence-transformers is left out: {error}")
    else:
        rate = partial(train_sentence_transformers, arguments, tokenizer, texts, library)
        contestants.append(Contestant("sentence-transformers", f"sentence-transformers {library.__version__}", rate))
    ratios = measure(contestants, arguments.rounds)
    report = {name: round(ratios[key], 3) for name, key in KEYS.items() if key in ratios}
    write(json.dumps(report))


def measure(contestants: list[Contestant], rounds: int) -> dict[str, float]:
    """Lets the contestants take turns, writes a table and returns our rate over that of each, by key."""
    rates: list[list[float]] = [[] for _ in contestants]
    for turn in range(rounds + 1):
        for contestant, column in zip(contestants, rates, strict=True):
            gc.collect()
            rate = contestant.rate()
            if turn:
                column.append(rate)
    medians = [statistics.median(column) for column in rates]
    write(f"{'pairs/s':40}{'median':>12}{'min':>12}{'max':>12}{'ours/this':>11}")
    for contestant, column, median in zip(contestants, rates, medians, strict=True):
        row = f"{median:12,.0f}{min(column):12,.0f}{max(column):12,.0f}{medians[0] / median:11.2f}"
        write(f"{contestant.name:40}{row}")
    return {contestant.key: medians[0] / median for contestant, median in zip(contestants, medians, strict=True)}


def write(line: str) -> None:
    """Writes a line of the report to standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
