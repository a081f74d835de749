"""The recurrent layers of the models as operators of ONNX.

The operators are those of ONNX version 14. Their gates stand in another order than ours, and their GRU keeps the share
z of the old state where that of paper 003 takes the share z of the new one: as 1 - sigmoid(a) = sigmoid(-a), the
weights of that gate change their signs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .graph_builder import GraphBuilder
from .packing_graph import PackedTokens
from .stored_weights import StoredMatrix, StoredWeights

_OPEN_GATE = 100.0
"""A bias with which a gate is 1 in float32 to the last bit."""


def recurrent_states(
    graph: GraphBuilder, config: Any, weights: StoredWeights, inputs: str, packed: PackedTokens
) -> tuple[str, str]:
    """Adds the recurrent network, or the two of a bidirectional model.

    Args:
        graph: The graph.
        config: Has `cell`, `bidirectional` and the settings of the cell.
        weights: The model's weights.
        inputs: The name of the packed token vectors (length, batch, dim).
        packed: Their order.

    Returns:
        The names of the states (length, directions, batch, size), zero at tokens that do not count, each at the place
        of its word in both directions, and of the last state of each direction (directions, batch, size), zero in a
        sentence without tokens.
    """
    names = ["recurrent", "recurrent_backward"] if config.bidirectional else ["recurrent"]
    make = _lstm_weights if config.cell == "lstm" else _gru_weights
    parts = [make(graph, config, name, weights) for name in names]
    # Input weights, state weights, biases and perhaps peepholes, each (directions, ...).
    columns = list(zip(*parts, strict=True))
    stacked = [
        graph.add("Concat", *(graph.with_axis(item, 0) for item in column), axis=0)
        if len(column) > 1
        else graph.with_axis(column[0], 0)
        for column in columns
    ]
    attributes: dict[str, Any] = {
        "hidden_size": _size(config, weights, names[0]),
        "direction": "bidirectional" if config.bidirectional else "forward",
    }
    operands = [inputs, *stacked[:3], packed.lengths]
    if config.cell == "lstm":
        states = graph.add_many(
            "LSTM", *operands, *(["", "", stacked[3]] if len(stacked) > 3 else []), outputs=2, **attributes
        )
    else:
        if config.candidate_activation == "leaky_relu":
            attributes["activations"] = ["Sigmoid", "LeakyRelu"] * len(names)
            attributes["activation_alpha"] = [float(config.negative_slope)] * len(names)
        states = graph.add_many("GRU", *operands, outputs=2, linear_before_reset=0, **attributes)
    return states[0], states[1]


def single_bias_gru_states(
    graph: GraphBuilder, name: str, weights: StoredWeights, inputs: str, packed: PackedTokens
) -> tuple[str, str]:
    """Adds the GRU of the denoising autoencoder, `PackedGru`, whose gates are r, z, n; those of ONNX are z, r, n.

    Its reset gate acts behind the recurrent product, and z is the share of the old state, as in ONNX.

    Args:
        graph: The graph.
        name: What the layer is called among the weights.
        weights: The model's weights.
        inputs: The name of the packed token vectors (length, batch, dim).
        packed: Their order.

    Returns:
        As :func:`recurrent_states`, for one direction.
    """
    size = int(weights.matrices[f"{name}.weight_state"].values.shape[1])
    operands = []
    for kind in ("weight_input", "weight_state"):
        stored = weights.matrices[f"{name}.{kind}"]
        arranged = StoredMatrix.below_one_another([stored.block(gate, size) for gate in (1, 0, 2)])
        operands.append(graph.with_axis(graph.matrix(arranged, f"{name}.{kind}"), 0))
    bias = np.zeros((6, size), np.float32)
    bias[:3] = weights.vectors[f"{name}.bias"].reshape(3, size)[[1, 0, 2]]
    operands.append(graph.with_axis(graph.constant(bias.reshape(-1), f"{name}.bias"), 0))
    found = graph.add_many(
        "GRU",
        inputs,
        *operands,
        packed.lengths,
        outputs=2,
        hidden_size=size,
        direction="forward",
        linear_before_reset=1,
    )
    return found[0], found[1]


def _size(config: Any, weights: StoredWeights, name: str) -> int:
    key = f"{name}.weight_state" if config.cell == "lstm" else f"{name}.weight_candidate"
    return int(weights.matrices[key].values.shape[1])


def _lstm_weights(graph: GraphBuilder, config: Any, name: str, weights: StoredWeights) -> list[str]:
    """Adds the weights of `SingleBiasLstm`, whose gates are i, f, c, o; those of ONNX are i, o, f, c."""
    size = _size(config, weights, name)

    def arranged(stored: StoredMatrix) -> StoredMatrix:
        into, forget, candidate = (stored.block(place, size) for place in range(3))
        output = stored.block(3, size) if config.output_gate else stored.like_zeros(size)
        return StoredMatrix.below_one_another([into, output, forget, candidate])

    given = weights.vectors[f"{name}.bias"].reshape(-1, size)
    output = given[3] if config.output_gate else np.full(size, _OPEN_GATE, np.float32)
    bias = np.concatenate([given[0], output, given[1], given[2], np.zeros(4 * size)])
    operands = [
        graph.matrix(arranged(weights.matrices[f"{name}.{kind}"]), f"{name}.{kind}")
        for kind in ("weight_input", "weight_state")
    ]
    operands.append(graph.constant(bias.astype(np.float32), f"{name}.bias"))
    if config.peepholes:
        of_gates = weights.vectors[f"{name}.peepholes"]
        output = of_gates[2] if config.output_gate else np.zeros(size)
        peepholes = np.concatenate([of_gates[0], output, of_gates[1]])
        operands.append(graph.constant(peepholes.astype(np.float32), f"{name}.peepholes"))
    return operands


def _gru_weights(graph: GraphBuilder, config: Any, name: str, weights: StoredWeights) -> list[str]:
    """Adds the weights of `BiaslessGateGru`, whose gates are r, z, h; those of ONNX are 1 - z, r, h."""
    size = _size(config, weights, name)

    def arranged(gates: StoredMatrix, candidate: StoredMatrix) -> StoredMatrix:
        return StoredMatrix.below_one_another(
            [gates.block(1, size, negative=True), gates.block(0, size), candidate],
        )

    of_input = weights.matrices[f"{name}.weight_input"]
    of_state = arranged(weights.matrices[f"{name}.weight_gates"], weights.matrices[f"{name}.weight_candidate"])
    bias = np.zeros((6, size), np.float32)
    bias[2] = weights.vectors[f"{name}.bias_candidate"]
    return [
        graph.matrix(arranged(of_input, of_input.block(2, size)), f"{name}.weight_input"),
        graph.matrix(of_state, f"{name}.weight_state"),
        graph.constant(bias.reshape(-1), f"{name}.bias"),
    ]
