"""Shared code of the benchmarks: arguments, data, turns, the table, the ratios and the exit code.

The contestants of a benchmark take turns in one run, so that a slow minute of the machine affects all of them. The
first turn of each warms up and is not counted.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.tables import format_table
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}
"""What a second is."""
ROUNDS = "timed turns of each contestant, after one more"
CLOCK = ("wall", "seconds that pass, or those of all threads; with OMP_NUM_THREADS=1, of the work alone", list(CLOCKS))
"""A flag of several benchmarks: its default, its meaning and its choices."""
Encode = Callable[..., Any]
"""Take sentences, and options of its library, and does with them what is timed."""
Contestants = Mapping[str, Callable[[], float]]
"""What is timed, by name: each takes a turn and returns its rate."""


def run_benchmark(
    run: Callable[[argparse.Namespace, Path], Mapping[str, Any]], about: str | None, flags: Mapping[str, Sequence[Any]]
) -> int:
    """Run a benchmark with its arguments and a temporary folder; write the arguments, and the result as a JSON object.

    A flag has its default, whose type the values have (a tuple for several), its meaning and perhaps choices. Returns
    the exit code.
    """
    formatter = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=(about or "").partition("\n")[0], formatter_class=formatter)
    for name, (default, meaning, *choices) in flags.items():
        value = next(iter(default), "") if isinstance(default, tuple) else default
        keywords: dict[str, Any] = {"nargs": "*"} if isinstance(default, tuple) else {}
        keywords |= {"type": str if value is None else type(value), "choices": choices[0] if choices else None}
        parser.add_argument(f"--{name}", default=default, help=meaning, **keywords)
    arguments = parser.parse_args()
    try:
        if getattr(arguments, "rounds", 1) < 1:
            raise UsageError(f"--rounds must be at least 1, not {arguments.rounds}")
        write(f"{vars(arguments)}, {torch.get_num_threads()} threads, {os.cpu_count()} processors")
        with tempfile.TemporaryDirectory() as folder:
            found = run(arguments, Path(folder))
        write(json.dumps(found, ensure_ascii=False))
    except HfParaphraseError as error:
        sys.stderr.write(f"{parser.prog}: error: {error}\n")
        return 2
    return 0


def rate(count: int, work: Callable[[], Any], clock: str = "wall") -> float:
    """Do some work on `count` things and return their number per second, by one of the `CLOCKS`."""
    start = CLOCKS[clock]()
    work()
    return count / (CLOCKS[clock]() - start)


def installed(name: str) -> Any:
    """Import a library, or writes that it is left out and return None."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        write(f"{name.partition('.')[0].replace('_', '-')} is left out: {error}")
        return None


def sentences_per_second(encode: Encode, sentences: list[str], clock: str = "wall", size: int | None = None) -> float:
    """Encode sentences, so many a call, and return their rate."""
    # model2vec switches the threads of `tokenizers` off for the whole process.
    os.environ["TOKENIZERS_PARALLELISM"] = "true"
    size = size or len(sentences)
    calls = [sentences[first : first + size] for first in range(0, len(sentences), size)]
    return rate(len(sentences), lambda: [encode(call) for call in calls], clock)


def open_encoder(library: str, folder: str) -> Encode:
    """Open a folder with a peer, or with this package; return its `encode`."""
    if library == "model2vec":
        return partial(importlib.import_module(library).StaticModel.from_pretrained(folder).encode)
    if library == "sentence-transformers":
        module = importlib.import_module("sentence_transformers")
        model = module.SentenceTransformer(folder, device="cpu", local_files_only=True)
        return partial(model.encode, show_progress_bar=False)
    return SentenceEncoder.from_pretrained(folder).encode


def first_call_rate(folder: str, sentences: list[str], clock: str) -> float:
    """Open a model of this package and return the rate of its first call, for a new process."""
    return sentences_per_second(SentenceEncoder.from_pretrained(folder).encode, sentences, clock)


def words_tokenizer(sentences: Iterable[str], size: int) -> PreTrainedTokenizerFast:
    """Build a tokenizer of the words of sentences, which unused ones fill up to the size."""
    words = sentence_vocabulary(sentences, max_size=size - 2)
    return build_word_level_tokenizer([*words, *(f"filler{number}" for number in range(size - 2 - len(words)))])


def take_turns(contestants: Contestants, rounds: int) -> dict[str, list[float]]:
    """Let the contestants take turns, and return the rates of the timed turns of each."""
    rates: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds + 1):
        for name, turn in contestants.items():
            gc.collect()
            rates[name].append(turn())
    return {name: column[1:] for name, column in rates.items()}


def compare(
    unit: str, contestants: Contestants, rounds: int, keys: Mapping[str, str] | None = None, *, to_last: bool = False
) -> dict[str, float]:
    """Let the contestants take turns and write a table of their rates, with ratios of the medians.

    A ratio divides the first rate by each rate, or with `to_last` each rate by the last. Returns the lowest ratio of
    each key.
    """
    turns = take_turns(contestants, rounds)
    medians = {name: statistics.median(rates) for name, rates in turns.items()}
    first, last = medians[next(iter(medians))], medians[next(reversed(medians))]
    ratios = {name: median / last if to_last else first / median for name, median in medians.items()}
    numbers = {name: (medians[name], min(rates), max(rates)) for name, rates in turns.items()}
    rows = [[name, *(f"{rate:,.0f}" for rate in found), f"{ratios[name]:.2f}"] for name, found in numbers.items()]
    write(format_table([unit, "median", "min", "max", "this/last" if to_last else "first/this"], rows))
    lowest: dict[str, float] = {}
    for name, key in (keys or {}).items():
        lowest[key] = min(ratios[name], lowest.get(key, ratios[name]))
    return lowest


def write(line: str) -> None:
    """Write a line of the report to standard output."""
    print(line, flush=True)
