"""Exact beam search for RNNsearch models.

The search gives the same hypotheses and ranking as `generate`, and stops at the same step, with less computation. The
first step has one row per sentence instead of one per hypothesis, finished sentences leave the batch, keys and values
of the attention are stored once per sentence, and no score matrix is normalized, sorted or stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor
from transformers import PreTrainedModel

from ..models.modeling_rnn_search import RnnSearchForConditionalGeneration
from ..models.stepwise_decoder import SourceProjections, StepwiseDecoder
from .loading import decoder_prefix_ids

CUT = -1e6
"""Log-probability of the end beyond the length limit, below every real one."""
_BLOCK = 64
"""Logits that share one maximum; the search for the best logits first compares the maxima."""
_CHUNK = 1 << 19
"""Logits that fit in the cache of a core."""
_HARMLESS = frozenset(
    {"bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "num_beams", "num_return_sequences"}
    | {"max_length", "max_new_tokens", "length_penalty", "early_stopping", "do_sample", "temperature", "top_k"}
    | {"top_p", "min_p", "typical_p", "use_cache", "renormalize_logits", "transformers_version"}
)
"""Fields of a generation config that the settings of the search replace or that do not change the search."""


def is_rnn_search(model: PreTrainedModel) -> bool:
    """Return whether a model is RNNsearch itself, not a wrapper of it."""
    return type(model) is RnnSearchForConditionalGeneration


def fast_search_applies(model: PreTrainedModel) -> bool:
    """Return whether :func:`fast_beam_search` supports the model and its generation config."""
    return is_rnn_search(model) and not unusual_settings(model)


def unusual_settings(model: PreTrainedModel) -> list[str]:
    """List the fields of a model's generation config that only `generate` supports, e.g. `no_repeat_ngram_size`."""
    given = model.generation_config.to_diff_dict()
    return sorted(name for name in given if name not in _HARMLESS and not name.startswith(("_", "output_", "return_")))


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
    minimums: Sequence[int] | None = None,
    steps: StepwiseDecoder | None = None,
) -> tuple[Tensor, Tensor]:
    """Search like `generate` but faster; a width of 1 is greedy search.

    `limits` are the maximum numbers of subwords of each sentence's translation, with the end token, and `minimums` the
    minimum numbers, without it. A hypothesis at the limit ends at a cost of 1e6 nats, so that it ranks below every
    finished hypothesis. `steps` is the prepared decoder, which may be restricted to candidates.

    Returns:
        The n-best lists, best first: subwords after the start, padded with the first end token (batch, num_beams,
        length), and their scores in fp32 (batch, num_beams). Short lists are padded with the best hypothesis at −inf.
    """
    device = input_ids.device
    annotations = model.encoder(input_ids, attention_mask).last_hidden_state
    projections = model.decoder.project_annotations(annotations, attention_mask)
    steps = steps or StepwiseDecoder.for_search(model)
    with torch.autocast(device.type, enabled=False):
        penalty = length_penalty if num_beams > 1 else 0.0
        beams = _Beams(num_beams, torch.tensor(limits, device=device), ends, penalty, decoder_prefix_ids(model)[0])
        source = SourceProjections.for_search(projections, steps.dtype)._replace(excluded=steps.excluded)
        state = steps.start(annotations)
        shortest = torch.tensor(minimums or [0] * len(limits), device=device)
        longest_minimum, written, ended_by = int(shortest.max()), 0, _columns(ends, steps.candidates, device)
        word_readout: Tensor | None = None
        while True:
            attended = steps.attend(state, source)
            readout = attended.readout if word_readout is None else attended.readout + word_readout
            logits = steps.logits(readout, source.excluded)
            offsets = beams.scores - log_normalizers(logits).view_as(beams.scores)
            if written < longest_minimum:
                # As in the reference decoder, the other tokens do not get the probability of the end.
                early = (shortest[beams.active] > written).repeat_interleave(beams.scores.shape[1]).nonzero()
                logits[early, ended_by] = -torch.inf
            written += 1
            continuations = best_continuations(logits, offsets, beams.kept)
            if steps.candidates is not None:
                continuations = continuations._replace(columns=steps.candidates[continuations.columns])
            rows, kept = beams.advance(continuations)
            if not beams.active.numel():
                return beams.lists()
            source = source if kept is None else source.select(kept)
            word_gates, word_readout = steps.read_words(beams.prefixes[:, :, -1].flatten())
            state = steps.next_state(attended.select(rows), word_gates)


