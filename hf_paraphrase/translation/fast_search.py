"""Exact beam search for RNNsearch models.

The search is that of `generate`, hypothesis by hypothesis: the same candidates, the same ranking, the same end. It
computes less for it: the first step has one row a sentence instead of one a beam, a sentence whose list is final
leaves the batch, keys and values of the attention exist once a sentence, and no score matrix is normalised or stored.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from transformers import PreTrainedModel

from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
from .decoder_steps import Annotated, DecoderMatrices, DecoderSteps
from .loading import decoder_start
from .top_continuations import Continuations, best_continuations, log_normalizers

CUT = -1e6
"""Log-probability of ending behind the length limit: below every real one."""


def fast_search_applies(model: PreTrainedModel) -> bool:
    """Returns whether :func:`fast_beam_search` knows how to decode with a model: exactly RNNsearch, no wrapper."""
    return type(model) is RnnSearchForConditionalGeneration


@torch.no_grad()
def fast_beam_search(
    model: RnnSearchForConditionalGeneration,
    input_ids: Tensor,
    attention_mask: Tensor,
    *,
    num_beams: int,
    limits: Sequence[int],
    ends: Sequence[int],
    length_penalty: float = 1.0,
    candidates: Tensor | None = None,
    matrices: DecoderMatrices | None = None,
) -> tuple[Tensor, Tensor]:
    """Searches as `generate` does, faster; a width of 1 is greedy search.

    Args:
        model: An RNNsearch model.
        input_ids: Source units, (batch, source length).
        attention_mask: 1 for units and 0 for padding, likewise.
        num_beams: Beam width.
        limits: For each sentence the greatest number of units of a translation, with the end: a hypothesis that
            reaches it is ended there at a cost of 1e6 nats, so that it ranks below every finished one.
        ends: The units that end a translation.
        length_penalty: Exponent of the length by which a score is divided.
        candidates: The distinct units that may be produced, (candidates,): the softmax is over them.
        matrices: Those of the model, where they are laid out already.

    Returns:
        The lists, best first: units behind the start, padded with the first of the ends, (batch, num_beams, length),
        and their scores in fp32, (batch, num_beams). Where there are fewer hypotheses the best one is repeated with a
        score of −inf.
    """
    if candidates is not None and not set(ends) <= set(candidates.tolist()):
        raise ValueError("the candidates must include the end token")
    device = input_ids.device
    annotations = model.encoder(input_ids, attention_mask).last_hidden_state
    projections = model.decoder.project_annotations(annotations, attention_mask)
    dtype = torch.get_autocast_dtype(device.type) if torch.is_autocast_enabled(device.type) else None
    with torch.autocast(device.type, enabled=False):
        steps = DecoderSteps(matrices or DecoderMatrices(model, dtype=dtype), candidates)
        penalty = length_penalty if num_beams > 1 else 0.0
        search = _Search(steps, num_beams, torch.tensor(limits, device=device), ends, penalty, candidates)
        return search.run(
            decoder_start(model)[0], steps.start(annotations), Annotated.prepare(projections, steps.dtype)
        )


class _Search:
    """One batch of sentences on the way to their n-best lists."""

    # Names of axes: `batch` is all sentences, `active` those whose lists are not final, `width` the hypotheses of a
    # beam (one before the first step), `beams` its full width. A prefix has the start token before its units.

    def __init__(
        self,
        steps: DecoderSteps,
        beams: int,
        limits: Tensor,
        ends: Sequence[int],
        penalty: float,
        candidates: Tensor | None,
    ) -> None:
        self.steps = steps
        self.beams = beams
        self.limits, self.lowest_limit = limits, int(limits.min())
        self.ends, self.pad = torch.tensor(ends, device=limits.device), ends[0]
        self.kept = max(2, 1 + len(ends)) * beams
        self.penalty = penalty
        self.candidates = candidates

        self.active = torch.arange(len(limits), device=limits.device)
        self.finished_scores = torch.full((len(limits), beams), -torch.inf, device=limits.device)
        self.finished = torch.full((len(limits), beams, 1), self.pad, device=limits.device)

    def run(self, start: int, state: Tensor, annotated: Annotated) -> tuple[Tensor, Tensor]:
        """Searches from the start unit and the first states, (batch, hidden), until all lists are final."""
        self.prefixes = torch.full_like(self.finished[:, :1], start)
        self.scores = torch.zeros_like(self.finished_scores[:, :1])
        word_readout: Tensor | None = None
        while True:
            attended = self.steps.attend(state, annotated)
            readout = attended.readout if word_readout is None else attended.readout + word_readout
            rows, kept = self._advance(self._rank(self.steps.logits(readout)))
            if not self.active.numel():
                break
            if kept is not None:
                annotated = annotated.select(kept)
            word_gates, word_readout = self.steps.read_words(self.prefixes[:, :, -1].flatten())
            state = self.steps.next_state(attended.select(rows), word_gates)
        missing = (self.finished_scores == -torch.inf).unsqueeze(2)
        return torch.where(missing, self.finished[:, :1], self.finished)[:, :, 1:], self.finished_scores

    def _rank(self, logits: Tensor) -> Continuations:
        """Finds the best continuations of every active sentence; their columns are given as units."""
        offsets = self.scores - log_normalizers(logits).view_as(self.scores)
        continuations = best_continuations(logits, offsets, self.kept)
        if self.candidates is None:
            return continuations
        return continuations._replace(columns=self.candidates[continuations.columns])

    def _advance(self, continuations: Continuations) -> tuple[Tensor, Tensor | None]:
        """Moves finished continuations into the lists; returns parent rows, and the active positions or None."""
        units, parents = continuations.columns, continuations.parents
        width, length = self.prefixes.shape[1:]
        ending = torch.isin(units, self.ends)
        prefixes = self.prefixes.gather(1, parents.unsqueeze(2).expand(-1, -1, length))
        prefixes = torch.cat([prefixes, units.unsqueeze(2)], dim=2)
        # As `generate`: only the best `beams` continuations may finish, the others only fill the beam up.
        self._finish(prefixes[:, : self.beams], continuations.scores[:, : self.beams], ending[:, : self.beams])
        # A stable sort keeps the order of the scores, dead continuations last.
        scores = continuations.scores.masked_fill(ending, -torch.inf)
        scores, best = scores.sort(dim=1, descending=True, stable=True)
        self.scores, best = scores[:, : self.beams], best[:, : self.beams]
        self.prefixes = prefixes.gather(1, best.unsqueeze(2).expand(-1, -1, length + 1))
        first = torch.arange(self.active.numel(), device=units.device).unsqueeze(1) * width
        self._cut()
        return self._drop(parents.gather(1, best) + first)

    def _finish(self, prefixes: Tensor, scores: Tensor, ending: Tensor) -> None:
        """Merges hypotheses that end, (active, count, length), into the lists if they are good enough."""
        if _is_empty(ending):
            return
        length = prefixes.shape[2]
        scores = (scores / (length - 1) ** self.penalty).masked_fill(~ending, -torch.inf)
        merged_scores = torch.cat([self.finished_scores[self.active], scores], dim=1)
        longer = (0, length - self.finished.shape[2])
        self.finished = torch.nn.functional.pad(self.finished, longer, value=self.pad)
        merged = torch.cat([self.finished[self.active], prefixes], dim=1)
        best_scores, best = merged_scores.topk(self.beams, dim=1)
        self.finished_scores[self.active] = best_scores
        self.finished[self.active] = merged.gather(1, best.unsqueeze(2).expand(-1, -1, length))

    def _cut(self) -> None:
        """Ends the hypotheses of sentences that have reached their limits."""
        length = self.prefixes.shape[2]
        if length - 1 < self.lowest_limit:
            return
        over = (self.limits[self.active] <= length - 1).unsqueeze(1)
        if _is_empty(over):
            return
        ended = torch.cat([self.prefixes, self.ends[0].expand(*self.prefixes.shape[:2], 1)], dim=2)
        self._finish(ended, self.scores + CUT, over & (self.scores != -torch.inf))
        self.scores = self.scores.masked_fill(over, -torch.inf)

    def _drop(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """Removes the sentences from the beam whose lists can no longer improve."""
        length = self.prefixes.shape[2]
        improvable = self.scores[:, 0] / (length - 1) ** self.penalty > self.finished_scores[self.active].amin(1)
        # Without any hypothesis that could continue there is nothing to wait for either.
        improvable &= self.scores[:, 0] > -torch.inf
        # NaN is kept to the end, so that whoever scores the list sees it.
        improvable |= self.scores[:, 0].isnan()
        # The one question of a step for which a GPU is waited for: how many sentences the next one has.
        count = int(improvable.sum())
        if count == improvable.numel():
            return rows.flatten(), None
        kept = improvable.to(torch.uint8).argsort(descending=True, stable=True)[:count]
        self.active, self.scores, self.prefixes = self.active[kept], self.scores[kept], self.prefixes[kept]
        return rows[kept].flatten(), kept


def _is_empty(mask: Tensor) -> bool:
    """Returns whether a mask on the CPU has no true element; always false on a GPU, where asking would synchronise."""
    # The result is the same either way: the work that is skipped changes nothing for an empty mask.
    return mask.device.type == "cpu" and not bool(mask.any())
