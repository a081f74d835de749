"""An encoder as the benchmark mteb wants it, without sentence-transformers and without importing mteb.

mteb (version 2) accepts a `SentenceTransformer`, and every encoder folder opens as one. This wrapper computes the same
vectors by :class:`~..encoders.sentence_encoder.SentenceEncoder`, which is faster.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.hub_models import model_folder, repository_name
from ..artefacts.provenance import fingerprint
from .correlation import cosine_similarities

if TYPE_CHECKING:
    from torch import Tensor


class MtebEncoder:
    """What mteb calls an `EncoderProtocol`, e.g. `mteb.evaluate(MtebEncoder("gran"), mteb.get_tasks(["STS12"]))`.

    mteb keeps results by the name and the revision of a model, and gives them back instead of asking again. The name
    is that of the folder or of the repository on the Hub, the revision the fingerprint of the folder: another model,
    or the same one trained on, is asked again.

    Args:
        folder: The folder of a trained encoder.
        device: Where to compute, e.g. `cuda`; None for the CPU.
    """

    def __init__(self, folder: str | os.PathLike[str], *, device: str | None = None) -> None:
        from ..encoders.sentence_encoder import SentenceEncoder

        self.encoder = SentenceEncoder.from_pretrained(folder, device=device)
        place = model_folder(folder)
        name = repository_name(folder) or place.resolve().name
        self._name = name if "/" in name else f"hf-paraphrase/{name}"
        self._revision = fingerprint(place)

    @cached_property
    def mteb_model_meta(self) -> Any:
        """A `mteb.ModelMeta` with the name and the revision by which mteb files results; None without mteb."""
        try:
            from mteb.models import ModelMeta
        except ImportError:
            return None
        metadata = {
            "name": self._name,
            "revision": self._revision,
            "embed_dim": self.encoder.dimension,
            "similarity_fn_name": "cosine",
            "framework": ["PyTorch"],
        }
        # By way of the class, which knows its own names for some of them.
        empty = ModelMeta.create_empty().model_dump()
        return ModelMeta(**{**empty, **metadata})

    def encode(
        self,
        inputs: Iterable[Mapping[str, Sequence[str]]],
        *,
        batch_size: int = 256,
        show_progress_bar: bool = False,
        **kwargs: Any,
    ) -> NDArray[np.float32]:
        """Embeds texts.

        Args:
            inputs: Batches, each with its texts under `text`: mteb gives a `DataLoader` of them.
            batch_size: As for :meth:`~..encoders.sentence_encoder.SentenceEncoder.encode`.
            show_progress_bar: As for it.
            **kwargs: What mteb tells beside that: the task, its split and subset, and the kind of prompt. An encoder
                without prompts embeds a text the same whatever they are.

        Returns:
            float32 (texts, dim) in the order of the texts.
        """
        texts = [text for batch in inputs for text in batch["text"]]
        return self.encoder.encode(texts, batch_size=batch_size, show_progress_bar=show_progress_bar)

    def similarity(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Computes the cosine of every row of (n, dim) and every row of (m, dim), or of single vectors (dim,).

        Returns:
            float32 (n, m), as a tensor, which mteb asks for; 0 where either vector is zero.
        """
        import torch

        rows, columns = np.atleast_2d(embeddings1), np.atleast_2d(embeddings2)
        units = [part / np.maximum(np.linalg.norm(part, axis=1, keepdims=True), 1e-30) for part in (rows, columns)]
        return torch.from_numpy((units[0] @ units[1].T).astype(np.float32))

    def similarity_pairwise(self, embeddings1: Any, embeddings2: Any) -> Tensor:
        """Computes the cosine of each row of (n, dim) and the same row of the other.

        Returns:
            float32 (n,), as a tensor; 0 where either vector is zero.
        """
        import torch

        cosines = cosine_similarities(np.atleast_2d(embeddings1), np.atleast_2d(embeddings2))
        return torch.from_numpy(cosines.astype(np.float32))
