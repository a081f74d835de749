"""Folders that `export --format onnx` made, opened with onnxruntime."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ..artefacts.files import opening
from ..artefacts.model_loading import open_tokenizer_folder
from ..errors import ModelError, UsageError
from ..models.registry import SENTENCE_ENCODERS, config_class

if TYPE_CHECKING:
    import onnxruntime
    import torch
    from transformers import PreTrainedTokenizerBase

ONNX_FILE = Path("onnx") / "model.onnx"
"""Where a folder has its graph, as optimum and sentence-transformers look for it."""
_EMBEDDING = "sentence_embedding"
_FATAL = 4


def is_onnx_folder(folder: Path) -> bool:
    """Returns whether a folder has an ONNX graph and no weights of another kind."""
    return (folder / ONNX_FILE).is_file() and not any(folder.glob("*.safetensors"))


def require_packages(*names: str) -> None:
    """Checks that packages of the extra `onnx` are installed."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            raise UsageError(
                f"the package `{name}` is not installed",
                remedy='it comes with the extra `onnx`: pip install "hf-paraphrase[onnx]"',
            )


def open_session(path: Path, *, threads: int | None = None) -> onnxruntime.InferenceSession:
    """Opens a graph on the CPU."""
    require_packages("onnxruntime")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # What fails is raised, and would be reported twice.
    options.log_severity_level = _FATAL
    if threads is not None:
        options.intra_op_num_threads = threads
    try:
        # It would try twice, and print what it met, with whatever a damaged graph has in its names.
        return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"], enable_fallback=0)
    except Exception as error:  # onnxruntime has a class of its own for each kind of failure
        raise ModelError(
            f"onnxruntime cannot open the graph: {error}", path=path, remedy="export or copy the model again"
        ) from error


class OnnxModel:
    """An exported graph in the place of the model, as far as `SentenceEncoder` needs one."""

    def __init__(self, path: Path, config: Any) -> None:
        import torch

        self.path = path
        self.session = open_session(path, threads=1)
        self.config = config
        self.device = torch.device("cpu")

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxModel, (self.path, self.config)

    def __call__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **kwargs: Any) -> SimpleNamespace:
        """Embeds a batch of sentences from ids and mask (batch, length): `pooler_output` (batch, hidden_size)."""
        import numpy as np
        import torch

        feed = {"input_ids": input_ids.long().numpy(), "attention_mask": attention_mask.long().numpy()}
        try:
            (pooled,) = self.session.run([_EMBEDDING], feed)
        except Exception as error:  # onnxruntime has a class of its own for each kind of failure
            raise ModelError(
                f"the ONNX graph fails: {' '.join(str(error).split())[:300]}", remedy="export or copy the model again"
            ) from error
        if not np.isfinite(pooled).all():
            raise ModelError("the ONNX model gives vectors with NaN or infinity", remedy="export or copy it again")
        return SimpleNamespace(pooler_output=torch.from_numpy(pooled))


def load_onnx_folder(folder: Path) -> tuple[OnnxModel, PreTrainedTokenizerBase]:
    """Opens a folder with an ONNX graph.

    Each call of the graph uses one thread, because `SentenceEncoder` works on several batches at a time.
    """
    from transformers import PreTrainedConfig

    with opening("the model", folder, "export it again"):
        model_type = PreTrainedConfig.get_config_dict(folder, local_files_only=True)[0].get("model_type")
        if model_type not in SENTENCE_ENCODERS:
            raise ValueError(f"a model of type {model_type!r} is not a sentence encoder")
        config = config_class(model_type).from_pretrained(folder, local_files_only=True)
    model = OnnxModel(folder / ONNX_FILE, config)
    shapes = {item.name: item.shape for item in model.session.get_outputs()}
    if shapes.get(_EMBEDDING, [None])[-1] != config.hidden_size:
        what = f"the graph gives no `{_EMBEDDING}` of {config.hidden_size} components"
        raise ModelError(what, path=folder, remedy="export it again")
    return model, open_tokenizer_folder(folder)
