"""The order in which the recurrent operators of ONNX see the tokens of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from onnx import TensorProto

from .counted_tokens import INPUT_IDS, CountedTokens
from .graph_builder import GraphBuilder


@dataclass(frozen=True)
class PackedTokens:
    """Names of values in which the tokens that count stand first, in their order, and all others behind them.

    The operators run over the first tokens of each sentence, as many as `lengths` says, and give zeros for the
    others; padding before or between the words is thereby moved behind them. The batch is never empty: onnxruntime
    crashes where one is, so an empty one gets a sentence without tokens, which is cut off in the end.

    Attributes:
        ids: int64 (length, batch), the order of axes that the operators ask for.
        lengths: int32 (batch,).
        counted: 1 for a token that counts, 0 for others, float32 (length, batch, 1).
        number: The number of tokens that count but at least 1, float32 (batch, 1).
        places: The row of each token of the unpacked batch among the packed ones, int64 (batch * length,).
        batch: The size of the batch that was given, int64 (1,).
        shape: The shape (batch, length) with an empty batch filled up, int64 (2,).
        factors: What token vectors are multiplied by, so that their mean over all words, skipped ones included, is
            that over those that count: float32 (batch, 1, 1); None where no word is skipped.
    """

    ids: str
    lengths: str
    counted: str
    number: str
    places: str
    batch: str
    shape: str
    factors: str | None

    def unpack(self, graph: GraphBuilder, vectors: str) -> str:
        """Puts packed vectors (length, batch, dim) back where their tokens are, (batch, length, dim)."""
        rows = graph.add("Transpose", vectors, perm=[1, 0, 2])
        # -1 could not be told where there are no rows.
        dim = graph.size(vectors, 2)
        total = graph.add("ReduceProd", self.shape, axes=[0], keepdims=1)
        rows = graph.add("Reshape", rows, graph.add("Concat", total, dim, axis=0), allowzero=1)
        rows = graph.add("Gather", rows, self.places, axis=0)
        restored = graph.add("Reshape", rows, graph.add("Concat", self.shape, dim, axis=0), allowzero=1)
        if self.factors is not None:
            restored = graph.add("Mul", restored, self.factors)
        return self.cut(graph, restored)

    def cut(self, graph: GraphBuilder, values: str) -> str:
        """Cuts the sentence off that an empty batch was filled up with; axis 0 of the values is the batch."""
        return graph.add("Slice", values, graph.integers(0), self.batch, graph.integers(0))


def pack_tokens(graph: GraphBuilder, tokens: CountedTokens) -> PackedTokens:
    """Adds the nodes that move the tokens that count to the front."""
    batch, length = graph.size(INPUT_IDS, 0), graph.size(INPUT_IDS, 1)
    missing = graph.add("Sub", graph.integers(1), graph.add("Min", batch, graph.integers(1)))
    behind = graph.add("Concat", graph.integers(0, 0), missing, graph.integers(0), axis=0)
    ids = graph.add("Pad", INPUT_IDS, behind)
    counted = graph.add("Pad", graph.as_integer(tokens.counted), behind)
    lengths = graph.sum_over(counted, 1, keep=True)
    shape = graph.add("Shape", ids)
    one, along = graph.integers(1), graph.scalar(1)
    # A token that counts goes behind those before it that do, any other behind all that count.
    among_counted = graph.add("Sub", graph.add("CumSum", counted, along), one)
    others = graph.add("Sub", one, counted)
    among_others = graph.add("Sub", graph.add("Add", graph.add("CumSum", others, along), lengths), one)
    is_counted = graph.add("Cast", counted, to=TensorProto.BOOL)
    place = graph.add("Where", is_counted, among_counted, among_others)

    def packed(values: str) -> str:
        moved = graph.add("ScatterElements", values, place, values, axis=1)
        return graph.add("Transpose", moved, perm=[1, 0])

    sentences = graph.add("CumSum", graph.add("Expand", one, graph.size(ids, 0)), graph.scalar(0), exclusive=1)
    rows = graph.add("Add", place, graph.add("Mul", graph.with_axis(sentences, 1), length))
    total = graph.add("ReduceProd", shape, axes=[0], keepdims=1)
    factors = None
    number = graph.as_float(graph.add("Max", lengths, one))
    if tokens.skips:
        words = graph.sum_over(graph.add("Pad", graph.as_integer(tokens.given), behind), 1, keep=True)
        factors = graph.with_axis(graph.add("Div", graph.as_float(words), number), 2)
    return PackedTokens(
        ids=packed(ids),
        lengths=graph.add("Cast", graph.add("Squeeze", lengths, one), to=TensorProto.INT32),
        counted=graph.with_axis(graph.as_float(packed(counted)), 2),
        number=number,
        places=graph.add("Reshape", rows, total, allowzero=1),
        batch=batch,
        shape=shape,
        factors=factors,
    )
