"""JoeyNMT's turns in `benchmarks/translate.py`: runs in its own interpreter, takes orders on stdin, answers on stdout.

An order is a line of JSON. `{"do": "search", …}` builds a recurrent model of random weights on first use and answers
with the seconds of one beam search of a batch; `{"do": "train", …}` with the seconds of some updates.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys

# What the libraries print must not get between the answers.
ANSWERS, sys.stdout = sys.stdout, sys.stderr
import time
from collections.abc import Callable
from importlib import metadata
from types import SimpleNamespace
from typing import Any

import torch
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.search import search as joey_search
from joeynmt.vocabulary import Vocabulary

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


def build(order: dict[str, Any]) -> Any:
    """Builds a model: one-layer bidirectional GRU, additive attention, one-layer GRU decoder, no dropout."""
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "sep_token": None}
    ids = {"unk_id": 0, "pad_id": 1, "bos_id": 2, "eos_id": 3, "sep_id": None}
    units = [f"unit{number}" for number in range(order["vocabulary"] - 4)]
    words = Vocabulary(units, SimpleNamespace(lang_tags=[], **special, **ids))
    torch.manual_seed(0)
    side = {"type": "recurrent", "rnn_type": "gru", "hidden_size": order["hidden"], "num_layers": 1, "dropout": 0.0}
    side["embeddings"] = {"embedding_dim": order["embedding"]}
    decoder = {**side, "attention": "bahdanau", "init_hidden": "bridge", "input_feeding": False}
    settings = {"encoder": {**side, "bidirectional": True}, "decoder": decoder, "tied_embeddings": False}
    model = build_model(settings, src_vocab=words, trg_vocab=words)
    model.loss_function = ("crossentropy", 0.0)
    return model


def batch(order: dict[str, Any]) -> Any:
    """Makes a batch of random sentences, to train on where the order has the length of their targets."""
    size, source, target = order["batch"], order["source"], order.get("target")
    generator = torch.Generator().manual_seed(0)
    units = torch.randint(4, order["vocabulary"], (size, source), generator=generator)
    targets = None
    if target is not None:
        targets = torch.randint(4, order["vocabulary"], (size, target + 1), generator=generator)
        targets[:, 0], targets[:, -1] = 2, 3
    return Batch(
        src=units,
        src_length=torch.full((size,), source),
        src_prompt_mask=None,
        trg=targets,
        trg_prompt_mask=None,
        indices=torch.arange(size),
        device=torch.device("cpu"),
        pad_index=1,
        eos_index=3,
        is_train=target is not None,
    )


def search(model: Any, optimizer: Any, sentences: Any, order: dict[str, Any]) -> None:
    """Searches; no hypothesis may end before the last step."""
    found, _, _ = joey_search(
        model=model.eval(),
        batch=sentences,
        max_output_length=order["steps"],
        beam_size=order["beams"],
        beam_alpha=-1,
        n_best=order["beams"],
        min_output_length=order["steps"],
        return_prob="hyp",
    )
    assert len(found) == order["batch"] * order["beams"], found.shape


def train(model: Any, optimizer: Any, sentences: Any, order: dict[str, Any]) -> None:
    """Makes updates."""
    model.train()
    for _ in range(order["updates"]):
        loss, _, _, _ = model(return_type="loss", **vars(sentences))
        (loss / order["batch"]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()


def main() -> None:
    """Answers orders until stdin ends."""
    states: dict[str, Any] = {}
    print(json.dumps({"version": metadata.version("joeynmt")}), file=ANSWERS, flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        torch.set_num_threads(order["threads"])
        key = json.dumps([order[name] for name in ("do", "vocabulary", "embedding", "hidden")])
        if key not in states:
            model = build(order)
            states[key] = model, torch.optim.Adam(model.parameters(), lr=1e-4)
        sentences = batch(order)
        work: Callable[..., None] = search if order["do"] == "search" else train
        clock = CLOCKS[order["clock"]]
        start = clock()
        work(*states[key], sentences, order)
        print(json.dumps({"seconds": clock() - start}), file=ANSWERS, flush=True)


if __name__ == "__main__":
    main()
