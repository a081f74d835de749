"""What `translate.py` could reach at most on a processor: if it did nothing but the products of matrices of its model.

How fast the processor multiplies is measured on large square matrices, which it multiplies best. What a step of a
hypothesis and a token of training multiply is counted from the model's matrices: in training each is multiplied once
forward and twice backward for a token (source and target sentences are equally long), in the search those of the
decoder once a hypothesis, but for the previous words', of which few are different. Attention, softmax, the choice of
the best, gates and Adam count as nothing, so no implementation of the model in that arithmetic is faster.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import torch
from torch.nn import functional

from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.translation.int8_products import Int8Product, int8_is_fast

SIZE = 2048
"""Rows and columns of the matrices on which the rate is measured."""


def product_rates(clock: Callable[[], float], turns: int) -> dict[str, float]:
    """Measures the operations (a product and a sum are two) a second in each arithmetic, the best of some turns."""
    left, right = torch.randn(2, SIZE, SIZE).unbind()
    products: dict[str, Callable[[], object]] = {
        "fp32": partial(functional.linear, left, right),
        "bf16": partial(functional.linear, left.bfloat16(), right.bfloat16()),
    }
    if int8_is_fast():
        products["int8"] = partial(Int8Product(right), left.bfloat16())
    rates = {}
    with torch.inference_mode():
        for name, product in products.items():
            product()
            seconds = []
            for _ in range(turns):
                start = clock()
                product()
                seconds.append(clock() - start)
            rates[name] = 2 * SIZE**3 / min(seconds)
    return rates


def search_operations(model: RnnSearchForConditionalGeneration, candidates: int | None = None) -> int:
    """Counts the operations of a step of one hypothesis, its previous word and the attention left out."""
    decoder, gru = model.decoder, model.decoder.gru
    matrices = [gru.gate_weight, gru.candidate_weight, decoder.attention_query, decoder.state_to_readout.weight]
    count = sum(matrix.numel() for matrix in [*matrices, decoder.readout_to_output.weight])
    units, size = model.lm_head.weight.shape
    return 2 * (count + size * (units if candidates is None else candidates))


def training_operations(model: RnnSearchForConditionalGeneration) -> int:
    """Counts the operations of a target token in training, forward and backward."""
    tables = {id(model.encoder.embeddings.weight), id(model.decoder.embeddings.weight)}
    matrices = [weight for weight in model.parameters() if weight.dim() == 2 and id(weight) not in tables]
    if id(model.lm_head.weight) in tables:
        matrices.append(model.lm_head.weight)
    return 6 * sum(matrix.numel() for matrix in matrices)


def search_bounds(
    model: RnnSearchForConditionalGeneration,
    rates: Mapping[str, float],
    lists: Sequence[Sequence[int]],
    beams: int,
    candidates: int,
) -> dict[str, float]:
    """Computes the most hypothesis-steps a second of each search, and of those whose lists are scored in fp32."""
    prefixes = {(row // beams, *units[:end]) for row, units in enumerate(lists) for end in range(len(units))}
    share = len(prefixes) / sum(map(len, lists))
    bounds = {}
    for name, count in ((f"{candidates:,} candidates", candidates), ("full vocabulary", None)):
        operations = search_operations(model, count)
        for arithmetic, rate in rates.items():
            bounds[f"{name}, {arithmetic}"] = rate / operations
            if arithmetic != "fp32":
                seconds = operations / rate + share * operations / rates["fp32"]
                bounds[f"{name}, {arithmetic}, rescored"] = 1 / seconds
    return bounds


def training_bounds(model: RnnSearchForConditionalGeneration, rates: Mapping[str, float]) -> dict[str, float]:
    """Computes the most target tokens a second of training in each arithmetic that it knows."""
    return {f"training, {name}": rates[name] / training_operations(model) for name in ("bf16", "fp32")}


def bounds_table(bounds: Mapping[str, float], peer: float | None) -> str:
    """Formats the most that products allow, and its ratio to the rate of the peer, in the columns of the measured."""
    lines = [f"{'by products alone, at most':<40}"]
    for name, rate in bounds.items():
        lines.append(f"{name:<40}{rate:12,.0f}{'' if peer is None else f'{rate / peer:47.2f}'}")
    return "\n".join(lines)
