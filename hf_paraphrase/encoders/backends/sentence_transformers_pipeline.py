"""Folders of sentence-transformers with modules that only that library has, such as routers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedTokenizerFast

from ...artefacts.files import quiet_transformers, wrap_load_errors, write_json
from ...errors import ModelError, UsageError
from ...tokenization.ragged_ids import TokenIds
from .base import Backend, Finish
from .batch_tokenizer import InputProcessing, count_final_special
from .pooled_transformer import PooledTransformer
from .sentence_transformers_files import MODULES_FILE, OPTIONS_FILE, optional_json
from .torch_module import TorchModule

_BATCHES_PER_STEP = 16
_LOCK = Lock()
"""A pipeline encodes for one thread at a time."""


class SentenceTransformersPipeline(Backend):
    """A `SentenceTransformer`, which tokenizes, pools and follows prompts by itself."""

    def __init__(self, pipeline: Any) -> None:
        self.processing = InputProcessing(blank_is_empty=False)
        self._pipeline = pipeline
        # The encoder truncates.
        pipeline.truncate_dim = None
        self._dimension = int(pipeline.encode("a", prompt="").shape[-1])

    @property
    def model(self) -> Any:
        """The `SentenceTransformer`."""
        return self._pipeline

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of its first module."""
        return self._pipeline.tokenizer

    @property
    def dimension(self) -> int:
        """The number of components of an embedding before truncation."""
        return self._dimension

    @property
    def device(self) -> torch.device:
        """The device of the pipeline."""
        device: torch.device = self._pipeline.device
        return device

    @property
    def max_seq_length(self) -> int | None:
        """The maximum number of tokens per text; None for no limit."""
        length = self._pipeline.max_seq_length
        return None if length in (None, float("inf")) else int(length)

    def set_max_seq_length(self, length: int | None) -> None:
        """Change the maximum number of tokens per text."""
        self._pipeline.max_seq_length = length

    def to(self, device: str | torch.device) -> SentenceTransformersPipeline:
        """Move the pipeline to a device."""
        try:
            self._pipeline.to(device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"cannot use the device {device}: {error}", remedy="see hf-paraphrase env") from error
        return self

    def token_ids(self, texts: list[str], prompt: str = "") -> TokenIds:
        """Compute the token ids of texts by the first module, without padding."""
        lists = []
        # Versions below 6 call it `tokenize`.
        tokenize = getattr(self._pipeline, "preprocess", self._pipeline.tokenize)
        for text in texts:
            with _LOCK:
                ids = tokenize([prompt + text])["input_ids"]
            lists.append(ids.reshape(-1).tolist())
        return TokenIds.of_lists(lists)

    def embed(
        self,
        texts: list[str],
        vectors: NDArray[np.float32],
        finish: Finish,
        *,
        prompt: str = "",
        task: str | None = None,
        batch_size: int = 256,
        needs_known_words: bool = False,
    ) -> Iterator[int]:
        """Fill `vectors` (texts, dimension); see :class:`~.base.Backend`."""
        options: dict[str, Any] = {} if task is None else {"task": task}
        options |= {"prompt": prompt, "batch_size": batch_size, "convert_to_tensor": True, "show_progress_bar": False}
        for start in range(0, len(texts), _BATCHES_PER_STEP * batch_size):
            part = texts[start : start + _BATCHES_PER_STEP * batch_size]
            with _LOCK:
                encoded = self._pipeline.encode(part, **options)
            vectors[start : start + len(part)] = finish(encoded.float().cpu().numpy())
            yield len(part)

    def save(self, folder: Path, options: Mapping[str, Any]) -> None:
        """Write a folder that sentence-transformers opens."""
        save_pipeline(self._pipeline, folder, options)

    def as_module(self) -> TorchModule:
        """Return the same encoder as a PyTorch module over token ids, which can be trained."""
        first = type(self._pipeline[0]).__name__
        if first not in ("StaticEmbedding", "Transformer"):
            what = f"an encoder whose first module is a {first} cannot be trained"
            raise ModelError(what, remedy="train it with sentence-transformers")
        tokenizer, processing = self.tokenizer, InputProcessing(max_tokens=self.max_seq_length, blank_is_empty=False)
        if first == "StaticEmbedding":
            rust_tokenizer = Tokenizer.from_str(tokenizer.to_str())
            rust_tokenizer.post_processor = None
            tokenizer = PreTrainedTokenizerFast(tokenizer_object=rust_tokenizer)
        processing = processing.changed(num_final_special=count_final_special(tokenizer.backend_tokenizer))
        return TorchModule(PipelineModule(self._pipeline, self._dimension), tokenizer, processing)


class PipelineModule(PooledTransformer):
    """The modules of a pipeline over token ids, for training."""

    def __init__(self, pipeline: Any, dimension: int) -> None:
        super().__init__(pipeline)
        self.config = PreTrainedConfig(hidden_size=dimension, vocab_size=len(pipeline.tokenizer.get_vocab()))

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, unpooled: int = 0) -> SimpleNamespace:
        """Embed texts from their ids (texts, length), padded on the right."""
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask.long()
        features = {"input_ids": input_ids, "attention_mask": mask}
        if type(self.transformer[0]).__name__ == "StaticEmbedding":
            ends = mask.sum(1).cumsum(0)
            features = {"input_ids": input_ids[mask.bool()], "offsets": torch.cat([ends.new_zeros(1), ends[:-1]])}
        elif unpooled:
            features["prompt_length"] = torch.tensor(unpooled)
        return SimpleNamespace(pooler_output=self.transformer(features)["sentence_embedding"])

    def save(self, folder: Path, tokenizer: Any, processing: InputProcessing, options: Mapping[str, Any]) -> None:
        """Write a folder that sentence-transformers opens."""
        save_pipeline(self.transformer, folder, options)


def save_pipeline(pipeline: Any, folder: Path, options: Mapping[str, Any]) -> None:
    """Write the folder of a pipeline, with the options of an encoder."""
    with quiet_transformers():
        pipeline.save_pretrained(str(folder), create_model_card=False)
    written = optional_json(folder / OPTIONS_FILE)
    prompts = {**written.get("prompts", {}), **(options.get("prompts") or {})}
    write_json(folder / OPTIONS_FILE, {**written, **options, "prompts": prompts})


def open_pipeline(
    folder: Path,
    *,
    dtype: str | torch.dtype | None = None,
    trust_remote_code: bool = False,
    model_kwargs: Mapping[str, Any] | None = None,
    tokenizer_kwargs: Mapping[str, Any] | None = None,
) -> SentenceTransformersPipeline:
    """Open a folder by sentence-transformers, in evaluation mode."""
    if find_spec("sentence_transformers") is None:
        what = "it has modules that only sentence-transformers opens"
        raise ModelError(what, path=folder / MODULES_FILE, remedy="pip install sentence-transformers")
    pickles = (path for path in folder.rglob("pytorch_model.bin") if not path.with_name("model.safetensors").is_file())
    if pickle := next(pickles, None):
        raise ModelError("it has no model.safetensors", path=pickle.parent, remedy="convert it to safetensors first")
    given = {**({} if dtype is None else {"dtype": dtype}), **(model_kwargs or {})}
    with wrap_load_errors("the sentence encoder", folder, "see whether sentence-transformers opens it"):
        from sentence_transformers import SentenceTransformer

        pipeline = SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=trust_remote_code,
            model_kwargs=given,
            **({"tokenizer_kwargs": dict(tokenizer_kwargs)} if tokenizer_kwargs else {}),
        )
        return SentenceTransformersPipeline(pipeline.eval())
