"""What the benchmarks share: their arguments and data, taking turns, the table, the ratios and the way they end.

The contestants of a benchmark take turns in one run, so that a slow minute of the machine affects all of them; the
first turn of each warms up and is not counted. Ratios are of the median rates, above 1 = this package is faster.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import multiprocessing
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from hf_paraphrase.data.sample import sample_bitext
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.messages import is_main_process
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
"""What a second is."""
Encode = Callable[..., Any]
"""Takes sentences, and options of its library, and does with them what is timed."""


class Contestant(NamedTuple):
    """What is timed: `rate` takes a turn; `key` is what its ratio is called in the report, empty for none."""

    key: str
    name: str
    rate: Callable[[], float]


def argument_parser(about: str | None, *, rounds: int | None = 5, clock: bool = False) -> argparse.ArgumentParser:
    """Makes a parser that is described by the first line of a benchmark's documentation and shows all defaults."""
    first_line = (about or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=first_line, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    if rounds is not None:
        words = "timed turns of each contestant, after one more"
        parser.add_argument("--rounds", type=int, default=rounds, help=words)
    if clock:
        words = "wall: seconds that pass; processor: those of all threads; with OMP_NUM_THREADS=1, the work alone"
        parser.add_argument("--clock", choices=list(CLOCKS), default="wall", help=words)
    return parser


def run_benchmark(
    parser: argparse.ArgumentParser, run: Callable[[argparse.Namespace, Path], Mapping[str, Any]]
) -> int:
    """Runs a benchmark in a temporary folder, writes what it returns as one JSON object, and returns the exit code."""
    arguments = parser.parse_args()
    try:
        if getattr(arguments, "rounds", 1) < 1:
            raise UsageError(f"--rounds must be at least 1, not {arguments.rounds}")
        with tempfile.TemporaryDirectory() as folder:
            found = run(arguments, Path(folder))
        # Numbers with a fraction have four digits.
        rounded = json.loads(json.dumps(found), parse_float=lambda number: float(f"{float(number):.4g}"))
        write(json.dumps(rounded, ensure_ascii=False))
    except HfParaphraseError as error:
        sys.stderr.write(f"{parser.prog}: error: {error}\n")
        return 2
    return 0


def rate(count: int, work: Callable[[], Any], clock: str = "wall") -> float:
    """Does some work on so many things and returns how many a second that is, by one of the `CLOCKS`."""
    start = CLOCKS[clock]()
    work()
    return count / (CLOCKS[clock]() - start)


def installed(name: str) -> Any:
    """Imports a library, or writes that it is left out and returns None."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        write(f"{name.partition('.')[0].replace('_', '-')} is left out: {error}")
        return None


def sentences_per_second(encode: Encode, sentences: list[str], clock: str = "wall", size: int | None = None) -> float:
    """Encodes sentences, so many a call, and returns their rate."""
    # model2vec switches the threads of `tokenizers` off for the whole process.
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    size = size or len(sentences)
    calls = [sentences[first : first + size] for first in range(0, len(sentences), size)]
    return rate(len(sentences), lambda: [encode(call) for call in calls], clock)


def open_encoder(library: str, folder: str) -> Encode:
    """Opens a folder with a peer, or with this package; returns its `encode`."""
    if library == "model2vec":
        return partial(importlib.import_module(library).StaticModel.from_pretrained(folder).encode)
    if library == "sentence-transformers":
        module = importlib.import_module("sentence_transformers")
        model = module.SentenceTransformer(folder, device="cpu", local_files_only=True)
        return partial(model.encode, show_progress_bar=False)
    return SentenceEncoder.from_pretrained(folder).encode


def first_call_rate(library: str, folder: str, sentences: list[str], clock: str) -> float:
    """Has a new process encode sentences that it has never seen, each once, and returns sentences per second."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        return process.submit(_first_call_rate, library, folder, list(dict.fromkeys(sentences)), clock).result()


def _first_call_rate(library: str, folder: str, sentences: list[str], clock: str) -> float:
    return sentences_per_second(open_encoder(library, folder), sentences, clock)


def sample_pairs() -> pa.Table:
    """Returns each sentence of the sample with the next one: for speed it does not matter which."""
    english = [pair.english for pair in sample_bitext()["train"]]
    return pa.table({"sentence1": english, "sentence2": [*english[1:], english[0]]})


def words_tokenizer(sentences: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """Builds a tokenizer of the words of sentences, which unused ones fill up to the size."""
    words = sentence_vocabulary(sentences, max_size=size - 2)
    return build_word_level_tokenizer([*words, *(f"filler{number}" for number in range(size - 2 - len(words)))])


def take_turns(contestants: Sequence[Contestant], rounds: int) -> list[list[float]]:
    """Lets the contestants take turns, and returns the rates of the timed turns of each."""
    rates: list[list[float]] = [[] for _ in contestants]
    for _ in range(rounds + 1):
        for contestant, column in zip(contestants, rates, strict=True):
            gc.collect()
            column.append(contestant.rate())
    return [column[1:] for column in rates]


def measure(unit: str, contestants: Sequence[Contestant], rounds: int) -> list[float]:
    """Lets the contestants take turns, writes a table of their rates and returns the medians."""
    turns = take_turns(contestants, rounds)
    medians = [statistics.median(rates) for rates in turns]
    write(f"{unit:46}{'median':>12}{'min':>12}{'max':>12}{'first/this':>14}")
    for contestant, rates, median in zip(contestants, turns, medians, strict=True):
        ratio = medians[0] / median
        write(f"{contestant.name:46}{median:12,.0f}{min(rates):12,.0f}{max(rates):12,.0f}{ratio:14.2f}")
    return medians


def compare(unit: str, contestants: Sequence[Contestant], rounds: int) -> dict[str, float]:
    """Measures, and returns for every key the ratio of the first one's median rate to the highest with that key."""
    medians = measure(unit, contestants, rounds)
    best: dict[str, float] = {}
    for contestant, median in zip(contestants[1:], medians[1:], strict=True):
        if contestant.key:
            best[contestant.key] = max(best.get(contestant.key, 0.0), median)
    return {key: medians[0] / median for key, median in best.items()}


def write(line: str) -> None:
    """Writes a line of the report to standard output, once for all processes."""
    if is_main_process():
        print(line, flush=True)
