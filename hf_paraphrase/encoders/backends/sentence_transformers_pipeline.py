"""Folders of sentence-transformers with modules that only that library has, such as routers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from types import SimpleNamespace
from typing import Any

import torch
from tokenizers import Tokenizer
from torch import Tensor
from transformers import PreTrainedConfig, PreTrainedTokenizerFast

from ...artefacts.files import quiet_transformers, read_optional_json, wrap_load_errors, write_json
from ...errors import ModelError
from ...tokenization.ragged_ids import TokenIds
from .base import Backend, EmbeddingJob, LoadingOptions
from .batch_tokenizer import InputProcessing
from .pooled_transformer import PooledTransformer
from .sentence_transformers_files import MODULES_FILE, OPTIONS_FILE
from .torch_module import TorchModule

_BATCHES_PER_STEP = 16
_LOCK = Lock()
"""A pipeline encodes for one thread at a time."""


class SentenceTransformersPipeline(Backend):
    """A `SentenceTransformer`, which tokenizes, pools and adds prompts by itself."""

    def __init__(self, pipeline: Any) -> None:
        # A module with code of its own may tokenize without one.
        self.model, self.tokenizer = pipeline, getattr(pipeline, "tokenizer", None)
        # `SentenceEncoder` truncates.
        pipeline.truncate_dim = None
        length = pipeline.max_seq_length
        max_tokens = None if length in (None, float("inf")) else int(length)
        self.processing = InputProcessing(max_tokens=max_tokens, blank_is_empty=False)
        self.dimension = int(pipeline.encode("a", prompt="").shape[-1])

    def set_max_seq_length(self, length: int | None) -> None:
        """Change the maximum number of tokens per text."""
        super().set_max_seq_length(length)
        self.model.max_seq_length = length

    def token_ids(self, texts: list[str], prompt: str = "") -> TokenIds:
        """Compute the token ids of texts by the first module, without padding."""
        lists = []
        # Versions below 6 name the method `tokenize`.
        tokenize = getattr(self.model, "preprocess", self.model.tokenize)
        for text in texts:
            with _LOCK:
                ids = tokenize([prompt + text])["input_ids"]
            lists.append(ids.reshape(-1).tolist())
        return TokenIds.of_lists(lists)

    def embed(self, texts: list[str], job: EmbeddingJob) -> Iterator[int]:
        """Fill the vectors of a job, and yield the number of finished texts per step."""
        options: dict[str, Any] = {} if job.task is None else {"task": job.task}
        options |= {"prompt": job.prompt, "batch_size": job.batch_size}
        step = _BATCHES_PER_STEP * job.batch_size
        for start in range(0, len(texts), step):
            part = texts[start : start + step]
            with _LOCK:
                encoded = self.model.encode(part, convert_to_tensor=True, show_progress_bar=False, **options)
            job.write(slice(start, start + len(part)), encoded.float().cpu().numpy())
            yield len(part)

    def save(self, folder: Path, options: Mapping[str, Any]) -> None:
        """Write a folder that sentence-transformers opens."""
        save_pipeline(self.model, folder, options)

    def as_module(self) -> TorchModule:
        """Return the same encoder as a PyTorch module over token ids, which can be trained."""
        first = type(self.model[0]).__name__
        if first not in ("StaticEmbedding", "Transformer"):
            what = f"an encoder whose first module is a {first} cannot be trained"
            raise ModelError(what, remedy="train it with sentence-transformers")
        tokenizer = self.tokenizer
        if first == "StaticEmbedding":
            rust_tokenizer = Tokenizer.from_str(tokenizer.to_str())
            rust_tokenizer.post_processor = None
            tokenizer = PreTrainedTokenizerFast(tokenizer_object=rust_tokenizer)
        return TorchModule(PipelineModule(self.model, self.dimension), tokenizer, self.processing)


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
    written = read_optional_json(folder / OPTIONS_FILE)
    prompts = {**written.get("prompts", {}), **(options.get("prompts") or {})}
    write_json(folder / OPTIONS_FILE, {**written, **options, "prompts": prompts})


def open_pipeline(folder: Path, options: LoadingOptions) -> SentenceTransformersPipeline:
    """Open a folder by sentence-transformers, in evaluation mode."""
    if find_spec("sentence_transformers") is None:
        what = "it has modules that only sentence-transformers opens"
        raise ModelError(what, path=folder / MODULES_FILE, remedy="pip install sentence-transformers")
    pickles = (path for path in folder.rglob("pytorch_model.bin") if not path.with_name("model.safetensors").is_file())
    if pickle := next(pickles, None):
        raise ModelError("it has no model.safetensors", path=pickle.parent, remedy="convert it to safetensors first")
    dtype = {} if options.dtype is None else {"dtype": options.dtype}
    with wrap_load_errors("the sentence encoder", folder, "see whether sentence-transformers opens it"):
        from sentence_transformers import SentenceTransformer

        pipeline = SentenceTransformer(
            str(folder),
            device="cpu",
            local_files_only=True,
            trust_remote_code=options.trust_remote_code,
            model_kwargs={**dtype, **(options.model_kwargs or {})},
            **({"tokenizer_kwargs": dict(options.tokenizer_kwargs)} if options.tokenizer_kwargs else {}),
        )
        return SentenceTransformersPipeline(pipeline.eval())
