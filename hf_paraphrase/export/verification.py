"""Compares what an export computes with what the model computes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..encoders.onnx_encoder import open_session
from ..errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TOLERANCE = 1e-5
"""How far a component may be off, relative to the largest component of all where that is above 1."""
_SHAPES = ((12, 40), (5, 9), (1, 2), (3, 1), (2, 0), (0, 3))
"""Sentences and tokens of the batches that are compared."""


def probes(config: Any) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Draws batches of token ids and attention masks (batch, length), the same ones every time.

    Their sentences have from all tokens to none, with padding anywhere; one consists of unknown words.
    """
    generator = np.random.default_rng(0)
    for rows, length in _SHAPES:
        ids = generator.integers(0, config.vocab_size, (rows, length))
        mask = generator.random((rows, length)) < np.linspace(1, 0, rows)[:, None]
        if (unknown := getattr(config, "unk_token_id", None)) is not None:
            ids[generator.random(ids.shape) < 0.2] = unknown
            ids[1:2] = unknown
        yield ids, mask.astype(np.int64)


def embeddings(model: PreTrainedModel) -> NDArray[np.float32]:
    """Computes the embeddings of all :func:`probes` with PyTorch, (sentences, dim)."""
    return np.concatenate([_with_torch(model, *batch)[1] for batch in probes(model.config)])


def verify(model: PreTrainedModel, path: Path) -> float:
    """Returns the largest difference between a graph and the model whose weights, as rounded, it has.

    The difference is that of a component of a token vector or an embedding; one above :data:`TOLERANCE` is an error.
    """
    from .onnx_graphs import OUTPUTS

    session = open_session(path)
    largest = 0.0
    for ids, mask in probes(model.config):
        states, pooled = _with_torch(model, ids, mask)
        values = session.run(list(OUTPUTS), {"input_ids": ids, "attention_mask": mask})
        for name, expected, value in zip(OUTPUTS, (states, pooled, pooled), values, strict=True):
            same_shape = value.shape == expected.shape
            difference = float(np.abs(value - expected).max(initial=0.0)) if same_shape else np.inf
            # Written so that NaN is refused.
            if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max(initial=0.0))):
                problem = f"`{name}` of the graph differs from the model by {difference:g}"
                remedy = "use another version of PyTorch or onnxruntime, and report these"
                raise ModelError(problem, path=path, remedy=remedy)
            largest = max(largest, difference)
    return largest


def cosines(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    """Computes the cosines (rows,) between equal rows of two matrices (rows, dim); rows of zeros are left out."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products = np.einsum("ij,ij->i", first.astype(np.float64), second.astype(np.float64))
    return np.minimum(products[norms > 0] / norms[norms > 0], 1.0)


def _with_torch(model: PreTrainedModel, ids: Any, mask: Any) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    import torch

    with torch.inference_mode():
        output = model(torch.from_numpy(ids), torch.from_numpy(mask))
    return output.last_hidden_state.float().numpy(), output.pooler_output.float().numpy()
