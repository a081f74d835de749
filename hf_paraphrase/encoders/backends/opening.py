"""Chooses and opens the backend of a model folder, and makes the backend of a model object."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...artefacts.hub_models import model_folder
from ...artefacts.model_loading import load_model_folder
from ...errors import UsageError, choice_of
from ..architectures import encoder_class, is_of_transformers, third_party_type
from .base import Backend
from .batch_tokenizer import InputProcessing, count_final_special
from .sentence_transformers_files import (
    PACKAGE_KINDS,
    check_module_types,
    module_kinds,
    optional_json,
    read_processing,
)
from .static_table import read_static

if TYPE_CHECKING:
    import torch

BACKENDS = ("auto", "torch", "onnx")
_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def is_third_party(folder: Path) -> bool:
    """Return whether transformers or sentence-transformers decides how a folder is opened."""
    # An encoder of this package may be followed by modules that only sentence-transformers has.
    return third_party_type(folder) is not None or not {*module_kinds(folder)} <= PACKAGE_KINDS


def open_backend(
    folder: Path,
    *,
    backend: str | None = None,
    dtype: str | torch.dtype | None = None,
    trust_remote_code: bool = False,
    model_kwargs: Mapping[str, Any] | None = None,
    tokenizer_kwargs: Mapping[str, Any] | None = None,
) -> Backend:
    """Open the backend of a model folder.

    Args:
        folder: A folder of this package, transformers, sentence-transformers or model2vec.
        backend: `onnx` for the ONNX graph of the folder, `torch` for a PyTorch module; None chooses the fastest one.
        dtype: The type of the weights of a third-party transformer; static tables and ONNX compute in float32.
        trust_remote_code: Run the code that the folder brings.
        model_kwargs: More arguments for `AutoModel.from_pretrained`.
        tokenizer_kwargs: More arguments for `AutoTokenizer.from_pretrained`.

    Raises:
        ModelError: The folder holds no sentence encoder, is damaged, or needs code that is not trusted.
    """
    if backend not in (None, *BACKENDS):
        raise UsageError(f"the backend `{backend}` is unknown", remedy=choice_of(str(backend), BACKENDS))
    check_module_types(folder, trust_remote_code)
    from .onnx_files import is_onnx_folder

    if backend == "onnx" or is_onnx_folder(folder):
        from .onnx_graph import open_onnx_folder

        _refuse_arguments("an ONNX graph", model_kwargs, tokenizer_kwargs)
        return open_onnx_folder(folder)
    if not is_third_party(folder) or third_party_type(folder) == "sentence-transformers":
        table = read_static(folder)
        if table is not None:
            _refuse_arguments("a static table", model_kwargs, tokenizer_kwargs)
            return table.as_module() if backend == "torch" else table
    if not is_third_party(folder):
        from .torch_module import TorchModule

        _refuse_arguments("an encoder of this package", model_kwargs, tokenizer_kwargs)
        model, tokenizer = load_model_folder(folder, encoder_class(folder))
        num_final_special = count_final_special(tokenizer.backend_tokenizer)
        return TorchModule(model, tokenizer, read_processing(folder).changed(num_final_special=num_final_special))
    from .pooled_transformer import open_transformer
    from .sentence_transformers_pipeline import open_pipeline
    from .torch_module import TorchModule

    options: dict[str, Any] = {
        "dtype": _DTYPES.get(str(dtype), dtype),
        "trust_remote_code": trust_remote_code,
        "model_kwargs": model_kwargs,
        "tokenizer_kwargs": tokenizer_kwargs,
    }
    transformer = open_transformer(folder, **options)
    return open_pipeline(folder, **options) if transformer is None else TorchModule(*transformer)


def _refuse_arguments(kind: str, *given: Mapping[str, Any] | None) -> None:
    if any(given):
        what = f"model_kwargs and tokenizer_kwargs are for transformers, not for {kind}"
        raise UsageError(what, remedy="leave them out")


def fetch_folder(name: str | PathLike[str], trust_remote_code: bool, **client: Any) -> Path:
    """Return the folder of a model; weights of a model that is refused are not fetched."""
    folder = model_folder(name, **client)
    check_module_types(folder, trust_remote_code)
    if not is_third_party(folder):
        return folder
    if optional_json(folder / "config.json").get("model_type") is not None:
        from .pooled_transformer import check_settings

        check_settings(folder, folder, trust_remote_code)
    return model_folder(name, any_type=True, with_code=trust_remote_code, **client)


def make_backend(model: Any, tokenizer: Any, processing: InputProcessing | None) -> Backend:
    """Make the backend of a model object."""
    if isinstance(model, Backend):
        if processing is not None:
            model.processing = processing
        return model
    if tokenizer is None:
        raise UsageError("a model object needs its tokenizer", remedy="give that too, or the name of a folder")
    from .pooled_transformer import PooledTransformer, processing_of
    from .torch_module import TorchModule

    if is_of_transformers(model):
        if tokenizer.pad_token_id is None:
            raise UsageError("the tokenizer has no padding token", remedy="set its pad_token first")
        processing, model = processing or processing_of(model, tokenizer), PooledTransformer(model)
    elif processing is None:
        processing = InputProcessing(num_final_special=count_final_special(tokenizer.backend_tokenizer))
    return TorchModule(model, tokenizer, processing)


def find_best_device(backend: Backend) -> str | None:
    """Return the accelerator of this machine for a PyTorch model; None where it computes on the CPU."""
    if not backend.uses_accelerator:
        return None
    import torch

    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return None if accelerator is None else accelerator.type
