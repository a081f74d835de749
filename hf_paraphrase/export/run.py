"""The recipe of the verb `export`: a sentence encoder in, an ONNX graph or a folder with weights in fewer bits out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.artefact import Artefact
from ..artefacts.hub_models import model_folder
from ..artefacts.int8_tables import INT8, TABLE_MODELS
from ..artefacts.model_loading import check_model_type, load_model_folder
from ..data.sentences import lines_of_file
from ..data.text_blocks import PLAIN_OR_COMPRESSED
from ..encoders.onnx_encoder import ONNX_FILE, is_onnx_folder, require_packages
from ..errors import InputError, ModelError, UsageError
from ..messages import log
from ..models.registry import SENTENCE_ENCODERS, model_class
from ..settings import Settings, recipe, setting
from .stored_weights import WEIGHTS, StoredWeights, store_weights

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_MEGABYTE = 1e6


@dataclass(kw_only=True)
class ExportSettings(Settings):
    """Writes a sentence encoder for programs without PyTorch, or in less room.

    `--format onnx` makes a folder with `onnx/model.onnx`, which runs with onnxruntime and tokenizers alone and gives
    the vectors of the model; every type of sentence encoder can be exported. `--format safetensors` makes a model
    folder like the given one; with `--weights int8` one a quarter as large, of an average of vectors (avg, trigram,
    word-trigram), which SentenceEncoder and every verb open, and model2vec if it is one average; AutoModel and
    sentence-transformers do not. Translation models and reference classifiers cannot be exported.
    """

    model: str = setting(
        "folder of a sentence encoder, as train-encoder and train-sdae make it, or namespace/name of one on the Hub",
        path=True,
    )
    output: str = setting("the folder to write; it appears whole or not at all")
    format: str = setting("onnx: a graph; safetensors: a model folder", "onnx", choices=["onnx", "safetensors"])
    weights: str = setting(
        "how matrices are stored: float32; float16, half the size; int8, a quarter, one scale a row",
        "float32",
        choices=list(WEIGHTS),
    )
    sentences: str | None = setting(
        f"text file, one sentence a line, {PLAIN_OR_COMPRESSED}: the cosines of their vectors before and after are "
        "measured too",
        None,
        path=True,
    )
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Refuses what does not fit.

        Raises:
            UsageError: If a package of the extra `onnx` is missing.
        """
        super().check()
        if self.format == "onnx":
            require_packages("onnx", "onnxruntime")


@dataclass(frozen=True)
class Exported:
    """What an export made.

    Attributes:
        folder: The folder.
        results: `megabytes` of weights and `source_megabytes` of the model's, the `lowest_cosine` of an embedding with
            the model's; of a graph also the `largest_difference` from PyTorch and how many sentences were `checked`;
            with sentences to compare by how many there are, and their `lowest_sentence_cosine` and
            `mean_sentence_cosine`.
    """

    folder: Path
    results: dict[str, Any]