def _columns(tokens: Sequence[int], candidates: Tensor | None, device: torch.device) -> Tensor:
    """Return the columns of the logits that belong to some tokens."""
    wanted = torch.tensor(tokens, device=device)
    return wanted if candidates is None else torch.isin(candidates, wanted).nonzero().squeeze(1)


class _Beams:
    """The hypotheses of a batch of sentences, and their n-best lists so far."""

    # Names of axes: `batch` is all sentences, `active` the sentences without a final list, `width` the hypotheses of a
    # beam (one before the first step), `beams` its full width. A prefix begins with the start token.

    def __init__(self, beams: int, limits: Tensor, ends: Sequence[int], penalty: float, start: int) -> None:
        self.beams = beams
        self.limits, self.lowest_limit = limits, int(limits.min())
        self.ends, self.pad = torch.tensor(ends, device=limits.device), ends[0]
        self.kept = max(2, 1 + len(ends)) * beams
        self.penalty = penalty
        self.active = torch.arange(len(limits), device=limits.device)
        self.finished_scores = torch.full((len(limits), beams), -torch.inf, device=limits.device)
        self.finished = torch.full((len(limits), beams, 1), self.pad, device=limits.device)
        self.prefixes = torch.full_like(self.finished[:, :1], start)
        self.scores = torch.zeros_like(self.finished_scores[:, :1])

    def lists(self) -> tuple[Tensor, Tensor]:
        """Return the n-best lists of finished hypotheses: subwords and scores."""
        missing = (self.finished_scores == -torch.inf).unsqueeze(2)
        return torch.where(missing, self.finished[:, :1], self.finished)[:, :, 1:], self.finished_scores

    def advance(self, continuations: Continuations) -> tuple[Tensor, Tensor | None]:
        """Move finished continuations into the lists; return parent rows, and the active sentences (None: all)."""
        scores, parents, subwords = continuations
        width, length = self.prefixes.shape[1:]
        ending = torch.isin(subwords, self.ends)
        prefixes = self.prefixes.gather(1, parents.unsqueeze(2).expand(-1, -1, length))
        prefixes = torch.cat([prefixes, subwords.unsqueeze(2)], dim=2)
        # As in `generate`, only the best `beams` continuations may finish. The rest fills the beam up.
        self._finish(prefixes[:, : self.beams], scores[:, : self.beams], ending[:, : self.beams])
        # A stable sort preserves the order of the scores, with ended continuations last.
        scores, best = scores.masked_fill(ending, -torch.inf).sort(dim=1, descending=True, stable=True)
        self.scores, best = scores[:, : self.beams], best[:, : self.beams]
        self.prefixes = prefixes.gather(1, best.unsqueeze(2).expand(-1, -1, length + 1))
        first = torch.arange(self.active.numel(), device=subwords.device).unsqueeze(1) * width
        if length >= self.lowest_limit:
            self._cut()
        return self._drop(parents.gather(1, best) + first)

    def _finish(self, prefixes: Tensor, scores: Tensor, ending: Tensor) -> None:
        """Merge hypotheses that end, (active, count, length), into the lists if they are good enough."""
        # On a GPU the check would synchronize; the work below changes nothing if none ends.
        if ending.device.type == "cpu" and not bool(ending.any()):
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
        """End the hypotheses of sentences that have reached their limits."""
        over = (self.limits[self.active] < self.prefixes.shape[2]).unsqueeze(1)
        ended = torch.cat([self.prefixes, self.ends[0].expand(*self.prefixes.shape[:2], 1)], dim=2)
        self._finish(ended, self.scores + CUT, over & (self.scores != -torch.inf))
        self.scores = self.scores.masked_fill(over, -torch.inf)

    def _drop(self, rows: Tensor) -> tuple[Tensor, Tensor | None]:
        """Remove sentences with final lists from the beam."""
        length = self.prefixes.shape[2]
        improvable = self.scores[:, 0] / (length - 1) ** self.penalty > self.finished_scores[self.active].amin(1)
        # A list without a hypothesis that could continue is final, too.
        improvable &= self.scores[:, 0] > -torch.inf
        # NaN is passed on, so that the scorer detects it.
        improvable |= self.scores[:, 0].isnan()
        # The only synchronization with a GPU in a step.
        count = int(improvable.sum())
        if count == improvable.numel():
            return rows.flatten(), None
        left = improvable.to(torch.uint8).argsort(descending=True, stable=True)[:count]
        self.active, self.scores, self.prefixes = self.active[left], self.scores[left], self.prefixes[left]
        return rows[left].flatten(), left


