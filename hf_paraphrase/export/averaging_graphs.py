"""ONNX graphs of the encoders that average token vectors."""

from __future__ import annotations

from typing import Any

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
    blocks = []
    start = 0
    for size in config.vocab_sizes:
        inside = graph.add("GreaterOrEqual", INPUT_IDS, graph.integers(start))
        inside = graph.add("And", inside, graph.add("Less", INPUT_IDS, graph.integers(start + size)))
        inside = graph.add("And", inside, tokens.counted)
        number = graph.sum_over(graph.as_integer(inside), 1, keep=True)
        # The number of all tokens by that of the part: so the mean over all tokens is that over the part's.
        share = graph.add("Div", length, at_least_one(graph, number))
        factors = graph.with_axis(graph.add("Mul", graph.as_float(inside), share), 2)
        blocks.append(graph.add("Mul", vectors, factors))
        start += size
    states = graph.add("Concat", *blocks, axis=2)
    return states, graph.add("Div", graph.sum_over(states, 1), length)
