"""Exports of sentence encoders: ONNX graphs, and weights in fewer bits."""

from __future__ import annotations
