"""Times beam search and training of RNNsearch against JoeyNMT, or translation by a transformer, in one run.

JoeyNMT cannot share our environment: it runs in its own interpreter, `--joeynmt-python`, as a worker that is idle
while others have their turn. Its model has no maxout layer and attends once more; sizes, batches, random weights and
the number of threads are the same.

Search: a turn translates one batch with the encoder; no hypothesis may end before the last step, so all do the same
number of hypothesis-steps (sentences * beams * steps), and leaving out finished sentences earns nothing here. The
full-vocabulary search in bf16 rescores its final lists in fp32 (`rescored`), that in fp32 has exact scores already.
With candidates the search is in bf16 over the candidates alone; JoeyNMT has no such restriction.
Training: tokens/s of updates with Adam; where several hidden sizes are timed, the ratio is the lowest of them.

`--transformer` times instead how a Marian model of random weights translates so many sentences: ours, which sorts them
by length, uses bf16 where the processor has it and scores what it returns, against the loop around `generate` that
users write, with batches in the order of the file. Every translation is as long as the longest source of its batch, so
the rate counts units of the sources.
"""

from __future__ import annotations

import argparse
import copy
import json
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch

from hf_paraphrase.errors import UsageError
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.training.devices import is_bf16
from hf_paraphrase.translation.decoder_steps import DecoderSteps
from hf_paraphrase.translation.fast_search import fast_beam_search
from hf_paraphrase.translation.scoring import prefix_tree_scores
from hf_paraphrase.translation.search_settings import SearchOptions
from hf_paraphrase.translation.translator import Translator
from interleaved import Contestant, argument_parser, compare, measure, rate, run_benchmark, write

END = 2
SIZES = {
    "hidden": (1000, "hidden units of the searched model"),
    "embedding": (620, "components of a word embedding"),
    "vocabulary": (30_000, "target units of the searched model"),
    "candidates": (10_300, "candidate units"),
    "beams": (50, "beam width and length of the n-best list"),
    "batch": (8, "sentences searched at once"),
    "source": (10, "units of a source sentence"),
    "steps": (15, "units of a translation"),
    "train-vocabulary": (10_000, "units of each side in training"),
    "train-batch": (80, "pairs in a mini-batch"),
    "train-length": (12, "units of a training sentence"),
    "updates": (3, "updates in a turn"),
    "transformer": (0, "sentences of 4 to 40 units for a transformer, which alone is then timed"),
    "layers": (6, "layers of its encoder, and of its decoder"),
}


