"""Times beam search and training of RNNsearch against JoeyNMT, in one run.

JoeyNMT cannot share our environment: it runs in its own interpreter, `--joeynmt-python`, as a worker that is idle
while others have their turn. Its model has no maxout layer and attends once more; sizes, batches, random weights and
the number of threads are the same.

Search: a turn translates one batch with the encoder; no hypothesis may end before the last step, so all do the same
number of hypothesis-steps (sentences * beams * steps), and leaving out finished sentences earns nothing here. The
full-vocabulary search in bf16 rescores its final lists in fp32 (`rescored`), that in fp32 has exact scores already.
With candidates the search is in bf16 over the candidates alone; JoeyNMT has no such restriction.
Training: tokens/s of updates with Adam; where several hidden sizes are timed, the ratio is the lowest of them.
On a machine that others use too, `--clock processor` with OMP_NUM_THREADS=1 counts the work alone, on both sides.

`--transformer` times a Marian model of random weights instead: our translator, which sorts the sentences by length and
scores every translation exactly, against a loop around `generate` over batches in the order of the sentences, as users
write it. Translations are as long as their sources, the greatest of a batch in the loop.
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
from interleaved import Contestant, argument_parser, measure, run_benchmark, timed, write

END = 2
BEAMS = (5, 10, 20, 50, 100)
"""The widths of `--scaling`."""


class JoeyNmt:
    """JoeyNMT in its own interpreter."""

    def __init__(self, python: str, clock: str) -> None:
        self.clock = clock
        worker = str(Path(__file__).with_name("joeynmt_worker.py"))
        self.process = subprocess.Popen([python, worker], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # noqa: S603
        greeting = self._answer()
        if "error" in greeting:
            raise OSError(greeting["error"])
        self.name = f"JoeyNMT {greeting['version']}"

    def seconds(self, **order: Any) -> float:
        """Lets it take a turn and returns the seconds it measured."""
        assert self.process.stdin is not None
        order |= {"threads": torch.get_num_threads(), "cpu_time": self.clock == "processor", "seed": 0}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return float(self._answer()["seconds"])

    def close(self) -> None:
        """Ends it."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise OSError("its interpreter ended")
        answer: dict[str, Any] = json.loads(line)
        return answer


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__, clock=True)
    parser.add_argument("--joeynmt-python", help="interpreter that can import joeynmt 2.3; none = left out")
    parser.add_argument("--hidden", type=int, default=1000, help="hidden units of the searched model")
    parser.add_argument("--embedding", type=int, default=620, help="components of a word embedding")
    parser.add_argument("--vocabulary", type=int, default=30_000, help="target units of the searched model")
    parser.add_argument("--candidates", type=int, default=10_300, help="candidate units")
    parser.add_argument("--beams", type=int, default=50, help="beam width and length of the n-best list")
    parser.add_argument("--batch", type=int, default=8, help="sentences searched at once")
    parser.add_argument("--source", type=int, default=10, help="units of a source sentence")
    parser.add_argument("--steps", type=int, default=15, help="units of a translation")
    parser.add_argument("--train-hidden", type=int, nargs="+", default=[512, 1000], help="hidden units in training")
    parser.add_argument("--train-vocabulary", type=int, default=10_000, help="units of each side in training")
    parser.add_argument("--train-batch", type=int, default=80, help="pairs in a mini-batch")
    parser.add_argument("--train-length", type=int, default=12, help="units of a training sentence")
    parser.add_argument("--updates", type=int, default=3, help="updates in a turn")
    parser.add_argument("--scaling", action="store_true", help="instead, how our search slows down with wider beams")
    parser.add_argument(
        "--transformer", type=int, metavar="SENTENCES", help="instead, a Marian model against a loop around generate"
    )
    return run_benchmark(parser, run)


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measures everything and returns the ratios."""
    if arguments.candidates > arguments.vocabulary:
        raise UsageError(f"--candidates must be at most --vocabulary, {arguments.vocabulary}")
    if min(arguments.train_hidden) < 2 or any(hidden % 2 for hidden in [arguments.hidden, *arguments.train_hidden]):
        raise UsageError("--hidden and --train-hidden must be even: maxout halves them")
    write(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    if arguments.scaling:
        measure_beams(arguments)
        return {}
    if arguments.transformer:
        return measure_transformer(arguments)
    joey = None
    try:
        if arguments.joeynmt_python is None:
            raise OSError("--joeynmt-python is not given")
        joey = JoeyNmt(arguments.joeynmt_python, arguments.clock)
    except OSError as error:
        write(f"JoeyNMT is left out: {error}")
    try:
        return measure_search(arguments, joey) | measure_training(arguments, joey)
    finally:
        if joey is not None:
            joey.close()


def random_model(vocabulary: int, embedding: int, hidden: int) -> RnnSearchForConditionalGeneration:
    """Makes a model of random weights, whose translations never end by themselves."""
    torch.manual_seed(0)
    sizes = {"vocab_size": vocabulary, "embedding_size": embedding, "hidden_size": hidden}
    model = RnnSearchForConditionalGeneration(RnnSearchConfig(initialization="xavier", **sizes)).eval()
    with torch.no_grad():
        model.lm_head.bias[END] = -1e4
    return model


def search(
    model: RnnSearchForConditionalGeneration,
    sources: torch.Tensor,
    beams: int,
    steps: int,
    *,
    candidates: torch.Tensor | None = None,
    scorer: RnnSearchForConditionalGeneration | None = None,
    plain: bool = False,
    clock: str = "wall",
) -> float:
    """Searches a batch, rescores the lists if a scorer is given, and returns hypothesis-steps per second."""
    mask = torch.ones_like(sources)

    def work() -> None:
        if plain:
            own = {"num_beams": beams, "num_return_sequences": beams, "max_new_tokens": steps, "length_penalty": 0.0}
            model.generate(sources, attention_mask=mask, do_sample=False, **own)
            return
        found, _ = fast_beam_search(
            model,
            sources,
            mask,
            num_beams=beams,
            limits=[steps] * len(sources),
            ends=[END],
            length_penalty=0.0,
            steps=None if candidates is None else DecoderSteps(model).restricted(candidates),
        )
        if scorer is not None:
            rows = [row for row in range(len(sources)) for _ in range(beams)]
            prefix_tree_scores(scorer, sources, mask, rows, found.flatten(0, 1).tolist())

    with torch.inference_mode():
        return len(sources) * beams * steps / timed(work, clock)[0]


def measure_search(arguments: argparse.Namespace, joey: JoeyNmt | None) -> dict[str, float]:
    """Times the search and returns the ratios."""
    model = random_model(arguments.vocabulary, arguments.embedding, arguments.hidden)
    rounded = copy.deepcopy(model).to(torch.bfloat16)
    sources = torch.randint(3, arguments.vocabulary, (arguments.batch, arguments.source))
    units = torch.randperm(arguments.vocabulary - 3)[: arguments.candidates - 1] + 3
    candidates = torch.cat([torch.tensor([END]), units])
    turn = partial(search, sources=sources, beams=arguments.beams, steps=arguments.steps, clock=arguments.clock)
    few = f"{arguments.candidates:,} candidates"
    low = partial(turn, rounded)
    contestants = [
        Contestant("candidates", f"{few}, bf16", partial(low, candidates=candidates)),
        Contestant("", f"{few}, bf16, rescored", partial(low, candidates=candidates, scorer=model)),
        Contestant("", "full vocabulary, bf16", low),
        Contestant("full_bf16", "full vocabulary, bf16, rescored", partial(low, scorer=model)),
        Contestant("full_fp32", "full vocabulary, fp32", partial(turn, model)),
        Contestant("", "plain generate, fp32", partial(turn, model, plain=True)),
    ]
    if joey is not None:
        names = ("vocabulary", "embedding", "hidden", "batch", "source", "beams")
        order = {"do": "search", "target": arguments.steps, **{name: getattr(arguments, name) for name in names}}
        done = arguments.batch * arguments.beams * arguments.steps
        contestants.append(Contestant("", joey.name, lambda: done / joey.seconds(**order)))
    write(
        f"search: hidden {arguments.hidden}, embeddings {arguments.embedding}, vocabulary {arguments.vocabulary:,}, "
        f"{arguments.batch} sentences of {arguments.source} units, {arguments.beams} beams, {arguments.steps} steps"
    )
    ratios = compare_rates("hypothesis-steps/s", contestants, arguments.rounds, compared=joey is not None)
    return {f"beam50_{name}_vs_joeynmt": ratio for name, ratio in ratios.items()}


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

    return float(arguments.updates * labels.numel() / timed(work, arguments.clock)[0])


def joey_train(joey: JoeyNmt, arguments: argparse.Namespace, hidden: int) -> float:
    """Lets JoeyNMT make updates and returns target tokens per second."""
    seconds = joey.seconds(
        do="train",
        vocabulary=arguments.train_vocabulary,
        embedding=arguments.embedding,
        hidden=hidden,
        batch=arguments.train_batch,
        source=arguments.train_length,
        target=arguments.train_length,
        updates=arguments.updates,
    )
    return float(arguments.updates * arguments.train_batch * arguments.train_length / seconds)


def measure_training(arguments: argparse.Namespace, joey: JoeyNmt | None) -> dict[str, float]:
    """Times training at all hidden sizes and returns the lowest ratios."""
    lowest: dict[str, float] = {}
    for hidden in arguments.train_hidden:
        model = random_model(arguments.train_vocabulary, arguments.embedding, hidden)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)
        turn = partial(train, model, optimizer, arguments)
        contestants = [
            Contestant("bf16", "training, bf16", partial(turn, bf16=True)),
            Contestant("fp32", "training, fp32", partial(turn, bf16=False)),
        ]
        if joey is not None:
            contestants.append(Contestant("", joey.name, partial(joey_train, joey, arguments, hidden)))
        write(
            f"training: hidden {hidden}, embeddings {arguments.embedding}, vocabulary {arguments.train_vocabulary:,}, "
            f"batch {arguments.train_batch} x {arguments.train_length}"
        )
        ratios = compare_rates("target tokens/s", contestants, arguments.rounds, compared=joey is not None)
        for name, ratio in ratios.items():
            key = f"nmt_train_{name}_vs_joeynmt"
            lowest[key] = min(ratio, lowest.get(key, ratio))
    return lowest


def compare_rates(unit: str, contestants: list[Contestant], rounds: int, *, compared: bool) -> dict[str, float]:
    """Lets the contestants take turns, writes a table and returns the rates over that of the last one, by key."""
    medians = measure(unit, contestants, rounds, heading="this/JoeyNMT" if compared else "this/last", over_last=True)
    if not compared:
        return {}
    pairs = zip(contestants, medians, strict=True)
    return {contestant.key: median / medians[-1] for contestant, median in pairs if contestant.key}


def marian_model(arguments: argparse.Namespace) -> tuple[Any, Any]:
    """Makes a model of 6 + 6 layers of 512, whose translations never end by themselves, with words as units."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from transformers import MarianConfig, MarianMTModel, PreTrainedTokenizerFast

    words = {"</s>": 0, "<unk>": 1, "<pad>": 2} | {str(unit): unit for unit in range(3, arguments.vocabulary)}
    backend = Tokenizer(WordLevel(words, "<unk>"))
    backend.pre_tokenizer = WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, eos_token="</s>", pad_token="<pad>")  # noqa: S106
    torch.manual_seed(0)
    sizes = {
        "d_model": 512,
        "encoder_layers": 6,
        "decoder_layers": 6,
        "encoder_ffn_dim": 2048,
        "decoder_ffn_dim": 2048,
    }
    heads = {"encoder_attention_heads": 8, "decoder_attention_heads": 8}
    units = {"pad_token_id": 2, "decoder_start_token_id": 2, "eos_token_id": 0, "forced_eos_token_id": None}
    model = MarianMTModel(MarianConfig(vocab_size=arguments.vocabulary, **sizes, **heads, **units)).eval()
    model.final_logits_bias[0, 0] = -1e4
    return model, tokenizer