# ----- the best continuations of a beam, without sorting or storing scores of the whole vocabulary


class Continuations(NamedTuple):
    """The best continuations of each sentence's beam, best first, (batch, count) each.

    Attributes:
        scores: Total log-probabilities in fp32, −inf for a missing continuation.
        parents: The continued hypotheses of the beam.
        columns: The columns of the logits, or the tokens.
    """

    scores: Tensor
    parents: Tensor
    columns: Tensor


def log_normalizers(logits: Tensor) -> Tensor:
    """Compute log Σ_v exp(l_v) of logits (rows, columns) of any precision in fp32 (rows,)."""
    if logits.device.type != "cpu":
        return logits.float().logsumexp(1)
    # PyTorch's log-softmax reads half-precision numbers only once, and returns each logit minus the normalizer.
    # Subtracting this from a large logit gives the normalizer; with a small logit digits would be lost.
    index = logits[:, :_BLOCK].argmax(1, keepdim=True)
    maximum = logits.gather(1, index).squeeze(1).float()
    result = torch.empty_like(maximum)
    step = max(1, _CHUNK // logits.shape[1])
    for start in range(0, logits.shape[0], step):
        log_probs = torch.log_softmax(logits[start : start + step], dim=1, dtype=torch.float32)
        own = log_probs.gather(1, index[start : start + step]).squeeze(1)
        torch.sub(maximum[start : start + step], own, out=result[start : start + step])
    return result


def best_continuations(logits: Tensor, offsets: Tensor, count: int, block: int = _BLOCK) -> Continuations:
    """Find the `count` largest sums of an offset and a logit for each sentence, exactly and in one pass.

    The best `count` continuations are in the `count` blocks of logits with the largest maxima (as in Johnson et al.
    2017, section 4). Logits are (batch * width, columns). `offsets` (batch, width) are added to all logits of a row:
    the total log-probability minus the log normalizer, −inf for a missing hypothesis.
    """
    batch, width = offsets.shape
    columns = logits.shape[1]
    blocks = columns // block
    if width * blocks <= 2 * count:
        totals = (logits.float().view(batch, width, columns) + offsets.unsqueeze(2)).view(batch, -1)
        missing = (0, max(0, count - totals.shape[1]))
        scores, indices = torch.nn.functional.pad(totals, missing, value=-torch.inf).topk(count, dim=1)
        indices = indices.clamp(max=width * columns - 1)
        return Continuations(scores, indices // columns, indices % columns)
    # Block b has the columns b, b + blocks, b + 2 * blocks, … so that the maxima are computed over whole vectors.
    # Each remaining column is a separate block.
    body = blocks * block
    strided = logits.as_strided((batch * width, block, blocks), (logits.stride(0), blocks, 1), logits.storage_offset())
    maxima = torch.cat([_block_maxima(strided), logits[:, body:]], dim=1).float()
    bounds = (maxima.view(batch, width, -1) + offsets.unsqueeze(2)).view(batch, -1)
    indices = bounds.topk(count, dim=1).indices
    parents, chosen = indices // maxima.shape[1], indices % maxima.shape[1]
    member = torch.arange(block, device=logits.device)
    single = (chosen >= blocks).unsqueeze(2)
    inside = torch.where(single, body + chosen.unsqueeze(2) - blocks, chosen.unsqueeze(2) + member * blocks)
    rows = parents + torch.arange(batch, device=logits.device).unsqueeze(1) * width
    values = logits.view(-1).take(rows.unsqueeze(2) * columns + inside).float()
    values += offsets.gather(1, parents).unsqueeze(2)
    values.masked_fill_(single & (member > 0), -torch.inf)
    scores, picked = values.flatten(1).topk(count, dim=1)
    return Continuations(scores, parents.gather(1, picked // block), inside.flatten(1).gather(1, picked))


def _block_maxima(strided: Tensor) -> Tensor:
    """Compute the maximum over the members of blocks (rows, members, blocks); their number is a power of two."""
    # Halving is twice as fast as `amax`, which has no vector instructions for half-precision numbers.
    if strided.device.type != "cpu":
        return strided.amax(1)
    rows, members, blocks = strided.shape
    result = strided.new_empty((rows, blocks))
    step = max(1, _CHUNK // (members * blocks))
    for start in range(0, rows, step):
        left = strided[start : start + step]
        while left.shape[1] > 1:
            half = left.shape[1] // 2
            left = torch.maximum(left[:, :half], left[:, half:])
        result[start : start + step] = left.squeeze(1)
    return result
