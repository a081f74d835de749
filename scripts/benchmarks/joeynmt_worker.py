"""JoeyNMT's turns in `benchmarks/translate.py`: in its own interpreter, orders on stdin, answers on stdout.

An order is a line of JSON. For `{"do": "search", …}` the answer is the seconds of one beam search of a batch, with a
recurrent model of random weights; for `{"do": "train", …}` the seconds of some updates.
"""

from __future__ import annotations

# ruff: noqa: E402
import json
import sys

# What the libraries print must not get between the answers.
ANSWERS, sys.stdout = sys.stdout, sys.stderr
import time
from functools import cache
from types import SimpleNamespace
from typing import Any

import torch
from joeynmt.batch import Batch
from joeynmt.model import build_model
from joeynmt.search import search as joey_search
from joeynmt.vocabulary import Vocabulary

CLOCKS = {"wall": time.perf_counter, "processor": time.process_time}


@cache
def build(do: str, vocabulary: int, embedding: int, hidden: int) -> tuple[Any, Any]:
    """Build a model: one-layer bidirectional GRU, additive attention, one-layer GRU decoder, no dropout; and Adam."""
    special = {"unk_token": "<unk>", "pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "sep_token": None}
    ids = {"unk_id": 0, "pad_id": 1, "bos_id": 2, "eos_id": 3, "sep_id": None}
    units = [f"unit{number}" for number in range(vocabulary - 4)]
    words = Vocabulary(units, SimpleNamespace(lang_tags=[], **special, **ids))
    torch.manual_seed(0)
    side = {"type": "recurrent", "rnn_type": "gru", "hidden_size": hidden, "num_layers": 1, "dropout": 0.0}
    side["embeddings"] = {"embedding_dim": embedding}
    decoder = {**side, "attention": "bahdanau", "init_hidden": "bridge", "input_feeding": False}
    settings = {"encoder": {**side, "bidirectional": True}, "decoder": decoder, "tied_embeddings": False}
    model = build_model(settings, src_vocab=words, trg_vocab=words).train(do == "train")
    model.loss_function = ("crossentropy", 0.0)
    return model, torch.optim.Adam(model.parameters(), lr=1e-4)


def batch(order: dict[str, Any]) -> Any:
    """Make a batch of random sentences, to train on where the order has the length of their targets."""
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


for line in sys.stdin:
    order = json.loads(line)
    torch.set_num_threads(order["threads"])
    model, optimizer = build(*(order[name] for name in ("do", "vocabulary", "embedding", "hidden")))
    sentences, clock = batch(order), CLOCKS[order["clock"]]
    beams, steps = order["beams"], order["steps"]
    start = clock()
    if order["do"] == "search":
        # No hypothesis may end before the last step.
        options = {"beam_alpha": -1, "n_best": beams, "return_prob": "hyp", "min_output_length": steps}
        found, _, _ = joey_search(model=model, batch=sentences, beam_size=beams, max_output_length=steps, **options)
        assert len(found) == order["batch"] * beams, found.shape
    for _ in range(order["updates"] if order["do"] == "train" else 0):
        loss, _, _, _ = model(return_type="loss", **vars(sentences))
        (loss / order["batch"]).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    print(clock() - start, file=ANSWERS, flush=True)
