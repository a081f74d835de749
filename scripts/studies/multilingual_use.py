"""The multilingual Universal Sentence Encoder as a module of sentence-transformers (Yang et al. 2020).

`make_use_teacher.py` writes a folder with the weights and a copy of this file, which sentence-transformers imports.

A sentence of n tokens has the vectors w (n, 512). Three convolutions over windows of 2, 3 and 5 tokens, each of two
layers with residual connections, compute n-gram features (n, 3 x 256). The sum of w and the features over the tokens,
divided by the square root of n, goes through two residual blocks; the result has unit length.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import sentencepiece
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.nn import functional

WINDOWS = ((2, 0), (3, 1), (5, 2))
"""The size of each window of tokens, and the number of its tokens before the current one."""
FILTERS, DIMENSION = 256, 512
FILES = ("sp.model", "model.safetensors", "use.json")


class MultilingualUse(nn.Module):
    """Encodes texts in ar de en es fr it ja ko nl pl pt ru th tr zh."""

    max_seq_length = 256

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.folder = Path(folder)
        self.pieces = sentencepiece.SentencePieceProcessor(model_file=str(self.folder / "sp.model"))
        self.eps = float(json.loads((self.folder / "use.json").read_text())["eps"])
        for name, weight in load_file(self.folder / "model.safetensors").items():
            self.register_buffer(name, weight if name == "table" else weight.float())

    @classmethod
    def load(cls, path: str, *args: Any, subfolder: str = "", **options: Any) -> MultilingualUse:
        """Open a folder, as sentence-transformers does."""
        return cls(Path(path) / subfolder)

    def save(self, output_path: str, *args: Any, **options: Any) -> None:
        """Copy the files to another folder."""
        for name in FILES:
            (Path(output_path) / name).write_bytes((self.folder / name).read_bytes())

    def get_sentence_embedding_dimension(self) -> int:
        """Return the number of components of an embedding."""
        return DIMENSION

    get_embedding_dimension = get_sentence_embedding_dimension

    def preprocess(self, inputs: list[str], prompt: str | None = None, **options: Any) -> dict[str, Tensor]:
        """Tokenize texts, each after a prompt."""
        return self.tokenize([f"{prompt or ''}{text}" for text in inputs])

    def tokenize(self, texts: list[str], **options: Any) -> dict[str, Tensor]:
        """Return `input_ids` and `attention_mask` (texts, length)."""
        rows = self.pieces.encode(list(texts), out_type=int, add_bos=True, add_eos=True)
        rows = [torch.tensor(row[: self.max_seq_length]) for row in rows]
        padded = nn.utils.rnn.pad_sequence(rows, batch_first=True)
        lengths = torch.tensor([len(row) for row in rows])
        return {"input_ids": padded, "attention_mask": (torch.arange(padded.shape[1]) < lengths[:, None]).long()}

    def forward(self, features: dict[str, Tensor], **options: Any) -> dict[str, Tensor]:
        """Add `sentence_embedding` (texts, 512) to the features of a batch."""
        weights = dict(self.named_buffers())
        mask = features["attention_mask"].unsqueeze(-1).float()
        words = weights["table"][features["input_ids"]].float() * mask
        projected = words @ weights["proj"] + weights["proj_b"]
        projected = (
            functional.layer_norm(projected, projected.shape[-1:], weights["ln_g_all"], weights["ln_b_all"], self.eps)
            * mask
        )
        parts = [words]
        for order, (size, before) in enumerate(WINDOWS):
            part = projected[..., order * FILTERS : (order + 1) * FILTERS]
            hidden = (self._convolve(part, "1", size, before) + part) * mask
            parts.append(self._convolve(hidden, "2", size, before) + hidden)
        tokens = torch.cat(parts, -1)
        tokens = functional.layer_norm(tokens, tokens.shape[-1:], weights["ln_g"], weights["ln_b"], self.eps) * mask
        lengths = mask.sum(1)
        pooled = (tokens.sum(1) @ weights["cnn_W"] + lengths * weights["cnn_b"]) / lengths.sqrt()
        hidden = functional.relu(pooled @ weights["p1"] + functional.relu(pooled @ weights["d0"]) @ weights["d1"])
        vectors = torch.tanh(hidden @ weights["p3"] + functional.relu(hidden @ weights["d2"]) @ weights["d3"])
        features["sentence_embedding"] = functional.normalize(vectors, dim=-1)
        return features

    def _convolve(self, x: Tensor, layer: str, size: int, before: int) -> Tensor:
        """Apply a filter to the windows of tokens; (texts, length, 256) in and out."""
        padded = functional.pad(x, (0, 0, before, size - 1 - before))
        windows = torch.cat([padded[:, shift : shift + x.shape[1]] for shift in range(size)], -1)
        weight, bias = self.get_buffer(f"w{layer}_{size}"), self.get_buffer(f"b{layer}_{size}")
        return functional.relu(windows @ weight + bias)
