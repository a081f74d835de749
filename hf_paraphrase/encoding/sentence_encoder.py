"""Texts to sentence embeddings."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from ..models.loading import check_model_type, load_model_folder

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

MODEL_TYPES = ("avg", "gran")
"""The model types that are sentence encoders."""
TOKENS_PER_BATCH = 1 << 16
"""Padded tokens in a batch at most (a single longer text is a batch of its own), so that long texts fit in memory."""


class SentenceEncoder:
    """Embeds texts with an encoder and its tokenizer.

    Args:
        model: An encoder whose `forward` gives `pooler_output` (batch, dim).
        tokenizer: Its fast tokenizer.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *, device: str | None = None) -> SentenceEncoder:
        """Opens a model folder.

        Args:
            folder: The folder of a trained encoder.
            device: Where to compute, e.g. `cuda`; None for the CPU.

        Raises:
            ModelError: If the folder is missing, holds another kind of model, or is damaged.
        """
        model, tokenizer = load_model_folder(folder, _model_class(_check_encoder(folder)))
        return cls(model.to(device or "cpu"), tokenizer)

    @property
    def dimension(self) -> int:
        """The number of components of an embedding."""
        return int(self.model.config.hidden_size)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Computes the token ids of each text, without padding or truncation."""
        backend = self.tokenizer.backend_tokenizer
        backend.no_padding()
        backend.no_truncation()
        return [item.ids for item in backend.encode_batch_fast(list(texts), add_special_tokens=True)]

    @overload
    def encode(
        self, texts: str, *, batch_size: int = ..., normalize: bool = ..., show_progress_bar: bool = ...
    ) -> NDArray[np.float32]: ...

    @overload
    def encode(
        self, texts: Sequence[str], *, batch_size: int = ..., normalize: bool = ..., show_progress_bar: bool = ...
    ) -> NDArray[np.float32]: ...

    def encode(
        self,
        texts: str | Sequence[str],
        *,
        batch_size: int = 256,
        normalize: bool = False,
        show_progress_bar: bool = False,
    ) -> NDArray[np.float32]:
        """Embeds texts.

        Texts of like length share a batch, whatever their order; batch size and order change a result by no more
        than rounding. A text without tokens embeds to zeros, and stays zero when normalised.

        Args:
            texts: One text or several.
            batch_size: Texts in a batch at most.
            normalize: Divide each embedding by its Euclidean norm.
            show_progress_bar: Show the progress, in texts, on standard error.

        Returns:
            float32 (texts, dim) in the order of the texts, or (dim,) for a single text.

        Raises:
            ValueError: If `batch_size` is not positive.
        """
        import torch
        from tqdm.auto import tqdm

        if isinstance(texts, str):
            return self.encode([texts], batch_size=batch_size, normalize=normalize)[0]
        if batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, not {batch_size}")
        self.model.eval()
        device = self.model.device
        ids = self.tokenize(texts)
        vectors = np.zeros((len(ids), self.dimension), np.float32)
        empty = sum(not item for item in ids)
        progress = tqdm(total=len(ids), initial=empty, unit=" texts", desc="encode", disable=not show_progress_bar)
        with torch.inference_mode(), progress:
            for rows in _batches([len(item) for item in ids], batch_size):
                lengths = np.array([len(ids[row]) for row in rows])
                mask = np.arange(lengths.max()) < lengths[:, None]
                tokens = np.full(mask.shape, self.tokenizer.pad_token_id or 0, np.int64)
                tokens[mask] = np.fromiter(chain.from_iterable(ids[row] for row in rows), np.int64, lengths.sum())
                output = self.model(
                    torch.from_numpy(tokens).to(device),
                    attention_mask=torch.from_numpy(mask).to(device),
                    return_token_vectors=False,
                )
                vectors[rows] = output.pooler_output.float().cpu().numpy()
                progress.update(len(rows))
        return normalized(vectors) if normalize else vectors

    def similarity(self, first: Sequence[str], second: Sequence[str], **options: Any) -> NDArray[np.float32]:
        """Computes the cosine of every text of `first` with every text of `second`, float32 (first, second).

        The cosine with a text without tokens is 0.

        Args:
            first: Some texts.
            second: Some texts.
            **options: Passed to :meth:`encode`.
        """
        sides = [self.encode(list(texts), **{**options, "normalize": True}) for texts in (first, second)]
        return sides[0] @ sides[1].T


def normalized(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divides each row (rows, dim) by its Euclidean norm; zero rows stay zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms == 0, 1.0, norms)).astype(np.float32)


def _check_encoder(folder: str | os.PathLike[str]) -> str:
    """Returns the model type of a folder if it is a sentence encoder; reads nothing but `config.json`.

    Raises:
        ModelError: If the folder is missing, has no readable `config.json` or no weights, or is of another type.
    """
    return check_model_type(folder, MODEL_TYPES, kind="sentence encoder", verb="train-encoder")


def _model_class(model_type: str) -> type[PreTrainedModel]:
    if model_type == "avg":
        from ..models.avg.modeling_avg import AvgModel

        return AvgModel
    from ..models.gran.modeling_gran import GranModel

    return GranModel


def _batches(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """Groups rows of like length, the longest first; rows of length 0 are left out."""
    batch: list[int] = []
    order = np.argsort(-np.asarray(lengths, np.int64), kind="stable")
    for row in order.tolist():
        if lengths[row] == 0:
            break
        if batch and (len(batch) == batch_size or (len(batch) + 1) * lengths[batch[0]] > TOKENS_PER_BATCH):
            yield batch
            batch = []
        batch.append(row)
    if batch:
        yield batch
