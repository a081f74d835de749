"""ONNX graphs, run by onnxruntime on the CPU: exports of this package, and transformers with a pooling."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from ...artefacts.files import wrap_load_errors
from ...artefacts.model_loading import open_tokenizer_folder
from ...errors import ModelError, UsageError
from ...messages import sanitize_line
from ...models.registry import SENTENCE_ENCODERS, config_class
from .batch_tokenizer import InputProcessing, count_final_special
from .onnx_files import ONNX_FILE, open_session, require_packages
from .sentence_transformers_files import read_processing, write_options, write_processing
from .torch_module import TorchModule

_EMBEDDING, _TOKENS = "sentence_embedding", ("last_hidden_state", "token_embeddings")
_AGAIN = "export or copy the model again"


class OnnxSession:
    """A graph in place of a PyTorch module: `pooler_output`, or `last_hidden_state` for a pooling after it."""

    def __init__(self, path: Path, config: Any) -> None:
        self.path, self.config = path, config
        # One thread per batch, because several batches run at a time.
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

    def __call__(self, input_ids: torch.Tensor, attention_mask: torch.Tensor, **options: Any) -> SimpleNamespace:
        """Run the graph on a batch: ids and mask (texts, length)."""
        feed = {"input_ids": input_ids.long().numpy(), "attention_mask": attention_mask.long().numpy()}
        if "token_type_ids" in self.inputs:
            feed["token_type_ids"] = torch.zeros_like(input_ids, dtype=torch.int64).numpy()
        try:
            (values,) = self.session.run([self.output], feed)
        except Exception as error:  # onnxruntime has a class of its own for each kind of failure
            what = f"the graph fails: {sanitize_line(str(error), 300)}"
            raise ModelError(what, path=self.path, remedy=_AGAIN) from error
        vectors = torch.from_numpy(values)
        if not vectors.isfinite().all():
            raise ModelError("the graph returns vectors with NaN or infinity", path=self.path, remedy=_AGAIN)
        name = "pooler_output" if self.output == _EMBEDDING else "last_hidden_state"
        return SimpleNamespace(**{name: vectors})


class OnnxTransformer(torch.nn.Module):
    """A graph in place of the transformer below a pooling."""

    def __init__(self, session: OnnxSession) -> None:
        super().__init__()
        self.session, self.config = session, session.config
        self.training = False

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> SimpleNamespace:
        """Return `last_hidden_state` (texts, length, dim)."""
        return self.session(input_ids, attention_mask)


class OnnxGraph(TorchModule):
    """A folder with an ONNX graph; `backend="onnx"` chooses it where the folder has other weights too."""

    is_unchanged = True
    uses_accelerator = False

    def __init__(self, folder: Path, model: Any, tokenizer: Any, processing: InputProcessing) -> None:
        super().__init__(model, tokenizer, processing)
        self.folder = folder

    @property
    def is_transformer(self) -> bool:
        """Whether a pooling follows the graph."""
        return not isinstance(self.model, OnnxSession)

    def set_max_seq_length(self, length: int | None) -> None:
        """Change the maximum number of tokens per text."""
        super().set_max_seq_length(length)
        self.is_unchanged = False

    def to(self, device: str | torch.device) -> OnnxGraph:
        """Accept the CPU only."""
        if torch.device(device).type != "cpu":
            what = f"an ONNX model computes on the CPU, not on {device}"
            raise UsageError(what, remedy="open the model that it was exported from")
        return self

    def save(self, folder: Path, options: Mapping[str, Any]) -> None:
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
    """Open the graph of a model folder, with the pooling that `modules.json` describes where the graph has none."""
    from transformers import PreTrainedConfig

    from .pooled_transformer import PooledTransformer, processing_of, read_modules

    require_packages("onnxruntime")
    if not (folder / ONNX_FILE).is_file():
        what = f"the folder has no {ONNX_FILE}"
        raise ModelError(what, path=folder, remedy="export the model to ONNX, or leave backend out")
    with wrap_load_errors("the model", folder, _AGAIN):
        model_type = PreTrainedConfig.get_config_dict(folder, local_files_only=True)[0].get("model_type")
        if model_type in SENTENCE_ENCODERS:
            config: Any = config_class(model_type).from_pretrained(folder, local_files_only=True)
        else:
            from transformers import AutoConfig

            config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    session, tokenizer = OnnxSession(folder / ONNX_FILE, config), open_tokenizer_folder(folder)
    if model_type in SENTENCE_ENCODERS:
        num_final_special = count_final_special(tokenizer.backend_tokenizer)
        processing = read_processing(folder).changed(num_final_special=num_final_special)
        return OnnxGraph(folder, session, tokenizer, processing)
    modules = read_modules(folder)
    if modules is None or session.output == _EMBEDDING:
        what = "only sentence-transformers can run the modules of this folder with an ONNX graph"
        raise ModelError(what, path=folder, remedy="open it without backend, or export it with export --format onnx")
    processing = processing_of(session, tokenizer, read_processing(folder))
    return OnnxGraph(folder, PooledTransformer(OnnxTransformer(session), **modules[1]).eval(), tokenizer, processing)
