"""Times the translation of sentences by a Marian model: ours against the loop around `generate` that users write.

Ours sorts the sentences by length, uses bf16 where the processor has it, and scores what it returns; the loop takes
batches in the order of the file. The model has 6 + 6 layers of 512 and random weights; every translation is as long as
the longest source of its batch, so the rate counts units of the sources.
"""

from __future__ import annotations

import argparse
import sys
from functools import partial
from pathlib import Path
from typing import Any

import torch

from hf_paraphrase.training.devices import is_bf16
from hf_paraphrase.translation.search_settings import SearchOptions
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
    texts = [" ".join(map(str, torch.randint(3, arguments.vocabulary, (n,)).tolist())) for n in lengths]
    bf16 = is_bf16("auto", "cpu")
    translator = Translator(model, tokenizer, SearchOptions(arguments.beams, 1, max_length_ratio=1.0, bf16=bf16))

    def loop() -> None:
        for start in range(0, len(texts), arguments.batch):
            batch = tokenizer(texts[start : start + arguments.batch], return_tensors="pt", padding=True)
            longest = batch["input_ids"].shape[1]
            found = model.generate(**batch, num_beams=arguments.beams, max_new_tokens=longest)
            tokenizer.batch_decode(found, skip_special_tokens=True)

    def rate(work: Any) -> float:
        return sum(lengths) / timed(work, arguments.clock)[0]

    contestants = [
        Contestant("", f"ours, {'bf16' if bf16 else 'fp32'}", partial(rate, lambda: translator.nbest_lists(texts))),
        Contestant("", f"generate, fp32, batches of {arguments.batch}", partial(rate, loop)),
    ]
    write(
        f"torch {torch.__version__}, {torch.get_num_threads()} threads; beam {arguments.beams}, {len(texts)} sentences"
    )
    ours, plain = measure("units/s", contestants, arguments.rounds)
    return {"transformer_vs_generate": ours / plain}


def marian_model(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Makes a model whose translations never end by themselves, with words as units."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    words = {"</s>": 0, "<unk>": 1, "<pad>": 2} | {str(unit): unit for unit in range(3, arguments.vocabulary)}
    backend = Tokenizer(WordLevel(words, "<unk>"))
    backend.pre_tokenizer = WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>", pad_token="<pad>")  # noqa: S106
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"d_model": arguments.hidden, "vocab_size": arguments.vocabulary}
    for side in ("encoder", "decoder"):
        sizes |= {f"{side}_layers": arguments.layers, f"{side}_ffn_dim": 4 * arguments.hidden}
        sizes[f"{side}_attention_heads"] = 8
    units = {"pad_token_id": 2, "decoder_start_token_id": 2, "eos_token_id": 0, "forced_eos_token_id": None}
    model = MarianMTModel(MarianConfig(**sizes, **units)).eval()
    model.final_logits_bias[0, 0] = -1e4
    return model, tokenizer


if __name__ == "__main__":
    sys.exit(main())
