"""ONNX graphs of encoders that are tables of vectors, and of classifiers on them, compared with the model.

The models themselves pack the tokens of a batch, so that shapes depend on the data. Here every tensor is padded.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from ..artefacts.weights import StoredMatrix
from ..encoders.backends.onnx_graph import open_session
from ..errors import ModelError
from ..models.modeling_sentence_classifier import SentenceClassifier

if TYPE_CHECKING:
    from transformers import PreTrainedModel

OPSET = 18
"""The version of the operators; onnxruntime 1.14 and later have it."""
OUTPUTS: tuple[str, ...] = ("last_hidden_state", "pooler_output", "sentence_embedding")
"""The token vectors, and the embedding by its names in transformers and in sentence-transformers."""
CLASSIFIER_OUTPUTS = ("logits", "probabilities")
TOLERANCE = 1e-5
"""How far a component may be off, relative to the largest component of all where that is above 1."""
_SHAPES = ((12, 40), (5, 9), (1, 2), (3, 1), (2, 0), (0, 3))
"""Sentences and tokens of the batches that are compared."""


class TableGraph(nn.Module):
    """An `AvgModel` or `ConcatenationModel` in evaluation mode, in float32; padding may be anywhere."""

    def __init__(self, config: Any, table: StoredMatrix) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("table", torch.from_numpy(table.values))
        if table.scales is not None:
            self.register_buffer("scales", torch.from_numpy(table.scales[:, None]))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        """Compute :data:`OUTPUTS` from int64 inputs (batch, length), like `forward` of the model."""
        given = attention_mask != 0
        if self.config.model_type == "avg":
            states, pooled = self._average(input_ids, given)
        else:
            states, pooled = self._concatenation(input_ids, given.unsqueeze(2).float())
        return states, pooled, pooled.clone()

    def _vectors(self, ids: Tensor) -> Tensor:
        """Look up the vectors of tokens, and convert only these to float32."""
        vectors = functional.embedding(ids, self.get_buffer("table")).float()
        if hasattr(self, "scales"):
            vectors = vectors * functional.embedding(ids, self.get_buffer("scales"))
        return vectors

    def _average(self, ids: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
        counted = given
        if self.config.skip_unknown:
            # Not by torch.where, which onnxruntime lacks for truth values.
            known = given & (ids != self.config.unk_token_id)
            counted = known | (given & ~known.any(1, keepdim=True))
        counts = counted.unsqueeze(2).float()
        states = self._vectors(ids) * counts
        pooled = states.sum(1) / counts.sum(1).clamp_min(1.0)
        if self.config.skip_unknown:
            # Counted tokens alone determine the mean over all tokens.
            states = torch.where(given.unsqueeze(2).float() > counts, pooled.unsqueeze(1), states)
        return states, pooled

    def _concatenation(self, ids: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        vectors, num_counted = self._vectors(ids), counts.sum(1).clamp_min(1.0)
        weights, start, blocks = self.config.part_weights, 0, []
        for part, size in enumerate(self.config.vocab_sizes):
            in_part = ((ids >= start) & (ids < start + size)).unsqueeze(2) * counts
            block = vectors * in_part * (num_counted / in_part.sum(1).clamp_min(1.0)).unsqueeze(1)
            if weights is not None:
                norm = (block.sum(1) / num_counted).square().sum(1, keepdim=True).sqrt()
                factor = (weights[part] / sum(weights)) ** 0.5 / torch.where(norm > 0, norm, 1.0)
                block = block * factor.unsqueeze(1)
            blocks.append(block)
            start += size
        states = torch.cat(blocks, 2)
        return states, states.sum(1) / num_counted


class ClassifierGraph(TableGraph):
    """A `SentenceClassifier` of single sentences with an `AvgModel` or `ConcatenationModel` as encoder."""

    def __init__(self, model: SentenceClassifier, table: StoredMatrix) -> None:
        super().__init__(model.encoder.config, table)
        self.classifier, self.objective = model.classifier, model.config.objective

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, ...]:
        """Return :data:`CLASSIFIER_OUTPUTS` (batch, labels)."""
        logits = self.classifier(super().forward(input_ids, attention_mask)[1])
        return logits, _probabilities(logits, self.objective)


def _probabilities(logits: Tensor, objective: str) -> Tensor:
    return logits.softmax(1) if objective == "classification" else logits.sigmoid()


def save_onnx(model: PreTrainedModel, table: StoredMatrix, path: Path) -> None:
    """Write the graph of an encoder or classifier; inputs are `input_ids` and `attention_mask` int64 (batch, length).

    Weights of more than 1.5 GB go to a second file in the same folder.
    """
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    axes = {0: torch.export.Dim("batch_size"), 1: torch.export.Dim("sequence_length")}
    is_classifier, config = isinstance(model, SentenceClassifier), model.base_model.config
    graph = ClassifierGraph(model, table) if is_classifier else TableGraph(config, table)
    # Otherwise the exporter warns of packages that it does not need.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(action="ignore"):
        program = torch.onnx.export(
            graph.eval(),
            (torch.ones(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.int64)),
            input_names=["input_ids", "attention_mask"],
            output_names=list(CLASSIFIER_OUTPUTS if is_classifier else OUTPUTS),
            opset_version=OPSET,
            dynamo=True,
            dynamic_shapes=(axes, axes),
            verbose=False,
        )
    assert program is not None
    # The metadata of a node say where in the source it comes from, with paths of this machine.
    ClearMetadataAndDocStringPass()(program.model)
    program.model.metadata_props.update(model_type=model.config.model_type, hidden_size=str(config.hidden_size))
    path.parent.mkdir(parents=True, exist_ok=True)
    program.save(path)


def draw_probes(config: Any) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Draw batches of token ids and attention masks (batch, length) for comparisons, the same in every call.

    The mask of a batch's first sentence is full, of its last empty, with padding anywhere; one has unknown words only.
    """
    generator = np.random.default_rng(0)
    for rows, length in _SHAPES:
        ids = generator.integers(0, config.vocab_size, (rows, length))
        mask = generator.random((rows, length)) < np.linspace(1, 0, rows)[:, None]
        if (unknown := getattr(config, "unk_token_id", None)) is not None:
            ids[generator.random(ids.shape) < 0.2] = unknown
            ids[1:2] = unknown
        yield ids, mask.astype(np.int64)


