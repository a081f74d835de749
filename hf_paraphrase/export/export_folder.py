"""Writes the folder of an exported sentence encoder: everything that its readers need, and nothing of the training."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.artefact import Artefact, Card
from ..artefacts.hub_models import repository_name
from ..artefacts.inherited_cards import inherited_model_metadata, inherited_sections
from ..artefacts.int8_tables import DTYPE_KEY, INT8, SCALES, TABLE, is_int8_folder
from ..artefacts.provenance import FILE_NAME, SOURCE_FILE_NAME
from ..artefacts.quiet_libraries import quiet_transformers
from ..models.sentence_transformers_files import write_module_files
from .stored_weights import StoredWeights

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_MODULE_FILES = (
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "1_Pooling/config.json",
)
"""By which sentence-transformers and model2vec open a folder with weights."""
_NAMES_OF_CLASSES = ("auto_map", "architectures")
"""What configurations say of the code that opens them."""


def write_configuration(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Writes configuration and tokenizer, with the code of ours that reads them, beside an ONNX graph."""
    from ..tokenization.word_level import save_tokenizer

    model.config.save_pretrained(folder)
    path = folder / "config.json"
    config = json.loads(path.read_text(encoding="utf-8"))
    # The graph computes in float32, and there are no weights for a class to open.
    config["dtype"] = "float32"
    config["auto_map"] = {name: place for name, place in config.get("auto_map", {}).items() if name == "AutoConfig"}
    _write_json(path, config)
    save_tokenizer(tokenizer, folder)


def write_weights(folder: Path, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source: Path) -> None:
    """Writes a model folder like that in `source`, with the weights in the type that they have in `model`."""
    from ..tokenization.word_level import save_tokenizer

    with quiet_transformers():
        model.save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    if is_int8_folder(source):
        write_module_files(folder, model.config.model_type, model.config.hidden_size)
    for name in _MODULE_FILES:
        if (source / name).is_file():
            (folder / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(source / name, folder / name)


def write_int8_table(folder: Path, config: Any, stored: StoredWeights, tokenizer: PreTrainedTokenizerBase) -> None:
    """Writes the folder of a table of vectors in 8-bit integers; see :mod:`~..artefacts.int8_tables`.

    There is no code of model or tokenizer in it, nor what sentence-transformers opens: transformers would take the
    integers for vectors.

    Args:
        folder: The folder.
        config: The configuration of the model.
        stored: Its one matrix, in int8.
        tokenizer: Its tokenizer.
    """
    from safetensors.numpy import save_file

    from ..tokenization.word_level import save_tokenizer

    table = stored.matrices[TABLE]
    assert table.scales is not None
    save_file({TABLE: table.values, SCALES: table.scales}, folder / "model.safetensors", {"format": "np"})
    settings = config.to_diff_dict() | {"dtype": "float32", DTYPE_KEY: INT8}
    _write_json(folder / "config.json", settings)
    save_tokenizer(tokenizer, folder)
    for code in folder.glob("*.py"):
        code.unlink()
    for name in ("config.json", "tokenizer_config.json"):
        settings = json.loads((folder / name).read_text(encoding="utf-8"))
        _write_json(folder / name, {key: value for key, value in settings.items() if key not in _NAMES_OF_CLASSES})


def _write_json(path: Path, settings: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(settings, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def card_of_export(artefact: Artefact, model: PreTrainedModel, *, source: Path, results: Mapping[str, Any]) -> Card:
    """Copies the provenance of the model beside that of the export, and returns the card.

    Args:
        artefact: The export.
        model: The model that was exported.
        source: Its folder.
        results: What was measured.
    """
    import yaml

    settings, name = artefact.settings.record(), artefact.target.name  # type: ignore[union-attr]
    has_source_provenance = (source / FILE_NAME).is_file()
    if has_source_provenance:
        shutil.copyfile(source / FILE_NAME, artefact.staging / SOURCE_FILE_NAME)
    metadata = inherited_model_metadata(source)
    config = model.config
    values = {
        "metadata": yaml.safe_dump(metadata, allow_unicode=True, sort_keys=False).strip() if metadata else "",
        "library_name": _library(settings["format"], settings["weights"]),
        "model_type": config.model_type,
        "format": settings["format"],
        "weights": settings["weights"],
        "title": name,
        "name": name,
        "model_license": metadata.get("license"),
        "source": repository_name(source) or source.resolve().name,
        "hidden_size": config.hidden_size,
        "vocab_sizes": list(getattr(config, "vocab_sizes", [])),
        "has_source_provenance": has_source_provenance,
        # What the text says of the source's record holds for the copy of it.
        "source_text": inherited_sections(source).replace(f"`{FILE_NAME}`", f"`{SOURCE_FILE_NAME}`"),
        "opset": None,
        "largest_difference": None,
        "checked": None,
        "sentences": None,
        **results,
    }
    return Card("exported_encoder", values, kind="model_cards")


def _library(format: str, weights: str) -> str:
    """Names the library that the Hub shall show the code of."""
    if format == "onnx":
        return "onnx"
    return "hf-paraphrase" if weights == INT8 else "transformers"
