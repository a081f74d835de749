"""The encoders that `tune` trains: their settings, from a model type or from a file of `train-encoder`."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ...encoders.train import train_encoder
from ...encoders.train_settings import EncoderSettings
from ...errors import UsageError
from ...registry import EXTENSIONS
from ...settings import flag, is_given, values_from_file

_NOT_OF_A_RUN = {"pairs", "output", "dev_data", "seed", "max_pairs", "report_to"}
_NOWHERE = {"pairs": "-", "output": "-"}


def encoder_settings(name: str, **given: Any) -> tuple[str, EncoderSettings]:
    """Reads the settings of an encoder as `train-encoder` does.

    Args:
        name: A model type, or a YAML file of settings of `train-encoder`, optionally as NAME=FILE.
        **given: Further settings of `train-encoder`, which win over those of the file.

    Returns:
        The encoder's name in tables, and its settings.
    """
    label, equals, path = name.partition("=")
    if not equals and name.endswith((".yaml", ".yml")):
        label, path = Path(name).stem, name
    kind: Any = train_encoder.settings
    settings: EncoderSettings = (
        kind(**{**values_from_file(kind, Path(path)), **_NOWHERE, **given})
        if path
        else kind(model_type=name, **_NOWHERE, **given)
    )
    settings.check()
    if settings.loss != "margin":
        raise UsageError(f"the encoder {label} has --loss {settings.loss}", remedy="tune with the margin loss")
    if settings.initial_model is not None:
        raise UsageError(f"the encoder {label} has --initial-model", remedy="tune without it, then train with it")
    for extension in EXTENSIONS.values():
        for field in dataclasses.fields(extension.settings):
            if is_given(settings, field.name):
                raise UsageError(
                    f"the encoder {label} has {flag(field.name)}", remedy="tune without it, then train with it"
                )
    if not settings.epochs:
        raise UsageError(f"the encoder {label} is trained for no epoch", remedy="give --epochs above 0")
    return label, settings


def run_settings(settings: EncoderSettings) -> dict[str, Any]:
    """Returns the settings of an encoder, as they are after its file and all flags, that hold for each of its runs."""
    return {name: value for name, value in settings.record().items() if name not in _NOT_OF_A_RUN}


def encoder_files(names: Sequence[str], encoders: Iterable[EncoderSettings]) -> list[str]:
    """Lists the files and folders that encoders are made from, each once."""
    files = [word.partition("=")[2] or word for word in names if "=" in word or word.endswith((".yaml", ".yml"))]
    for settings in encoders:
        files += [path for path in files_of(settings) if path is not None]
    return sorted(set(files))


def files_of(settings: EncoderSettings) -> tuple[str | None, ...]:
    """Returns the files and folders that an encoder is made from, None for each that it has not."""
    return settings.initial_vectors, settings.tokenizer, settings.word_list
