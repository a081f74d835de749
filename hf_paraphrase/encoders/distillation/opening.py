"""Opens whatever can teach."""

from __future__ import annotations

import os
from pathlib import Path

from ...artefacts.foreign_files import read_json_object
from ...errors import ModelError
from ...models.registry import SENTENCE_ENCODERS
from ..kinds import own_classes
from ..onnx_encoder import is_onnx_folder
from ..sentence_encoder import SentenceEncoder
from .teacher import SentenceVectors, Teacher


def open_teacher(folder: str | os.PathLike[str], *, device: str | None = None, bf16: bool = False) -> SentenceVectors:
    """Opens the folder of any sentence encoder: of transformers or sentence-transformers, or one of ours.

    Args:
        folder: The folder.
        device: Where to compute; None for the CPU.
        bf16: Compute in bfloat16; ours always compute in fp32.

    Raises:
        ModelError: If it is missing or damaged, or is built in a way that cannot be followed.
    """
    path = Path(folder)
    ours = {*SENTENCE_ENCODERS, *(found.config_class.model_type for found in own_classes().values())}
    settings = path / "config.json"
    known = read_json_object(settings, ModelError).get("model_type") if settings.is_file() else None
    if known in ours or is_onnx_folder(path):
        return SentenceEncoder.from_pretrained(folder, device=device)
    return Teacher.from_pretrained(folder, device=device, bf16=bf16)
