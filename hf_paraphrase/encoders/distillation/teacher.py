"""The sentence encoders of others, from which ours may learn.

A teacher is a local folder that transformers opens (`AutoModel`, with what its sentence-transformers files name:
:mod:`.sentence_transformers_modules`), so nothing beside transformers is needed to run it; or one of our own encoders.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ...artefacts.files import opening
from ...artefacts.model_loading import check_complete, open_tokenizer_folder
from ...artefacts.weights import read_headers
from ...errors import ModelError
from ...tokenization.token_ids import TokenIds
from ..padded_batches import batches_of_like_length
from .sentence_transformers_modules import REMEDY, Modules, pooled, read_modules

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

TOKENS_PER_BATCH = 1 << 12


@dataclass
class Teacher:
    """A sentence encoder that is not ours.

    Attributes:
        modules: What is done with a text before it, and with its token vectors.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    modules: Modules

    @property
    def dimension(self) -> int:
        """The number of components of an embedding."""
        if self.modules.layers:
            return int(self.modules.layers[-1].weight.shape[0])
        return int(self.model.config.hidden_size) * len(self.modules.poolings)

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, device: str | None = None, bf16: bool = False
    ) -> Teacher:
        """Opens a folder of sentence-transformers or transformers; nothing is fetched and no code of it is run.

        A folder without `modules.json` is pooled by the mean. A `Normalize` module is followed where that is asked for
        alone: it changes the lengths of vectors, and whoever learns from them looks at their directions.

        Args:
            folder: The folder.
            device: Where to compute; None for the CPU.
            bf16: Compute in bfloat16; the mean over the tokens is taken in fp32.
        """
        import torch
        from transformers import AutoModel

        folder = Path(folder)
        if not folder.is_dir():
            raise ModelError("no such model folder", path=folder, remedy=REMEDY)
        modules = read_modules(folder)
        place = modules.place
        if not read_headers(place):
            raise ModelError("it has no model.safetensors", path=folder, remedy="convert it to safetensors first")
        with opening("the sentence encoder", folder, REMEDY):
            model, loading = AutoModel.from_pretrained(
                place,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
                ignore_mismatched_sizes=True,
            )
        tokenizer = open_tokenizer_folder(place)
        if not tokenizer.is_fast or tokenizer.pad_token_id is None:
            raise ModelError("its tokenizer is not a fast one with a padding token", path=folder, remedy=REMEDY)
        # Poolers and decoders are not used, whether they are missing or not.
        unused = ("pooler.", "decoder.") if model.config.is_encoder_decoder else ("pooler.",)
        check_complete({**loading, "unexpected_keys": ()}, folder, unused=unused)
        if model.config.is_encoder_decoder:
            model = model.get_encoder()
        model = model.eval().to(device or "cpu", torch.bfloat16 if bf16 else torch.float32)
        return cls(model, tokenizer, modules)

    def encode(
        self, texts: Sequence[str], *, normalize: bool = False, show_progress_bar: bool = False
    ) -> NDArray[np.float32]:
        """Embeds short texts, those of like length together.

        Returns:
            float32 (texts, dimension), in the order of the texts.
        """
        import torch
        from tqdm.auto import tqdm

        bounds = (getattr(self.model.config, "max_position_embeddings", None), self.modules.longest)
        longest = min(self.tokenizer.model_max_length, *(bound for bound in bounds if bound is not None), 1 << 30)
        listed = [self.modules.prompt + text for text in texts]
        if self.modules.lower_case:
            listed = [text.lower() for text in listed]
        token_ids = self.tokenizer(listed, truncation=True, max_length=longest)["input_ids"] if listed else []
        ids = TokenIds.of_lists(token_ids)
        vectors = np.zeros((len(listed), self.dimension), np.float32)
        # A text without tokens has a vector, too.
        lengths = np.maximum(ids.lengths, 1)
        with torch.inference_mode(), tqdm(total=len(listed), unit=" texts", disable=not show_progress_bar) as progress:
            for rows in batches_of_like_length(lengths, len(lengths), TOKENS_PER_BATCH):
                embedded = self._embed(*ids.padded(np.array(rows), int(self.tokenizer.pad_token_id)))
                if normalize and self.modules.normalized:
                    embedded = torch.nn.functional.normalize(embedded, dim=1)
                vectors[rows] = embedded.float().cpu().numpy()
                progress.update(len(rows))
        return vectors

    def _embed(self, tokens: NDArray[np.int64], inside: NDArray[np.bool_]) -> Tensor:
        import torch

        ids = torch.from_numpy(tokens).to(self.model.device)
        mask = torch.from_numpy(inside).long().to(self.model.device)
        hidden: Tensor = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        vectors = pooled(self.modules.poolings, hidden, mask)
        for layer in self.modules.layers:
            vectors = layer(vectors)
        return vectors


class SentenceVectors(Protocol):
    """What embeds texts: a :class:`Teacher` or one of our own encoders."""

    @property
    def dimension(self) -> int:
        """The number of components of an embedding."""

    def encode(self, texts: Sequence[str], *, show_progress_bar: bool = ...) -> NDArray[np.float32]:
        """Embeds texts as float32 (texts, dimension)."""
