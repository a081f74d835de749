"""Chooses and opens the backend of a model folder, and makes the backend of a model object."""

from __future__ import annotations

import dataclasses
from os import PathLike
from pathlib import Path
from typing import Any

from ...artefacts.files import read_optional_json
from ...artefacts.hub_models import model_folder
from ...artefacts.model_loading import load_model_folder
from ...errors import UsageError, choice_of
from ..architectures import find_encoder_class, is_of_transformers, read_third_party_type
from .base import Backend, LoadingOptions
from .batch_tokenizer import InputProcessing
from .sentence_transformers_files import (
    PACKAGE_KINDS,
    check_module_types,
    is_onnx_folder,
    read_module_kinds,
    read_processing,
)
from .static_table import read_static

BACKENDS = ("auto", "torch", "onnx")
_DTYPES = {"bf16": "bfloat16", "fp16": "float16", "fp32": "float32"}


def is_third_party(folder: Path) -> bool:
    """Return whether transformers or sentence-transformers decides how a folder is opened."""
    # An encoder of this package may be followed by modules that only sentence-transformers has.
    return read_third_party_type(folder) is not None or not {*read_module_kinds(folder)} <= PACKAGE_KINDS


def open_backend(folder: Path, backend: str | None, options: LoadingOptions) -> Backend:
    """Open the backend of a folder of this package, transformers, sentence-transformers or model2vec.

    `onnx` opens the ONNX graph of the folder, `torch` a PyTorch module, and None the fastest backend.

    Raises:
        ModelError: The folder is no sentence encoder, is damaged, or needs code that is not trusted.
    """
    if backend not in (None, *BACKENDS):
        raise UsageError(f"the backend `{backend}` is unknown", remedy=choice_of(str(backend), BACKENDS))
    check_module_types(folder, options.trust_remote_code)
    if backend == "onnx" or is_onnx_folder(folder):
        _refuse_arguments("an ONNX graph", options)
        from .onnx_graph import open_onnx_folder

        return open_onnx_folder(folder)
    is_ours = not is_third_party(folder)
    if is_ours or read_third_party_type(folder) == "sentence-transformers":
        table = read_static(folder)
        if table is not None:
            _refuse_arguments("a static table", options)
            return table.as_module() if backend == "torch" else table
    from .torch_module import TorchModule

    if is_ours:
        _refuse_arguments("an encoder of this package", options)
        return TorchModule(*load_model_folder(folder, find_encoder_class(folder)), read_processing(folder))
    from .pooled_transformer import open_transformer
    from .sentence_transformers_pipeline import open_pipeline

    options = dataclasses.replace(options, dtype=_DTYPES.get(str(options.dtype), options.dtype))
    transformer = open_transformer(folder, options)
    return open_pipeline(folder, options) if transformer is None else TorchModule(*transformer)


def _refuse_arguments(kind: str, options: LoadingOptions) -> None:
    if options.model_kwargs or options.tokenizer_kwargs:
        what = f"model_kwargs and tokenizer_kwargs are for transformers, not for {kind}"
        raise UsageError(what, remedy="leave them out")


def fetch_folder(name: str | PathLike[str], trust_remote_code: bool, **client: Any) -> Path:
    """Return the folder of a model; check that its code is trusted before the weights are downloaded."""
    folder = model_folder(name, **client)
    check_module_types(folder, trust_remote_code)
    if not is_third_party(folder):
        return folder
    if read_optional_json(folder / "config.json").get("model_type") is not None:
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
    from .pooled_transformer import PooledTransformer, describe_processing
    from .torch_module import TorchModule

    if is_of_transformers(model):
        if tokenizer.pad_token_id is None:
            raise UsageError("the tokenizer has no padding token", remedy="set its pad_token first")
        processing, model = processing or describe_processing(model, tokenizer), PooledTransformer(model)
    return TorchModule(model, tokenizer, processing)


def find_best_device(backend: Backend) -> str | None:
    """Return the accelerator of this machine, or None if the backend or the machine uses none."""
    if not backend.uses_accelerator:
        return None
    import torch

    accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
    return None if accelerator is None else accelerator.type
