"""Folders of sentence-transformers with modules that only that library has, such as routers: opened by it."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedTokenizerFast

from ...artefacts.files import opening, quiet_transformers
from ...errors import ModelError
from .batch_tokenizer import InputProcessing
from .pooled_transformer import PooledTransformer
from .sentence_transformers_files import MODULES_FILE

_TOKENIZING = Lock()
"""Several threads encode, and a tokenizer of the library pads for one at a time."""


class LibraryModel(PooledTransformer):
    """A `SentenceTransformer` as an encoder of ours, whose tokens are the bytes of a text.

    So it reads whole texts, as routers and tokenizers of other kinds want them. `task` is that of a router.
    """

    def __init__(self, library: Any) -> None:
        has_all = all(getattr(module, "include_prompt", True) for module in library.modules())
        super().__init__(library, include_prompt=has_all)
        self.task: str | None = None
        # The encoder truncates.
        library.truncate_dim = None
        self.config = PreTrainedConfig(hidden_size=int(library.encode("a").shape[-1]), vocab_size=256)

    @property
    def max_seq_length(self) -> int | None:
        """How many tokens of a text the library reads; None for all."""
        length = self.transformer.max_seq_length
        return None if length in (None, float("inf")) else int(length)

    @max_seq_length.setter
    def max_seq_length(self, length: int | None) -> None:
        self.transformer.max_seq_length = length

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, unpooled: int = 0) -> SimpleNamespace:
        """Embeds texts from their bytes (texts, length), of which the first stands for none."""
        lengths = [input_ids.shape[1]] * len(input_ids) if attention_mask is None else attention_mask.sum(1).tolist()
        rows = [row[1:length] for row, length in zip(input_ids.tolist(), lengths, strict=True)]
        if unpooled:
            rows.append(rows[0][: unpooled - 1])
        texts = byte_tokenizer().backend_tokenizer.decode_batch(rows, skip_special_tokens=False)
        # Versions below 6 call it `tokenize`.
        tokenize = getattr(self.transformer, "preprocess", self.transformer.tokenize)
        with _TOKENIZING:
            features = tokenize(texts[: len(input_ids)], task=self.task)
            if unpooled:
                # The end of a text is marked by a last token.
                features["prompt_length"] = tokenize(texts[-1:], task=self.task)["input_ids"].shape[1] - 1
        features = {key: value.to(self.device) if hasattr(value, "to") else value for key, value in features.items()}
        return SimpleNamespace(pooler_output=self.transformer(features, task=self.task)["sentence_embedding"])

    def save(self, folder: Path, encoder: Any) -> None:
        """Writes a folder that sentence-transformers opens."""
        self.transformer.prompts.update(encoder.prompts)
        self.transformer.default_prompt_name = encoder.default_prompt_name
        self.transformer.truncate_dim = encoder.truncate_dim
        with quiet_transformers():
            self.transformer.save_pretrained(str(folder), create_model_card=False)


@cache
def byte_tokenizer() -> PreTrainedTokenizerFast:
    """Makes a tokenizer whose tokens are the bytes of a text after a first one, so that no text is empty."""
    letters = {letter: number for number, letter in enumerate(sorted(pre_tokenizers.ByteLevel.alphabet()))}
    first = next(iter(letters))
    backend = Tokenizer(models.BPE(letters, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.TemplateProcessing(single=f"{first} $A", special_tokens=[(first, 0)])
    return PreTrainedTokenizerFast(tokenizer_object=backend, pad_token=first)


def open_by_library(
    folder: Path, *, dtype: str | torch.dtype | None, trust_remote_code: bool
) -> tuple[LibraryModel, Any, InputProcessing]:
    """Opens a folder by sentence-transformers, in evaluation mode, with its tokenizer and what is done with texts."""
    if find_spec("sentence_transformers") is None:
        what = "it has modules that only sentence-transformers opens"
        raise ModelError(what, path=folder / MODULES_FILE, remedy="pip install sentence-transformers")
    pickles = (path for path in folder.rglob("pytorch_model.bin") if not path.with_name("model.safetensors").is_file())
    if pickle := next(pickles, None):
        raise ModelError("it has no model.safetensors", path=pickle.parent, remedy="convert it to safetensors first")
    with opening("the sentence encoder", folder, "see whether sentence-transformers opens it"):
        from sentence_transformers import SentenceTransformer

        library = SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=trust_remote_code,
            model_kwargs={} if dtype is None else {"dtype": dtype},
        )
        return LibraryModel(library.eval()), byte_tokenizer(), InputProcessing(blank_is_empty=False)
