"""Exact beam search for RNNsearch models behind `generate(custom_generate=fast_beam_search)`.

The search is that of `generate`, hypothesis by hypothesis: the same candidates, the same ranking, the same end. It
computes less for it: the first step has one row a sentence instead of one a beam, a sentence whose list is final
leaves the batch, keys and values of the attention exist once a sentence, and no score matrix is normalised or stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, StoppingCriteriaList
from transformers.generation import EosTokenCriteria, MaxLengthCriteria
from transformers.generation.utils import GenerateBeamEncoderDecoderOutput

from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
from .decoder_steps import Annotated, DecoderMatrices, DecoderSteps
from .top_continuations import Continuations, best_continuations, log_normalizers

CUT = -1e6
"""Log-probability of ending behind the length limit: below every real one, above the filling."""
_FILLING = -1e9
"""Score of the copies that fill up a list, as in `generate`."""


def fast_search_applies(model: PreTrainedModel) -> bool:
    """Returns whether :func:`fast_beam_search` knows how to decode with a model: exactly RNNsearch, no wrapper."""
    return type(model) is RnnSearchForConditionalGeneration


@torch.no_grad()
def fast_beam_search(
    model: RnnSearchForConditionalGeneration,
    input_ids: Tensor,
    logits_processor: LogitsProcessorList,
    stopping_criteria: StoppingCriteriaList,
    generation_config: GenerationConfig,
    limits: Sequence[int] | None = None,
    candidates: Tensor | None = None,
    matrices: DecoderMatrices | None = None,
    **model_kwargs: Any,
) -> Tensor | GenerateBeamEncoderDecoderOutput:
    """Searches as `generate` does, faster; call it by `model.generate(…, custom_generate=fast_beam_search)`.

    A width of 1 is greedy search. `limits` has for each sentence the greatest number of units of a translation, with
    the end token: a hypothesis that reaches it is ended there at a cost of 1e6 nats, so that it ranks below every
    finished one. `candidates` are the distinct units that may be produced, (candidates,): the softmax is over them.

    Returns what `generate` returns, without scores of single steps. Where there are fewer hypotheses than asked for,
    the best one is repeated with a score of −1e9.
    """
    _check_settings(generation_config, stopping_criteria, logits_processor)
    dtype = None
    if torch.is_autocast_enabled(input_ids.device.type):
        dtype = torch.get_autocast_dtype(input_ids.device.type)
    with torch.autocast(input_ids.device.type, enabled=False):
        steps = DecoderSteps(matrices or DecoderMatrices(model, dtype=dtype), candidates)
        search = _Search(steps, input_ids, generation_config, limits, candidates)
        return search.run(model_kwargs["encoder_outputs"])


class _Search:
    """One batch of sentences on the way to their n-best lists."""

    # Names of axes: `batch` is all sentences, `active` those whose lists are not final, `width` the hypotheses of a
    # beam (one before the first step), `beams` its full width. A prefix has the start token before its units.

    def __init__(
        self,
        steps: DecoderSteps,
        input_ids: Tensor,
        config: GenerationConfig,
        limits: Sequence[int] | None,
        candidates: Tensor | None,
    ) -> None:
        device = input_ids.device
        self.steps = steps
        self.candidates = candidates
        self.beams: int = config.num_beams
        self.returned: int = config.num_return_sequences
        self.penalty: float = config.length_penalty if self.beams > 1 else 0.0
        self.max_length: int = config.max_length
        self.as_object = bool(config.return_dict_in_generate)
        self.ends: Tensor = config._eos_token_tensor
        self.pad = int(self.ends[0] if config._pad_token_tensor is None else config._pad_token_tensor)
        self.kept = max(2, 1 + self.ends.numel()) * self.beams
        self.batch = input_ids.shape[0] // max(self.beams, self.returned)
        if limits is not None and len(limits) != self.batch:
            raise ValueError(f"limits of another number of sentences than {self.batch}")
        self.limits = torch.as_tensor(list(limits or [self.max_length] * self.batch), device=device)
        self.lowest_limit = min(limits or [self.max_length])
        if candidates is not None and not bool(torch.isin(self.ends, candidates).all()):
            raise ValueError("the candidates must include the end token")

        self.active = torch.arange(self.batch, device=device)
        start_ids = input_ids[:: input_ids.shape[0] // self.batch]
        self.prefixes = start_ids.unsqueeze(1)
        self.scores = torch.zeros((self.batch, 1), device=device)
        self.finished_scores = torch.full((self.batch, self.beams), -torch.inf, device=device)
        self.finished = start_ids.new_full((self.batch, self.beams, 1), self.pad)

    def run(self, encoder_outputs: Any) -> Tensor | GenerateBeamEncoderDecoderOutput:
        """Searches until all lists are final."""
        annotations = encoder_outputs.last_hidden_state
        state = self.steps.start(annotations[:: annotations.shape[0] // self.batch])
        annotated = Annotated.prepare(encoder_outputs.projections, self.steps.dtype)
        word_readout: Tensor | None = None
        while True:
            attended = self.steps.attend(state, annotated)
            readout = attended.readout if word_readout is None else attended.readout + word_readout
            rows, kept = self._advance(self._rank(self.steps.logits(readout)))
            if not self.active.numel():
                return self._result()
            if kept is not None:
                annotated = annotated.select(kept)
            word_gates, word_readout = self.steps.read_words(self.prefixes[:, :, -1].flatten())
            state = self.steps.next_state(attended.select(rows), word_gates)

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
        if length + 1 >= self.max_length:
            ending = torch.ones_like(ending)
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
        self.finished = torch.nn.functional.pad(self.finished, (0, length - self.finished.shape[2]), value=self.pad)
        merged = torch.cat([self.finished[self.active], prefixes], dim=1)
        best_scores, best = merged_scores.topk(self.beams, dim=1)
        self.finished_scores[self.active] = best_scores
        self.finished[self.active] = merged.gather(1, best.unsqueeze(2).expand(-1, -1, length))

    def _cut(self) -> None:
        """Ends the hypotheses of sentences that have reached their limits."""
        length = self.prefixes.shape[2]
        if length - 1 < self.lowest_limit or length + 1 > self.max_length:
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
        if length >= self.max_length:
            improvable = torch.zeros_like(improvable)
        # The one question of a step for which a GPU is waited for: how many sentences the next one has.
        count = int(improvable.sum())
        if count == improvable.numel():
            return rows.flatten(), None
        kept = improvable.to(torch.uint8).argsort(descending=True, stable=True)[:count]
        self.active, self.scores, self.prefixes = self.active[kept], self.scores[kept], self.prefixes[kept]
        return rows[kept].flatten(), kept

    def _result(self) -> Tensor | GenerateBeamEncoderDecoderOutput:
        scores, sequences = self.finished_scores[:, : self.returned], self.finished[:, : self.returned]
        missing = scores == -torch.inf
        sequences = torch.where(missing.unsqueeze(2), sequences[:, :1], sequences).flatten(0, 1)
        if not self.as_object:
            return sequences
        scores = scores.masked_fill(missing, _FILLING).flatten()
        return GenerateBeamEncoderDecoderOutput(sequences=sequences, sequences_scores=scores)


def _is_empty(mask: Tensor) -> bool:
    """Returns whether a mask on the CPU has no true element; always false on a GPU, where asking would synchronise."""
    # The result is the same either way: the work that is skipped changes nothing for an empty mask.
    return mask.device.type == "cpu" and not bool(mask.any())


def _check_settings(config: GenerationConfig, criteria: StoppingCriteriaList, processors: LogitsProcessorList) -> None:
    unknown = [type(item).__name__ for item in processors]
    unknown += [type(item).__name__ for item in criteria if not isinstance(item, MaxLengthCriteria | EosTokenCriteria)]
    unknown += [name for name in ("do_sample", "early_stopping", "output_scores") if getattr(config, name)]
    if unknown:
        raise ValueError(f"{', '.join(unknown)} is unknown to this search: use plain generate")
    if config._eos_token_tensor is None:
        raise ValueError("this search needs an end token")
