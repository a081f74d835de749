"""What is done to the table of a trained average: it is turned to its principal axes, and cut."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import nn

from .encoded_texts import EncodedTexts
from .local_table import TABLE
from .objectives import principal_axes

if TYPE_CHECKING:
    from ...models.modeling_avg import AvgModel

_TEXTS_LOOKED_AT = 1 << 16


@torch.no_grad()
def turn_to_principal_axes(model: AvgModel, texts: EncodedTexts, components: int = 0, *, seed: int = 0) -> None:
    """Turns the table of an average so that its first components hold as much as they can of the cosines of texts.

    The axes are those of the embeddings of texts, divided by their lengths and not centred. All of them are a
    rotation, under which no cosine changes.

    Args:
        model: The average.
        texts: The texts, of which a sample is embedded.
        components: How many to keep; 0 for all.
        seed: Seed of the sample.
    """
    numbers = np.sort(np.random.default_rng([seed, 4]).permutation(len(texts))[:_TEXTS_LOOKED_AT])
    table = model.get_parameter(TABLE)
    vectors = []
    for start in range(0, len(numbers), 1 << 12):
        tokens, lengths = texts.take(numbers[start : start + (1 << 12)])
        ids, counts = (torch.from_numpy(part).to(table.device) for part in (tokens.astype(np.int64), lengths))
        vectors.append(model.mean_of_words(ids, counts).cpu())
    unit = nn.functional.normalize(torch.cat(vectors)).numpy()
    kept = components or unit.shape[1]
    axes = torch.from_numpy(principal_axes(unit, kept)).to(table.device)
    model.embeddings = nn.Parameter(table @ axes)
    model.config.hidden_size = kept
