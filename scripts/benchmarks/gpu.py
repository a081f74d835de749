"""Runs the training, encoding and translation benchmarks on a GPU and on the processor; one JSON line has both.

What runs is what `train.py`, `encode.py` and `translate.py` time: an Avg that is trained with row-wise and with dense
Adam, a GRAN that encodes, and RNNsearch in bf16 that is trained and searched with. The two devices take turns, with
batches of the same size. The line has the name of the device, its rates, their ratios to the processor's, and the most
memory that PyTorch held on it; `--device cpu` is for trying the script out.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import platform
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

import encode
import train
import translate
from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary
from hf_paraphrase.training.devices import CPU, AcceleratorSettings, devices
from interleaved import (
    ROUNDS,
    Comparison,
    Contestant,
    argument_parser,
    check_least,
    exit_code,
    measure,
    over_each,
    write,
)

Rate = Callable[[], float]


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__)
    parser.add_argument("--device", help="device to measure; none = the first GPU")
    parser.add_argument("--batch", type=int, default=512, help="pairs, sentences and hypotheses' sentences at once")
    parser.add_argument("--dimension", type=int, default=300, help="components of a sentence vector")
    parser.add_argument("--hidden", type=int, default=1000, help="hidden units of the translation model")
    parser.add_argument("--vocabulary", type=int, default=30_000, help="words, and units of the translation model")
    parser.add_argument("--steps", type=int, default=60, help="updates in a turn of training an encoder")
    parser.add_argument("--updates", type=int, default=3, help="updates in a turn of training a translation model")
    parser.add_argument("--sentences", type=int, default=20_000, help="sentences to encode")
    parser.add_argument("--rounds", type=int, default=3, help=ROUNDS)
    arguments = parser.parse_args()
    logging.getLogger("transformers").setLevel(logging.ERROR)

    def work() -> None:
        least = {"batch": 2, "dimension": 1, "hidden": 2, "vocabulary": 100, "steps": 10, "updates": 1, "sentences": 1}
        check_least(arguments, {**least, "rounds": 1})
        device = chosen_device(arguments.device)
        with tempfile.TemporaryDirectory() as folder:
            run(arguments, device, Path(folder))

    return exit_code("benchmarks/gpu", work)


def chosen_device(given: str | None) -> str:
    """Returns the device to measure."""
    if given is not None:
        AcceleratorSettings(device=given).check()
        return given
    found = [device for device in devices() if device != CPU]
    if not found:
        raise UsageError("there is no GPU here", remedy="--device cpu tries the script out")
    return found[0]


def run(arguments: argparse.Namespace, device: str, folder: Path) -> None:
    """Measures everything, and writes the JSON line."""
    places = [device] if device == CPU else [device, CPU]
    found: dict[str, Any] = {"device": name_of(device), "torch": torch.__version__}
    for name, (unit, make) in benchmarks(arguments, folder).items():
        write(name)
        contestants = [Contestant("", place, make(place)) for place in places]
        medians = measure(unit, contestants, arguments.rounds, comparison=Comparison("first/this", over_each))
        key = f"{name} {unit}".replace(" ", "_").replace("/", "_a_")
        found[key] = round(medians[0])
        if len(medians) > 1:
            found[f"{key}_over_cpu"] = round(medians[0] / medians[1], 2)
    if device.startswith("cuda"):
        found["peak_gib"] = round(torch.cuda.max_memory_allocated(device) / 2**30, 2)
    write(json.dumps(found))


def name_of(device: str) -> str:
    """Returns what a device calls itself."""
    return torch.cuda.get_device_name(device) if device.startswith("cuda") else f"{device} {platform.machine()}"


def benchmarks(arguments: argparse.Namespace, folder: Path) -> dict[str, tuple[str, Callable[[str], Rate]]]:
    """Makes the benchmarks: by their names the unit of the rate, and what makes the turn of a device."""
    pairs = train.sample_pairs(folder / "pairs")
    sentences = encode.read_sentences(None, arguments.sentences)
    words = sentence_vocabulary(sentences, min_frequency=1, max_size=arguments.vocabulary - 2)
    tokenizer = build_word_level_tokenizer(words)
    encoded = encode_pairs(pairs, tokenizer)

    def training(device: str, dense: bool) -> Rate:
        sizes = argparse.Namespace(clock="wall", dimension=arguments.dimension, batch=arguments.batch)
        return partial(train.train_ours, sizes, tokenizer, encoded, arguments.steps, dense=dense, device=device)

    def encoding(device: str) -> Rate:
        torch.manual_seed(0)
        model = GranModel(GranConfig(vocab_size=len(tokenizer), hidden_size=arguments.dimension)).eval()
        encoder = SentenceEncoder(model.to(device), tokenizer)
        return partial(encode.rate, "wall", partial(encoder.encode, batch_size=arguments.batch), sentences)

    def translation_training(device: str) -> Rate:
        model = translate.random_model(arguments.vocabulary, 620, arguments.hidden).to(device)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)
        sizes = argparse.Namespace(
            train_batch=arguments.batch,
            train_length=12,
            train_vocabulary=arguments.vocabulary,
            updates=arguments.updates,
        )
        return partial(translate.train, model, optimizer, sizes, bf16=True)

    def search(device: str) -> Rate:
        model = translate.random_model(arguments.vocabulary, 620, arguments.hidden)
        with torch.no_grad():
            model.lm_head.bias[translate.END] = -1e4
        rounded = copy.deepcopy(model).to(device, torch.bfloat16)
        sources = torch.randint(3, arguments.vocabulary, (max(1, arguments.batch // 32), 10)).to(device)
        return partial(translate.search, rounded, sources, 50, 15)

    return {
        "avg training": ("pairs/s", partial(training, dense=False)),
        "avg dense training": ("pairs/s", partial(training, dense=True)),
        "gran encoding": ("sentences/s", encoding),
        "nmt training": ("target tokens/s", translation_training),
        "beam search": ("hypothesis-steps/s", search),
    }


if __name__ == "__main__":
    sys.exit(main())
