"""Supervised sets use few of an encoder's words, so training is done with these alone.

A word vector whose word is in no example has no gradient, and a penalty on its distance from the start is 0 and stays
so. So training a model that has the vectors of the words in use alone, and putting them back afterwards, gives just
what training with all of them would, in a fraction of the time and memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from ...tokenization.token_ids import TokenIds
from .sentence_classification import ClassifierInputs

if TYPE_CHECKING:
    from transformers import PreTrainedModel

WORD_VECTORS = "embeddings"
"""The name of the word vectors in every encoder of this package."""


@dataclass(frozen=True)
class CompactVocabulary:
    """The tokens that are kept.

    Attributes:
        rows: Their ids, ascending (kept,); the new id of each is its place.
    """

    rows: NDArray[np.int64]
    size: int

    @classmethod
    def of_inputs(cls, model: PreTrainedModel, parts: list[ClassifierInputs]) -> CompactVocabulary:
        """Finds the tokens of some inputs, with the padding, the unknown word and one token of each part besides."""
        settings = model.config.sentence_encoder
        sizes = settings.get("vocab_sizes") or [model.config.vocab_size]
        starts = [sum(sizes[:place]) for place in range(len(sizes))]
        special = [settings.get("pad_token_id"), model.encoder.config.pad_token_id]
        special += [settings.get("unk_token_id"), getattr(model.encoder.config, "unk_token_id", None)]
        always = [number for number in (*special, *starts) if number is not None]
        used = [side.ids for part in parts for side in (part.first, part.second) if side is not None]
        rows = np.unique(np.concatenate([np.array(always, np.int64), *used]))
        return cls(rows, sum(sizes))

    def inputs(self, inputs: ClassifierInputs) -> ClassifierInputs:
        """Writes inputs, all of whose tokens are kept, with the new ids."""

        def renumbered(tokens: TokenIds) -> TokenIds:
            return TokenIds(np.searchsorted(self.rows, tokens.ids), tokens.offsets)

        second = None if inputs.second is None else renumbered(inputs.second)
        return ClassifierInputs(renumbered(inputs.first), second, inputs.targets)

    def compacted(self, model: PreTrainedModel) -> PreTrainedModel:
        """Makes a model with the same weights for the kept tokens alone."""
        settings = {**model.config.sentence_encoder}
        encoder = model.encoder.config
        for name in ("pad_token_id", "unk_token_id"):
            if (number := getattr(encoder, name, None)) is not None:
                settings[name] = int(np.searchsorted(self.rows, number))
        if "vocab_sizes" in settings:
            ends = np.cumsum(settings["vocab_sizes"])
            counts = np.searchsorted(self.rows, ends)
            settings["vocab_sizes"] = np.diff(counts, prepend=0).tolist()
        settings["vocab_size"] = len(self.rows)
        config = type(model.config).from_dict({**model.config.to_dict(), "sentence_encoder": settings})
        small = type(model)(config)
        wanted = small.state_dict()
        small.load_state_dict({name: self._rows_of(value, wanted[name]) for name, value in model.state_dict().items()})
        return small

    def restore(self, small: PreTrainedModel, model: PreTrainedModel) -> None:
        """Writes the weights of a compacted model into that which it was made of."""
        trained = small.state_dict()
        with torch.no_grad():
            for name, value in model.state_dict().items():
                # A table with a row a token; where all tokens are kept the sizes are equal, and so is the order.
                if value.shape != trained[name].shape:
                    value[torch.from_numpy(self.rows).to(value.device)] = trained[name].to(value)
                else:
                    value.copy_(trained[name])

    def _rows_of(self, value: Any, wanted: Any) -> Any:
        return value if value.shape == wanted.shape else value[torch.from_numpy(self.rows).to(value.device)]
