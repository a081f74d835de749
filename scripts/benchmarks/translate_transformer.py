"""Times the translation of sentences by a Marian model: ours against the loop around `generate` that users write.

Ours sorts the sentences by length, uses bf16 where the processor has it, and scores what it returns, whether PyTorch
or CTranslate2 searches; the loop takes batches in the order of the file. The model has 6 + 6 layers of 512 and random
weights; every translation is as long as the longest source of its batch, so the rate counts units of the sources.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from hf_paraphrase.training.devices import is_bf16
from hf_paraphrase.translation.search_settings import ENGINES, TORCH, SearchOptions
from hf_paraphrase.translation.translator import Translator
from interleaved import Contestant, argument_parser, measure, run_benchmark, timed, write

SIZES = {
    "sentences": (512, "sentences of 4 to 40 units"),
    "batch": (16, "sentences in a batch of the loop"),
    "beams": (5, "beam width"),
    "vocabulary": (32_000, "units"),
    "hidden": (512, "hidden units"),
    "layers": (6, "layers of the encoder, and of the decoder"),
}


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__, clock=True)
    for name, (size, meaning) in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=size, help=meaning)
    return run_benchmark(parser, run)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measures both and returns the ratio."""
    model, tokenizer = marian_model(arguments)
    lengths = torch.randint(4, 41, (arguments.sentences,)).tolist()
    texts = [" ".join(map(str, torch.randint(2, arguments.vocabulary - 1, (n,)).tolist())) for n in lengths]
    bf16 = is_bf16("auto", "cpu")
    engines = [engine for engine in ENGINES if engine == TORCH or find_spec("ctranslate2")]

    def loop() -> None:
        for start in range(0, len(texts), arguments.batch):
            batch = tokenizer(texts[start : start + arguments.batch], return_tensors="pt", padding=True)
            longest = batch["input_ids"].shape[1]
            found = model.generate(**batch, num_beams=arguments.beams, max_new_tokens=longest)
            tokenizer.batch_decode(found, skip_special_tokens=True)

    def rate(work: Any) -> float:
        return sum(lengths) / timed(work, arguments.clock)[0]

    contestants = [Contestant("", f"generate, fp32, batches of {arguments.batch}", partial(rate, loop))]
    for engine in engines:
        own_bf16 = bf16 and engine == TORCH
        options = SearchOptions(arguments.beams, 1, max_length_ratio=1.0, bf16=own_bf16, engine=engine)
        translator = Translator(model, tokenizer, options)
        name = f"ours, {engine}, {'bf16' if own_bf16 else 'fp32'}"
        contestants.append(Contestant("", name, partial(rate, partial(translator.nbest_lists, texts))))
    write(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads; beam {arguments.beams}, {len(texts)} sentences"
    )
    plain, ours, *converted = measure("units/s", contestants, arguments.rounds)
    ratios = {"transformer_vs_generate": ours / plain}
    names = (engine.replace("-", "_") for engine in engines[1:])
    return ratios | {f"{name}_vs_torch": value / ours for name, value in zip(names, converted, strict=True)}


def marian_model(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Makes a model whose translations never end by themselves, with words as units."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    pad = arguments.vocabulary - 1
    words = {"</s>": 0, "<unk>": 1} | {str(unit): unit for unit in range(2, pad)} | {"<pad>": pad}
    backend = Tokenizer(WordLevel(words, "<unk>"))
    backend.pre_tokenizer = WhitespaceSplit()
    special = {"eos_token": "</s>", "unk_token": "<unk>", "pad_token": "<pad>"}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, **special)
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"d_model": arguments.hidden, "vocab_size": arguments.vocabulary}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": arguments.layers, f"{side}_ffn_dim": 4 * arguments.hidden}
        sizes[f"{side}_attention_heads"] = 8
    units = {"pad_token_id": pad, "decoder_start_token_id": pad, "eos_token_id": 0, "forced_eos_token_id": None}
    model = MarianMTModel(MarianConfig(**sizes, **units)).eval()
    model.final_logits_bias[0, 0] = -1e4
    return model, tokenizer


if __name__ == "__main__":
    sys.exit(main())
