"""ONNX graphs of the encoders that average token vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from .counted_tokens import INPUT_IDS, at_least_one, find_counted_tokens
from .graph_builder import GraphBuilder
from .stored_weights import StoredWeights


def avg_graph(graph: GraphBuilder, config: Any, weights: StoredWeights) -> tuple[str, str]:
    """Adds `AvgModel`: the mean of the vectors of the words that count.

    Args:
        graph: The graph.
        config: An `AvgConfig`.
        weights: `embeddings` (vocab_size, hidden_size).

    Returns:
        The names of `last_hidden_state` (batch, length, hidden_size) and of the embeddings (batch, hidden_size).
    """
    tokens = find_counted_tokens(graph, config)
    factors = graph.with_axis(graph.as_float(tokens.counted), 2)
    vectors = graph.rows(weights.matrices["embeddings"], INPUT_IDS, "embeddings", factors=factors)
    mean = graph.add("Div", graph.sum_over(vectors, 1), at_least_one(graph, tokens.lengths))
    if not tokens.skips:
        return vectors, mean
    skipped = graph.add("And", tokens.given, graph.add("Not", tokens.counted))
    return graph.add("Where", graph.with_axis(skipped, 2), graph.with_axis(mean, 1), vectors), mean


def concatenation_graph(graph: GraphBuilder, config: Any, weights: StoredWeights) -> tuple[str, str]:
    """Adds `ConcatenationModel`: the means of several kinds of token vectors side by side.

    Args:
        graph: The graph.
        config: A `ConcatenationConfig`.
        weights: `embeddings` (vocab_size, part_size).

    Returns:
        As :func:`avg_graph`.
    """
    tokens = find_counted_tokens(graph, config)
    vectors = graph.rows(weights.matrices["embeddings"], INPUT_IDS, "embeddings")
    length = at_least_one(graph, tokens.lengths)
    blocks: list[str] = []
    start = 0
    for size in config.vocab_sizes:
        inside = graph.add("GreaterOrEqual", INPUT_IDS, graph.integers(start))
        inside = graph.add("And", inside, graph.add("Less", INPUT_IDS, graph.integers(start + size)))
        inside = graph.add("And", inside, tokens.counted)
        number = graph.sum_over(graph.as_integer(inside), 1, keep=True)
        # The number of all tokens by that of the part: so the mean over all tokens is that over the part's.
        share = graph.add("Div", length, at_least_one(graph, number))
        factors = graph.with_axis(graph.add("Mul", graph.as_float(inside), share), 2)
        block = graph.add("Mul", vectors, factors)
        if config.part_weights is not None:
            mean = graph.add("Div", graph.sum_over(block, 1), length)
            share_of_part = config.part_weights[len(blocks)] / sum(config.part_weights)
            block = graph.add("Mul", block, graph.with_axis(_norm_factor(graph, mean, share_of_part**0.5), 1))
        blocks.append(block)
        start += size
    states = graph.add("Concat", *blocks, axis=2)
    return states, graph.add("Div", graph.sum_over(states, 1), length)


def _norm_factor(graph: GraphBuilder, mean: str, norm: float) -> str:
    """Adds what gives the means (batch, columns) a norm, (batch, 1); means of zero stay zero."""
    found = graph.add("Sqrt", graph.sum_over(graph.add("Mul", mean, mean), 1, keep=True))
    zero, one, wanted = (graph.constant(np.array(value, np.float32)) for value in (0.0, 1.0, norm))
    return graph.add("Div", wanted, graph.add("Where", graph.add("Greater", found, zero), found, one))
