"""Exports sentence encoders as ONNX graphs or with quantized weights.

A model folder comes in, a folder that `SentenceEncoder` opens goes out. Start with `export` in `run`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "run": ["Exported", "ExportSettings", "export"],
    },
)
