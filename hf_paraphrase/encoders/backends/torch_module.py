"""Encoders that are PyTorch modules: our own, those of users, and transformers with a pooling."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from transformers import PreTrainedModel

from ...artefacts.files import quiet_transformers
from ...errors import UsageError
from ...threads import available_threads, in_threads
from ...tokenization.ragged_ids import TokenIds
from ...tokenization.word_level import save_tokenizer
from ..architectures import check_own_class, is_own_class
from .base import Finish, TokenBackend, Tokenize
from .batch_tokenizer import InputProcessing, special_tokens_mask
from .mean_pooler import averages_of_model, embed_averages
from .padded_batches import embed_in_padded_batches, evaluation_mode
from .pooled_transformer import PooledTransformer
from .sentence_transformers_files import write_module_files


class TorchModule(TokenBackend):
    """A PyTorch module whose `forward(input_ids, attention_mask)` returns `pooler_output` (texts, dimension)."""

    def __init__(self, model: Any, tokenizer: Any, processing: InputProcessing | None = None) -> None:
        super().__init__(processing or InputProcessing())
        self._model, self._tokenizer = model, tokenizer

    @property
    def model(self) -> Any:
        """The module."""
        return self._model

    @property
    def tokenizer(self) -> Any:
        """The tokenizer of transformers."""
        return self._tokenizer

    @property
    def rust_tokenizer(self) -> Any:
        """The tokenizer of the `tokenizers` library, or several that act as one."""
        return self._tokenizer.backend_tokenizer

    @property
    def dimension(self) -> int:
        """The number of components of an embedding before truncation."""
        return int(getattr(self._model, "dimension", None) or self._model.config.hidden_size)

    @property
    def device(self) -> torch.device:
        """The device of the module."""
        device: torch.device = self._model.device
        return device

    @property
    def is_transformer(self) -> bool:
        """Whether the module is a transformer of another library, with a pooling."""
        return isinstance(self._model, PooledTransformer)

    @property
    def zeroes_unknown_words(self) -> bool:
        """Whether a text of unknown words only embeds to zeros; transformers read such a text as a context."""
        return not self.is_transformer

    def to(self, device: str | torch.device) -> TorchModule:
        """Move the module to a device."""
        try:
            self._model = self._model.to(device)
        except (RuntimeError, AssertionError) as error:
            raise UsageError(f"cannot use the device {device}: {error}", remedy="see hf-paraphrase env") from error
        return self

    def vocabulary(self) -> tuple[dict[str, int], int | None, list[int]]:
        """Return the ids of all tokens by name, the id of the unknown token, and the ids of special tokens."""
        tokenizer = self._tokenizer
        return tokenizer.get_vocab(), tokenizer.unk_token_id, tokenizer.all_special_ids

    def forward_options(self, prompt: str = "", *, has_token_vectors: bool = False) -> dict[str, Any]:
        """Return the arguments of `forward` besides tokens that start with a prompt."""
        parameters = inspect.signature(getattr(self._model, "forward", self._model)).parameters
        has_choice = "return_token_vectors" in parameters and not has_token_vectors
        options: dict[str, Any] = {"return_token_vectors": False} if has_choice else {}
        if prompt and not getattr(self._model, "include_prompt", True):
            num_tokens = int(self.token_ids([prompt]).lengths[0])
            options["unpooled"] = num_tokens - self.processing.num_final_special
        return options

    def embed_tokens(
        self,
        tokenize: Tokenize,
        blocks: list[slice],
        vectors: NDArray[np.float32],
        finish: Finish,
        *,
        prompt: str = "",
        batch_size: int = 256,
    ) -> Iterator[int]:
        """Fill `vectors` in padded batches; averages on the CPU are computed without padding."""
        model = self._model
        with evaluation_mode(model):
            if (averages := averages_of_model(model)) is not None:
                yield from embed_averages(averages, tokenize, blocks, vectors, finish)
                return
            options = self.forward_options(prompt)
            yield from embed_in_padded_batches(
                lambda ids, mask: model(ids, attention_mask=mask, **options).pooler_output,
                TokenIds.joined(in_threads(tokenize, blocks, available_threads())),
                vectors,
                batch_size=batch_size,
                pad_token_id=self._tokenizer.pad_token_id,
                device=model.device,
                finish=finish,
                is_transformer=self.is_transformer,
            )

    def save(self, folder: Path, options: Mapping[str, Any]) -> None:
        """Write a model folder in float32; see :class:`~.base.Backend`."""
        model, processing = self._model, self.processing
        if self.is_transformer:
            model.save(folder, self._tokenizer, processing, options)
        else:
            write_model_files(folder, model, self._tokenizer, options=options, processing=processing)


def token_vectors(backend: TokenBackend, texts: list[str], prompt: str, batch_size: int) -> list[torch.Tensor]:
    """Compute the vectors (tokens, dim) of the tokens of each text, on the device of the model."""
    if not isinstance(backend.model, torch.nn.Module):
        what = f"a backend of type {type(backend).__name__} has no token embeddings"
        raise UsageError(what, remedy="leave output_value out")
    module = TorchModule(backend.model, backend.tokenizer, backend.processing)
    ids, options = module.token_ids(texts, prompt), module.forward_options(prompt, has_token_vectors=True)
    rows, found = np.argsort(-ids.lengths, kind="stable"), {}
    with evaluation_mode(module.model), torch.inference_mode():
        for start in range(0, len(rows), batch_size):
            batch = rows[start : start + batch_size]
            tokens, mask = ids.padded(batch, module.tokenizer.pad_token_id or 0)
            inputs = [torch.from_numpy(part).to(module.device) for part in (tokens, mask)]
            states = module.model(inputs[0], attention_mask=inputs[1], **options).last_hidden_state
            for row, state in zip(batch.tolist(), states, strict=True):
                found[row] = state[: ids.lengths[row]]
    return [found[row] for row in range(len(texts))]


def write_model_files(
    folder: Path,
    model: Any,
    tokenizer: Any,
    weights: Mapping[str, torch.Tensor] | None = None,
    *,
    options: Mapping[str, Any] | None = None,
    processing: InputProcessing | None = None,
) -> None:
    """Write an encoder of ours so that `AutoModel`, sentence-transformers and this package open it.

    A model class of the user is saved with the file that defines it.
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
    """Return whether sentence-transformers opens the folder only with code: it has the code of an average itself."""
    if isinstance(model, PooledTransformer) or not isinstance(model, PreTrainedModel):
        return False
    return model.config.model_type != "avg" or is_own_class(model)
