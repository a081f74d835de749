"""`export`: a sentence encoder as an ONNX graph, or with weights in fewer bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.folders import check_output, output_folder
from ..artefacts.hub_models import model_folder
from ..artefacts.model_loading import check_model_type, load_model_folder
from ..encoders.onnx_encoder import ONNX_FILE, is_onnx_folder, require_packages
from ..errors import ModelError, OutputError, UsageError
from ..export.stored_weights import WEIGHTS, StoredWeights, store_weights
from ..messages import say
from ..models.registry import SENTENCE_ENCODERS, model_class
from ..settings import setting, settings_of
from .arguments import parse

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_MEGABYTE = 1e6


@dataclass
class Arguments:
    """Writes a sentence encoder for programs without PyTorch, or in less room.

    `--format onnx` makes a folder with `onnx/model.onnx`, which runs with onnxruntime and tokenizers alone and gives
    the vectors of the model; every type of sentence encoder can be exported. `--format safetensors` makes a model
    folder like the given one. Translation models and reference classifiers cannot be exported.
    """

    model: str = setting(
        "folder of a sentence encoder, as train-encoder and train-sdae make it, or namespace/name of one on the Hub"
    )
    output: str = setting("the folder to write; it appears whole or not at all")
    format: str = setting("onnx: a graph; safetensors: a model folder", "onnx", choices=["onnx", "safetensors"])
    weights: str = setting(
        "how matrices are stored: float32; float16, half the size; int8, a quarter, one scale a row, for onnx only",
        "float32",
        choices=list(WEIGHTS),
    )
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `export`.

    Raises:
        UsageError: For arguments that do not fit, or if a package of the extra `onnx` is missing.
        ModelError: If the folder is not a sentence encoder or is damaged, if its weights cannot be stored so, or if
            the graph does not compute what the model computes.
        OutputError: If the output is in the way.
    """
    arguments = parse(Arguments, "export", argv)
    source = model_folder(arguments.model)
    name = _check(arguments, source).name
    model, tokenizer = load_model_folder(source, model_class(_check_source(source)))
    model = model.float()
    export = _export_onnx if arguments.format == "onnx" else _export_safetensors
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        results = export(arguments, model, tokenizer, source, staging, name)
    difference = results.get("largest_difference")
    say(
        f"{arguments.output}: {results['megabytes']:.1f} MB of weights ({results['source_megabytes']:.1f} MB in "
        f"{source}); cosine with the model's vectors at least {results['lowest_cosine']:.6f}"
        + ("" if difference is None else f"; the graph differs from PyTorch by {difference:.1e} at most")
    )


def _check(arguments: Arguments, source: Path) -> Path:
    """Refuses what cannot work before the model is opened; returns the output's path."""
    output = check_output(arguments.output, overwrite=arguments.overwrite)
    if arguments.format == "onnx":
        require_packages("onnx", "onnxruntime")
    elif arguments.weights == "int8":
        raise UsageError(
            "export: --weights int8 needs --format onnx: AutoModel opens no integers", remedy="or use float16"
        )
    if output == source.resolve() or output in source.resolve().parents:
        raise OutputError("the output is the model itself or holds it", path=arguments.output, remedy="name another")
    return output


def _check_source(source: Path) -> str:
    """Returns the model type of the folder."""
    if is_onnx_folder(source):
        raise ModelError(
            "an ONNX export cannot be exported again", path=source, remedy="give the model that it was made from"
        )
    return check_model_type(
        source, SENTENCE_ENCODERS, kind="sentence encoder, and nothing else can be exported", verb="train-encoder"
    )


def _export_onnx(
    arguments: Arguments,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    source: Path,
    staging: Path,
    name: str,
) -> dict[str, Any]:
    """Writes graph, configuration and record; returns what was measured."""
    from ..export.export_folder import write_configuration, write_record
    from ..export.graph_builder import OPSET
    from ..export.onnx_model import build_onnx, save_onnx
    from ..export.verification import embeddings, lowest_cosine, probes, verify

    batches = probes(model.config)
    original = embeddings(model, batches)
    stored = store_weights({key: value.numpy() for key, value in model.state_dict().items()}, arguments.weights)
    files = save_onnx(build_onnx(model.config, stored), staging)
    _put_back(model, stored)
    verification = verify(model, staging / ONNX_FILE)
    write_configuration(staging, model, tokenizer)
    results = {
        **_sizes(files, source),
        "lowest_cosine": lowest_cosine(original, embeddings(model, batches)),
        "largest_difference": verification.largest_difference,
        "checked": verification.sentences,
    }
    write_record(
        staging, model, source=source, name=name, settings=settings_of(arguments), results=results, opset=OPSET
    )
    return results


def _export_safetensors(
    arguments: Arguments,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    source: Path,
    staging: Path,
    name: str,
) -> dict[str, Any]:
    """Writes a model folder and its record; returns what was measured."""
    import torch

    from ..export.export_folder import write_record, write_weights
    from ..export.verification import embeddings, lowest_cosine, probes

    batches = probes(model.config)
    original = embeddings(model, batches)
    # Refuses numbers that are too large for it.
    store_weights({key: value.numpy() for key, value in model.state_dict().items()}, arguments.weights)
    model = model.to(getattr(torch, arguments.weights))
    write_weights(staging, model, tokenizer, source)
    results = {
        **_sizes(staging.glob("*.safetensors"), source),
        "lowest_cosine": lowest_cosine(original, embeddings(model, batches)),
    }
    write_record(
        staging, model, source=source, name=name, settings=settings_of(arguments), results=results, opset=None
    )
    return results


def _put_back(model: PreTrainedModel, stored: StoredWeights) -> None:
    """Gives a model the weights as they were rounded."""
    import torch

    model.load_state_dict({name: torch.from_numpy(value) for name, value in stored.rounded().items()})


def _sizes(files: Any, source: Path) -> dict[str, float]:
    """Computes the sizes of the weights, new and old, in megabytes."""
    return {
        "megabytes": sum(path.stat().st_size for path in files) / _MEGABYTE,
        "source_megabytes": sum(path.stat().st_size for path in source.glob("*.safetensors")) / _MEGABYTE,
    }
