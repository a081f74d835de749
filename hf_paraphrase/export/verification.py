"""Does an exported graph compute what the model computes?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..encoders.onnx_encoder import open_session
from ..errors import ModelError
from .onnx_model import EMBEDDINGS, TOKEN_VECTORS

if TYPE_CHECKING:
    from transformers import PreTrainedModel

TOLERANCE = 1e-5
"""How far a component may be off, relative to the largest component of all where that is above 1."""
_LENGTHS = (0, 1, 2, 3, 5, 9, 17, 40)
_SEED = 0

Batch = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Verification:
    """What :func:`verify` found.

    Attributes:
        batches: How many batches were compared, one of them without sentences and one without tokens.
        sentences: How many sentences they hold.
        largest_difference: The largest absolute difference of a component of a token vector or an embedding.
    """

    batches: int
    sentences: int
    largest_difference: float


def probes(config: Any) -> list[Batch]:
    """Draws batches of random token ids, the same ones every time, to compare programs by.

    They have sentences of 0 to 40 tokens, padding on the right, on the left and between tokens, a sentence of unknown
    words, single sentences, an empty batch, and batches without any token.

    Args:
        config: The configuration of an encoder.

    Returns:
        Pairs of `input_ids` and `attention_mask`, int64 (batch, length).
    """
    generator = np.random.default_rng(_SEED)
    unknown = getattr(config, "unk_token_id", None)

    def draw(length: int) -> list[int]:
        return generator.integers(0, config.vocab_size, length).tolist()

    rows = [draw(length) for length in _LENGTHS]
    if unknown is not None:
        rows += [[unknown], [unknown, unknown], [unknown, *draw(2), unknown]]
    holes = np.array([draw(12) for _ in range(6)], np.int64)
    batches = [_padded(rows, 40), _padded(rows[::-1], 45, left=True), _padded(rows[2:3], 2), _padded(rows[4:5], 30)]
    batches += [(holes, generator.integers(0, 2, holes.shape))]
    batches += [_padded([[], []], length) for length in (3, 0)]
    return [*batches, _padded([], 3)]


def embeddings(model: PreTrainedModel, batches: list[Batch]) -> NDArray[np.float32]:
    """Embeds the sentences of all batches with a model of PyTorch, float32 (sentences, dim)."""
    return np.concatenate([pooled for _, pooled in _with_torch(model, batches)])


def verify(model: PreTrainedModel, path: Path) -> Verification:
    """Compares a graph with the model whose weights, as rounded, it was made from.

    Args:
        model: The model, on the CPU and in evaluation mode.
        path: The file of the graph.

    Raises:
        ModelError: If any component differs by more than :data:`TOLERANCE`, or the graph cannot be run.
    """
    session = open_session(path)
    batches = probes(model.config)
    names = (TOKEN_VECTORS, *EMBEDDINGS)
    largest = 0.0
    for (ids, mask), (states, pooled) in zip(batches, _with_torch(model, batches), strict=True):
        found = session.run(list(names), {"input_ids": ids, "attention_mask": mask})
        for name, expected, value in zip(names, (states, pooled, pooled), found, strict=True):
            if value.shape != expected.shape:
                raise ModelError(f"the graph gives `{name}` of shape {value.shape}, not {expected.shape}", path=path)
            difference = float(np.abs(value - expected).max(initial=0.0))
            # Written so that NaN is no success.
            if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max(initial=0.0))):
                raise ModelError(
                    f"`{name}` of the graph differs from the model by {difference:g}",
                    path=path,
                    remedy="use another version of onnxruntime, and report this one",
                )
            largest = max(largest, difference)
    return Verification(len(batches), sum(len(ids) for ids, _ in batches), largest)


def lowest_cosine(first: NDArray[np.float32], second: NDArray[np.float32]) -> float:
    """Computes the lowest cosine between equal rows of two matrices (rows, dim); rows of zeros are left out."""
    return float(cosines(first, second).min(initial=1.0))


def cosines(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float64]:
    """Computes the cosines (rows,) between equal rows of two matrices (rows, dim); rows of zeros are left out."""
    norms = np.linalg.norm(first, axis=1) * np.linalg.norm(second, axis=1)
    products = np.einsum("ij,ij->i", first.astype(np.float64), second.astype(np.float64))
    some = norms > 0
    return np.minimum(products[some] / norms[some], 1.0)


def _with_torch(
    model: PreTrainedModel, batches: list[Batch]
) -> Iterator[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    import torch

    for ids, mask in batches:
        with torch.inference_mode():
            output = model(torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        yield output.last_hidden_state.float().numpy(), output.pooler_output.float().numpy()


def _padded(rows: list[list[int]], length: int, *, left: bool = False) -> Batch:
    ids = np.zeros((len(rows), length), np.int64)
    mask = np.zeros((len(rows), length), np.int64)
    for place, row in enumerate(rows):
        span = slice(length - len(row), length) if left else slice(0, len(row))
        ids[place, span] = row
        mask[place, span] = 1
    return ids, mask
