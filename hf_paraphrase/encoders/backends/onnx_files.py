"""The files of an ONNX export, and the onnxruntime sessions that run them; nothing here needs PyTorch."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from ...artefacts.files import wrap_load_errors
from ...errors import UsageError

if TYPE_CHECKING:
    import onnxruntime

ONNX_FILE = Path("onnx") / "model.onnx"
"""The path of the graph in a model folder, as in optimum and sentence-transformers."""
_FATAL = 4
_AGAIN = "export or copy the model again"


def is_onnx_folder(folder: Path) -> bool:
    """Return whether a folder has an ONNX graph and no weights of another kind."""
    return (folder / ONNX_FILE).is_file() and not any(folder.glob("*.safetensors"))


def require_packages(*names: str) -> None:
    """Check that packages of the extra `onnx` are installed."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            what = f"the package `{name}` is not installed"
            raise UsageError(what, remedy='it comes with the extra `onnx`: pip install "hf-paraphrase[onnx]"')


def open_session(path: Path, *, threads: int = 0) -> onnxruntime.InferenceSession:
    """Open a graph on the CPU; with 0 threads onnxruntime chooses their number."""
    require_packages("onnxruntime")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # A failure is raised, and would be reported twice.
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = threads
    with wrap_load_errors("the graph", path, _AGAIN):
        # It would try twice, and print what it met, with whatever a damaged graph has in its names.
        return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"], enable_fallback=0)
