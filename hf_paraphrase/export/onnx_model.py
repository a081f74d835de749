"""Sentence encoders as ONNX models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx

from ..encoders.onnx_encoder import ONNX_FILE
from ..errors import ModelError, OutputError
from .averaging_graphs import avg_graph, concatenation_graph
from .counted_tokens import ATTENTION_MASK, INPUT_IDS
from .graph_builder import GraphBuilder
from .recurrent_graphs import gran_graph, recurrent_graph, sdae_graph
from .stored_weights import StoredWeights

GRAPHS: dict[str, Callable[[GraphBuilder, Any, StoredWeights], tuple[str, str]]] = {
    "avg": avg_graph,
    "concatenation": concatenation_graph,
    "gran": gran_graph,
    "recurrent": recurrent_graph,
    "sdae": sdae_graph,
}
"""What adds the nodes of a model type to a graph, for every type that can be exported."""

TOKEN_VECTORS = "last_hidden_state"  # noqa: S105
EMBEDDINGS = ("pooler_output", "sentence_embedding")
"""The embedding by its name in transformers and by that in sentence-transformers; both are the same numbers."""
_LARGEST_FILE = 1 << 30
"""Bytes of constants beyond which they get a file of their own, since a file of protocol buffers ends at 2 GiB."""


def build_onnx(config: Any, weights: StoredWeights) -> onnx.ModelProto:
    """Builds the graph of an encoder in evaluation mode.

    It takes `input_ids` and `attention_mask`, int64 (batch_size, sequence_length), either of which may be 0, and gives
    float32 `last_hidden_state` (batch_size, sequence_length, hidden_size) and, as `pooler_output` and once more as
    `sentence_embedding`, the embeddings (batch_size, hidden_size), as `forward` of the model does. Padding may be
    anywhere and changes nothing beyond rounding.

    Args:
        config: The configuration of the encoder.
        weights: Its weights.

    Raises:
        ModelError: If no graph is known for the model type.
    """
    if config.model_type not in GRAPHS:
        raise ModelError(
            f"a model of type `{config.model_type}` cannot be exported to ONNX",
            remedy=f"one of {', '.join(GRAPHS)} can",
        )
    graph = GraphBuilder()
    states, pooled = GRAPHS[config.model_type](graph, config, weights)
    batch, length, dim = "batch_size", "sequence_length", config.hidden_size
    return graph.model(
        config.model_type,
        [(INPUT_IDS, (batch, length)), (ATTENTION_MASK, (batch, length))],
        [(states, TOKEN_VECTORS, (batch, length, dim)), *((pooled, name, (batch, dim)) for name in EMBEDDINGS)],
        {"model_type": config.model_type, "hidden_size": str(dim)},
    )


def save_onnx(model: onnx.ModelProto, folder: Path) -> list[Path]:
    """Writes a model to `onnx/model.onnx` in a folder; large constants go to `onnx/model.onnx_data` beside it.

    Returns:
        The files that were written.

    Raises:
        OutputError: If they cannot be written.
    """
    path = folder / ONNX_FILE
    constants = sum(len(item.raw_data) for item in model.graph.initializer)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if constants <= _LARGEST_FILE:
            path.write_bytes(model.SerializeToString(deterministic=True))
            return [path]
        onnx.save_model(model, path, save_as_external_data=True, location=f"{path.name}_data")
        return [path, path.with_name(f"{path.name}_data")]
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=path) from error
