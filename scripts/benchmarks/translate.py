"""Time beam search and training of RNNsearch against JoeyNMT, in one run.

JoeyNMT needs its own environment: it runs in the interpreter `--joeynmt-python`, as a worker that is idle during the
turns of others. Its model has no maxout layer and one more attention step; sizes, batches, random weights and the
number of threads are the same.

In the search no hypothesis may end before the last step, so all do the same number of hypothesis-steps (sentences *
beams * steps). `rescored`: the final lists of a search in bf16 get scores in fp32. Only we search over candidates.
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

from hf_paraphrase.models.configurations import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.models.stepwise_decoder import StepwiseDecoder
from hf_paraphrase.translation.fast_search import fast_beam_search
from hf_paraphrase.translation.forced_decoding import prefix_tree_scores
from interleaved import CLOCK, ROUNDS, Contestants, compare, rate, run_benchmark, write

END = 2
FLAGS = {
    "rounds": (5, ROUNDS),
    "clock": CLOCK,
    "joeynmt-python": (None, "interpreter that can import joeynmt 2.3; none = left out"),
    "hidden": (1000, "hidden units of the searched model"),
    "embedding": (620, "components of a word embedding"),
    "vocabulary": (30_000, "target units of the searched model"),
    "candidates": (10_300, "candidate units"),
    "beams": (50, "beam width and length of the n-best list"),
    "batch": (8, "sentences searched at once"),
    "source": (10, "units of a source sentence"),
    "steps": (15, "units of a translation"),
    "train-hidden": ((512, 1000), "hidden units in training"),
    "train-vocabulary": (10_000, "units of each side in training"),
    "train-batch": (80, "pairs in a mini-batch"),
    "train-length": (12, "units of a training sentence"),
    "updates": (3, "updates in a turn"),
}
Peer = Callable[..., Contestants]
"""Make the contestant that does `count` things by an order; no contestant without JoeyNMT."""


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Measure everything and return the ratios."""
    if arguments.joeynmt_python is None:
        write("JoeyNMT is left out: --joeynmt-python is not given")
        measure_all(arguments, lambda count, **order: {})
        return {}
    command = [arguments.joeynmt_python, str(Path(__file__).with_name("joeynmt_worker.py"))]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as worker:  # noqa: S603
        return measure_all(arguments, partial(joeynmt_contestant, worker, arguments))


def measure_all(arguments: argparse.Namespace, joeynmt: Peer) -> dict[str, float]:
    """Time search, and training at all hidden sizes; return the ratios, of training the lowest."""
    searched = measure_search(arguments, joeynmt)
    trained = [measure_training(arguments, hidden, joeynmt) for hidden in arguments.train_hidden]
    return searched | {key: min(ratios[key] for ratios in trained) for key in trained[0]}


def joeynmt_contestant(
    worker: subprocess.Popen[str], arguments: argparse.Namespace, count: int, **order: Any
) -> Contestants:
    """Return what has JoeyNMT do `count` things by an order, which has the arguments and what differs from them."""
    order = {**vars(arguments), "threads": torch.get_num_threads(), **order}

    def turn() -> float:
        assert worker.stdin is not None and worker.stdout is not None
        print(json.dumps(order), file=worker.stdin, flush=True)
        return count / float(worker.stdout.readline())

    return {"JoeyNMT": turn}


def random_model(vocabulary: int, embedding: int, hidden: int) -> RnnSearchForConditionalGeneration:
    """Make a model of random weights, whose translations never end by themselves."""
    torch.manual_seed(0)
    sizes = {"vocab_size": vocabulary, "embedding_size": embedding, "hidden_size": hidden}
    model = RnnSearchForConditionalGeneration(RnnSearchConfig(initialization="xavier", **sizes)).eval()
    with torch.no_grad():
        model.lm_head.bias[END] = -1e4
    return model


