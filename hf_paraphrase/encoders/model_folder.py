"""Writes the folder of a sentence encoder: weights, code, tokenizer, provenance and card."""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from ..artefacts.artefact import Artefact, check_output
from ..artefacts.card_heads import Measurement
from ..artefacts.cards import Card
from ..artefacts.files import quiet_transformers
from ..artefacts.hub_models import fetched_folder, model_folder, repository_name
from ..artefacts.provenance import PROVENANCE, SOURCE_PROVENANCE, inherited_model_metadata, inherited_sections
from ..errors import ModelError
from ..settings import check_overlap
from ..tokenization.word_level import save_tokenizer
from .architectures import check_own_class, is_own_class
from .backends.onnx_graph import OnnxModel
from .backends.sentence_transformers_files import write_module_files

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def write_model_files(
    folder: Path,
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    weights: Mapping[str, Tensor] | None = None,
    options: Mapping[str, Any] | None = None,
) -> None:
    """Writes an encoder so that `AutoModel`, sentence-transformers and we open it; see the contract on artefacts.

    A model class of the user is saved with the file that it is in.
    """
    check_own_class(model)
    if is_own_class(model):
        for kind, auto_class in ((type(model), "AutoModel"), (type(model.config), "AutoConfig")):
            if kind._auto_class is None:
                kind.register_for_auto_class(auto_class)
    with quiet_transformers():
        model.save_pretrained(folder, state_dict=None if weights is None else dict(weights))
        save_tokenizer(tokenizer, folder)
    write_module_files(folder, model.config.hidden_size, options, is_table=not _needs_own_code(model))


def inherited_by_card(license: str | None, *starts: str | None) -> dict[str, Any]:
    """Returns the licence and the base model of weights that started from folders: by default those of the first."""
    folders = [fetched_folder(start) or Path(start) for start in starts if start is not None]
    folder = next((folder for folder in folders if folder.is_dir()), None)
    if folder is None:
        return {"model_license": license}
    metadata, name = inherited_model_metadata(folder), repository_name(folder) or ""
    base_model = name.partition("@")[0] if "/" in name else metadata.get("base_model")
    return {"model_license": license or metadata.get("license"), "base_model": base_model}


def dev_measurement(dev_data: str | None, best: float | None, scores: Sequence[Mapping[str, Any]]) -> Measurement:
    """Describes the best development score as a measurement."""
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


def sizes_of(model: PreTrainedModel) -> dict[str, int]:
    """Counts the token vectors and the parameters of an encoder, for its record."""
    return {
        "vocabulary": model.config.vocab_size,
        "parameters": sum(item.numel() for item in model.parameters()),
    }


def card_values(model: PreTrainedModel, name: str) -> dict[str, Any]:
    """Returns what every card of an encoder says of it."""
    return {
        **model.config.to_dict(),
        "library_name": "transformers" if _needs_own_code(model) else "sentence-transformers",
        "title": name,
        "name": name,
        "parameters": sizes_of(model)["parameters"],
        "hidden_size": getattr(model, "dimension", model.config.hidden_size),
    }


def name_on_card(name: str | os.PathLike[str]) -> str:
    """Describes for a card the model that another one comes from."""
    folder = model_folder(name, any_type=True)
    return repository_name(folder) or folder.resolve().name


def _needs_own_code(model: PreTrainedModel) -> bool:
    """Returns whether sentence-transformers opens the folder only with code: that of an average it has itself."""
    is_average = model.config.model_type == "avg" and not is_own_class(model)
    return not is_average and not hasattr(model, "transformer")


def save_copy(output: str | os.PathLike[str], encoder: Any, *, overwrite: bool) -> Path:
    """Writes an open encoder as an ordinary folder in float32, whose card and record name where it comes from."""
    source: Path | None = encoder.folder
    model = _saved_model(encoder)
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
        if hasattr(model, "transformer"):
            model.save(artefact.staging, encoder)
        else:
            write_model_files(artefact.staging, model, encoder.tokenizer, options=encoder.prompt_options)
        values = {
            **card_values(model, artefact.target.name),
            "hidden_size": encoder.dimension,
            "truncate_dim": encoder.truncate_dim,
            **card_of_source(source, artefact.staging),
            "is_trained": False,
        }
        artefact.finish(card=Card("saved_encoder", values, kind="model_cards"))
    return Path(output)


def card_of_source(source: Path | None, staging: Path | None = None) -> dict[str, Any]:
    """Returns what a card says of the folder that an encoder comes from, whose record is put into `staging`."""
    if source is None:
        return {"source": None, "metadata": "", "model_license": None}
    has_record = staging is not None and (source / PROVENANCE).is_file()
    if staging is not None and has_record:
        shutil.copyfile(source / PROVENANCE, staging / SOURCE_PROVENANCE)
    metadata = inherited_model_metadata(source)
    name = repository_name(source)
    if name is not None and "/" in name:
        metadata["base_model"] = name.partition("@")[0]
    return {
        "metadata": yaml.safe_dump(metadata, allow_unicode=True, sort_keys=False).strip() if metadata else "",
        "model_license": metadata.get("license"),
        "source": name or source.resolve().name,
        # The text names the record of the source, of which the new folder has a copy.
        "source_text": inherited_sections(source).replace(f"`{PROVENANCE}`", f"`{SOURCE_PROVENANCE}`"),
        "has_source_provenance": has_record,
    }


def _saved_model(encoder: Any) -> Any:
    """Returns the model to write: in float32, and an average that is truncated with so many columns."""
    import torch

    from ..models.modeling_avg import AvgModel

    model = encoder.model
    if isinstance(model, OnnxModel):
        what = "an ONNX model cannot be saved as another"
        raise ModelError(what, path=encoder.folder, remedy="save the one it was made from")
    if encoder.truncate_dim is not None and not hasattr(model, "transformer"):
        if type(model) is not AvgModel:
            what = f"a model of type `{model.config.model_type}` cannot be saved with fewer components than it has"
            raise ModelError(what, path=encoder.folder, remedy="save it whole, and open it with truncate_dim")
        config = copy.deepcopy(model.config)
        config.hidden_size = encoder.truncate_dim
        table, model = model.embeddings.detach()[:, : encoder.truncate_dim], AvgModel(config)
        model.load_state_dict({"embeddings": table.contiguous()}, assign=True)
    return model if model.dtype == torch.float32 else copy.deepcopy(model).float()
