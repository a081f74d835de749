"""Writes the folders of sentence encoders, and collects the values of their cards."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from ..artefacts.artefact import Artefact, check_output
from ..artefacts.card_metadata import Measurement
from ..artefacts.cards import Card
from ..artefacts.files import write_json
from ..artefacts.hub_models import fetched_folder, model_folder, repository_name
from ..artefacts.provenance import (
    PROVENANCE,
    SOURCE_PROVENANCE,
    inherited_model_metadata,
    inherited_sections,
    read_provenance,
)
from ..settings import check_overlap
from .backends.base import Backend
from .backends.static_table import StaticTable
from .backends.torch_module import TorchModule, needs_own_code


def inherit_card_values(license: str | None, *starts: str | None) -> dict[str, Any]:
    """Return the license and the base model of weights that started from folders, by default of the first folder."""
    folders = [fetched_folder(start) or Path(start) for start in starts if start is not None]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    metadata = {} if folder is None else _read_metadata(folder)
    return {"model_license": license or metadata.get("license"), "base_model": metadata.get("base_model")}


def _read_metadata(folder: Path) -> dict[str, Any]:
    """Read the metadata of a card that a copy inherits, with a repository of the Hub as the base model."""
    metadata, name = inherited_model_metadata(folder), repository_name(folder) or ""
    return {**metadata, "base_model": name.partition("@")[0]} if "/" in name else metadata


def describe_dev_score(dev_data: str | None, best: float | None, scores: Sequence[Mapping[str, Any]]) -> Measurement:
    """Describe the best development score as a measurement."""
    retrieval = any("source_to_target" in entry for entry in scores)
    name = "precision at 1 (%; nearest sentence of the other language, mean of both directions; it chose the epoch)"
    return Measurement(
        task="sentence-similarity",
        dataset=dev_data,
        split="validation" if retrieval else "dev",
        metric="precision" if retrieval else "pearsonr",
        value=best,
        name=name if retrieval else "Pearson × 100 of the cosine, mean over the dev sets (it chose the epoch)",
        task_name="Finding translations" if retrieval else "Semantic textual similarity",
    )


def count_sizes(model: Any) -> dict[str, int]:
    """Count the token vectors and the parameters of an encoder."""
    config, parameters = getattr(model, "config", None), getattr(model, "parameters", list)
    return {
        "vocabulary": getattr(config, "vocab_size", 0),
        "parameters": sum(parameter.numel() for parameter in parameters()),
    }


def collect_card_values(model: Any, name: str) -> dict[str, Any]:
    """Return the values of every card of an encoder."""
    config = getattr(model, "config", None)
    described = {"model_type": "sentence-transformers"} if config is None else config.to_dict()
    return {
        **described,
        "library_name": "transformers" if needs_own_code(model) else "sentence-transformers",
        "title": name,
        "name": name,
        "parameters": count_sizes(model)["parameters"],
        "hidden_size": getattr(model, "dimension", None) or getattr(config, "hidden_size", None),
    }


def find_card_name(name: str | os.PathLike[str]) -> str:
    """Return the name on a card of the model that another one comes from."""
    folder = model_folder(name, any_type=True)
    return repository_name(folder) or folder.resolve().name


def save_copy(output: str | os.PathLike[str], encoder: Any, *, overwrite: bool) -> Path:
    """Write an open encoder as a folder in float32, whose card and record name its source."""
    source = encoder.folder
    backend, truncate_dim = _saved_backend(encoder)
    check_output(output, overwrite=overwrite)
    if source is not None:
        check_overlap([output], [("the model", source)])
    with Artefact(
        output,
        command="SentenceEncoder.save_pretrained (from Python)",
        settings={"truncate_dim": encoder.truncate_dim},
        inputs=[] if source is None else [source],
        overwrite=overwrite,
    ) as artefact:
        backend.save(artefact.staging, {**encoder.options, "truncate_dim": truncate_dim})
        values = {
            **collect_card_values(backend.model, artefact.target.name),
            "hidden_size": encoder.dimension,
            "truncate_dim": encoder.truncate_dim,
            **describe_source(source, artefact.staging),
            "is_trained": False,
        }
        artefact.finish(card=Card("saved_encoder", values, kind="model_cards"))
    return Path(output)


def describe_source(source: Path | None, staging: Path | None = None) -> dict[str, Any]:
    """Return the values of a card about the source of an encoder, and copy the record of the source to `staging`.

    The copy contains the record of the source's own source as `source`, so that no step is lost.
    """
    if source is None:
        return {"source": None, "metadata": "", "model_license": None}
    has_record = staging is not None and (source / PROVENANCE).is_file()
    if staging is not None and has_record:
        record = read_provenance(source)
        if (source / SOURCE_PROVENANCE).is_file():
            record["source"] = read_provenance(source, SOURCE_PROVENANCE)
        write_json(staging / SOURCE_PROVENANCE, record)
    metadata = _read_metadata(source)
    return {
        "metadata": yaml.safe_dump(metadata, allow_unicode=True, sort_keys=False).strip() if metadata else "",
        "model_license": metadata.get("license"),
        "source": repository_name(source) or source.resolve().name,
        # The new folder has the record of the source under another name.
        "source_text": inherited_sections(source).replace(f"`{PROVENANCE}`", f"`{SOURCE_PROVENANCE}`"),
        "has_source_provenance": has_record,
    }


def _saved_backend(encoder: Any) -> tuple[Backend, int | None]:
    """Return the backend to write, in float32 and truncated if possible, and else the truncation to record."""
    backend, size = encoder.backend, encoder.truncate_dim
    if isinstance(backend, StaticTable):
        backend = backend.as_module()
    # Third-party folders and graphs keep their precision and size.
    if not hasattr(backend.model, "embeddings"):
        return backend, size
    import torch

    from ..models.modeling_avg import AvgModel

    assert isinstance(backend, TorchModule)
    model, processing = backend.model, backend.processing
    if size is not None and type(model) is AvgModel and (processing.truncate_first or not processing.normalize):
        config = copy.deepcopy(model.config)
        config.hidden_size = size
        table, model = model.embeddings.detach()[:, :size], AvgModel(config)
        model.load_state_dict({"embeddings": table.contiguous()}, assign=True)
        size = None
    if model.dtype != torch.float32:
        model = copy.deepcopy(model).float()
    return TorchModule(model, backend.tokenizer, processing), size