class JoeyNmt:
    """JoeyNMT in its own interpreter."""

    def __init__(self, python: str | None) -> None:
        if python is None:
            raise OSError("--joeynmt-python is not given")
        worker = str(Path(__file__).with_name("joeynmt_worker.py"))
        self.process = subprocess.Popen([python, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        self.name = f"JoeyNMT {self._answer()['version']}"

    def contestant(self, count: int, arguments: argparse.Namespace, **order: Any) -> Contestant:
        """Returns what has it do `count` things by an order, which has the arguments and what differs from them."""
        order = {**vars(arguments), "threads": torch.get_num_threads(), **order}

        def turn() -> float:
            assert self.process.stdin is not None
            self.process.stdin.write(json.dumps(order) + "\n")
            self.process.stdin.flush()
            return count / float(self._answer()["seconds"])

        return Contestant("", self.name, turn)

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        if line := self.process.stdout.readline():
            return dict(json.loads(line))
        raise OSError("its interpreter ended")


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__, clock=True)
    for name, (number, meaning) in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=number, help=meaning)
    parser.add_argument("--joeynmt-python", help="interpreter that can import joeynmt 2.3; none = left out")
    parser.add_argument("--train-hidden", type=int, nargs="+", default=[512, 1000], help="hidden units in training")
    return run_benchmark(parser, run)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measures everything and returns the ratios."""
    if arguments.candidates > arguments.vocabulary:
        raise UsageError(f"--candidates must be at most --vocabulary, {arguments.vocabulary}")
    if min(arguments.train_hidden) < 2 or any(hidden % 2 for hidden in [arguments.hidden, *arguments.train_hidden]):
        raise UsageError("--hidden and --train-hidden must be even: maxout halves them")
    write(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    if arguments.transformer:
        return measure_transformer(arguments)
    joey = None
    try:
        joey = JoeyNmt(arguments.joeynmt_python)
    except OSError as error:
        write(f"JoeyNMT is left out: {error}")
    try:
        return measure_search(arguments, joey) | measure_training(arguments, joey)
    finally:
        if joey is not None:
            joey.process.communicate()


def random_model(vocabulary: int, embedding: int, hidden: int) -> RnnSearchForConditionalGeneration:
    """Makes a model of random weights, whose translations never end by themselves."""
    torch.manual_seed(0)
    sizes = {"vocab_size": vocabulary, "embedding_size": embedding, "hidden_size": hidden}
    model = RnnSearchForConditionalGeneration(RnnSearchConfig(initialization="xavier", **sizes)).eval()
    with torch.no_grad():
        model.lm_head.bias[END] = -1e4
    return model


def measure_search(arguments: argparse.Namespace, joey: JoeyNmt | None) -> dict[str, float]:
    """Times the search and returns the ratios."""
    model = random_model(arguments.vocabulary, arguments.embedding, arguments.hidden)
    rounded = copy.deepcopy(model).to(torch.bfloat16)
    sources = torch.randint(3, arguments.vocabulary, (arguments.batch, arguments.source))
    units = torch.randperm(arguments.vocabulary - 3)[: arguments.candidates - 1] + 3
    candidates = torch.cat([torch.tensor([END]), units])
    mask, beams, steps = torch.ones_like(sources), arguments.beams, arguments.steps

    @torch.inference_mode()
    def search(searched: Any, candidates: torch.Tensor | None = None, scorer: Any = None) -> None:
        """Searches a batch, over all units or candidates, and rescores the lists if a scorer is given."""
        found, _ = fast_beam_search(
            searched,
            sources,
            mask,
            num_beams=beams,
            limits=[steps] * len(sources),
            ends=[END],
            length_penalty=0.0,
            steps=None if candidates is None else DecoderSteps(searched).restricted(candidates),
        )
        if scorer is not None:
            rows = [row for row in range(len(sources)) for _ in range(beams)]
            prefix_tree_scores(scorer, sources, mask, rows, found.flatten(0, 1).tolist())

    options = {"num_beams": beams, "num_return_sequences": beams, "max_new_tokens": steps, "length_penalty": 0.0}
    generate = partial(model.generate, sources, attention_mask=mask, do_sample=False, **options)
    few = f"{arguments.candidates:,} candidates"
    ways: list[tuple[str, str, Callable[[], Any]]] = [
        ("beam50_candidates_vs_joeynmt", f"{few}, bf16", partial(search, rounded, candidates)),
        ("", f"{few}, bf16, rescored", partial(search, rounded, candidates, model)),
        ("", "full vocabulary, bf16", partial(search, rounded)),
        ("beam50_full_bf16_vs_joeynmt", "full vocabulary, bf16, rescored", partial(search, rounded, scorer=model)),
        ("beam50_full_fp32_vs_joeynmt", "full vocabulary, fp32", partial(search, model)),
        ("", "plain generate, fp32", torch.inference_mode()(generate)),
    ]
    count = len(sources) * beams * steps
    contestants = [Contestant(key, name, partial(rate, count, work, arguments.clock)) for key, name, work in ways]
    if joey is not None:
        contestants.append(joey.contestant(count, arguments, do="search"))
    write(
        f"search: hidden {arguments.hidden}, embeddings {arguments.embedding}, vocabulary {arguments.vocabulary:,}, "
        f"{arguments.batch} sentences of {arguments.source} units, {beams} beams, {steps} steps"
    )
    return ratios_to_joey("hypothesis-steps/s", contestants, arguments.rounds, joey)


def train(
    model: RnnSearchForConditionalGeneration,
    optimizer: torch.optim.Optimizer,
    arguments: argparse.Namespace,
    bf16: bool,
) -> float:
    """Makes updates and returns target tokens per second."""
    model.train()
    shape = (arguments.train_batch, arguments.train_length)
    sources, labels = torch.randint(3, arguments.train_vocabulary, (2, *shape)).to(model.device).unbind()

    def work() -> None:
        for _ in range(arguments.updates):
            with torch.autocast(model.device.type, torch.bfloat16, enabled=bf16):
                loss = model(input_ids=sources, attention_mask=torch.ones_like(sources), labels=labels).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        # On a GPU the work ends later than the calls for it.
        loss.item()

    return rate(arguments.updates * labels.numel(), work, arguments.clock)


def measure_training(arguments: argparse.Namespace, joey: JoeyNmt | None) -> dict[str, float]:
    """Times training at all hidden sizes and returns the lowest ratios."""
    lowest: dict[str, float] = {}
    length, batch, updates = arguments.train_length, arguments.train_batch, arguments.updates
    for hidden in arguments.train_hidden:
        model = random_model(arguments.train_vocabulary, arguments.embedding, hidden)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)
        turn = partial(train, model, optimizer, arguments)
        contestants = [
            Contestant("nmt_train_bf16_vs_joeynmt", "training, bf16", partial(turn, bf16=True)),
            Contestant("nmt_train_fp32_vs_joeynmt", "training, fp32", partial(turn, bf16=False)),
        ]
        if joey is not None:
            order = {"do": "train", "vocabulary": arguments.train_vocabulary, "hidden": hidden}
            order |= {"batch": batch, "source": length, "target": length}
            contestants.append(joey.contestant(updates * batch * length, arguments, **order))
        write(
            f"training: hidden {hidden}, embeddings {arguments.embedding}, vocabulary {arguments.train_vocabulary:,}, "
            f"batch {batch} x {length}"
        )
        for key, ratio in ratios_to_joey("target tokens/s", contestants, arguments.rounds, joey).items():
            lowest[key] = min(ratio, lowest.get(key, ratio))
    return lowest


def ratios_to_joey(unit: str, contestants: list[Contestant], rounds: int, joey: JoeyNmt | None) -> dict[str, float]:
    """Lets the contestants take turns, writes a table and returns the rates over JoeyNMT's, the last one, by key."""
    medians = measure(unit, contestants, rounds)
    named = zip(contestants, medians, strict=True)
    return {contestant.key: median / medians[-1] for contestant, median in named if contestant.key and joey}


