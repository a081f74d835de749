"""Rows of ids as a padded batch."""

from __future__ import annotations

import torch

ROWS = [[5, 6, 7, 5], [8], [], [1, 2, 3, 4, 9, 10, 11]]


def padded(rows, length, *, left=False):
    """Ids and mask, both (rows, length)."""
    ids = torch.zeros(len(rows), length, dtype=torch.long)
    mask = torch.zeros(len(rows), length, dtype=torch.long)
    for place, row in enumerate(rows):
        span = slice(length - len(row), length) if left else slice(0, len(row))
        ids[place, span] = torch.tensor(row, dtype=torch.long)
        mask[place, span] = 1
    return ids, mask


def labels_of(rows, length, *, left=False):
    """Labels (rows, length), -100 at padding."""
    ids, mask = padded(rows, length, left=left)
    return ids.masked_fill(mask == 0, -100)
