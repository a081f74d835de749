"""The first components of an embedding alone: nearly as good where the encoder was trained so that they come first.

Such training is Matryoshka representation learning (Kusupati et al. 2022, https://arxiv.org/abs/2205.13147). The name
`truncate_dim` is that of sentence-transformers.
"""

from __future__ import annotations

import copy
from typing import Any

from ..errors import UsageError
from ..settings import check_count


def check_truncation(dimension: int, truncate_dim: int) -> None:
    """Checks that embeddings have so many components."""
    check_count("truncate_dim", truncate_dim)
    if truncate_dim > dimension:
        raise UsageError(
            f"embeddings of {dimension} components cannot be truncated to {truncate_dim}",
            remedy=f"keep 1 to {dimension} of them",
        )


def truncated_average(model: Any, truncate_dim: int) -> Any:
    """Makes the average whose embeddings are the first components of those of another, by keeping so many columns."""
    import torch

    config = copy.deepcopy(model.config)
    config.hidden_size = truncate_dim
    with torch.device("meta"):
        made = type(model)(config)
    table = model.embeddings.detach()[:, :truncate_dim].clone(memory_format=torch.contiguous_format)
    made.load_state_dict({"embeddings": table}, assign=True)
    return made.train(model.training)