def measure_transformer(arguments: argparse.Namespace) -> dict[str, float]:
    """Times our translator and a plain loop on sentences of 4 to 40 units, and returns the ratio."""
    model, tokenizer = marian_model(arguments)
    lengths = torch.randint(4, 41, (arguments.transformer,)).tolist()
    texts = [" ".join(map(str, torch.randint(3, arguments.vocabulary, (n,)).tolist())) for n in lengths]
    bf16 = is_bf16("auto", "cpu")
    translator = Translator(model, tokenizer, SearchOptions(arguments.beams, 1, max_length_ratio=1.0, bf16=bf16))
    clock = arguments.clock

    def rate(work: Callable[[], Any]) -> float:
        return sum(lengths) / timed(work, clock)[0]

    def loop() -> None:
        for start in range(0, len(texts), arguments.batch):
            batch = tokenizer(texts[start : start + arguments.batch], return_tensors="pt", padding=True)
            longest = batch["input_ids"].shape[1]
            tokenizer.batch_decode(model.generate(**batch, num_beams=arguments.beams, max_new_tokens=longest))

    contestants = [
        Contestant("", f"ours, {'bf16' if bf16 else 'fp32'}", partial(rate, lambda: translator.nbest_lists(texts))),
        Contestant("", f"generate, fp32, batches of {arguments.batch}", partial(rate, loop)),
    ]
    write(
        f"Marian, 6 + 6 layers of 512, {arguments.vocabulary:,} units, beam {arguments.beams}, {len(texts)} sentences"
    )
    ours, plain = measure("target units/s", contestants, arguments.rounds)
    return {"transformer_vs_generate": ours / plain}


def measure_beams(arguments: argparse.Namespace) -> None:
    """Writes how many sentences a second a search in bf16 translates with beams of several widths."""
    model = random_model(arguments.vocabulary, arguments.embedding, arguments.hidden).to(torch.bfloat16)
    sources = torch.randint(3, arguments.vocabulary, (arguments.batch, arguments.source))
    steps, clock = arguments.steps, arguments.clock

    def sentences_per_second(beams: int) -> float:
        return search(model, sources, beams, steps, clock=clock) / (beams * steps)

    contestants = [Contestant("", f"beam {beams}", partial(sentences_per_second, beams)) for beams in BEAMS]
    medians = measure("sentences/s", contestants, arguments.rounds)
    milliseconds = (f"beam {beams} {1e3 / rate:.0f}" for beams, rate in zip(BEAMS, medians, strict=True))
    write(f"milliseconds a sentence: {', '.join(milliseconds)}")


if __name__ == "__main__":
    sys.exit(main())
