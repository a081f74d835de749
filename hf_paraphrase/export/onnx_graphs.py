"""ONNX graphs of encoders that are tables of vectors, which `torch.onnx.export` writes.

The models themselves pack the tokens of a batch, so that shapes depend on the data. Here every tensor is padded.
"""

from __future__ import annotations

import logging
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..artefacts.weights import StoredMatrix

OPSET = 18
"""The version of the operators; onnxruntime 1.14 and later have it."""
OUTPUTS = ("last_hidden_state", "pooler_output", "sentence_embedding")
"""The token vectors, and the embedding by its names in transformers and in sentence-transformers."""


class TableGraph(nn.Module):
    """An `AvgModel` or `ConcatenationModel` in evaluation mode, in float32; padding may be anywhere."""

    def __init__(self, config: Any, table: StoredMatrix) -> None:
        super().__init__()
        self.config = config
        self.register_buffer("table", torch.from_numpy(table.values))
        if table.scales is not None:
            self.register_buffer("scales", torch.from_numpy(table.scales[:, None]))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns :data:`OUTPUTS` for int64 inputs (batch, length), as `forward` of the model gives them."""
        given = attention_mask != 0
        if self.config.model_type == "avg":
            states, pooled = self._average(input_ids, given)
        else:
            states, pooled = self._concatenation(input_ids, given.unsqueeze(2).float())
        return states, pooled, pooled.clone()

    def _vectors(self, ids: Tensor) -> Tensor:
        """Looks up the vectors of tokens, and turns these alone into float32."""
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
            # The mean over all tokens stays that over those that count.
            states = torch.where(given.unsqueeze(2).float() > counts, pooled.unsqueeze(1), states)
        return states, pooled

    def _concatenation(self, ids: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        vectors, number = self._vectors(ids), counts.sum(1).clamp_min(1.0)
        weights, start, blocks = self.config.part_weights, 0, []
        for part, size in enumerate(self.config.vocab_sizes):
            in_part = ((ids >= start) & (ids < start + size)).unsqueeze(2) * counts
            block = vectors * in_part * (number / in_part.sum(1).clamp_min(1.0)).unsqueeze(1)
            if weights is not None:
                norm = (block.sum(1) / number).square().sum(1, keepdim=True).sqrt()
                factor = (weights[part] / sum(weights)) ** 0.5 / torch.where(norm > 0, norm, 1.0)
                block = block * factor.unsqueeze(1)
            blocks.append(block)
            start += size
        states = torch.cat(blocks, 2)
        return states, states.sum(1) / number


def save_onnx(config: Any, table: StoredMatrix, path: Path) -> None:
    """Writes the graph of an encoder, with the inputs `input_ids` and `attention_mask`, int64 (batch, length).

    Weights of more than 1.5 GB go to a second file beside it.
    """
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    axes = {0: torch.export.Dim("batch_size"), 1: torch.export.Dim("sequence_length")}
    # Otherwise the exporter warns of packages that it does not need.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(action="ignore"):
        program = torch.onnx.export(
            TableGraph(config, table).eval(),
            (torch.ones(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.int64)),
            input_names=["input_ids", "attention_mask"],
            output_names=list(OUTPUTS),
            opset_version=OPSET,
            dynamo=True,
            dynamic_shapes=(axes, axes),
            verbose=False,
        )
    assert program is not None
    # The metadata of a node say where in the source it comes from, with paths of this machine.
    ClearMetadataAndDocStringPass()(program.model)
    program.model.metadata_props.update(model_type=config.model_type, hidden_size=str(config.hidden_size))
    path.parent.mkdir(parents=True, exist_ok=True)
    program.save(path)
