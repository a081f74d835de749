"""The best continuations of a beam, exactly, without sorting or storing scores of the whole vocabulary."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

_BLOCK = 64
"""Logits that share one maximum; the search for the best ones first looks at the maxima alone."""
_CHUNK = 1 << 19
"""Logits that are processed together: what a core's cache holds."""


class Continuations(NamedTuple):
    """The best continuations of each sentence's beam, best first, (batch, count) each."""

    scores: Tensor
    """Total log-probabilities in fp32; −inf where there are fewer."""
    parents: Tensor
    """Which hypothesis of the beam each continues."""
    columns: Tensor
    """By which column of the logits."""


def log_normalizers(logits: Tensor) -> Tensor:
    """Computes log Σ_v exp(l_v) of logits (rows, columns) in fp32, (rows,), whatever their own arithmetic."""
    if logits.device.type != "cpu":
        return logits.float().logsumexp(1)
    # PyTorch's log-softmax passes over half-precision numbers only once; it gives each logit less the normaliser. The
    # greatest of some logits is taken, since the difference of two large numbers loses digits.
    place = logits[:, :_BLOCK].argmax(1, keepdim=True)
    greatest = logits.gather(1, place).squeeze(1).float()
    result = torch.empty_like(greatest)
    step = max(1, _CHUNK // max(1, logits.shape[1]))
    for start in range(0, logits.shape[0], step):
        log_probs = torch.log_softmax(logits[start : start + step], dim=1, dtype=torch.float32)
        own = log_probs.gather(1, place[start : start + step]).squeeze(1)
        torch.sub(greatest[start : start + step], own, out=result[start : start + step])
    lost = (greatest == -torch.inf).nonzero().flatten()
    if lost.numel():
        result[lost] = logits[lost].float().logsumexp(1)
    return result


def best_continuations(logits: Tensor, offsets: Tensor, count: int, block: int = _BLOCK) -> Continuations:
    """Finds the `count` greatest sums of an offset and a logit for each sentence.

    The greatest of every block of logits bound what is in it, so the best `count` continuations are in the `count`
    best blocks; only those are examined (Johnson et al. 2017 §4 select likewise). Exact, and one pass over
    the logits.

    Logits are (batch * width, columns); what is added to all of a row, (batch, width), is the total log-probability
    minus the log normaliser, −inf for a hypothesis that does not exist.
    """
    batch, width = offsets.shape
    columns = logits.shape[1]
    blocks = columns // block
    if width * blocks <= 2 * count:
        totals = (logits.float().view(batch, width, columns) + offsets.unsqueeze(2)).view(batch, -1)
        missing = (0, max(0, count - totals.shape[1]))
        scores, places = torch.nn.functional.pad(totals, missing, value=-torch.inf).topk(count, dim=1)
        places = places.clamp(max=width * columns - 1)
        return Continuations(scores, places // columns, places % columns)
    # Block b holds the columns b, b + blocks, b + 2 * blocks, … so that the maxima are taken over whole vectors.
    # The columns that are left over are blocks of their own.
    body = blocks * block
    strided = logits.as_strided((batch * width, block, blocks), (logits.stride(0), blocks, 1), logits.storage_offset())
    maxima = torch.cat([_block_maxima(strided), logits[:, body:]], dim=1).float()
    bounds = (maxima.view(batch, width, -1) + offsets.unsqueeze(2)).view(batch, -1)
    places = bounds.topk(count, dim=1).indices
    parents, chosen = places // maxima.shape[1], places % maxima.shape[1]
    member = torch.arange(block, device=logits.device)
    single = (chosen >= blocks).unsqueeze(2)
    inside = torch.where(single, body + chosen.unsqueeze(2) - blocks, chosen.unsqueeze(2) + member * blocks)
    rows = parents + torch.arange(batch, device=logits.device).unsqueeze(1) * width
    values = logits.view(-1).take(rows.unsqueeze(2) * columns + inside).float()
    values += offsets.gather(1, parents).unsqueeze(2)
    values.masked_fill_(single & (member > 0), -torch.inf)
    scores, picked = values.flatten(1).topk(count, dim=1)
    owner = picked // block
    return Continuations(scores, parents.gather(1, owner), inside.flatten(1).gather(1, picked))


def _block_maxima(strided: Tensor) -> Tensor:
    """Computes the maximum over the members of blocks, (rows, members, blocks) with a power of two of members."""
    # Halving takes half the time of `amax`, which has no vector instructions for half-precision numbers.
    if strided.device.type != "cpu" or strided.shape[1] & (strided.shape[1] - 1):
        return strided.amax(1)
    rows, members, blocks = strided.shape
    result = strided.new_empty((rows, blocks))
    step = max(1, _CHUNK // max(1, members * blocks))
    for start in range(0, rows, step):
        left = strided[start : start + step]
        while left.shape[1] > 1:
            half = left.shape[1] // 2
            left = torch.maximum(left[:, :half], left[:, half:])
        result[start : start + step] = left.squeeze(1)
    return result
