"""Adds similarities, encoding in several processes, and the interfaces of other libraries to an encoder."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import UsageError, choice_of
from ..inputs import temporary_folder
from ..messages import log
from ..vectors.similarity import as_array, check_counts, check_finite, unit_rows
from .backends.sentence_transformers_files import SIMILARITY_FUNCTIONS

if TYPE_CHECKING:
    Texts: TypeAlias = str | Sequence[str]
    Comparable: TypeAlias = Texts | NDArray[np.floating]

MISSING: Any = object()
"""The default of an argument that must be given, under one of its names."""
_CHUNKS_PER_PROCESS, _LARGEST_CHUNK = 10, 5000
_encoder: Any = None
"""The encoder of a worker process."""
_NORMS = {"euclidean": 2, "manhattan": 1}
"""The orders of the norms whose negative is the similarity."""


def as_vectors(values: Any) -> NDArray[np.float32] | None:
    """Convert embeddings to float32 (texts, dim); return None for texts."""
    if isinstance(values, list) and values and hasattr(values[0], "shape"):
        values = np.stack([as_array(row) for row in values])
    if isinstance(values, str) or not hasattr(values, "__array__") or hasattr(values, "columns"):
        return None
    array = as_array(values)
    if array.dtype.kind != "f":
        return None
    if array.ndim not in (1, 2):
        raise ValueError(f"embeddings must have the shape (texts, dim) or (dim,), not {array.shape}")
    check_finite("embeddings", np.atleast_2d(array))
    return np.atleast_2d(array).astype(np.float32, copy=False)


class EncoderPool:
    """Processes with an encoder each, one per device."""

    def __init__(self, encoder: Any, devices: str | Sequence[str]) -> None:
        devices = [devices] if isinstance(devices, str) else devices
        if not devices:
            raise UsageError("there are no devices for the processes", remedy="give a list such as ['cpu', 'cpu']")
        # Both imports take longer than encoding a few texts.
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        context = multiprocessing.get_context("spawn")
        queue = context.SimpleQueue()
        for device in devices:
            queue.put(str(device))
        self.devices, self.origin = list(devices), encoder.origin
        self.executor = ProcessPoolExecutor(len(devices), context, _start_worker, (encoder, queue))

    def close(self) -> None:
        """Stop the processes."""
        self.executor.shutdown(cancel_futures=True)


def encode_in_processes(
    encoder: Any,
    texts: list[str],
    pool: EncoderPool | Sequence[str],
    chunk_size: int | None,
    options: Mapping[str, Any],
) -> NDArray[np.float32]:
    """Embed texts with a pool, or with a new one for a list of devices, float32 (texts, dim)."""
    if isinstance(pool, EncoderPool) and pool.origin is not encoder.origin:
        problem = "the pool has the processes of another encoder"
        raise UsageError(problem, remedy="give the pool that start_multi_process_pool of this encoder returns")
    with nullcontext(pool) if isinstance(pool, EncoderPool) else closing(EncoderPool(encoder, pool)) as processes:
        per_process = -(-len(texts) // (len(processes.devices) * _CHUNKS_PER_PROCESS))
        size = max(1, min(per_process, _LARGEST_CHUNK)) if chunk_size is None else chunk_size
        check_counts(chunk_size=size)
        chunks = [texts[start : start + size] for start in range(0, len(texts), size)]
        # The truncation of the encoder may have changed after its processes started.
        dimension = options.get("truncate_dim") or encoder.dimension
        options = {**options, "truncate_dim": dimension}
        parts = processes.executor.map(_encode_chunk, chunks, [options] * len(chunks))
        return np.concatenate([np.zeros((0, dimension), np.float32), *parts])


def _start_worker(encoder: Any, queue: Any) -> None:
    global _encoder
    _encoder = encoder.to(queue.get())


def _encode_chunk(texts: list[str], options: dict[str, Any]) -> NDArray[np.float32]:
    vectors: NDArray[np.float32] = _encoder.embed(texts, **options)
    return vectors


class EncoderInterfaces:
    """The methods of an encoder that build on `encode`: similarities, and the interfaces of other libraries."""

    truncate_dim: int | None
    prompts: dict[str, str]
    default_prompt_name: str | None
    encode: Callable[..., Any]
    save_pretrained: Callable[..., Path]
    _task: str | None = None

    @property
    def similarity_fn_name(self) -> str:
        """The similarity function: `cosine`, `dot`, `euclidean` or `manhattan`."""
        return self._similarity_fn_name

    @similarity_fn_name.setter
    def similarity_fn_name(self, name: str) -> None:
        name = str(getattr(name, "value", name))
        if name not in SIMILARITY_FUNCTIONS:
            remedy = choice_of(name, SIMILARITY_FUNCTIONS)
            raise UsageError(f"the similarity function `{name}` is unknown", remedy=remedy)
        self._similarity_fn_name = name

    def truncated(self, truncate_dim: int) -> Self:
        """Return a copy of the encoder that keeps the first `truncate_dim` components of each embedding."""
        encoder = copy.copy(self)
        encoder.truncate_dim = truncate_dim
        return encoder

    def for_task(self, task: Literal["query", "document"]) -> Self:
        """Return an encoder whose `encode` works as `encode_query` or `encode_document` of this encoder."""
        encoder = copy.copy(self)
        names = ("query",) if task == "query" else ("document", "passage", "corpus")
        encoder.default_prompt_name = next((name for name in names if name in self.prompts), None)
        encoder._task = task
        return encoder

    def encode_query(self, inputs: Texts = MISSING, prompt_name: str | None = None, *more: Any, **options: Any) -> Any:
        """Embed queries as :meth:`encode` does, with the prompt `query` if it exists and the call names none."""
        return self._encode_for("query", inputs, prompt_name, more, options)

    def encode_document(
        self, inputs: Texts = MISSING, prompt_name: str | None = None, *more: Any, **options: Any
    ) -> Any:
        """Embed documents with the prompt `document`, `passage` or `corpus` if it exists and the call names none."""
        return self._encode_for("document", inputs, prompt_name, more, options)

    def _encode_for(
        self, task: Literal["query", "document"], inputs: Any, name: str | None, more: Any, options: dict[str, Any]
    ) -> Any:
        prompt = more[0] if more else options.get("prompt")
        encoder = self.for_task(task) if name is None and prompt is None else self
        return encoder.encode(inputs, name, *more, **{"task": task, **options})

    # ----- similarities

    def similarity(self, embeddings1: Comparable, embeddings2: Comparable, **options: Any) -> NDArray[np.float32]:
        """Compute the similarity of every text of the first to every text of the second, float32 (first, second).

        Each argument is one text or several, or embeddings: an array of floats (texts, dim), or (dim,) for one.
        `similarity_fn_name` names the function. The cosine with a zero vector is 0. `options` go to :meth:`encode`.
        """
        rows, others = (self._vectors_of(each, options) for each in (embeddings1, embeddings2))
        if rows.shape[1] != others.shape[1]:
            size, other = rows.shape[1], others.shape[1]
            raise ValueError(f"vectors of {size} components cannot be compared with vectors of {other}")
        if (order := _NORMS.get(self.similarity_fn_name)) is None:
            return rows @ others.T
        distances = [np.linalg.norm(others - row, ord=order, axis=1) for row in rows]
        return -np.array(distances, np.float32).reshape(len(rows), len(others))

    def similarity_pairwise(
        self, embeddings1: Comparable, embeddings2: Comparable, **options: Any
    ) -> NDArray[np.float32]:
        """Compute the similarity of the texts of both arguments at the same position, float32 (texts,).

        Both may be embeddings, as for :meth:`similarity`.
        """
        rows, others = (self._vectors_of(each, options) for each in (embeddings1, embeddings2))
        if rows.shape != others.shape:
            raise ValueError(f"embeddings {rows.shape} cannot be compared one by one with embeddings {others.shape}")
        if (order := _NORMS.get(self.similarity_fn_name)) is None:
            return np.einsum("ij,ij->i", rows, others)
        return -np.linalg.norm(rows - others, ord=order, axis=1).astype(np.float32)

    def _vectors_of(self, texts_or_vectors: Any, options: dict[str, Any]) -> NDArray[np.float32]:
        vectors = as_vectors(texts_or_vectors)
        if vectors is None:
            texts = [texts_or_vectors] if isinstance(texts_or_vectors, str) else texts_or_vectors
            vectors = np.asarray(self.encode(texts, **{"convert_to_numpy": True, **options}))
        return unit_rows(vectors) if self.similarity_fn_name == "cosine" else vectors

    # ----- several processes

    def start_multi_process_pool(self, target_devices: str | list[str] | None = None) -> EncoderPool:
        """Start one process per device, by default per GPU or 4 on the CPU, for `pool` of :meth:`encode`."""
        import torch

        gpus = [f"cuda:{index}" for index in range(torch.cuda.device_count())]
        return EncoderPool(self, (gpus or ["cpu"] * 4) if target_devices is None else target_devices)

    @staticmethod
    def stop_multi_process_pool(pool: EncoderPool) -> None:
        """Stop the processes of a pool."""
        pool.close()

    # ----- LangChain and scikit-learn

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

        with temporary_folder() as parent:
            folder = self.save_pretrained(parent / (repo_id.rpartition("/")[2] or "encoder"))
            plan = plan_push(folder, repo_id, repo_type="model", revision=revision)
            check_redistribution(plan)
            if dry_run:
                log(f"{len(plan.files)} files for {repo_id}; nothing was sent")
                return repo_id
            return send(plan, token=token, private=bool(private), commit_message=commit_message).url


def rename_arguments(inputs: Any, normalize_embeddings: bool, former: dict[str, Any]) -> tuple[Any, bool]:
    """Return `inputs` and `normalize_embeddings`, which a caller may have passed by the names of older versions."""
    for name in ("sentences", "texts"):
        if name in former and inputs is MISSING:
            inputs = former.pop(name)
    normalize_embeddings = former.pop("normalize", False) or normalize_embeddings
    if former:
        raise TypeError(f"SentenceEncoder.encode() got an unexpected keyword argument {next(iter(former))!r}")
    if inputs is MISSING:
        raise TypeError("SentenceEncoder.encode() needs the argument 'inputs'")
    return inputs, normalize_embeddings


def checked_prompts(prompts: Any) -> dict[str, str]:
    """Refuse prompts that are not a mapping from names to texts, and return a copy of them."""
    if not isinstance(prompts, Mapping) or not all(isinstance(part, str) for pair in prompts.items() for part in pair):
        remedy = "give {'query': 'text before each query'}; encode takes the text of a prompt as prompt=…"
        raise UsageError(f"prompts is {prompts!r}, not a mapping from names to texts", remedy=remedy)
    return dict(prompts)


def check_truncation(dimension: int, truncate_dim: int) -> None:
    """Refuse to keep more components than an embedding has."""
    check_counts(truncate_dim=truncate_dim)
    if truncate_dim > dimension:
        what = f"embeddings of {dimension} components cannot be truncated to {truncate_dim}"
        raise UsageError(what, remedy=f"keep 1 to {dimension} of them")
