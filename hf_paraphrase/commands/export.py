"""`export`: a sentence encoder as an ONNX graph, or with weights in fewer bits."""

from __future__ import annotations

from collections.abc import Sequence

from ..export.run import ExportSettings, export_encoder
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    export_encoder.run(parse(ExportSettings, "export", argv))
