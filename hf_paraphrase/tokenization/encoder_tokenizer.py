"""Any fast tokenizer for a sentence encoder: opened from a folder and stripped of what would count in every mean."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ..artefacts.files import opening
from ..artefacts.model_loading import open_tokenizer_folder
from ..errors import ModelError
from .word_level import PAD_TOKEN, UNKNOWN_TOKEN, as_fast_tokenizer

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

_REMEDY = "give a folder that train-tokenizer made, or that of a fast tokenizer (tokenizer.json)"


def load_encoder_tokenizer(folder: str | os.PathLike[str]) -> PreTrainedTokenizerFast:
    """Opens the tokenizer in a folder, whatever its kind, for the use of a sentence encoder.

    It adds no special tokens any more (`[CLS]` or `</s>` would count in every mean), truncates nothing and pads on the
    right. Where it has no padding or unknown token (byte-level BPE has none), `[PAD]` or `[UNK]` is added to its
    vocabulary. Apart from that it gives the ids that it gave before.
    """
    path = Path(folder)
    if not path.is_dir():
        raise ModelError("no such tokenizer folder", path=path, remedy=_REMEDY)
    if not (path / "tokenizer.json").is_file():
        raise ModelError("no tokenizer.json in this folder", path=path, remedy=_REMEDY)
    given = open_tokenizer_folder(path)
    if not given.is_fast:
        raise ModelError("not a fast tokenizer", path=path, remedy=_REMEDY)
    # Of two tokens with one id it is written with one alone, and may not open again.
    with opening("the tokenizer", path, _REMEDY):
        backend = _without_additions(given)
    # A class of its own might put the additions back whenever it is opened.
    tokenizer = as_fast_tokenizer(
        backend, pad_token=given.pad_token or PAD_TOKEN, unk_token=given.unk_token or UNKNOWN_TOKEN
    )
    ids = set(tokenizer.get_vocab().values())
    if ids != set(range(len(tokenizer))):
        raise ModelError(
            f"the vocabulary has {len(ids)} tokens and ids up to {max(ids)}: some have no token",
            path=path,
            remedy="number the tokens from 0 without gaps",
        )
    return tokenizer


def _without_additions(tokenizer: PreTrainedTokenizerFast) -> Tokenizer:
    from tokenizers import Tokenizer

    parts = json.loads(tokenizer.backend_tokenizer.to_str())
    parts.update(post_processor=None, truncation=None, padding=None)
    return Tokenizer.from_str(json.dumps(parts))
