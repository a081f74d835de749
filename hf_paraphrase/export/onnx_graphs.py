"""ONNX graphs of sentence encoders: modules in plain tensor operations, which `torch.onnx.export` translates.

The models themselves pack the tokens of a batch, so that shapes depend on the data. Here every tensor is padded, and a
step over padding leaves a recurrent state as it is.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ..errors import ModelError
from .stored_weights import StoredMatrix

OPSET = 18
"""The version of the operators; onnxruntime 1.14 and later have it."""
OUTPUTS = ("last_hidden_state", "pooler_output", "sentence_embedding")
"""The token vectors, and the embedding by its names in transformers and in sentence-transformers."""

_Weight = Callable[[str], Tensor]
_Cell = tuple[Tensor, int, int, Callable[..., tuple[Tensor, ...]]]
"""The bias of a cell, the size of its state, how many tensors it carries (the state first), and its step."""


class EncoderGraph(nn.Module):
    """An encoder in evaluation mode, in float32; padding may be anywhere and changes nothing beyond rounding."""

    def __init__(self, config: Any, weights: Mapping[str, StoredMatrix]) -> None:
        super().__init__()
        self.config = config
        for name, stored in weights.items():
            self.register_buffer(name.replace(".", "_"), torch.from_numpy(stored.values))
            if stored.scales is not None:
                self.register_buffer(f"{name.replace('.', '_')}_scales", torch.from_numpy(stored.scales[:, None]))

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns :data:`OUTPUTS` for int64 inputs (batch, length), as `forward` of the model gives them."""
        given = counted = attention_mask != 0
        skips_unknown = getattr(self.config, "skip_unknown", False)
        if skips_unknown:
            # Not by torch.where, which onnxruntime lacks for truth values.
            known = given & (input_ids != self.config.unk_token_id)
            counted = known | (given & ~known.any(1, keepdim=True))
        counts = counted.unsqueeze(2).float()
        number = counts.sum(1).clamp_min(1.0)
        states, pooled = self._encode(input_ids, counts, number)
        if skips_unknown:
            states = self._with_skipped(states, pooled, given.unsqueeze(2).float(), counts)
        return states, pooled, pooled.clone()

    def _encode(self, ids: Tensor, counts: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
        """Computes the token vectors (batch, length, dim) and the embeddings (batch, dim).

        `counts` has 1.0 for a token that counts, else 0.0 (batch, length, 1), and `number` their sum, at least 1.0.
        """
        raise NotImplementedError

    def _with_skipped(self, states: Tensor, pooled: Tensor, given: Tensor, counts: Tensor) -> Tensor:
        """Changes token vectors so that their mean over all tokens `given` is that over those that count."""
        return states * (given.sum(1) / counts.sum(1).clamp_min(1.0)).unsqueeze(2)

    def _weight(self, name: str) -> Tensor:
        """Returns a weight in float32."""
        name = name.replace(".", "_")
        values = self.get_buffer(name).float()
        return values * self.get_buffer(f"{name}_scales") if hasattr(self, f"{name}_scales") else values

    def _vectors(self, ids: Tensor) -> Tensor:
        """Looks up the vectors of tokens, and turns these alone into float32."""
        vectors = functional.embedding(ids, self.get_buffer("embeddings")).float()
        if hasattr(self, "embeddings_scales"):
            vectors = vectors * functional.embedding(ids, self.get_buffer("embeddings_scales"))
        return vectors


class AverageGraph(EncoderGraph):
    """The graph of `AvgModel`."""

    def _encode(self, ids: Tensor, counts: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
        vectors = self._vectors(ids) * counts
        return vectors, vectors.sum(1) / number

    def _with_skipped(self, states: Tensor, pooled: Tensor, given: Tensor, counts: Tensor) -> Tensor:
        return torch.where(given > counts, pooled.unsqueeze(1), states)


class ConcatenationGraph(EncoderGraph):
    """The graph of `ConcatenationModel`."""

    def _encode(self, ids: Tensor, counts: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
        vectors = self._vectors(ids)
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


class RecurrentGraph(EncoderGraph):
    """The graph of `RecurrentModel`, and of the encoder of `SdaeModel`, whose decoder is left out."""

    def _encode(self, ids: Tensor, counts: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
        states, last = self._directions(self._vectors(ids), counts)
        if getattr(self.config, "pooling", "last") == "mean":
            merged = self._merged(states) * counts
            return merged, merged.sum(1) / number
        # What each token adds to the last state; padding adds nothing.
        terms = [states[0].diff(dim=1, prepend=torch.zeros_like(last[0]).unsqueeze(1))]
        terms += [-state.diff(dim=1, append=torch.zeros_like(last[1]).unsqueeze(1)) for state in states[1:]]
        return self._merged(terms) * number.unsqueeze(2), self._merged(last)

    def _directions(self, vectors: Tensor, counts: Tensor) -> tuple[list[Tensor], list[Tensor]]:
        """Computes the states (batch, length, size) and the last state (batch, size) of each direction."""
        pairs = [self._states("recurrent", vectors, counts)]
        if getattr(self.config, "bidirectional", False):
            pairs.append(self._states("recurrent_backward", vectors, counts))
        return [states for states, _ in pairs], [last for _, last in pairs]

    def _merged(self, parts: list[Tensor]) -> Tensor:
        if len(parts) == 1:
            return parts[0]
        return torch.cat(parts, -1) if self.config.direction_merge == "concat" else parts[0] + parts[1]

    def _states(self, name: str, vectors: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops import scan

        cell = _CELLS[getattr(self.config, "cell", "sdae")]
        bias, size, carried, step = cell(self.config, lambda kind: self._weight(f"{name}.{kind}"))

        def masked_step(carry: tuple[Tensor, ...], now: tuple[Tensor, Tensor]) -> tuple[tuple[Tensor, ...], Tensor]:
            inputs, is_token = now
            new = step(inputs, *carry)
            kept = tuple(torch.where(is_token, one, other) for one, other in zip(new, carry, strict=True))
            return kept, kept[0].clone()

        inputs = functional.linear(vectors, self._weight(f"{name}.weight_input"), bias)
        # onnxruntime cannot scan a sequence of length 0: a step over padding is added and cut off.
        inputs, counts = (functional.pad(values, (0, 0, 0, 1)).transpose(0, 1) for values in (inputs, counts))
        start = tuple(vectors.new_zeros(vectors.shape[0], size) for _ in range(carried))
        (last, *_), states = scan(masked_step, start, (inputs, counts > 0), reverse=name == "recurrent_backward")
        return states.transpose(0, 1)[:, :-1], last


class GranGraph(RecurrentGraph):
    """The graph of `GranModel`."""

    def _encode(self, ids: Tensor, counts: Tensor, number: Tensor) -> tuple[Tensor, Tensor]:
        vectors = self._vectors(ids)
        states = self._merged(self._directions(vectors, counts)[0])
        if self.config.bidirectional and self.config.direction_merge == "concat":
            states = functional.linear(states, self._weight("merge.weight"), self._weight("merge.bias")).tanh()
        gates = functional.linear(vectors, self._weight("gate_input.weight"), self._weight("gate_input.bias"))
        gates = gates + functional.linear(states, self._weight("gate_state.weight"))
        gated = vectors * gates.sigmoid() * counts
        return gated, gated.sum(1) / number


def _lstm(config: Any, weight: _Weight) -> _Cell:
    """`SingleBiasLstm`, which carries its state and its cell."""
    of_state = weight("weight_state")
    size = of_state.shape[1]
    peepholes = weight("peepholes") if config.peepholes else torch.zeros(3, size)

    def step(inputs: Tensor, state: Tensor, cell: Tensor) -> tuple[Tensor, ...]:
        into, forget, candidate, *output = (inputs + state @ of_state.T).split(size, 1)
        forget, into = (forget + peepholes[1] * cell).sigmoid(), (into + peepholes[0] * cell).sigmoid()
        cell = forget * cell + into * candidate.tanh()
        if not output:
            return cell.tanh(), cell
        return (output[0] + peepholes[2] * cell).sigmoid() * cell.tanh(), cell

    return weight("bias"), size, 2, step


def _gru(config: Any, weight: _Weight) -> _Cell:
    """`BiaslessGateGru`."""
    of_gates, of_candidate = weight("weight_gates"), weight("weight_candidate")
    size = of_candidate.shape[1]

    def step(inputs: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        reset, update = (inputs[:, : 2 * size] + state @ of_gates.T).sigmoid().chunk(2, 1)
        candidate = inputs[:, 2 * size :] + (reset * state) @ of_candidate.T
        if config.candidate_activation == "leaky_relu":
            return (torch.lerp(state, functional.leaky_relu(candidate, config.negative_slope), update),)
        return (torch.lerp(state, candidate.tanh(), update),)

    return functional.pad(weight("bias_candidate"), (2 * size, 0)), size, 1, step


def _sdae(config: Any, weight: _Weight) -> _Cell:
    """`SingleBiasGru`."""
    of_state = weight("weight_state")
    size = of_state.shape[1]

    def step(inputs: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        products = state @ of_state.T
        reset, update = (inputs + products)[:, : 2 * size].sigmoid().chunk(2, 1)
        candidate = (inputs[:, 2 * size :] + reset * products[:, 2 * size :]).tanh()
        return (torch.lerp(candidate, state, update),)

    return weight("bias"), size, 1, step


_CELLS: dict[str, Callable[[Any, _Weight], _Cell]] = {"lstm": _lstm, "gru": _gru, "sdae": _sdae}
GRAPHS: dict[str, type[EncoderGraph]] = {
    "avg": AverageGraph,
    "concatenation": ConcatenationGraph,
    "gran": GranGraph,
    "recurrent": RecurrentGraph,
    "sdae": RecurrentGraph,
}
"""The graph of each model type that can be exported."""


def save_onnx(config: Any, weights: Mapping[str, StoredMatrix], path: Path) -> None:
    """Writes the graph of an encoder, with the inputs `input_ids` and `attention_mask`, int64 (batch, length).

    Weights of more than 1.5 GB go to a second file beside it.
    """
    if config.model_type not in GRAPHS:
        raise ModelError(
            f"a model of type `{config.model_type}` cannot be exported to ONNX",
            remedy=f"use one of {', '.join(GRAPHS)}, or open the model with PyTorch",
        )
    from onnx_ir.passes.common import ClearMetadataAndDocStringPass

    axes = {0: torch.export.Dim("batch_size"), 1: torch.export.Dim("sequence_length")}
    # Otherwise the exporter warns of packages that it does not need.
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    with warnings.catch_warnings(action="ignore"):
        program = torch.onnx.export(
            GRAPHS[config.model_type](config, weights).eval(),
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
