"""ONNX graphs, run by onnxruntime on the CPU: exports of this package, and transformers with a pooling."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import torch
from transformers import AutoConfig, PreTrainedConfig

from ...artefacts.files import wrap_load_errors
from ...artefacts.model_loading import open_tokenizer_folder
from ...errors import ModelError, UsageError, missing_package
from ...messages import sanitize_line
from ...models.registry import SENTENCE_ENCODERS, config_class
from .batch_tokenizer import InputProcessing
from .pooled_transformer import PooledTransformer, describe_processing, read_parts
from .sentence_transformers_files import ONNX_FILE, read_processing, write_options, write_processing
from .torch_module import TorchModule

if TYPE_CHECKING:
    import onnxruntime

_EMBEDDING, _TOKENS = "sentence_embedding", ("last_hidden_state", "token_embeddings")
_FATAL = 4
_AGAIN = "export or copy the model again"


def open_session(path: Path, *, threads: int = 0) -> onnxruntime.InferenceSession:
    """Open a graph on the CPU; with 0 threads onnxruntime chooses their number."""
    if find_spec("onnxruntime") is None:
        raise missing_package("onnxruntime")
    import onnxruntime

    options = onnxruntime.SessionOptions()
    # Errors are raised, so onnxruntime need not print them too.
    options.log_severity_level = _FATAL
    options.intra_op_num_threads = threads
    with wrap_load_errors("the graph", path, _AGAIN):
        # The fallback would try again, and print unchecked names of a damaged graph.
        return onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"], enable_fallback=0)


class OnnxSession(torch.nn.Module):
    """A graph as a module that returns `pooler_output`, or `last_hidden_state` for a pooling after it."""

    def __init__(self, path: Path, config: Any) -> None:
        super().__init__()
        self.path, self.config = path, config
        # One thread per batch, because several batches are computed at a time.
        self.session = open_session(path, threads=1)
        self.device, self.training = torch.device("cpu"), False
        self.inputs = {node.name for node in self.session.get_inputs()}
        names = [node.name for node in self.session.get_outputs()]
        self.output = next((name for name in (_EMBEDDING, *_TOKENS) if name in names), None)
        if self.output is None:
            what = f"the graph has the outputs {', '.join(names)[:200]}, and neither {_EMBEDDING} nor {_TOKENS[0]}"
            raise ModelError(what, path=path, remedy=_AGAIN)

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxSession, (self.path, self.config)

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SimpleNamespace:
        """Run the graph on a batch: ids and mask (texts, length)."""
        feed = {"input_ids": input_ids.long().numpy(), "attention_mask": attention_mask.long().numpy()}
        if "token_type_ids" in self.inputs:
            feed["token_type_ids"] = torch.zeros_like(input_ids, dtype=torch.int64).numpy()
        try:
            (values,) = self.session.run([self.output], feed)
        except Exception as error:  # onnxruntime has many unrelated classes of errors
            what = f"the graph fails: {sanitize_line(str(error), 300)}"
            raise ModelError(what, path=self.path, remedy=_AGAIN) from error
        vectors = torch.from_numpy(values)
        if not vectors.isfinite().all():
            raise ModelError("the graph returns vectors with NaN or infinity", path=self.path, remedy=_AGAIN)
        name = "pooler_output" if self.output == _EMBEDDING else "last_hidden_state"
        return SimpleNamespace(**{name: vectors})


class OnnxGraph(TorchModule):
    """A folder with an ONNX graph."""

    uses_accelerator = False

    def __init__(self, folder: Path, model: torch.nn.Module, tokenizer: Any, processing: InputProcessing) -> None:
        super().__init__(model, tokenizer, processing)
        self.folder, self.opened_processing = folder, processing

    def to(self, device: str | torch.device) -> OnnxGraph:
        """Accept the CPU only."""
        if torch.device(device).type != "cpu":
            what = f"an ONNX model computes on the CPU, not on {device}"
            raise UsageError(what, remedy="open the model that it was exported from")
        return self

    def save(
        self, folder: Path, options: Mapping[str, Any], weights: Mapping[str, torch.Tensor] | None = None
    ) -> None:
        """Copy the graph, the tokenizer and the modules, and write the options."""
        for path in self.folder.iterdir():
            is_module = path.is_dir() and path.name[:1].isdigit()
            if is_module or path.name == "onnx":
                shutil.copytree(path, folder / path.name, dirs_exist_ok=True)
            elif path.suffix in (".json", ".txt", ".model") and "provenance" not in path.name:
                shutil.copyfile(path, folder / path.name)
        write_options(folder, options)
        write_processing(folder, self.processing)


def open_onnx_folder(folder: Path) -> OnnxGraph:
    """Open the graph of a model folder, and the pooling of `modules.json` if the graph has none."""
    if not (folder / ONNX_FILE).is_file():
        what = f"the folder has no {ONNX_FILE}"
        raise ModelError(what, path=folder, remedy="export the model to ONNX, or leave backend out")
    with wrap_load_errors("the model", folder, _AGAIN):
        model_type = PreTrainedConfig.get_config_dict(folder, local_files_only=True)[0].get("model_type")
        is_ours = model_type in SENTENCE_ENCODERS
        kind: Any = config_class(model_type) if is_ours else AutoConfig
        config = kind.from_pretrained(
            folder, local_files_only=True, **({} if is_ours else {"trust_remote_code": False})
        )
    session, tokenizer = OnnxSession(folder / ONNX_FILE, config), open_tokenizer_folder(folder)
    processing = read_processing(folder)
    if is_ours:
        return OnnxGraph(folder, session, tokenizer, processing)
    modules = read_parts(folder)
    if modules is None or session.output == _EMBEDDING:
        what = "only sentence-transformers can run the modules of this folder with an ONNX graph"
        raise ModelError(what, path=folder, remedy="open it without backend, or export it with export --format onnx")
    model = PooledTransformer(session, **modules[1]).eval()
    return OnnxGraph(folder, model, tokenizer, describe_processing(session, tokenizer, processing))