def compute_embeddings(model: PreTrainedModel) -> NDArray[np.float32]:
    """Compute the embeddings of all :func:`draw_probes` with PyTorch, (sentences, dim)."""
    return np.concatenate([_with_torch(model, *batch)["pooler_output"] for batch in draw_probes(model.config)])


def verify(model: PreTrainedModel, path: Path) -> float:
    """Return the largest difference between the outputs of a graph and of its model, which has the rounded weights.

    It is the maximum over all components of all outputs; a difference above :data:`TOLERANCE` is an error.
    """
    session = open_session(path)
    largest = 0.0
    for ids, mask in draw_probes(model.base_model.config):
        outputs = _with_torch(model, ids, mask)
        values = session.run(list(outputs), {"input_ids": ids, "attention_mask": mask})
        for (name, expected), value in zip(outputs.items(), values, strict=True):
            same_shape = value.shape == expected.shape
            difference = float(np.abs(value - expected).max(initial=0.0)) if same_shape else np.inf
            # Written so that NaN is refused.
            if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max(initial=0.0))):
                problem = f"`{name}` of the graph differs from the model by {difference:g}"
                remedy = "use another version of PyTorch or onnxruntime, and report these"
                raise ModelError(problem, path=path, remedy=remedy)
            largest = max(largest, difference)
    return largest


def _with_torch(model: PreTrainedModel, ids: Any, mask: Any) -> dict[str, NDArray[np.float32]]:
    with torch.inference_mode():
        output = model(torch.from_numpy(ids), torch.from_numpy(mask))
    names, values = OUTPUTS, (output.get("last_hidden_state"), *[output.get("pooler_output")] * 2)
    if isinstance(model, SentenceClassifier):
        names, values = CLASSIFIER_OUTPUTS, (output.logits, _probabilities(output.logits, model.config.objective))
    return {name: value.float().numpy() for name, value in zip(names, values, strict=True)}
