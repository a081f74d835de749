"""What users of sentence-transformers call, under the names that they know.

A table of `docs/guide/migration.md` has every such call beside ours; a test runs both and compares what they give.
"""

from __future__ import annotations

import os
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypedDict, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError
from ..tokenization.token_lookup import list_of_texts
from .quantization import Precision, check_precision, quantize_embeddings
from .truncation import check_truncation

if TYPE_CHECKING:
    import torch

    Embeddings = NDArray[Any] | torch.Tensor | list[torch.Tensor]


class EncodeOptions(TypedDict, total=False):
    """What :meth:`~.sentence_encoder.SentenceEncoder.encode` takes beside its own arguments."""

    normalize_embeddings: bool
    convert_to_numpy: bool
    convert_to_tensor: bool
    precision: Precision
    truncate_dim: int | None
    prompt: str | None
    prompt_name: str | None
    device: str | None


def normalized(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    """Divides each row (rows, dim) by its Euclidean norm; zero rows stay zero."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return (vectors / np.where(norms == 0, 1.0, norms)).astype(np.float32)


class FamiliarCalls(ABC):
    """Methods of :class:`~.sentence_encoder.SentenceEncoder` that have the names of sentence-transformers."""

    @property
    @abstractmethod
    def model(self) -> Any:
        """The encoder itself."""

    @model.setter
    @abstractmethod
    def model(self, model: Any) -> None: ...

    @property
    @abstractmethod
    def dimension(self) -> int:
        """The number of components of an embedding."""

    @abstractmethod
    def encode(self, *args: Any, **kwargs: Any) -> Any:
        """Embeds texts."""

    @abstractmethod
    def save_pretrained(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Writes a model folder."""

    def _encode_with(
        self,
        texts: str | Sequence[str],
        *,
        batch_size: int,
        normalize: bool,
        show_progress_bar: bool,
        normalize_embeddings: bool = False,
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        precision: Precision = "float32",
        truncate_dim: int | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        device: str | None = None,
    ) -> Embeddings:
        """Embeds texts as sentence-transformers' `encode` would with these options."""
        check_precision(precision)
        if prompt_name is not None and prompt is None:
            raise UsageError(f"prompt_name `{prompt_name}` is unknown", remedy="give the text itself: prompt=…")
        if truncate_dim is not None:
            check_truncation(self.dimension, truncate_dim)
        if device is not None:
            self.to(device)
        is_single = isinstance(texts, str)
        listed: Sequence[str] = [texts] if isinstance(texts, str) else texts
        if prompt:
            listed = [prompt + text for text in listed]
        normalize = normalize or normalize_embeddings
        vectors: NDArray[Any] = self.encode(
            listed,
            batch_size=batch_size,
            normalize=normalize and truncate_dim is None,
            show_progress_bar=bool(show_progress_bar),
        )
        if truncate_dim is not None:
            vectors = vectors[:, :truncate_dim]
            vectors = normalized(vectors) if normalize else np.ascontiguousarray(vectors)
        if precision != "float32":
            vectors = quantize_embeddings(vectors, precision)
        if not convert_to_tensor and convert_to_numpy:
            return vectors[0] if is_single else vectors
        import torch

        tensor = torch.from_numpy(vectors).to(self.device)
        if convert_to_tensor:
            return tensor[0] if is_single else tensor
        return tensor[0] if is_single else list(tensor)

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        device: torch.device = self.model.device
        return device

    def to(self, device: str | torch.device) -> Self:
        """Moves the model to a device, e.g. `cuda`, and returns the encoder."""
        import torch

        if not hasattr(self.model, "to"):
            if torch.device(device).type != "cpu":
                raise UsageError(f"an ONNX model computes on the CPU here, not on {device}")
            return self
        try:
            self.model = self.model.to(device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"the device {device} cannot be used: {error}", remedy="see hf-paraphrase env") from error
        return self

    def similarity(
        self,
        first: str | Sequence[str] | NDArray[np.floating],
        second: str | Sequence[str] | NDArray[np.floating],
        **options: Any,
    ) -> NDArray[np.float32]:
        """Computes the cosine of every text of `first` with every text of `second`, float32 (first, second).

        The cosine with a text without tokens, or a zero vector, is 0.

        Args:
            first: One text or several, or embeddings of some: an array of floats (first, dim), or (dim,) for one.
            second: The same for the other side.
            **options: Passed to `encode`.

        Raises:
            TypeError: If a text is not a string.
            ValueError: If an array of floats has more than two axes, or the sides differ in their components.
        """
        rows, columns = (self._unit_vectors(side, options) for side in (first, second))
        if rows.shape[1] != columns.shape[1]:
            raise ValueError(
                f"vectors of {rows.shape[1]} components cannot be compared with vectors of {columns.shape[1]}"
            )
        return rows @ columns.T

    def similarity_pairwise(
        self,
        first: str | Sequence[str] | NDArray[np.floating],
        second: str | Sequence[str] | NDArray[np.floating],
        **options: Any,
    ) -> NDArray[np.float32]:
        """Computes the cosine of each text of `first` with the text of `second` at its place, float32 (texts,).

        The cosine with a text without tokens, or a zero vector, is 0.

        Args:
            first: As for :meth:`similarity`.
            second: As many texts or embeddings.
            **options: Passed to `encode`.
        """
        rows, others = (self._unit_vectors(side, options) for side in (first, second))
        if rows.shape != others.shape:
            raise ValueError(f"embeddings {rows.shape} cannot be compared one by one with embeddings {others.shape}")
        return np.einsum("ij,ij->i", rows, others)

    def _unit_vectors(
        self, side: str | Sequence[str] | NDArray[np.floating], options: dict[str, Any]
    ) -> NDArray[np.float32]:
        """Returns the unit vectors (texts, dim) of texts, or of embeddings that were made before."""
        if not isinstance(side, str) and hasattr(side, "__array__"):
            # A tensor of PyTorch: NumPy knows neither bfloat16 nor gradients.
            array = side.detach().float().cpu().numpy() if hasattr(side, "detach") else np.asarray(side)
            if array.dtype.kind == "f":
                if array.ndim not in (1, 2):
                    raise ValueError(f"embeddings must have the shape (texts, dim) or (dim,), not {array.shape}")
                return normalized(np.atleast_2d(array).astype(np.float32, copy=False))
        texts = list_of_texts(cast("str | Sequence[str]", side))
        vectors: NDArray[np.float32] = self.encode(texts, **{**options, "normalize": True})
        return vectors

    def push_to_hub(
        self,
        repo_id: str,
        *,
        token: str | None = None,
        private: bool | None = None,
        commit_message: str | None = None,
        revision: str | None = None,
    ) -> str:
        """Sends the encoder, as `save_pretrained` writes it, to a repository of the Hub, which is made if missing.

        Args:
            repo_id: `namespace/name`, or `name` for the namespace of the token's owner.
            token: The token; by default that of `HF_TOKEN` or the saved login.
            private: Make the repository private; one that exists and is public is refused.
            commit_message: The commit's first line; by default it names the repository.
            revision: The branch; `main` by default.
        """
        from ..hub.publishing import check_licence, plan_push, send

        with tempfile.TemporaryDirectory() as place:
            folder = self.save_pretrained(Path(place) / (repo_id.rpartition("/")[2] or "encoder"))
            plan = plan_push(folder, repo_id, repo_type="model", revision=revision)
            check_licence(plan)
            pushed = send(plan, token=token, private=bool(private), commit_message=commit_message)
        return pushed.url
