"""Folders that `export --format onnx` made, opened with onnxruntime."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from ...artefacts.files import opening
from ...artefacts.model_loading import open_tokenizer_folder
from ...errors import ModelError, UsageError
from ...messages import shown_line
from ...models.registry import SENTENCE_ENCODERS, config_class

if TYPE_CHECKING:
    import onnxruntime
    import torch
    from transformers import PreTrainedTokenizerBase

ONNX_FILE = Path("onnx") / "model.onnx"
"""Where a folder has its graph, as optimum and sentence-transformers look for it."""
_EMBEDDING = "sentence_embedding"
_FATAL = 4
_AGAIN = "export or copy the model again"


def is_onnx_folder(folder: Path) -> bool:
    """Returns whether a folder has an ONNX graph and no weights of another kind."""
    return (folder / ONNX_FILE).is_file() and not any(folder.glob("*.safetensors"))


def require_packages(*names: str) -> None:
    """Checks that packages of the extra `onnx` are installed."""
    for name in names:
        if importlib.util.find_spec(name) is None:
            what = f"the package `{name}` is not installed"
            raise UsageError(what, remedy='it comes with the extra `onnx`: pip install "hf-paraphrase[onnx]"')


def open_session(path: Path, *, threads: int = 0) -> onnxruntime.InferenceSession:
    """Opens a graph on the CPU; with 0 threads onnxruntime chooses their number."""
    require_packages("onnxruntime")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # What fails is raised, and would be reported twice.
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = threads
    with opening("the graph", path, _AGAIN):
        # It would try twice, and print what it met, with whatever a damaged graph has in its names.
        return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"], enable_fallback=0)


class OnnxModel:
    """An exported graph in the place of the model, as far as `SentenceEncoder` needs one."""

    def __init__(self, path: Path, config: Any) -> None:
        import torch

        self.path = path
        # One thread, because `SentenceEncoder` works on several batches at a time.
        self.session = open_session(path, threads=1)
        self.config = config
        self.device = torch.device("cpu")

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxModel, (self.path, self.config)

    def __call__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **kwargs: Any) -> SimpleNamespace:
        """Embeds a batch of sentences from ids and mask (batch, length): `pooler_output` (batch, hidden_size)."""
        import torch

        feed = {"input_ids": input_ids.long().numpy(), "attention_mask": attention_mask.long().numpy()}
        try:
            (pooled,) = self.session.run([_EMBEDDING], feed)
        except Exception as error:  # onnxruntime has a class of its own for each kind of failure
            problem = f"the graph fails: {shown_line(str(error), 300)}"
            raise ModelError(problem, path=self.path, remedy=_AGAIN) from error
        vectors = torch.from_numpy(pooled)
        if not vectors.isfinite().all():
            raise ModelError("the graph gives vectors with NaN or infinity", path=self.path, remedy=_AGAIN)
        return SimpleNamespace(pooler_output=vectors)


def load_onnx_folder(folder: Path) -> tuple[OnnxModel, PreTrainedTokenizerBase]:
    """Opens a folder with an ONNX graph."""
    from transformers import PreTrainedConfig

    with opening("the model", folder, _AGAIN):
        model_type = PreTrainedConfig.get_config_dict(folder, local_files_only=True)[0].get("model_type")
        if model_type not in SENTENCE_ENCODERS:
            raise ValueError(f"a model of type {model_type!r} is not a sentence encoder")
        config = config_class(model_type).from_pretrained(folder, local_files_only=True)
    return OnnxModel(folder / ONNX_FILE, config), open_tokenizer_folder(folder)