def measure_transformer(arguments: argparse.Namespace) -> dict[str, float]:
    """Times both ways of translating with a transformer and returns the ratio."""
    model, tokenizer = marian_model(arguments)
    lengths = torch.randint(4, 41, (arguments.transformer,)).tolist()
    texts = [" ".join(map(str, torch.randint(3, arguments.vocabulary, (n,)).tolist())) for n in lengths]
    bf16 = is_bf16("auto", "cpu")
    translator = Translator(model, tokenizer, SearchOptions(arguments.beams, 1, max_length_ratio=1.0, bf16=bf16))

    def loop() -> None:
        for start in range(0, len(texts), arguments.batch):
            batch = tokenizer(texts[start : start + arguments.batch], return_tensors="pt", padding=True)
            longest = batch["input_ids"].shape[1]
            found = model.generate(**batch, num_beams=arguments.beams, max_new_tokens=longest)
            tokenizer.batch_decode(found, skip_special_tokens=True)

    ways: list[tuple[str, str, Callable[[], Any]]] = [
        ("", f"ours, {'bf16' if bf16 else 'fp32'}", partial(translator.nbest_lists, texts)),
        ("transformer_vs_generate", f"generate, fp32, batches of {arguments.batch}", loop),
    ]
    turn = partial(rate, sum(lengths), clock=arguments.clock)
    contestants = [Contestant(key, name, partial(turn, work)) for key, name, work in ways]
    write(f"beam {arguments.beams}, {len(texts)} sentences")
    return compare("units/s", contestants, arguments.rounds)


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
