"""Compares what an exported graph computes with what the model computes."""

from __future__ import annotations

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
_LENGTHS = (0, 1, 2, 3, 5, 9, 17, 40)

Batch = tuple[NDArray[np.int64], NDArray[np.int64]]


def probes(config: Any) -> list[Batch]:
    """Draws batches of random token ids and attention masks, int64 (batch, length), the same ones every time.

    They have sentences of 0 to 40 tokens, padding on the right, on the left and between tokens, a sentence of unknown
    words, single sentences, an empty batch, and batches without any token.
    """
    generator = np.random.default_rng(0)

    def draw(length: int) -> list[int]:
        return generator.integers(0, config.vocab_size, length).tolist()

    rows = [draw(length) for length in _LENGTHS]
    unknown = getattr(config, "unk_token_id", None)
    if unknown is not None:
        rows += [[unknown], [unknown, unknown], [unknown, *draw(2), unknown]]
    holes = np.array([draw(12) for _ in range(6)], np.int64)
    return [
        _padded(rows, 40),
        _padded(rows[::-1], 45, left=True),
        _padded(rows[2:3], 2),
        _padded(rows[4:5], 30),
        (holes, generator.integers(0, 2, holes.shape)),
        _padded([[], []], 3),
        _padded([[], []], 0),
        _padded([], 3),
    ]


def embeddings(model: PreTrainedModel) -> NDArray[np.float32]:
    """Computes the embeddings of all :func:`probes` with PyTorch, (sentences, dim)."""
    return np.concatenate([_with_torch(model, batch)[1] for batch in probes(model.config)])


def verify(model: PreTrainedModel, path: Path) -> float:
    """Returns the largest difference between a graph and the model whose weights, as rounded, it has.

    The difference is that of a component of a token vector or an embedding; one above :data:`TOLERANCE` is an error.
    The model is on the CPU and in evaluation mode.
    """
    from .onnx_graphs import OUTPUTS

    session = open_session(path)
    largest = 0.0
    for ids, mask in probes(model.config):
        states, pooled = _with_torch(model, (ids, mask))
        values = session.run(list(OUTPUTS), {"input_ids": ids, "attention_mask": mask})
        for name, expected, value in zip(OUTPUTS, (states, pooled, pooled), values, strict=True):
            if value.shape != expected.shape:
                raise ModelError(f"the graph gives `{name}` of shape {value.shape}, not {expected.shape}", path=path)
            difference = float(np.abs(value - expected).max(initial=0.0))
            # Written so that NaN is refused.
            if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max(initial=0.0))):
                raise ModelError(
                    f"`{name}` of the graph differs from the model by {difference:g}",
                    path=path,
                    remedy="use another version of PyTorch or onnxruntime, and report these",
                )
            largest = max(largest, difference)
    return largest


def cosines(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    """Computes the cosines (rows,) between equal rows of two matrices (rows, dim); rows of zeros are left out."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products = np.einsum("ij,ij->i", first.astype(np.float64), second.astype(np.float64))
    return np.minimum(products[norms > 0] / norms[norms > 0], 1.0)


def _with_torch(model: PreTrainedModel, batch: Batch) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    import torch

    with torch.inference_mode():
        output = model(*map(torch.from_numpy, batch))
    return output.last_hidden_state.float().numpy(), output.pooler_output.float().numpy()


def _padded(rows: list[list[int]], length: int, *, left: bool = False) -> Batch:
    ids = np.zeros((len(rows), length), np.int64)
    mask = np.zeros((len(rows), length), np.int64)
    for index, row in enumerate(rows):
        span = slice(length - len(row), length) if left else slice(0, len(row))
        ids[index, span] = row
        mask[index, span] = 1
    return ids, mask
