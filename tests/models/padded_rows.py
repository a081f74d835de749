"""Rows of ids as a padded batch."""

from __future__ import annotations

import torch


def padded(rows, length, *, left=False):
    """Ids and mask, both (rows, length)."""
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    mask = torch.zeros(len(rows), length, dtype=torch.long)
    for place, row in enumerate(rows):
        span = slice(length - len(row), length) if left else slice(0, len(row))
        ids[place, span] = torch.tensor(row, dtype=torch.long)
        mask[place, span] = 1
    return ids, mask
