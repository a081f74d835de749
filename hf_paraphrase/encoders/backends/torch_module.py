"""Encoders that are PyTorch modules: models of this package, classes of users, and transformers with a pooling."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from ...artefacts.files import quiet_transformers
from ...errors import UsageError
from ...threads import available_threads, in_threads
from ...tokenization.ragged_ids import TokenIds
from ...tokenization.word_level import save_tokenizer
from ..architectures import check_own_class, is_own_class
from .base import EmbeddingJob, TokenBackend, Tokenize
from .batch_tokenizer import InputProcessing, count_final_special, special_tokens_mask
from .mean_pooler import embed_averages, make_pooler
from .padded_batches import embed_in_padded_batches, evaluation_mode
from .pooled_transformer import PooledTransformer
from .sentence_transformers_files import write_module_files


class TorchModule(TokenBackend):
    """A PyTorch module whose `forward(input_ids, attention_mask)` returns `pooler_output` (texts, dimension).

    Attributes:
        is_transformer: Whether the module is a transformer with a pooling, which reads unknown words as a context.
    """

    def __init__(self, model: Any, tokenizer: Any, processing: InputProcessing | None = None) -> None:
        super().__init__(processing or InputProcessing())
        self.model, self.tokenizer = model, tokenizer
        self.is_transformer = isinstance(model, PooledTransformer)
        self.zeroes_unknown_words = not self.is_transformer

    @property
    def rust_tokenizer(self) -> Any:
        """The tokenizer of the `tokenizers` library, or several that act as one."""
        return self.tokenizer.backend_tokenizer

    @property
    def dimension(self) -> int:  # type: ignore[override]
        """The number of components of an embedding before truncation."""
        return int(getattr(self.model, "dimension", None) or self.model.config.hidden_size)

    def special_tokens(self) -> tuple[int | None, list[int]]:
        """Return the id of the unknown token, and the ids of special tokens."""
        return self.tokenizer.unk_token_id, self.tokenizer.all_special_ids

    def forward_options(self, prompt: str = "", *, has_token_vectors: bool = False) -> dict[str, Any]:
        """Return the further arguments of `forward` for texts that start with a prompt."""
        parameters = inspect.signature(getattr(self.model, "forward", self.model)).parameters
        has_choice = "return_token_vectors" in parameters and not has_token_vectors
        options: dict[str, Any] = {"return_token_vectors": False} if has_choice else {}
        if prompt and not getattr(self.model, "include_prompt", True):
            num_tokens = int(self.token_ids([prompt]).lengths[0])
            options["unpooled"] = num_tokens - count_final_special(self.rust_tokenizer)
        return options

    def embed_tokens(self, tokenize: Tokenize, blocks: list[slice], job: EmbeddingJob) -> Iterator[int]:
        """Fill the vectors of a job in padded batches, or without padding for an average on the CPU."""
        model = self.model
        with evaluation_mode(model):
            if (pooler := make_pooler(model)) is not None:
                yield from embed_averages(pooler, tokenize, blocks, job)
                return
            options = self.forward_options(job.prompt)
            yield from embed_in_padded_batches(
                lambda ids, mask: model(ids, attention_mask=mask, **options).pooler_output,
                TokenIds.joined(in_threads(tokenize, blocks, available_threads())),
                job.write,
                batch_size=job.batch_size,
                pad_token_id=self.tokenizer.pad_token_id,
                device=model.device,
                is_transformer=self.is_transformer,
            )

    def save(
        self, folder: Path, options: Mapping[str, Any], weights: Mapping[str, torch.Tensor] | None = None
    ) -> None:
        """Write a model folder in float32, with other weights if they are given and it is not a transformer."""
        if self.is_transformer:
            self.model.save(folder, self.tokenizer, self.processing, options)
        else:
            write_model_files(folder, self.model, self.tokenizer, weights, options=options, processing=self.processing)


def compute_token_vectors(backend: TokenBackend, texts: list[str], prompt: str, batch_size: int) -> list[torch.Tensor]:
    """Compute the vectors (tokens, dim) of the tokens of each text, on the device of the model."""
    module = TorchModule(backend.model, backend.tokenizer, backend.processing)
    ids, options = module.token_ids(texts, prompt), module.forward_options(prompt, has_token_vectors=True)
    rows = np.argsort(-ids.lengths, kind="stable")
    vectors: dict[int, torch.Tensor] = {}
    with evaluation_mode(module.model), torch.inference_mode():
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            tokens, mask = (torch.from_numpy(part) for part in ids.padded(batch, module.tokenizer.pad_token_id or 0))
            output = module.model(tokens.to(module.device), attention_mask=mask.to(module.device), **options)
            if getattr(output, "last_hidden_state", None) is None:
                what = f"a backend of type {type(backend).__name__} has no token embeddings"
                raise UsageError(what, remedy="leave output_value out")
            for row, state in zip(batch.tolist(), output.last_hidden_state, strict=True):
                vectors[row] = state[: ids.lengths[row]]
    return [vectors[row] for row in range(len(texts))]


def write_model_files(
    folder: Path,
    model: Any,
    tokenizer: Any,
    weights: Mapping[str, torch.Tensor] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    processing: InputProcessing | None = None,
) -> None:
    """Write an encoder of this package or of the user's class, with the file that defines the class.

    `AutoModel`, sentence-transformers and this package open the folder.
    """
    check_own_class(model)
    if is_own_class(model):
        for kind, auto_class in ((type(model), "AutoModel"), (type(model.config), "AutoConfig")):
            if kind._auto_class is None:
                kind.register_for_auto_class(auto_class)
    with quiet_transformers():
        model.save_pretrained(folder, state_dict=None if weights is None else dict(weights))
        save_tokenizer(tokenizer, folder)
    # A `StaticEmbedding` of sentence-transformers has no special tokens.
    is_table = not needs_own_code(model) and not any(special_tokens_mask(tokenizer.backend_tokenizer))
    write_module_files(folder, model.config.hidden_size, options, is_table=is_table, processing=processing)


def needs_own_code(model: Any) -> bool:
    """Return whether sentence-transformers needs code of the folder to open it, as for all types except averages."""
    if isinstance(model, PooledTransformer) or not isinstance(model, PreTrainedModel):
        return False
    return model.config.model_type != "avg" or is_own_class(model)
