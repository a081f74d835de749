"""ONNX graphs of the encoders with a recurrent network."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from onnx import TensorProto

from .counted_tokens import find_counted_tokens
from .graph_builder import GraphBuilder
from .packing_graph import PackedTokens, pack_tokens
from .recurrent_cells import recurrent_states, single_bias_gru_states
from .stored_weights import StoredWeights


def gran_graph(graph: GraphBuilder, config: Any, weights: StoredWeights) -> tuple[str, str]:
    """Adds `GranModel`: the mean of word vectors that a recurrent network gates.

    Args:
        graph: The graph.
        config: A `GranConfig`.
        weights: The model's weights.

    Returns:
        The names of `last_hidden_state` (batch, length, hidden_size) and of the embeddings (batch, hidden_size).
    """
    packed = pack_tokens(graph, find_counted_tokens(graph, config))
    words = graph.rows(weights.matrices["embeddings"], packed.ids, "embeddings")
    parts, _ = recurrent_states(graph, config, weights, words, packed)
    states = _merged(graph, config, parts)
    if config.bidirectional and config.direction_merge == "concat":
        merged = _linear(graph, "merge", weights, states)
        states = graph.add(
            "Tanh", graph.add("Add", merged, graph.constant(weights.vectors["merge.bias"], "merge.bias"))
        )
    gates = graph.add(
        "Add", _linear(graph, "gate_input", weights, words), _linear(graph, "gate_state", weights, states)
    )
    gates = graph.add("Add", gates, graph.constant(weights.vectors["gate_input.bias"], "gate_input.bias"))
    gated = graph.add("Mul", graph.add("Mul", words, graph.add("Sigmoid", gates)), packed.counted)
    mean = graph.add("Div", graph.sum_over(gated, 0), packed.number)
    return packed.unpack(graph, gated), packed.cut(graph, mean)


def recurrent_graph(graph: GraphBuilder, config: Any, weights: StoredWeights) -> tuple[str, str]:
    """Adds `RecurrentModel`: the last state of a recurrent network or the mean of its states.

    Args:
        graph: The graph.
        config: A `RecurrentConfig`.
        weights: Its weights.

    Returns:
        As :func:`gran_graph`.
    """
    packed = pack_tokens(graph, find_counted_tokens(graph, config))
    words = graph.rows(weights.matrices["embeddings"], packed.ids, "embeddings")
    states, last = recurrent_states(graph, config, weights, words, packed)
    # The operators give zeros where no token counts, but the specification does not say so.
    states = graph.add("Mul", states, graph.with_axis(packed.counted, 1))
    if config.pooling == "mean":
        merged = _merged(graph, config, states)
        mean = graph.add("Div", graph.sum_over(merged, 0), packed.number)
        return packed.unpack(graph, merged), packed.cut(graph, mean)
    return _last_states(graph, config, packed, states, last)


def sdae_graph(graph: GraphBuilder, config: Any, weights: StoredWeights) -> tuple[str, str]:
    """Adds the encoder of `SdaeModel`: the last state of a recurrent network; the decoder is left out.

    Args:
        graph: The graph.
        config: A `SdaeConfig`.
        weights: Its weights.

    Returns:
        As :func:`gran_graph`.
    """
    packed = pack_tokens(graph, find_counted_tokens(graph, config))
    words = graph.rows(weights.matrices["embeddings"], packed.ids, "embeddings")
    states, last = single_bias_gru_states(graph, "recurrent", weights, words, packed)
    states = graph.add("Mul", states, graph.with_axis(packed.counted, 1))
    return _last_states(graph, SimpleNamespace(bidirectional=False), packed, states, last)


def _last_states(graph: GraphBuilder, config: Any, packed: PackedTokens, states: str, last: str) -> tuple[str, str]:
    """Adds what each token adds to the last state, times the number of tokens, and the last state itself."""
    terms = _merged(graph, config, _differences(graph, config, states))
    # Behind the end of a sentence stands the difference from its last state to zero.
    terms = graph.add("Mul", terms, graph.add("Mul", packed.counted, packed.number))
    pooled = _merged(graph, config, graph.with_axis(last, 0))
    pooled = graph.add("Squeeze", pooled, graph.integers(0))
    return packed.unpack(graph, terms), packed.cut(graph, _zero_without_tokens(graph, packed, pooled))


def _merged(graph: GraphBuilder, config: Any, states: str) -> str:
    """Merges the directions: (length, directions, batch, size) to (length, batch, dim)."""
    if not config.bidirectional:
        return graph.add("Squeeze", states, graph.integers(1))
    if config.direction_merge == "sum":
        return graph.sum_over(states, 1)
    first, second = graph.add_many("Split", states, outputs=2, axis=1)
    axis = graph.integers(1)
    return graph.add("Concat", graph.add("Squeeze", first, axis), graph.add("Squeeze", second, axis), axis=2)


def _differences(graph: GraphBuilder, config: Any, states: str) -> str:
    """Computes what each word adds to the state of each direction (length, directions, batch, size)."""
    # Negative padding cuts off: the state one word earlier in the order of reading.
    earlier = graph.integers(1, 0, 0, 0, -1, 0, 0, 0)
    if not config.bidirectional:
        return graph.add("Sub", states, graph.add("Pad", states, earlier))
    forward, backward = graph.add_many("Split", states, outputs=2, axis=1)
    later = graph.integers(-1, 0, 0, 0, 1, 0, 0, 0)
    return graph.add(
        "Concat",
        graph.add("Sub", forward, graph.add("Pad", forward, earlier)),
        graph.add("Sub", backward, graph.add("Pad", backward, later)),
        axis=1,
    )


def _zero_without_tokens(graph: GraphBuilder, packed: PackedTokens, vectors: str) -> str:
    """Puts zeros in place of the vectors (batch, dim) of sentences without tokens."""
    some = graph.add("Min", packed.lengths, graph.add("Cast", graph.integers(1), to=TensorProto.INT32))
    return graph.add("Mul", vectors, graph.with_axis(graph.as_float(some), 1))


def _linear(graph: GraphBuilder, name: str, weights: StoredWeights, values: str) -> str:
    """Computes values @ weight.T."""
    weight = graph.matrix(weights.matrices[f"{name}.weight"], f"{name}.weight")
    return graph.add("MatMul", values, graph.add("Transpose", weight, perm=[1, 0]))
