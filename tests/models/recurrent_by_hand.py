"""The recurrent encoders from their equations, one word after another, in numpy."""

from __future__ import annotations

import numpy as np
import torch

ROWS = [[5, 6, 7, 5], [8], [], [1, 2, 3, 4, 9, 10, 11]]


def with_all_parameters_moved(model):
    """Biases start at zero, where a misplaced one would not be seen."""
    generator = torch.Generator().manual_seed(4)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return model.eval()


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def parameters(model):
    return {name: value.detach().double().numpy() for name, value in model.state_dict().items()}


def run_cell(config, weights, xs, mask=1.0):
    """The states (length, size) for word vectors (length, input size); `mask` acts on the state in the products."""
    size = (weights["weight_state"] if config.cell == "lstm" else weights["weight_candidate"]).shape[1]
    h = c = np.zeros(size)
    states = []
    for x in xs:
        if config.cell == "lstm":
            w = weights["weight_input"].reshape(-1, size, len(x))
            u = weights["weight_state"].reshape(-1, size, size)
            b = weights["bias"].reshape(-1, size)
            p = weights.get("peepholes", np.zeros((3, size)))
            pre = [w[k] @ x + u[k] @ (mask * h) + b[k] for k in range(len(w))]
            i, f = sigmoid(pre[0] + p[0] * c), sigmoid(pre[1] + p[1] * c)
            c = f * c + i * np.tanh(pre[2])
            h = np.tanh(c) * (sigmoid(pre[3] + p[2] * c) if config.output_gate else 1.0)
        else:
            w = weights["weight_input"].reshape(3, size, len(x))
            u = weights["weight_gates"].reshape(2, size, size)
            r = sigmoid(w[0] @ x + u[0] @ (mask * h))
            z = sigmoid(w[1] @ x + u[1] @ (mask * h))
            pre = w[2] @ x + weights["weight_candidate"] @ (r * mask * h) + weights["bias_candidate"]
            slope = config.negative_slope
            f = np.tanh(pre) if config.candidate_activation == "tanh" else np.where(pre > 0, pre, slope * pre)
            h = (1 - z) * h + z * f
        states.append(h)
    return np.array(states)


def states_of_both(model, xs):
    """The states of each direction, in word order."""
    values = parameters(model)
    results = []
    for name in ("recurrent", "recurrent_backward"):
        weights = {key.split(".")[1]: value for key, value in values.items() if key.startswith(name + ".")}
        if weights:
            step = 1 if name == "recurrent" else -1
            results.append(run_cell(model.config, weights, xs[::step])[::step])
    return results