def measure_search(arguments: argparse.Namespace, joeynmt: Peer) -> dict[str, float]:
    """Time the search and return the ratios."""
    model = random_model(arguments.vocabulary, arguments.embedding, arguments.hidden)
    rounded = copy.deepcopy(model).to(torch.bfloat16)
    sources = torch.randint(3, arguments.vocabulary, (arguments.batch, arguments.source))
    units = torch.randperm(arguments.vocabulary - 3)[: arguments.candidates - 1] + 3
    candidates = torch.cat([torch.tensor([END]), units])
    mask, beams, steps = torch.ones_like(sources), arguments.beams, arguments.steps

    @torch.inference_mode()
    def search(searched: Any, candidates: torch.Tensor | None = None, scorer: Any = None) -> None:
        """Search a batch, over all units or candidates, and rescores the lists if a scorer is given."""
        found, _ = fast_beam_search(
            searched,
            sources,
            mask,
            num_beams=beams,
            limits=[steps] * len(sources),
            ends=[END],
            length_penalty=0.0,
            steps=None if candidates is None else StepwiseDecoder.for_search(searched).restricted(candidates),
        )
        if scorer is not None:
            rows = [row for row in range(len(sources)) for _ in range(beams)]
            prefix_tree_scores(scorer, sources, mask, rows, found.flatten(0, 1).tolist())

    options = {"num_beams": beams, "num_return_sequences": beams, "max_new_tokens": steps, "length_penalty": 0.0}
    generate = partial(model.generate, sources, attention_mask=mask, do_sample=False, **options)
    few = f"{len(candidates):,} candidates"
    ways: dict[str, Callable[[], Any]] = {
        f"{few}, bf16": partial(search, rounded, candidates),
        f"{few}, bf16, rescored": partial(search, rounded, candidates, model),
        "full vocabulary, bf16": partial(search, rounded),
        "full vocabulary, bf16, rescored": partial(search, rounded, scorer=model),
        "full vocabulary, fp32": partial(search, model),
        "plain generate, fp32": torch.inference_mode()(generate),
    }
    keys = {f"{few}, bf16": "beam50_candidates_vs_joeynmt"}
    keys["full vocabulary, bf16, rescored"] = "beam50_full_bf16_vs_joeynmt"
    keys["full vocabulary, fp32"] = "beam50_full_fp32_vs_joeynmt"
    count = len(sources) * beams * steps
    ours: Contestants = {name: partial(rate, count, work, arguments.clock) for name, work in ways.items()}
    contestants = {**ours, **joeynmt(count, do="search")}
    return compare("search, hypothesis-steps/s", contestants, arguments.rounds, keys, to_last=True)


def train(
    model: RnnSearchForConditionalGeneration, optimizer: Any, arguments: argparse.Namespace, bf16: bool
) -> float:
    """Make updates and return target tokens per second."""
    model.train()
    shape = (arguments.train_batch, arguments.train_length)
    sources, labels = torch.randint(3, arguments.train_vocabulary, (2, *shape))

    def work() -> None:
        for _ in range(arguments.updates):
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                loss = model(input_ids=sources, attention_mask=torch.ones_like(sources), labels=labels).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    return rate(arguments.updates * labels.numel(), work, arguments.clock)


def measure_training(arguments: argparse.Namespace, hidden: int, joeynmt: Peer) -> dict[str, float]:
    """Time training and return the ratios."""
    length, batch, vocabulary = arguments.train_length, arguments.train_batch, arguments.train_vocabulary
    model = random_model(vocabulary, arguments.embedding, hidden)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.0, fused=True)
    keys = {kind: f"nmt_train_{kind}_vs_joeynmt" for kind in ("bf16", "fp32")}
    ours: Contestants = {kind: partial(train, model, optimizer, arguments, kind == "bf16") for kind in keys}
    order = {"vocabulary": vocabulary, "hidden": hidden, "batch": batch, "source": length, "target": length}
    contestants = {**ours, **joeynmt(arguments.updates * batch * length, do="train", **order)}
    unit = f"training, hidden {hidden}, target tokens/s"
    return compare(unit, contestants, arguments.rounds, keys, to_last=True)


if __name__ == "__main__":
    sys.exit(run_benchmark(run, __doc__, FLAGS))
