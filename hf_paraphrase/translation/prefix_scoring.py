"""Exact scores of n-best lists: every source is encoded once and every distinct prefix of a list is read once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
from .batching import padded
from .decoder_steps import Annotated, Attended, DecoderMatrices, DecoderSteps
from .top_continuations import log_normalizers

_LOGITS_AT_ONCE = 1 << 24
"""Logits (rows * vocabulary) in memory together: 64 MiB in fp32."""
_ENERGIES_AT_ONCE = 1 << 23
"""Elements of the attention's hidden layer (rows * source length * attention) in memory together."""


@torch.no_grad()
def prefix_tree_scores(
    model: RnnSearchForConditionalGeneration,
    input_ids: Tensor,
    attention_mask: Tensor,
    sentences: Sequence[int],
    hypotheses: Sequence[Sequence[int]],
) -> list[float]:
    """Computes Σ log p of the units of each hypothesis, as teacher forcing does; 0 for one without units.

    `sentences` has for each hypothesis the row of its source.
    """
    device, vocabulary = input_ids.device, int(model.config.vocab_size)
    annotations = model.encoder(input_ids, attention_mask).last_hidden_state
    steps = DecoderSteps(DecoderMatrices(model))
    annotated = Annotated.prepare(model.decoder.project_annotations(annotations, attention_mask), steps.dtype)

    # One depth of the prefix tree after the other. `active` are the hypotheses that are longer than the depth, `rows`
    # the prefix of each, `owners` the sentence of each prefix, ascending.
    lengths = np.array([len(units) for units in hypotheses], dtype=np.int64)
    totals = np.zeros(len(hypotheses))
    active = np.flatnonzero(lengths)
    if not active.size:
        return totals.tolist()
    units = padded(hypotheses, 0).numpy()
    owners, rows = np.unique(np.asarray(sentences)[active], return_inverse=True)
    state, word_readout = steps.start(annotations)[torch.from_numpy(owners).to(device)], None
    places: list[tuple[np.ndarray, np.ndarray]] = []
    parts: list[Tensor] = []
    for depth in range(int(lengths.max())):
        attended = _attend(steps, state, owners, annotated)
        readout = attended.readout if word_readout is None else attended.readout + word_readout
        keys = rows * vocabulary + units[active, depth]
        distinct, place = np.unique(keys, return_inverse=True)
        places.append((active, place + sum(map(len, parts))))
        parts.append(_log_probs(steps, readout, distinct // vocabulary, distinct % vocabulary))
        longer = lengths[active] > depth + 1
        active = active[longer]
        if active.size:
            distinct, rows = np.unique(keys[longer], return_inverse=True)
            parents, words = distinct // vocabulary, torch.from_numpy(distinct % vocabulary).to(device)
            word_gates, word_readout = steps.read_words(words)
            state = steps.next_state(attended.select(torch.from_numpy(parents).to(device)), word_gates)
            owners = owners[parents]
    # Once for all depths, because a GPU is waited for.
    log_probs = torch.cat(parts).cpu().double().numpy()
    for chosen, place in places:
        totals[chosen] += log_probs[place]
    return totals.tolist()


def _attend(steps: DecoderSteps, state: Tensor, sentences: np.ndarray, annotated: Annotated) -> Attended:
    """Attends from states (rows, hidden) whose sentences are ascending; sentences with as many rows go together."""
    # So lists of one hypothesis take one call, and none of unequal lists is filled up.
    length, size = annotated.keys.shape[1:]
    most = max(1, _ENERGIES_AT_ONCE // (length * size))
    owners, first, counts = np.unique(sentences, return_index=True, return_counts=True)
    parts: list[Attended] = []
    order: list[np.ndarray] = []
    for count in np.unique(counts).tolist():
        chosen = np.flatnonzero(counts == count)
        together = max(1, most // count)
        for start in range(0, len(chosen), together):
            some = chosen[start : start + together]
            own = annotated.select(torch.from_numpy(owners[some]).to(state.device))
            for low in range(0, count, most):
                rows = (first[some][:, None] + np.arange(low, min(count, low + most))).ravel()
                order.append(rows)
                parts.append(steps.attend(state[torch.from_numpy(rows).to(state.device)], own))
    back = torch.from_numpy(np.argsort(np.concatenate(order))).to(state.device)
    return Attended(*(torch.cat(tensors).index_select(0, back) for tensors in zip(*parts, strict=True)))


def _log_probs(steps: DecoderSteps, readout: Tensor, rows: np.ndarray, units: np.ndarray) -> Tensor:
    """Computes the log-probabilities of units, (continuations,), behind rows of readouts, which are ascending."""
    size = max(1, _LOGITS_AT_ONCE // steps.output_size)
    parts: list[Tensor] = []
    for start in range(0, len(readout), size):
        logits = steps.logits(readout[start : start + size])
        low, high = np.searchsorted(rows, [start, start + size])
        own = torch.from_numpy(rows[low:high] - start).to(readout.device)
        chosen = torch.from_numpy(units[low:high]).to(readout.device)
        parts.append(logits[own, chosen].float() - log_normalizers(logits)[own])
    return torch.cat(parts)
