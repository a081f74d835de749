"""The public class that opens every sentence encoder and embeds texts with it.

Its methods take the arguments of sentence-transformers 6 and return the same results; `docs/use/comparison.md` lists
the differences.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ..artefacts.hub_models import BUILTIN
from ..errors import UsageError, choice_of
from ..registry import TRUST_REMOTE_CODE
from ..text.normalization import is_blank
from ..tokenization.fast_tokenize import list_of_texts
from ..tokenization.ragged_ids import TokenIds
from ..vectors.similarity import check_counts
from ..vectors.storage import Precision, check_precision, quantize_embeddings
from .backends.base import Backend, EmbeddingJob, LoadingOptions, TokenBackend
from .backends.batch_tokenizer import InputProcessing
from .backends.opening import fetch_folder, find_best_device, make_backend, open_backend
from .backends.padded_batches import show_progress
from .backends.sentence_transformers_files import read_options
from .backends.static_table import StaticTable
from .encoder_interfaces import (
    MISSING,
    EncoderInterfaces,
    EncoderPool,
    check_truncation,
    checked_prompts,
    encode_in_processes,
    rename_arguments,
)
from .language_coverage import LanguageCoverage, UnreadableTexts

if TYPE_CHECKING:
    import torch
    from transformers import PreTrainedModel

    Texts: TypeAlias = str | Sequence[str]

_ROWS_PER_BLOCK = 1 << 14
_LOGGER = logging.getLogger(__name__)


class SentenceEncoder(EncoderInterfaces):
    """Embeds texts with any sentence encoder.

    An averaging encoder opened from a folder is a static table, which needs neither PyTorch nor transformers.

    Args:
        model: `builtin` or `multilingual`, the encoders of this package; a folder of this package, of `export`, of
            sentence-transformers, transformers (mean of the token vectors) or model2vec; the name `namespace/name` of
            a repository of the Hub; or a model object: of transformers, or a module whose `forward` returns
            `pooler_output` (texts, dim).
        tokenizer: The fast tokenizer of a model object.
        device: The device to compute on. By default a PyTorch model is opened on the best device, a static table or an
            ONNX graph on the CPU, and a model object stays on its device.
        prompts: Texts to put before inputs, by name, besides the prompts of the folder.
        default_prompt_name: The prompt of `encode` if the call names none.
        truncate_dim: Keep the first N components of each embedding.
        similarity_fn_name: `cosine` (default), `dot`, `euclidean` or `manhattan`.
        processing: The steps before the tokenizer and after the model, for a model object.
        backend: `onnx` for the ONNX graph of a folder, `torch` for a PyTorch module; None chooses the fastest one.
        revision: The branch, tag or commit of a repository; `main` by default.
        token: The token of the Hub's client.
        cache_folder: The cache of the Hub's client.
        local_files_only: Use files in the cache only.
        dtype: The type of a third-party transformer's weights, such as `bfloat16`, `bf16` or `auto`.
        trust_remote_code: Run the code of the folder; by default only with `hf-paraphrase --trust-remote-code`.
        model_kwargs: More arguments for `AutoModel.from_pretrained`.
        tokenizer_kwargs: More arguments for `AutoTokenizer.from_pretrained`.

    Attributes:
        results: The scores and counts of the training, for an encoder that `train_encoder` returned.
        folder: The folder that was opened; None for a model object.
        backend: Computes the embeddings.

    Raises:
        ModelError: The folder is no sentence encoder, is damaged, or needs code that is not trusted.

    Example:
        >>> encoder = SentenceEncoder("builtin")
        >>> encoder.encode(["The doctor bought a car."]).shape
        (1, 512)
    """

    def __init__(
        self,
        model: str | os.PathLike[str] | PreTrainedModel | Backend | Any = BUILTIN,
        tokenizer: Any = None,
        *,
        device: str | torch.device | None = None,
        prompts: Mapping[str, str] | None = None,
        default_prompt_name: str | None = None,
        truncate_dim: int | None = None,
        similarity_fn_name: str | None = None,
        processing: InputProcessing | None = None,
        backend: Literal["auto", "torch", "onnx"] | None = None,
        revision: str | None = None,
        token: str | bool | None = None,
        cache_folder: str | os.PathLike[str] | None = None,
        local_files_only: bool = False,
        dtype: str | torch.dtype | None = None,
        trust_remote_code: bool | None = None,
        model_kwargs: Mapping[str, Any] | None = None,
        tokenizer_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        self.results: dict[str, Any] = {}
        self.folder: Path | None = None
        # The same object in the copies for tasks and truncations, whose texts a pool of any of them can encode.
        self.origin = object()
        saved: dict[str, Any] = {}
        if isinstance(model, str | os.PathLike):
            if tokenizer is not None:
                raise UsageError("a folder comes with its tokenizer", remedy="leave tokenizer out")
            if trust_remote_code is None:
                trust_remote_code = os.environ.get(TRUST_REMOTE_CODE) == "1"
            client = {"token": token, "cache_dir": cache_folder, "local_files_only": local_files_only}
            client = {name: value for name, value in client.items() if value}
            self.folder = fetch_folder(model, trust_remote_code, revision=revision, **client)
            options = LoadingOptions(dtype, trust_remote_code, model_kwargs, tokenizer_kwargs)
            opened = open_backend(self.folder, backend, options)
            if processing is not None:
                opened.processing = processing
            saved = read_options(self.folder)
            device = device or find_best_device(opened)
        else:
            given = {"dtype": dtype, "model_kwargs": model_kwargs, "tokenizer_kwargs": tokenizer_kwargs}
            given |= {"backend": backend, "revision": revision}
            if names := [name for name, value in given.items() if value]:
                raise UsageError(f"{', '.join(names)} cannot be given with a model object", remedy="give a folder")
            opened = make_backend(model, tokenizer, processing)
        self._languages = LanguageCoverage(self.folder)
        self.backend: Backend = opened if device is None else opened.to(device)
        self.prompts = {**saved.get("prompts", {}), **checked_prompts({} if prompts is None else prompts)}
        self.default_prompt_name = default_prompt_name or saved.get("default_prompt_name")
        if self.default_prompt_name is not None:
            self.choose_prompt(name=self.default_prompt_name)
        self.similarity_fn_name = similarity_fn_name or saved.get("similarity_fn_name") or "cosine"
        self.truncate_dim = saved.get("truncate_dim") if truncate_dim is None else truncate_dim

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str] = BUILTIN, **options: Any) -> Self:
        """Open a model folder, a model of the Hub, or an encoder of this package; the class describes the options."""
        return cls(folder, **options)

    # ----- the parts

    @property
    def unchanged_folder(self) -> Path | None:
        """The opened folder, if it still gives the same embeddings as this encoder; else None."""
        is_unchanged = self.backend.is_unchanged and self.folder is not None
        saved = read_options(cast(Path, self.folder)) if is_unchanged else {}
        saved["similarity_fn_name"] = saved.get("similarity_fn_name") or "cosine"
        return self.folder if is_unchanged and saved == self.options else None

    @property
    def options(self) -> dict[str, Any]:
        """Prompts, truncation and similarity function, as a saved folder records them."""
        return {
            "prompts": self.prompts,
            "default_prompt_name": self.default_prompt_name,
            "truncate_dim": self.truncate_dim,
            "similarity_fn_name": self.similarity_fn_name,
        }

    @property
    def is_table(self) -> bool:
        """Whether a static table computes the embeddings."""
        return isinstance(self.backend, StaticTable)

    @property
    def model(self) -> Any:
        """The PyTorch module, the ONNX session or the sentence-transformers pipeline; reading it changes nothing."""
        return self.backend.model

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers; reading it changes nothing."""
        return self.backend.tokenizer

    @property
    def processing(self) -> InputProcessing:
        """The steps before the tokenizer and after the model."""
        return self.backend.processing

    @processing.setter
    def processing(self, processing: InputProcessing) -> None:
        self.backend.processing = processing

    @property
    def dimension(self) -> int:
        """The number of components of an embedding."""
        return self.truncate_dim or self.backend.dimension

    @property
    def prompts(self) -> dict[str, str]:
        """The texts to put before inputs, by name."""
        return self._prompts

    @prompts.setter
    def prompts(self, prompts: Mapping[str, str]) -> None:
        self._prompts = checked_prompts(prompts)

    @property
    def truncate_dim(self) -> int | None:
        """The number of components to keep of each embedding; None for all."""
        return self._truncate_dim

    @truncate_dim.setter
    def truncate_dim(self, truncate_dim: int | None) -> None:
        if truncate_dim is not None:
            check_truncation(self.backend.dimension, truncate_dim)
        self._truncate_dim = truncate_dim

    @property
    def max_seq_length(self) -> int | None:
        """The maximum number of tokens per text, special tokens included; None for no limit."""
        return self.processing.max_tokens

    @max_seq_length.setter
    def max_seq_length(self, length: int | None) -> None:
        if length is not None:
            check_counts(max_seq_length=length)
        self.backend.set_max_seq_length(length)

    @property
    def device(self) -> torch.device:
        """The device that computes embeddings."""
        return self.backend.device

    def to(self, device: str | torch.device) -> Self:
        """Move the encoder to a device, such as `cuda`, and return it."""
        self.backend = self.backend.to(device)
        return self

    def to_torch(self) -> Self:
        """Switch to a PyTorch module over token ids, which can be trained, and return the encoder."""
        self.backend = self.backend.as_module()
        return self

    def get_sentence_embedding_dimension(self) -> int:
        """Return the number of components of an embedding."""
        return self.dimension

    get_embedding_dimension = get_sentence_embedding_dimension

    def get_max_seq_length(self) -> int | None:
        """Return the maximum number of tokens per text."""
        return self.max_seq_length

    def vocabulary(self) -> tuple[dict[str, int], int | None, list[int]]:
        """Return the ids of all tokens by name, the id of the unknown token, and the ids of special tokens."""
        return self._token_backend.vocabulary()

    @property
    def _token_backend(self) -> TokenBackend:
        if not isinstance(self.backend, TokenBackend):
            what = "the modules of this encoder do not read token ids"
            raise UsageError(what, remedy="encode texts instead")
        return self.backend

    # ----- texts to tokens and embeddings

    def tokenize(self, texts: Texts, prompt: str | None = None) -> dict[str, torch.Tensor]:
        """Compute the token ids of texts as tensors, without the default prompt.

        Returns:
            `input_ids` and `attention_mask` (texts, length). A static table returns the concatenated `input_ids`
            (tokens,) of all texts, and `offsets` (texts,), the start of each text.
        """
        import torch

        ids = self.token_ids(texts, prompt or "")
        if self.is_table:
            return {"input_ids": torch.from_numpy(ids.ids), "offsets": torch.from_numpy(ids.offsets[:-1])}
        tokens, mask = ids.padded(np.arange(len(ids.lengths)), self.tokenizer.pad_token_id or 0)
        return {"input_ids": torch.from_numpy(tokens), "attention_mask": torch.from_numpy(mask.astype(np.int64))}

    preprocess = tokenize

    def token_ids(self, texts: Texts, prompt: str | None = None) -> TokenIds:
        """Compute the concatenated token ids of texts as NumPy arrays."""
        return self.backend.token_ids(self.prepare(texts), self.choose_prompt(prompt))

    def encode(
        self,
        inputs: Texts = MISSING,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int = 256,
        show_progress_bar: bool | None = None,
        output_value: Literal["sentence_embedding", "token_embeddings"] = "sentence_embedding",
        precision: Precision = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: str | torch.device | list[str] | None = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        pool: EncoderPool | None = None,
        chunk_size: int | None = None,
        *,
        num_processes: int | None = None,
        task: str | None = None,
        **former: Any,
    ) -> Any:
        """Embed texts.

        Texts of similar length share a batch. Batch size and order change a result by no more than rounding. A text
        without tokens embeds to zeros, and so does a text of only unknown words, except with a transformer.

        Args:
            inputs: One text, or several in a list, an iterator, an array, or a column of pandas, Arrow or datasets.
            prompt_name: The name of one of `prompts` to put before each text.
            prompt: A text to put before each text.
            batch_size: Maximum number of texts per batch, for encoders that need padding.
            show_progress_bar: Show the progress on standard error.
            output_value: `token_embeddings` returns a tensor (tokens, dim) per text instead.
            precision: `float32`, `int8`, `uint8`, `binary` or `ubinary`.
            convert_to_numpy: Return an array; if false and `convert_to_tensor` too, a list of tensors.
            convert_to_tensor: Return a tensor.
            device: Move the encoder to this device first; a list of devices encodes in one process per device.
            normalize_embeddings: Scale each embedding to length 1; zero embeddings stay zero.
            truncate_dim: Number of components to keep, before `normalize_embeddings`.
            pool: The processes of :meth:`start_multi_process_pool`.
            chunk_size: Number of texts per chunk for several processes.
            num_processes: Encode in this many processes on the CPU.
            task: `query` or `document`, for the routers of sentence-transformers.
            former: Other names: `sentences` and `texts` for `inputs`, `normalize` for `normalize_embeddings`.

        Returns:
            float32 (texts, dim) in the order of the texts, or (dim,) for a single text; with other options the type
            that sentence-transformers returns.
        """
        inputs, normalize_embeddings = rename_arguments(inputs, normalize_embeddings, former)
        check_precision(precision)
        if truncate_dim is not None:
            check_truncation(self.dimension, truncate_dim)
        if num_processes is not None:
            check_counts(num_processes=num_processes)
            device = ["cpu"] * num_processes
        if device is not None and not isinstance(device, list):
            self.to(device)
        prompt, is_single = self.choose_prompt(prompt, prompt_name), isinstance(inputs, str)
        texts = self.prepare(inputs)
        if output_value != "sentence_embedding":
            if output_value != "token_embeddings":
                what = f"the output value `{output_value}` is not supported"
                raise UsageError(what, remedy="use sentence_embedding or token_embeddings")
            from .backends.torch_module import compute_token_vectors

            token_vectors = compute_token_vectors(self._token_backend, texts, prompt, batch_size)
            return token_vectors[0] if is_single else token_vectors
        options: dict[str, Any] = {"prompt": prompt, "task": task or self._task, "batch_size": batch_size}
        options |= {"truncate_dim": truncate_dim, "normalize": normalize_embeddings}
        if pool is not None or isinstance(device, list):
            vectors = encode_in_processes(self, texts, pool or cast(list[str], device), chunk_size, options)
        else:
            vectors = self.embed(texts, show_progress_bar=bool(show_progress_bar), **options)
        if precision != "float32":
            vectors = quantize_embeddings(vectors, precision)
        if convert_to_numpy and not convert_to_tensor:
            return vectors[0] if is_single else vectors
        import torch

        tensor = torch.from_numpy(vectors).to(self.device)
        if is_single:
            return tensor[0]
        return tensor if convert_to_tensor else list(tensor)

    def embed(
        self,
        texts: list[str],
        *,
        prompt: str | None = None,
        task: str | None = None,
        batch_size: int = 256,
        normalize: bool = False,
        truncate_dim: int | None = None,
        show_progress_bar: bool = False,
        needs_known_words: bool = False,
    ) -> NDArray[np.float32]:
        """Embed a list of texts, float32 (texts, dim); see :meth:`encode`.

        With `needs_known_words` every text without a known word embeds to zeros, also by a transformer.
        """
        check_counts(batch_size=batch_size)
        self._languages.check(self.backend, texts)
        vectors = np.zeros((len(texts), truncate_dim or self.dimension), np.float32)
        prompt, task = self.choose_prompt(prompt), task or self._task
        job = EmbeddingJob(vectors, self.processing, normalize, prompt, task, batch_size, needs_known_words)
        steps = self.backend.embed(texts, job)
        self._finish(show_progress(steps, len(texts)) if show_progress_bar else steps)
        return vectors

    def encode_token_ids(self, ids: TokenIds) -> NDArray[np.float32]:
        """Embed texts as the model does, float32 (texts, dim), from the result of :meth:`token_ids`.

        A text of only unknown words has their vector, which :meth:`encode` replaces by zeros.
        """
        num_texts = len(ids.lengths)
        starts = range(0, num_texts or 1, _ROWS_PER_BLOCK)
        blocks = [slice(start, min(start + _ROWS_PER_BLOCK, num_texts)) for start in starts]
        vectors = np.zeros((num_texts, self.dimension), np.float32)
        job = EmbeddingJob(vectors, self.processing, prompt=self.choose_prompt())
        self._finish(self._token_backend.embed_tokens(lambda rows: ids.part(rows.start, rows.stop), blocks, job))
        return vectors

    def prepare(self, texts: Any) -> list[str]:
        """Return one text or several as a list, in which a text of invisible characters is empty."""
        listed = list_of_texts(list(texts) if isinstance(texts, Iterator) else texts)
        if self.processing.blank_is_empty:
            for row in [row for row, text in enumerate(listed) if not text.isascii() and is_blank(text)]:
                listed[row] = ""
        return listed

    def find_unreadable_texts(self, texts: Texts) -> UnreadableTexts:
        """Count texts in a script that the card of the encoder does not list, or of mostly unknown words."""
        return self._languages.find_unreadable(self.backend, self.prepare(texts))

    def _finish(self, steps: Iterator[int]) -> None:
        """Run all steps of an embedding job, and log its warnings."""
        for _ in steps:
            pass
        for warning in self.backend.take_warnings():
            _LOGGER.warning("%s", warning)

    def choose_prompt(self, prompt: str | None = None, name: str | None = None) -> str:
        """Return a prompt given as text or by its name, or else the default prompt."""
        if prompt is not None:
            if not isinstance(prompt, str):
                raise UsageError(f"prompt is {prompt!r}, not a text", remedy="give a text, or leave it out")
            return prompt
        name = self.default_prompt_name if name is None else name
        if name is None:
            return ""
        if name not in self.prompts:
            remedy = choice_of(name, list(self.prompts)) if self.prompts else "give the text itself: prompt=…"
            raise UsageError(f"prompt_name `{name}` is unknown", remedy=remedy)
        return self.prompts[name]

    # ----- folders

    def save_pretrained(self, folder: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a model folder in float32, which `AutoModel` and sentence-transformers open too.

        The folder appears complete or not at all. Its card repeats the license and the base model of the card of the
        folder that was opened.
        """
        from .model_folder import save_copy

        return save_copy(folder, self, overwrite=overwrite)
