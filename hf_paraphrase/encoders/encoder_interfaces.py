"""The similarity functions of sentence-transformers, and the methods of encoders that other libraries call."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError, choice_of
from ..messages import log
from ..vectors.checks import check_counts, check_finite
from ..vectors.similarity import unit_rows

if TYPE_CHECKING:
    from .multi_process import EncoderPool

    Texts: TypeAlias = str | Sequence[str]
    Comparable: TypeAlias = Texts | NDArray[np.floating]

Vectors = NDArray[np.float32]
MISSING: Any = object()
"""The default of an argument that must be given, under one of its names."""


@dataclass(frozen=True)
class Similarity:
    """A similarity function: `blocks` compares all rows with all rows, `pairs` rows at the same position."""

    blocks: Callable[[Vectors, Vectors], Vectors]
    pairs: Callable[[Vectors, Vectors], Vectors]


def _distances(order: int) -> Similarity:
    """Return the negative distance, in the Manhattan (1) or Euclidean (2) norm."""

    def pairs(first: Vectors, second: Vectors) -> Vectors:
        return -np.linalg.norm(first - second, ord=order, axis=1).astype(np.float32)

    def blocks(first: Vectors, second: Vectors) -> Vectors:
        rows = [-np.linalg.norm(second - row, ord=order, axis=1) for row in first]
        return np.array(rows, np.float32).reshape(len(first), len(second))

    return Similarity(blocks, pairs)


_DOT = Similarity(lambda first, second: first @ second.T, lambda first, second: np.einsum("ij,ij->i", first, second))
SIMILARITIES = {"cosine": _DOT, "dot": _DOT, "euclidean": _distances(2), "manhattan": _distances(1)}
"""The functions by name; the cosine is the dot product of unit rows."""


def to_vectors(side: Any) -> Vectors | None:
    """Return embeddings as float32 (texts, dim); None for texts."""
    if isinstance(side, list) and side and hasattr(side[0], "shape"):
        side = np.stack([np.asarray(_to_array(row)) for row in side])
    if isinstance(side, str) or not hasattr(side, "__array__") or hasattr(side, "columns"):
        return None
    array = _to_array(side)
    if array.dtype.kind != "f":
        return None
    if array.ndim not in (1, 2):
        raise ValueError(f"embeddings must have the shape (texts, dim) or (dim,), not {array.shape}")
    check_finite("embeddings", np.atleast_2d(array))
    return np.atleast_2d(array).astype(np.float32, copy=False)


def _to_array(values: Any) -> NDArray[Any]:
    # NumPy reads neither bfloat16 nor tensors with gradients.
    return values.detach().float().cpu().numpy() if hasattr(values, "detach") else np.asarray(values)


class EncoderInterfaces:
    """The methods of an encoder that build on `encode`: similarities, and what other libraries call."""

    truncate_dim: int | None
    prompts: dict[str, str]
    default_prompt_name: str | None
    encode: Callable[..., Any]
    save_pretrained: Callable[..., Path]

    @property
    def similarity_fn_name(self) -> str:
        """The similarity function: `cosine`, `dot`, `euclidean` or `manhattan`."""
        return self._similarity_fn_name

    @similarity_fn_name.setter
    def similarity_fn_name(self, name: str) -> None:
        name = str(getattr(name, "value", name))
        if name not in SIMILARITIES:
            raise UsageError(
                f"the similarity function `{name}` is unknown", remedy=choice_of(name, list(SIMILARITIES))
            )
        self._similarity_fn_name = name

    def truncated(self, truncate_dim: int) -> Self:
        """Return the encoder that keeps the first N components."""
        encoder = copy.copy(self)
        encoder.truncate_dim = truncate_dim
        return encoder

    def for_task(self, task: Literal["query", "document"]) -> Self:
        """Return an encoder whose `encode` does what `encode_query` or `encode_document` does here."""
        encoder = copy.copy(self)
        encoder.default_prompt_name, encoder._task = self._prompt_name_of(task), task
        return encoder

    _task: str | None = None

    def _prompt_name_of(self, task: str) -> str | None:
        names = ("query",) if task == "query" else ("document", "passage", "corpus")
        return next((name for name in names if name in self.prompts), None)

    def encode_query(self, inputs: Texts = MISSING, prompt_name: str | None = None, *more: Any, **options: Any) -> Any:
        """Embed queries as :meth:`encode` does, with the prompt `query` if there is one and no other is given."""
        return self._encode_for("query", inputs, prompt_name, more, options)

    def encode_document(
        self, inputs: Texts = MISSING, prompt_name: str | None = None, *more: Any, **options: Any
    ) -> Any:
        """Embed documents, with the prompt `document`, `passage` or `corpus` if there is one and no other is given."""
        return self._encode_for("document", inputs, prompt_name, more, options)

    def _encode_for(
        self, task: Literal["query", "document"], inputs: Any, name: str | None, more: Any, options: dict[str, Any]
    ) -> Any:
        prompt = more[0] if more else options.get("prompt")
        encoder = self.for_task(task) if name is None and prompt is None else self
        return encoder.encode(inputs, name, *more, **{"task": task, **options})

    # ----- similarities

    def similarity(self, first: Comparable, second: Comparable, **options: Any) -> NDArray[np.float32]:
        """Compute the similarity of every text of `first` to every text of `second`, float32 (first, second).

        Each argument is one text or several, or embeddings: an array of floats (texts, dim), or (dim,) for one.
        `similarity_fn_name` names the function. The cosine with a zero vector is 0. `options` go to :meth:`encode`.
        """
        rows, columns = (self._vectors_of(side, options) for side in (first, second))
        if rows.shape[1] != columns.shape[1]:
            size, other = rows.shape[1], columns.shape[1]
            raise ValueError(f"vectors of {size} components cannot be compared with vectors of {other}")
        return SIMILARITIES[self.similarity_fn_name].blocks(rows, columns)

    def similarity_pairwise(self, first: Comparable, second: Comparable, **options: Any) -> NDArray[np.float32]:
        """Compute the similarity of the texts of `first` and `second` at the same position, float32 (texts,).

        Both may be embeddings, as for :meth:`similarity`.
        """
        rows, others = (self._vectors_of(side, options) for side in (first, second))
        if rows.shape != others.shape:
            raise ValueError(f"embeddings {rows.shape} cannot be compared one by one with embeddings {others.shape}")
        return SIMILARITIES[self.similarity_fn_name].pairs(rows, others)

    def _vectors_of(self, side: Any, options: dict[str, Any]) -> NDArray[np.float32]:
        vectors = to_vectors(side)
        if vectors is None:
            texts = [side] if isinstance(side, str) else side
            vectors = np.asarray(self.encode(texts, **{"convert_to_numpy": True, **options}))
        return unit_rows(vectors) if self.similarity_fn_name == "cosine" else vectors

    # ----- several processes

    def start_multi_process_pool(self, target_devices: list[str] | None = None) -> EncoderPool:
        """Start one process per device, by default per GPU or 4 on the CPU, for `pool` of :meth:`encode`."""
        from .multi_process import EncoderPool, default_devices

        return EncoderPool(self, target_devices or default_devices())

    @staticmethod
    def stop_multi_process_pool(pool: EncoderPool) -> None:
        """Stop the processes of a pool."""
        pool.close()

    # ----- what LangChain and scikit-learn call

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed documents as lists of numbers, for LangChain."""
        vectors: list[list[float]] = self.encode_document(texts).tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        """Embed a query as a list of numbers, for LangChain."""
        vector: list[float] = self.encode_query(text).tolist()
        return vector

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed documents in another thread, for LangChain."""
        import asyncio

        return await asyncio.to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """Embed a query in another thread, for LangChain."""
        import asyncio

        return await asyncio.to_thread(self.embed_query, text)

    def fit(self, texts: Any = None, y: Any = None) -> Self:
        """Do nothing: in a pipeline of scikit-learn an encoder is trained already."""
        return self

    def transform(self, texts: Texts, y: Any = None) -> NDArray[np.float32]:
        """Embed texts, for a pipeline of scikit-learn."""
        vectors: NDArray[np.float32] = self.encode(texts)
        return vectors

    fit_transform = transform

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters that scikit-learn may change: `truncate_dim`."""
        return {"truncate_dim": self.truncate_dim}

    def set_params(self, **params: Any) -> Self:
        """Change the parameters that scikit-learn may change: `truncate_dim`."""
        for name, value in params.items():
            if name != "truncate_dim":
                raise ValueError(f"an encoder has no parameter {name}, only truncate_dim")
            self.truncate_dim = value
        return self

    def __sklearn_clone__(self) -> Self:
        return copy.copy(self)

    # ----- the Hub

    def push_to_hub(
        self,
        repo_id: str,
        *,
        token: str | None = None,
        private: bool | None = None,
        commit_message: str | None = None,
        revision: str | None = None,
        dry_run: bool = False,
    ) -> str:
        """Write the encoder as `save_pretrained` does, and send it to a repository of the Hub.

        Args:
            repo_id: The repository `namespace/name`, which is created if it is missing.
            token: The token of the Hub's client.
            private: Refuse a repository that is public.
            commit_message: The message of the commit.
            revision: The branch.
            dry_run: Write and check the folder, and send nothing.

        Returns:
            The URL of the repository; after a dry run its name.
        """
        from ..hub.publishing import check_redistribution, plan_push, send

        with tempfile.TemporaryDirectory() as place:
            folder = self.save_pretrained(Path(place) / (repo_id.rpartition("/")[2] or "encoder"))
            plan = plan_push(folder, repo_id, repo_type="model", revision=revision)
            check_redistribution(plan)
            if dry_run:
                log(f"{len(plan.files)} files for {repo_id}; nothing was sent")
                return repo_id
            pushed = send(plan, token=token, private=bool(private), commit_message=commit_message)
        return pushed.url


def rename_arguments(inputs: Any, normalize_embeddings: bool, former: dict[str, Any]) -> tuple[Any, bool]:
    """Return `inputs` and `normalize_embeddings`, which have other names in `former`."""
    for name in ("sentences", "texts"):
        if name in former and inputs is MISSING:
            inputs = former.pop(name)
    if "normalize" in former:
        normalize_embeddings = normalize_embeddings or former.pop("normalize")
    if former or inputs is MISSING:
        what = (
            f"got an unexpected keyword argument {next(iter(former))!r}" if former else "needs the argument 'inputs'"
        )
        raise TypeError(f"SentenceEncoder.encode() {what}")
    return inputs, normalize_embeddings


def check_truncation(dimension: int, truncate_dim: int) -> None:
    """Refuse to keep more components than an embedding has."""
    check_counts(truncate_dim=truncate_dim)
    if truncate_dim > dimension:
        what = f"embeddings of {dimension} components cannot be truncated to {truncate_dim}"
        raise UsageError(what, remedy=f"keep 1 to {dimension} of them")
