"""An opened encoder as a folder again: ordinary weights in float32, with a card and a record that name the source."""

from __future__ import annotations

import copy
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from ..artefacts.artefact import Artefact, Card, check_output
from ..artefacts.hub_models import repository_name
from ..artefacts.provenance import PROVENANCE, SOURCE_PROVENANCE, inherited_model_metadata, inherited_sections
from ..settings import check_overlap
from .model_folder import card_values, write_model_files

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase


def save_copy(
    output: str | os.PathLike[str],
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    *,
    source: Path | None,
    truncate_dim: int | None,
    overwrite: bool,
) -> Path:
    """Writes a model folder that `AutoModel` and sentence-transformers open too."""
    import torch
    import yaml

    check_output(output, overwrite=overwrite)
    if source is not None:
        check_overlap([output], [("the model", source)])
    if model.dtype != torch.float32:
        model = copy.deepcopy(model).float()
    settings = {"truncate_dim": truncate_dim}
    command = "SentenceEncoder.save_pretrained (from Python)"
    inputs = [] if source is None else [source]
    with Artefact(output, command=command, settings=settings, inputs=inputs, overwrite=overwrite) as artefact:
        staging = artefact.staging
        write_model_files(staging, model, tokenizer)
        has_source_provenance = source is not None and (source / PROVENANCE).is_file()
        if source is not None and has_source_provenance:
            shutil.copyfile(source / PROVENANCE, staging / SOURCE_PROVENANCE)
        metadata = {} if source is None else inherited_model_metadata(source)
        values = {
            **card_values(model, artefact.target.name),
            "metadata": yaml.safe_dump(metadata, allow_unicode=True, sort_keys=False).strip() if metadata else "",
            "model_license": metadata.get("license"),
            "source": None if source is None else repository_name(source) or source.resolve().name,
            "source_text": ""
            if source is None
            else inherited_sections(source).replace(f"`{PROVENANCE}`", f"`{SOURCE_PROVENANCE}`"),
            "has_source_provenance": has_source_provenance,
            "truncate_dim": truncate_dim,
        }
        artefact.finish(card=Card("copied_encoder", values, kind="model_cards"))
    return Path(output)
