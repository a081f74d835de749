"""What every graph begins with: which tokens of a batch count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnx import TensorProto

from .graph_builder import GraphBuilder

INPUT_IDS = "input_ids"
ATTENTION_MASK = "attention_mask"


@dataclass(frozen=True)
class CountedTokens:
    """Names of values that tell which tokens count, as `counted_tokens` of the recurrent models computes them.

    Attributes:
        given: Whether a token is no padding, bool (batch, length).
        counted: Whether it counts, bool (batch, length); the same value unless unknown words are skipped.
        lengths: The number of tokens that count, int64 (batch, 1).
        skips: Whether unknown words are skipped.
    """

    given: str
    counted: str
    lengths: str
    skips: bool


def find_counted_tokens(graph: GraphBuilder, config: Any) -> CountedTokens:
    """Adds the nodes that find the tokens that count.

    Args:
        graph: The graph, with the inputs `input_ids` and `attention_mask`, int64 (batch, length).
        config: The model's configuration; may have `skip_unknown` and `unk_token_id`.
    """
    given = graph.add("Cast", ATTENTION_MASK, to=TensorProto.BOOL)
    skips = bool(getattr(config, "skip_unknown", False))
    counted = given
    if skips:
        unknown = graph.add("Equal", INPUT_IDS, graph.scalar(config.unk_token_id))
        known = graph.add("And", given, graph.add("Not", unknown))
        number = graph.sum_over(graph.as_integer(known), 1, keep=True)
        nothing_else = graph.add("Equal", number, graph.integers(0))
        counted = graph.add("Or", known, graph.add("And", given, nothing_else))
    lengths = graph.sum_over(graph.as_integer(counted), 1, keep=True)
    return CountedTokens(given, counted, lengths, skips)


def at_least_one(graph: GraphBuilder, lengths: str) -> str:
    """Gives counts as float32, with 1 for 0, to divide by."""
    return graph.as_float(graph.add("Max", lengths, graph.integers(1)))
