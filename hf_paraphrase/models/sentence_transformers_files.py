"""The small files by which sentence-transformers opens the folder of a sentence encoder.

Their layout is the older one (`sentence_transformers.models.…` for the modules, `pooling_mode_…` switches for the
pooling), because old and new versions read it: 5.2 as it is, and 6.2 turns it into its own names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_STATIC = "avg"
"""The one model type that is a table of vectors and nothing else, so that it needs no code of ours."""
_POOLING_FOLDER = "1_Pooling"


def needs_own_code(model_type: str) -> bool:
    """Returns whether sentence-transformers opens such a folder only with `trust_remote_code=True`."""
    return model_type != _STATIC


def write_module_files(folder: Path, model_type: str, hidden_size: int) -> None:
    """Writes `modules.json` and what belongs to it.

    An average of word vectors is a `StaticEmbedding`, read from `model.safetensors` and `tokenizer.json` beside it,
    which model2vec opens too. Any other encoder is a `Transformer`, that is whatever `AutoModel` opens in the folder,
    and the mean over its tokens, which the contract on `last_hidden_state` makes the sentence embedding.
    """
    modules = [_module(0, "", "StaticEmbedding")]
    if needs_own_code(model_type):
        modules = [_module(0, "", "Transformer"), _module(1, _POOLING_FOLDER, "Pooling")]
        # Texts of any length are read whole; the tokenizer lower-cases where the encoder wants it.
        _write(folder / "sentence_bert_config.json", {"max_seq_length": None, "do_lower_case": False})
        pooling = {
            "word_embedding_dimension": hidden_size,
            "pooling_mode_cls_token": False,
            "pooling_mode_mean_tokens": True,
            "pooling_mode_max_tokens": False,
            "pooling_mode_mean_sqrt_len_tokens": False,
        }
        _write(folder / _POOLING_FOLDER / "config.json", pooling)
    _write(folder / "modules.json", modules)
    settings: dict[str, Any] = {"prompts": {}, "default_prompt_name": None, "similarity_fn_name": "cosine"}
    _write(folder / "config_sentence_transformers.json", settings)


def write_package_module(folder: Path) -> None:
    """Writes the `modules.json` of a folder that sentence-transformers opens by this package alone, as one of int8."""
    module = {**_module(0, "", ""), "type": "hf_paraphrase.encoders.sentence_transformers_module.EncoderModule"}
    _write(folder / "modules.json", [module])


def _module(place: int, path: str, name: str) -> dict[str, Any]:
    return {"idx": place, "name": str(place), "path": path, "type": f"sentence_transformers.models.{name}"}


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
