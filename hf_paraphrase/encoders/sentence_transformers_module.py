"""The module that lets sentence-transformers open folders that it cannot read itself, such as `builtin`.

`modules.json` names the class, which sentence-transformers imports with `trust_remote_code=True`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

import torch
from sentence_transformers.models import Module
from torch import Tensor

from ..tokenization.ragged_ids import TokenIds
from .sentence_encoder import SentenceEncoder


class EncoderModule(Module):
    """Embeds texts with a :class:`~.sentence_encoder.SentenceEncoder`, without gradients."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of the encoder."""
        return self.encoder.tokenizer

    @property
    def max_seq_length(self) -> int | None:
        """The maximum number of tokens per text; None for no limit."""
        return self.encoder.max_seq_length

    @max_seq_length.setter
    def max_seq_length(self, length: int | None) -> None:
        self.encoder.max_seq_length = length

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **options: Any) -> Self:
        """Open the folder, or the repository of the Hub."""
        folder = Path(model_name_or_path)
        return cls(SentenceEncoder.from_pretrained(folder / subfolder if folder.is_dir() else model_name_or_path))

    def tokenize(self, texts: list[str], **options: Any) -> dict[str, Tensor]:
        """Compute the concatenated token ids of texts."""
        return self.preprocess(texts)

    def preprocess(self, inputs: list[str], prompt: str | None = None, **options: Any) -> dict[str, Tensor]:
        """Compute the token ids of texts with a prompt before each; the library adds the default prompt itself."""
        ids, offsets = self.encoder.token_ids(inputs, prompt or "")
        return {"input_ids": torch.from_numpy(ids), "offsets": torch.from_numpy(offsets)}

    def forward(self, features: dict[str, Any], **options: Any) -> dict[str, Any]:
        """Add the embeddings (texts, dim)."""
        ids = TokenIds(*(features[name].cpu().numpy() for name in ("input_ids", "offsets")))
        vectors = torch.from_numpy(self.encoder.encode_token_ids(ids))
        return {**features, "sentence_embedding": vectors.to(features["input_ids"].device)}

    def get_embedding_dimension(self) -> int:
        """Return the number of components of an embedding."""
        return self.encoder.dimension

    get_sentence_embedding_dimension = get_embedding_dimension

    def save(self, output_path: str, *args: Any, **options: Any) -> None:
        """Write an ordinary folder, which opens without this class."""
        self.encoder.save_pretrained(output_path, overwrite=True)
