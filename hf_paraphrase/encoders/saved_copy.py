"""An opened encoder as a folder again: ordinary weights in float32, with a card and a record that name the source."""

from __future__ import annotations

import copy
import os
import shutil
from pathlib import Path
from typing import Any

from ..artefacts.artefact import Artefact, Card, check_output
from ..artefacts.hub_models import repository_name
from ..artefacts.provenance import PROVENANCE, SOURCE_PROVENANCE, inherited_model_metadata, inherited_sections
from ..errors import ModelError
from ..settings import check_overlap
from .model_folder import card_values, write_model_files
from .onnx_encoder import OnnxModel


def save_copy(output: str | os.PathLike[str], encoder: Any, *, overwrite: bool) -> Path:
    """Writes the folder of :meth:`~.sentence_encoder.SentenceEncoder.save_pretrained`, which `encoder` is one of."""
    import yaml

    source = encoder.folder
    model = _saved_model(encoder)
    check_output(output, overwrite=overwrite)
    if source is not None:
        check_overlap([output], [("the model", source)])
    settings = {"truncate_dim": encoder.truncate_dim}
    command = "SentenceEncoder.save_pretrained (from Python)"
    inputs = [] if source is None else [source]
    with Artefact(output, command=command, settings=settings, inputs=inputs, overwrite=overwrite) as artefact:
        staging = artefact.staging
        is_third_party = hasattr(model, "transformer")
        if is_third_party:
            from .pooled_transformer import save_transformer

            prompts = {"prompts": encoder.prompts, "default_prompt_name": encoder.default_prompt_name}
            save_transformer(staging, model, encoder.tokenizer, encoder.reading, prompts)
        else:
            write_model_files(staging, model, encoder.tokenizer)
        has_source_provenance = source is not None and (source / PROVENANCE).is_file()
        if source is not None and has_source_provenance:
            shutil.copyfile(source / PROVENANCE, staging / SOURCE_PROVENANCE)
        metadata = {} if source is None else inherited_model_metadata(source)
        name = None if source is None else repository_name(source)
        if name is not None and "/" in name:
            metadata.setdefault("base_model", name.partition("@")[0])
        values = {
            **card_values(model, artefact.target.name),
            "hidden_size": encoder.dimension,
            "third_party": is_third_party,
            **({"library_name": "sentence-transformers"} if is_third_party else {}),
            "metadata": yaml.safe_dump(metadata, allow_unicode=True, sort_keys=False).strip() if metadata else "",
            "model_license": metadata.get("license"),
            "source": None if source is None else name or source.resolve().name,
            "source_text": ""
            if source is None
            else inherited_sections(source).replace(f"`{PROVENANCE}`", f"`{SOURCE_PROVENANCE}`"),
            "has_source_provenance": has_source_provenance,
            "truncate_dim": encoder.truncate_dim,
        }
        artefact.finish(card=Card("copied_encoder", values, kind="model_cards"))
    return Path(output)


def _saved_model(encoder: Any) -> Any:
    """Returns the model to write: in float32, and an average that is truncated with so many columns."""
    import torch

    from ..models.modeling_avg import AvgModel

    model = encoder.model
    if isinstance(model, OnnxModel):
        raise ModelError(
            "an ONNX model cannot be saved as another", path=encoder.folder, remedy="save the one it was made from"
        )
    if encoder.truncate_dim is not None and type(model) is AvgModel:
        model = truncated_average(model, encoder.truncate_dim)
    elif encoder.truncate_dim is not None:
        raise ModelError(
            f"a model of type `{model.config.model_type}` cannot be saved with fewer components than it has",
            path=encoder.folder,
            remedy="save it whole, and open it with truncate_dim",
        )
    return model if model.dtype == torch.float32 else copy.deepcopy(model).float()


def truncated_average(model: Any, truncate_dim: int) -> Any:
    """Makes the average whose embeddings are the first components of those of another, by keeping so many columns."""
    import torch

    config = copy.deepcopy(model.config)
    config.hidden_size = truncate_dim
    with torch.device("meta"):
        made = type(model)(config)
    table = model.embeddings.detach()[:, :truncate_dim].clone(memory_format=torch.contiguous_format)
    made.load_state_dict({"embeddings": table}, assign=True)
    return made.train(model.training)