@recipe(ExportSettings)
def export_encoder(settings: ExportSettings) -> Exported:
    """Writes a sentence encoder as an ONNX graph, or with weights in fewer bits, and compares it with the model.

    Returns:
        The folder, and what was measured.

    Raises:
        UsageError: For weights that the format cannot hold for this type of model.
        InputError: If the file of sentences is missing or malformed.
        ModelError: If the folder is not a sentence encoder or is damaged, if its weights cannot be stored so, or if
            the graph does not compute what the model computes.
        OutputError: If the output is in the way.
    """
    from ..encoders.sentence_encoder import SentenceEncoder
    from .export_folder import card_of_export
    from .verification import embeddings, lowest_cosine, probes

    source = model_folder(settings.model)
    model_type = _check_source(source)
    if settings.format == "safetensors" and settings.weights == INT8 and model_type not in TABLE_MODELS:
        raise UsageError(
            f"--format safetensors --weights int8 is for {' and '.join(TABLE_MODELS)}, not for type {model_type}",
            remedy="use --format onnx, or --weights float16",
        )
    sentences = _sentences(settings.sentences)
    model, tokenizer = load_model_folder(source, model_class(model_type))
    model = model.float()
    before = SentenceEncoder(model, tokenizer).encode(sentences)
    batches = probes(model.config)
    original = embeddings(model, batches)
    # Refuses numbers that are too large for it.
    stored = store_weights({key: value.numpy() for key, value in model.state_dict().items()}, settings.weights)
    with Artefact(
        settings.output, command="export", settings=settings, inputs=[source], overwrite=settings.overwrite
    ) as artefact:
        staging = artefact.staging
        if settings.format == "onnx":
            measured = _write_graph(staging, model, tokenizer, stored)
        else:
            measured = _write_model(staging, model, tokenizer, stored, settings.weights, source)
        written = [*staging.glob("onnx/*"), *staging.glob("*.safetensors")]
        lowest = lowest_cosine(original, embeddings(model, batches))
        results = {**_sizes(written, source), "lowest_cosine": lowest, **measured}
        if sentences:
            results |= _compared(before, SentenceEncoder.from_pretrained(staging).encode(sentences))
        artefact.finish(results=results, card=card_of_export(artefact, model, source=source, results=results))
    difference = results.get("largest_difference")
    log(
        f"{settings.output}: {results['megabytes']:.1f} MB of weights ({results['source_megabytes']:.1f} MB in "
        f"{source}); cosine with the model's vectors at least {results['lowest_cosine']:.6f}"
        + ("" if difference is None else f"; the graph differs from PyTorch by {difference:.1e} at most")
    )
    if sentences:
        log(
            f"cosine of {len(sentences):,} sentences with the model's: {results['mean_sentence_cosine']:.6f} in the "
            f"mean, {results['lowest_sentence_cosine']:.6f} at least"
        )
    return Exported(Path(settings.output), results)


def _check_source(source: Path) -> str:
    """Returns the model type of the folder."""
    if is_onnx_folder(source):
        raise ModelError(
            "an ONNX export cannot be exported again", path=source, remedy="give the model that it was made from"
        )
    return check_model_type(
        source, SENTENCE_ENCODERS, kind="sentence encoder, and nothing else can be exported", verb="train-encoder"
    )


def _write_graph(
    staging: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, stored: StoredWeights
) -> dict[str, Any]:
    """Writes graph and configuration; returns what was measured. The model has the weights as they were rounded."""
    from .export_folder import write_configuration
    from .graph_builder import OPSET
    from .onnx_model import build_onnx, save_onnx
    from .verification import verify

    save_onnx(build_onnx(model.config, stored), staging)
    _put_back(model, stored)
    verification = verify(model, staging / ONNX_FILE)
    write_configuration(staging, model, tokenizer)
    return {
        "largest_difference": verification.largest_difference,
        "checked": verification.sentences,
        "opset": OPSET,
    }


def _write_model(
    staging: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    stored: StoredWeights,
    weights: str,
    source: Path,
) -> dict[str, Any]:
    """Writes a model folder. The model has the weights as they were rounded."""
    import torch

    from .export_folder import write_int8_table, write_weights

    if weights == INT8:
        write_int8_table(staging, model.config, stored, tokenizer)
        _put_back(model, stored)
    else:
        write_weights(staging, model.to(getattr(torch, weights)), tokenizer, source)
    return {}


def _sentences(path: str | None) -> list[str]:
    """Reads the sentences to compare by; none without a file."""
    if path is None:
        return []
    if not Path(path).exists():
        raise InputError("no such file", path=Path(path), remedy="check --sentences")
    return [line for block in lines_of_file(Path(path)) for line in block]


def _compared(before: NDArray[np.float32], after: NDArray[np.float32]) -> dict[str, Any]:
    """Computes the cosines of sentences (sentences, dim) before and after; of zero vectors there are none."""
    from .verification import cosines

    found = cosines(before, after)
    return {
        "sentences": len(before),
        "lowest_sentence_cosine": float(found.min(initial=1.0)),
        "mean_sentence_cosine": float(found.mean()) if len(found) else 1.0,
    }


def _put_back(model: PreTrainedModel, stored: StoredWeights) -> None:
    """Gives a model the weights as they were rounded."""
    import torch

    model.load_state_dict({name: torch.from_numpy(value) for name, value in stored.rounded().items()})


def _sizes(files: Iterable[Path], source: Path) -> dict[str, float]:
    """Computes the sizes of the weights, new and old, in megabytes."""
    return {
        "megabytes": sum(path.stat().st_size for path in files) / _MEGABYTE,
        "source_megabytes": sum(path.stat().st_size for path in source.glob("*.safetensors")) / _MEGABYTE,
    }
