"""Exact beam search for RNNsearch models behind `generate(custom_generate=fast_beam_search)`.

The search is that of `generate`, hypothesis by hypothesis: the same candidates, the same ranking, the same end. It
computes less for it: the first step has one row a sentence instead of one a beam, a sentence whose list is final
leaves the batch, keys and values of the attention exist once a sentence, and no score matrix is normalised or stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Event
from typing import Any

import torch
from torch import Tensor
from transformers import GenerationConfig, LogitsProcessorList, PreTrainedModel, StoppingCriteriaList
from transformers.generation import EosTokenCriteria, MaxLengthCriteria, SuppressTokensLogitsProcessor
from transformers.generation.utils import GenerateBeamEncoderDecoderOutput

from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
from .decoder_steps import DecoderMatrices, DecoderSteps
from .top_continuations import Continuations, best_continuations, log_normalizers

CUT = -1e6
"""Log-probability of ending behind the length limit: below every real one, above the filling."""
_FILLING = -1e9
"""Score of the copies that fill up a list, as in `generate`."""


class SearchStopped(Exception):
    """A search was ended by another thread before it had a result."""


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
    stop: Event | None = None,
    **model_kwargs: Any,
) -> Tensor | GenerateBeamEncoderDecoderOutput:
    """Searches as `generate` does, faster; call it by `model.generate(…, custom_generate=fast_beam_search)`.

    A width of 1 is greedy search. Logits processors are honoured: suppressed tokens at no cost, any other on the
    log-probabilities of all units, as `generate` hands them over, which costs part of the gain.

    Args:
        model: The model, under `torch.autocast` or not.
        input_ids: The start token of every hypothesis, (batch * beams, 1).
        logits_processor: As prepared by `generate`.
        stopping_criteria: As prepared by `generate`; only the maximum length and the end token.
        generation_config: Settings; beams, number of returned sequences, lengths, length penalty, early stopping.
        limits: For each sentence, the greatest number of units of a translation, with the end token. A hypothesis
            that reaches it is ended there at a cost of 1e6 nats, so that it ranks below every finished one.
        candidates: Units that may be produced, distinct, with the end token, (candidates,): the softmax is over them.
        matrices: Those of the model, or of the one whose units it is restricted to, where they are laid out already.
        stop: Ends the search at its next step once it is set, from another thread.
        model_kwargs: `encoder_outputs` with the decoder's projections, as the model prepares it.

    Returns:
        What `generate` returns, without scores of single steps. Where there are fewer hypotheses than asked for, the
        best one is repeated with a score of −1e9.
    """
    _check_settings(generation_config, stopping_criteria, input_ids)
    steps_dtype = None
    if torch.is_autocast_enabled(input_ids.device.type):
        steps_dtype = torch.get_autocast_dtype(input_ids.device.type)
    with torch.autocast(input_ids.device.type, enabled=False):
        steps = DecoderSteps(model, dtype=steps_dtype, candidates=candidates, matrices=matrices)
        search = _Search(steps, input_ids, logits_processor, generation_config, limits, candidates)
        return search.run(model_kwargs["encoder_outputs"], stop)


class _Search:
    """One batch of sentences on the way to their n-best lists."""

    # Names of axes: `batch` is all sentences, `active` those whose lists are not final, `width` the hypotheses of a
    # beam (one before the first step), `beams` its full width.

    def __init__(
        self,
        steps: DecoderSteps,
        input_ids: Tensor,
        processors: LogitsProcessorList,
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
        self.early = config.early_stopping if self.beams > 1 else True
        self.max_length: int = config.max_length
        self.batch = input_ids.shape[0] // max(self.beams, self.returned)
        self.start_ids = input_ids[:: input_ids.shape[0] // self.batch]
        self.as_object = bool(config.return_dict_in_generate)
        self.ends: Tensor = config._eos_token_tensor
        self.kept = max(2, 1 + self.ends.numel()) * self.beams
        pad = config._pad_token_tensor
        self.pad = int(self.ends[0] if pad is None else pad)
        if limits is not None and len(limits) != self.batch:
            raise ValueError(f"{len(limits)} limits for {self.batch} sentences")
        self.limits = None if limits is None else torch.as_tensor(list(limits), device=device)
        self.lowest_limit = min(limits or [0])
        if candidates is not None and not bool(torch.isin(self.ends, candidates).all()):
            raise ValueError("the candidates must include the end token")
        self.banned, self.processors = self._split(processors)
        # A processor knows its row by its number, so with one all rows stay where `generate` has them.
        self.width = self.beams if self.processors else 1

        self.active = torch.arange(self.batch, device=device)
        self.prefixes = self.start_ids.repeat_interleave(self.width, dim=0).view(self.batch, self.width, 1)
        self.scores = torch.zeros((self.batch, self.width), device=device)
        self.scores[:, 1:] = -torch.inf
        self.finished_scores = torch.full((self.batch, self.beams), -torch.inf, device=device)
        self.finished = self.start_ids.new_full((self.batch, self.beams, self.start_ids.shape[1]), self.pad)

    def _split(self, processors: LogitsProcessorList) -> tuple[Tensor | None, LogitsProcessorList]:
        """Separates columns that never win, which cost nothing, from processors that need all log-probabilities."""
        suppressed, others = [], LogitsProcessorList()
        for processor in processors:
            if type(processor) is SuppressTokensLogitsProcessor:
                suppressed.append(processor.suppress_tokens)
            else:
                others.append(processor)
        if not suppressed:
            return None, others
        ids = torch.cat(suppressed).to(self.ends.device)
        if self.candidates is None or others:
            return ids, others
        return torch.isin(self.candidates, ids).nonzero().flatten(), others

    def run(self, encoder_outputs: Any, stop: Event | None) -> Tensor | GenerateBeamEncoderDecoderOutput:
        """Searches until all lists are final."""
        annotations = encoder_outputs.last_hidden_state
        annotations = annotations[:: annotations.shape[0] // self.batch]
        annotated = self.steps.annotate(encoder_outputs.projections)
        state = self.steps.start(annotations).repeat_interleave(self.width, dim=0)
        word_readout: Tensor | None = None
        while True:
            if stop is not None and stop.is_set():
                raise SearchStopped
            attended = self.steps.attend(state, annotated)
            readout = attended.readout if word_readout is None else attended.readout + word_readout
            continuations = self._rank(readout)
            rows, kept = self._advance(continuations)
            if not self.active.numel():
                return self._result()
            if kept is not None:
                annotated = annotated.select(kept)
            word_gates, word_readout = self.steps.read_words(self.prefixes[:, :, -1].flatten())
            state = self.steps.next_state(attended.select(rows), word_gates)

    def _rank(self, readout: Tensor) -> Continuations:
        """Finds the best continuations of every active sentence; their columns are given as units."""
        logits = self.steps.logits(readout)
        offsets = self.scores - log_normalizers(logits).view_as(self.scores)
        if self.processors:
            logits, offsets = self._processed(logits, offsets), self.scores
        if self.banned is not None:
            logits.index_fill_(1, self.banned, -torch.inf)
        continuations = best_continuations(logits, offsets, self.kept)
        if self.candidates is None or self.processors:
            return continuations
        return continuations._replace(columns=self.candidates[continuations.columns])

    def _processed(self, logits: Tensor, offsets: Tensor) -> Tensor:
        """Applies processors to the log-probabilities of all units, (rows, vocabulary)."""
        log_probs = logits.float() + torch.where(self.scores.isinf(), 0.0, offsets - self.scores).view(-1, 1)
        if self.candidates is not None:
            vocabulary = self.steps.embeddings.shape[0]
            dense = log_probs.new_full((logits.shape[0], vocabulary), -torch.inf)
            log_probs = dense.index_copy_(1, self.candidates, log_probs)
        processed: Tensor = self.processors(self.prefixes.flatten(0, 1), log_probs)
        return processed.contiguous()

    def _advance(self, continuations: Continuations) -> tuple[Tensor, Tensor | None]:
        """Moves finished continuations into the lists; returns parent rows, and the active positions or None."""
        units, length = continuations.columns, self.prefixes.shape[2]
        ending = torch.isin(units, self.ends)
        if length + 1 >= self.max_length:
            ending = torch.ones_like(ending)
        parents = continuations.parents
        prefixes = torch.cat(
            [self.prefixes.gather(1, parents.unsqueeze(2).expand(-1, -1, length)), units.unsqueeze(2)], dim=2
        )
        # As `generate`: only the best `beams` continuations may finish, the others only fill the beam up.
        self._finish(prefixes[:, : self.beams], continuations.scores[:, : self.beams], ending[:, : self.beams])
        # A stable sort keeps the order of the scores, dead continuations last.
        scores = continuations.scores.masked_fill(ending, -torch.inf)
        scores, best = scores.sort(dim=1, descending=True, stable=True)
        scores, best = scores[:, : self.beams], best[:, : self.beams]
        self.prefixes = prefixes.gather(1, best.unsqueeze(2).expand(-1, -1, length + 1))
        first = torch.arange(self.active.numel(), device=units.device).unsqueeze(1) * self.width
        rows = parents.gather(1, best) + first
        self.scores, self.width = scores, self.beams
        self._cut()
        return self._drop(rows)

    def _finish(self, prefixes: Tensor, scores: Tensor, ending: Tensor) -> None:
        """Merges hypotheses that end, (active, count, length), into the lists if they are good enough."""
        if _is_empty(ending):
            return
        length = prefixes.shape[2]
        scores = scores / (length - self.start_ids.shape[1]) ** self.penalty
        scores = scores.masked_fill(~ending, -torch.inf)
        merged_scores = torch.cat([self.finished_scores[self.active], scores], dim=1)
        lists = self._lists(length)
        merged = torch.cat([lists[self.active], prefixes], dim=1)
        best_scores, best = merged_scores.topk(self.beams, dim=1)
        self.finished_scores[self.active] = best_scores
        lists[self.active] = merged.gather(1, best.unsqueeze(2).expand(-1, -1, length))

    def _lists(self, length: int) -> Tensor:
        """Returns the finished hypotheses, padded to a length."""
        self.finished = torch.nn.functional.pad(self.finished, (0, length - self.finished.shape[2]), value=self.pad)
        return self.finished

    def _cut(self) -> None:
        """Ends the hypotheses of sentences that have reached their limits."""
        if self.limits is None:
            return
        length = self.prefixes.shape[2]
        if length - self.start_ids.shape[1] < self.lowest_limit or length + 1 > self.max_length:
            return
        over = self.limits[self.active] <= length - self.start_ids.shape[1]
        if _is_empty(over):
            return
        ended = torch.cat([self.prefixes, self.ends[0].expand(*self.prefixes.shape[:2], 1)], dim=2)
        self._finish(ended, self.scores + CUT, over.unsqueeze(1) & (self.scores != -torch.inf))
        self.scores = self.scores.masked_fill(over.unsqueeze(1), -torch.inf)

    def _drop(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """Removes the sentences from the beam whose lists can no longer improve."""
        generated = self.prefixes.shape[2] - self.start_ids.shape[1]
        if self.early == "never" and self.penalty > 0:
            generated = self.max_length - self.start_ids.shape[1]
        lists = self.finished_scores[self.active]
        worst = lists.amin(1)
        improvable = self.scores[:, 0] / generated**self.penalty > worst
        # Without any hypothesis that could continue there is nothing to wait for either.
        improvable &= self.scores[:, 0] > -torch.inf
        # NaN is kept to the end, so that whoever scores the list sees it.
        improvable |= self.scores[:, 0].isnan()
        if self.early is True:
            improvable &= worst == -torch.inf
        if self.prefixes.shape[2] >= self.max_length:
            improvable = torch.zeros_like(improvable)
        # The one question of a step for which a GPU is waited for: how many sentences the next one has.
        count = int(improvable.sum())
        if count == improvable.numel():
            return rows.flatten(), None
        if self.processors and count:
            # The rows stay, without any hypothesis to continue.
            self.scores = self.scores.masked_fill(~improvable.unsqueeze(1), -torch.inf)
            return rows.flatten(), None
        kept = improvable.to(torch.uint8).argsort(descending=True, stable=True)[:count]
        self.active, self.scores, self.prefixes = self.active[kept], self.scores[kept], self.prefixes[kept]
        return rows[kept].flatten(), kept

    def _result(self) -> Tensor | GenerateBeamEncoderDecoderOutput:
        scores, sequences = self.finished_scores[:, : self.returned], self.finished[:, : self.returned]
        missing = scores == -torch.inf
        sequences = torch.where(missing.unsqueeze(2), sequences[:, :1], sequences).flatten(0, 1)
        scores = scores.masked_fill(missing, _FILLING).flatten()
        if not self.as_object:
            return sequences
        return GenerateBeamEncoderDecoderOutput(sequences=sequences, sequences_scores=scores)


def _is_empty(mask: Tensor) -> bool:
    """Returns whether a mask on the CPU has no true element; always false on a GPU, where asking would synchronise."""
    # The result is the same either way: the work that is skipped changes nothing for an empty mask.
    return mask.device.type == "cpu" and not bool(mask.any())


def _check_settings(config: GenerationConfig, criteria: StoppingCriteriaList, input_ids: Tensor) -> None:
    for criterion in criteria:
        if not isinstance(criterion, MaxLengthCriteria | EosTokenCriteria):
            raise ValueError(f"{type(criterion).__name__} is unknown to this search: use plain generate")
    if config.do_sample:
        raise ValueError("this search does not sample: use plain generate")
    if config.output_attentions or config.output_hidden_states or config.output_logits or config.output_scores:
        raise ValueError("this search keeps no attentions, states, logits or scores of single steps")
    if config._eos_token_tensor is None:
        raise ValueError("this search needs an end token")
    if config.num_beams > 1 and config.num_return_sequences > config.num_beams:
        raise ValueError("num_return_sequences must not exceed num_beams")
    if input_ids.shape[1] != 1:
        raise ValueError("this search starts from the start token alone")
