"""Puts an ONNX graph together node by node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from .stored_weights import StoredMatrix

OPSET = 17
"""The version of the operators; onnxruntime 1.12 and later have it."""
_IR_VERSION = 8
_FLOAT, _INTEGER = TensorProto.FLOAT, TensorProto.INT64


class GraphBuilder:
    """Nodes and constants of a graph in the making. Values are known by the names that the methods return.

    A graph computes in float32 whatever its weights are stored in: matrices are turned back when a session is made
    (onnxruntime folds what depends on no input), rows of a table when they are looked up.
    """

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []
        self._counts: dict[str, int] = {}

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> str:
        """Adds a node and returns the name of its first output; an input "" is one that is left out."""
        return self.add_many(operator, *inputs, outputs=outputs, **attributes)[0]

    def add_many(self, operator: str, *inputs: str, outputs: int, **attributes: Any) -> list[str]:
        """Adds a node with several outputs and returns their names."""
        names = [self._name(operator) for _ in range(outputs)]
        self.nodes.append(helper.make_node(operator, list(inputs), names, name=names[0], **attributes))
        return names

    def constant(self, value: NDArray[Any], name: str = "constant") -> str:
        """Adds a constant tensor."""
        name = self._name(name)
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def integers(self, *values: int) -> str:
        """Adds a constant (len(values),) of int64."""
        return self.constant(np.array(values, np.int64))

    def scalar(self, value: int) -> str:
        """Adds a constant without axes, int64."""
        return self.constant(np.array(value, np.int64))

    def as_float(self, value: str) -> str:
        """Turns a tensor into float32."""
        return self.add("Cast", value, to=_FLOAT)

    def as_integer(self, value: str) -> str:
        """Turns a tensor into int64."""
        return self.add("Cast", value, to=_INTEGER)

    def sum_over(self, value: str, axis: int, *, keep: bool = False) -> str:
        """Sums over an axis, which stays with the size 1 if `keep` is set."""
        return self.add("ReduceSum", value, self.integers(axis), keepdims=int(keep))

    def with_axis(self, value: str, axis: int) -> str:
        """Adds an axis of size 1."""
        return self.add("Unsqueeze", value, self.integers(axis))

    def size(self, value: str, axis: int) -> str:
        """The size of an axis, int64 (1,)."""
        return self.add("Shape", value, start=axis, end=axis + 1)

    def matrix(self, stored: StoredMatrix, name: str) -> str:
        """Adds a stored matrix (rows, columns) and returns it in float32."""
        values = self.constant(stored.values, name)
        if stored.values.dtype == np.float32:
            return values
        values = self.as_float(values)
        if stored.scales is None:
            return values
        return self.add("Mul", values, self.constant(stored.scales[:, None], f"{name}_scale"))

    def rows(self, stored: StoredMatrix, places: str, name: str, *, factors: str | None = None) -> str:
        """Looks up rows of a stored table (rows, columns).

        Args:
            stored: The table.
            places: The numbers of the rows, int64 of any shape.
            name: The table's name.
            factors: What each row is multiplied by, float32, of the shape of `places` and an axis of size 1.

        Returns:
            float32, of the shape of `places` and an axis of `columns`.
        """
        values = self.add("Gather", self.constant(stored.values, name), places, axis=0)
        if stored.values.dtype != np.float32:
            values = self.as_float(values)
        if stored.scales is not None:
            scales = self.add("Gather", self.constant(stored.scales[:, None], f"{name}_scale"), places, axis=0)
            factors = scales if factors is None else self.add("Mul", scales, factors)
        return values if factors is None else self.add("Mul", values, factors)

    def model(
        self,
        name: str,
        inputs: Sequence[tuple[str, Sequence[str | int]]],
        outputs: Sequence[tuple[str, str, Sequence[str | int]]],
        metadata: dict[str, str],
    ) -> onnx.ModelProto:
        """Finishes the graph.

        Args:
            name: What it is called.
            inputs: Name and axes of each input, all int64; a text names an axis of any size.
            outputs: The value, the name that it gets outside and the axes of each output, all float32.
            metadata: Texts that the file carries.
        """
        renamed = [helper.make_node("Identity", [value], [outer], name=outer) for value, outer, _ in outputs]
        graph = helper.make_graph(
            [*self.nodes, *renamed],
            name,
            [helper.make_tensor_value_info(item, _INTEGER, list(axes)) for item, axes in inputs],
            [helper.make_tensor_value_info(outer, _FLOAT, list(axes)) for _, outer, axes in outputs],
            self.constants,
        )
        model = helper.make_model(
            graph,
            producer_name="hf_paraphrase",
            opset_imports=[helper.make_opsetid("", OPSET)],
            # The newest that the library knows would shut older runtimes out.
            ir_version=_IR_VERSION,
        )
        helper.set_model_props(model, metadata)
        return model

    def _name(self, kind: str) -> str:
        number = self._counts.get(kind, 0)
        self._counts[kind] = number + 1
        return f"{kind}_{number}" if number else kind
