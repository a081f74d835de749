"""Exact scores of n-best lists: what hypotheses of a sentence share is computed once.

The hypotheses of a list are a prefix tree: most begin alike. Teacher forcing reads every one of them from its start
and encodes its source again; here every source is encoded once and every distinct prefix is read once.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
from .decoder_steps import Annotated, Attended, DecoderSteps
from .top_continuations import log_normalizers

_LOGITS_AT_ONCE = 1 << 24
"""Logits (rows * vocabulary) in memory together: 64 MiB in fp32."""
_ENERGIES_AT_ONCE = 1 << 23
"""Elements of the attention's hidden layer (rows * source length * attention) in memory together."""


@dataclass
class _Depth:
    """All distinct prefixes of one length, the sentences' in turn."""

    sentences: list[int]
    parents: list[int]
    words: list[int]
    rows: list[int] = field(default_factory=list)
    units: list[int] = field(default_factory=list)


@torch.no_grad()
def prefix_tree_scores(
    model: RnnSearchForConditionalGeneration,
    input_ids: Tensor,
    attention_mask: Tensor,
    sentences: Sequence[int],
    hypotheses: Sequence[Sequence[int]],
    *,
    candidates: Tensor | None = None,
) -> list[float]:
    """Computes Σ log p of the units of each hypothesis, as teacher forcing does.

    `sentences` has for each hypothesis the row of its source; `candidates` are the units over which the softmax is
    taken, all if not given. A hypothesis without units has 0, one with a unit that is no candidate −inf.
    """
    depths, paths = _prefix_tree(sentences, hypotheses)
    device = input_ids.device
    annotations = model.encoder(input_ids, attention_mask).last_hidden_state
    steps = DecoderSteps(model, candidates=candidates)
    annotated = steps.annotate(model.decoder.project_annotations(annotations, attention_mask))
    columns = torch.arange(model.config.vocab_size, device=device)
    if candidates is not None:
        columns = torch.full_like(columns, -1)
        columns[candidates] = torch.arange(candidates.numel(), device=device)
    attended: Attended | None = None
    parts: list[Tensor] = []
    for depth in depths:
        if attended is None:
            state, word_readout = steps.start(annotations)[torch.tensor(depth.sentences, device=device)], None
        else:
            word_gates, word_readout = steps.read_words(torch.tensor(depth.words, device=device))
            state = steps.next_state(attended.select(torch.tensor(depth.parents, device=device)), word_gates)
        attended = _attend(steps, state, depth.sentences, annotated)
        readout = attended.readout if word_readout is None else attended.readout + word_readout
        parts.append(_log_probs(steps, readout, depth, columns))
    # Once for all depths, because a GPU is waited for.
    log_probs = torch.cat(parts).cpu().double().tolist() if parts else []
    return [sum((log_probs[number] for number in path), 0.0) for path in paths]


def _prefix_tree(
    sentences: Sequence[int], hypotheses: Sequence[Sequence[int]]
) -> tuple[list[_Depth], list[list[int]]]:
    """Builds the prefix tree: its depths from the root, and the continuations of every hypothesis."""
    paths: list[list[int]] = [[] for _ in hypotheses]
    roots: dict[int, list[int]] = {}
    for index in sorted(range(len(hypotheses)), key=sentences.__getitem__):
        if hypotheses[index]:
            roots.setdefault(sentences[index], []).append(index)
    # A prefix: its sentence, its parent's row one depth above, its last unit, and the hypotheses that begin with it.
    prefixes = [(sentence, 0, -1, members) for sentence, members in roots.items()]
    depths: list[_Depth] = []
    count = 0
    while prefixes:
        position = len(depths)
        depth = _Depth([item[0] for item in prefixes], [item[1] for item in prefixes], [item[2] for item in prefixes])
        depths.append(depth)
        following = []
        for row, (sentence, _, _, members) in enumerate(prefixes):
            by_unit: dict[int, list[int]] = {}
            for index in members:
                by_unit.setdefault(hypotheses[index][position], []).append(index)
            for unit, own in by_unit.items():
                depth.rows.append(row)
                depth.units.append(unit)
                for index in own:
                    paths[index].append(count)
                longer = [index for index in own if len(hypotheses[index]) > position + 1]
                if longer:
                    following.append((sentence, row, unit, longer))
                count += 1
        prefixes = following
    return depths, paths


def _attend(steps: DecoderSteps, state: Tensor, sentences: Sequence[int], annotated: Annotated) -> Attended:
    """Attends from states (rows, hidden) whose sentences are ascending; sentences with as many rows go together."""
    # So lists of one hypothesis take one call, and none of unequal lists is filled up.
    length, size = annotated.keys.keys.shape[1:]
    most = max(1, _ENERGIES_AT_ONCE // (length * size))
    owners, first, counts = np.unique(np.asarray(sentences, np.int64), return_index=True, return_counts=True)
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


def _log_probs(steps: DecoderSteps, readout: Tensor, depth: _Depth, columns: Tensor) -> Tensor:
    """Computes the log-probability of every continuation of one depth, (continuations,)."""
    rows = torch.tensor(depth.rows, device=readout.device)
    units = columns[torch.tensor(depth.units, device=readout.device)]
    result = torch.empty(len(depth.rows), device=readout.device)
    size = max(1, _LOGITS_AT_ONCE // steps.output_size)
    first = 0
    for start in range(0, readout.shape[0], size):
        logits = steps.logits(readout[start : start + size])
        normalizers = log_normalizers(logits)
        stop = bisect.bisect_left(depth.rows, start + size, first)
        own = rows[first:stop] - start
        chosen = logits[own, units[first:stop]].float() - normalizers[own]
        result[first:stop] = chosen.masked_fill(units[first:stop] < 0, -torch.inf)
        first = stop
    return result
