"""Opens the sentence encoders of any library: to teach, and to be compared with ours. No code of theirs runs."""

from __future__ import annotations

import os

from ..artefacts.files import read_json_object
from ..artefacts.hub_models import model_folder
from ..errors import ModelError
from ..models.registry import SENTENCE_ENCODERS
from .distillation.teacher import Teacher
from .kinds import own_classes
from .onnx_encoder import is_onnx_folder
from .sentence_encoder import SentenceEncoder
from .static_folders import MODEL2VEC, static_modules
from .wordllama_folder import is_wordllama, open_wordllama


def open_encoder(
    name: str | os.PathLike[str], *, device: str | None = None, bf16: bool = False
) -> SentenceEncoder | Teacher:
    """Opens any sentence encoder.

    Args:
        name: A folder of ours, of sentence-transformers or transformers (mean, cls and other poolings, dense layers),
            of model2vec or of wordllama; where there is no such folder, `builtin`, `wordllama` for the table of that
            package if it is installed, or `namespace/name` of a repository of the Hub.
        device: Where to compute; None for the CPU.
        bf16: Compute in bfloat16; ours and tables always compute in fp32.
    """
    if is_wordllama(name):
        return open_wordllama(name)
    folder = model_folder(name)
    settings = folder / "config.json"
    model_type = read_json_object(settings, ModelError).get("model_type") if settings.is_file() else None
    ours = {*SENTENCE_ENCODERS, MODEL2VEC, *(kind.config_class.model_type for kind in own_classes().values())}
    is_a_transformers = model_type is not None or (folder / "modules.json").is_file()
    if model_type in ours or is_onnx_folder(folder) or static_modules(folder) is not None or not is_a_transformers:
        return SentenceEncoder.from_pretrained(name, device=device)
    return Teacher.from_pretrained(folder, device=device, bf16=bf16)
