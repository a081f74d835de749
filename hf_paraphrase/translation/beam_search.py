"""Searches for translations of a batch: n-best lists of the fast search or of `generate`, with exact scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase
from transformers.generation import LogitNormalization

from ..encoders.backends.padded_batches import batch_by_length
from ..models.stepwise_decoder import StepwiseDecoder
from .fast_search import CUT, fast_beam_search, fast_search_applies
from .forced_decoding import hypothesis_scores, padded_sources
from .loading import decoder_prefix_ids, eos_token_ids, target_limit
from .search_settings import BeamSearchConfig

_HYPOTHESES_PER_BATCH = 640
"""Rows that the decoder reads at once. More rows are not faster on two cores, fewer rows are slower."""
_SOURCE_UNITS_PER_BATCH = 1 << 16
"""Source subwords (rows * length) with their own annotations at once: 0.8 GB in fp32 for states of size 1000."""
_MAX_TARGET_TOKENS = 1_000
"""Maximum length of a translation by a model without a limit of its own."""
_LOGITS_PER_STEP = 1 << 26
"""Logits (rows * vocabulary) of a step of plain `generate`: a quarter of a gibibyte in fp32, and it makes copies."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation of the n-best list.

    Attributes:
        log_prob: Σ log p of its subwords and the end token, in nats, from a separate fp32 forward pass.
        num_tokens: Its number of subwords without the end token.
        finished: Whether it ends in the end token; false if it was cut at the length limit.
    """

    text: str
    log_prob: float
    num_tokens: int
    finished: bool


class SentenceLengths(LogitsProcessor):
    """The maximum length of each sentence's translation, with the end token, and the minimum without, for `generate`.

    `generate` has one limit per batch and counts hypotheses that it cuts there as finished, so that they displace
    finished translations in the n-best list. With this processor the end token of a cut hypothesis costs more than any
    finished one. Every translation begins with `start` tokens.
    """

    def __init__(
        self, limits: Sequence[int], num_beams: int, start: int, ends: Sequence[int], minimums: Sequence[int] | None
    ) -> None:
        self.limits = torch.tensor(limits).repeat_interleave(num_beams)
        self.minimums = torch.tensor(minimums or [0] * len(limits)).repeat_interleave(num_beams)
        self.start, self.ends = start, list(ends)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Force rows (rows, vocabulary) at their limit to end, and forbid rows below their minimum to end."""
        written = input_ids.shape[1] - self.start
        early = self.minimums > written
        if bool(early.any()):
            scores = scores.clone()
            scores[early.nonzero().to(scores.device), torch.tensor(self.ends, device=scores.device)] = -math.inf
        over = self.limits <= written
        if not bool(over.any()):
            return scores
        cut = torch.full_like(scores, -math.inf)
        cut[:, self.ends[0]] = CUT
        return torch.where(over.to(scores.device).unsqueeze(1), cut, scores)


def search_batches(
    model: PreTrainedModel, lengths: Sequence[int], num_beams: int, *, max_sentences: int | None = None
) -> Iterator[list[int]]:
    """Yield indices of sentences of similar length, longest first, in batches that fit in memory."""
    rows, subwords = _HYPOTHESES_PER_BATCH, _SOURCE_UNITS_PER_BATCH
    if not fast_search_applies(model):
        # The fast search stores annotations once per sentence, not once per hypothesis.
        rows, subwords = min(rows, _LOGITS_PER_STEP // int(model.config.vocab_size)), subwords // num_beams
    size = max(1, min(rows // num_beams, max_sentences or _HYPOTHESES_PER_BATCH))
    return batch_by_length(lengths, size, subwords)


@torch.inference_mode()
def translate_batch(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    input_ids: Sequence[list[int]],
    options: BeamSearchConfig,
    *,
    scorer: PreTrainedModel | None = None,
    steps: StepwiseDecoder | None = None,
    draw: LogitsProcessor | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch of tokenized sentences into n-best lists, best first.

    A list is never empty. It may be shorter than requested, because the duplicates that `generate` fills up with are
    dropped, and hypotheses that were cut at the length limit unless none finished. The model's own generation config
    supplies all settings without an argument here.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        input_ids: The source subwords with the special tokens, none empty.
        options: The settings of the search.
        scorer: The model, in fp32, that computes `log_prob` and ranks the list. Without one `log_prob` is NaN.
        steps: The prepared decoder of an RNNsearch model, which may be restricted to candidates (Jean et al. 2015).
        draw: Draws a token for each row of a greedy search, so that it samples.
    """
    sources, mask = padded_sources(model, tokenizer, input_ids)
    maximum = target_limit(model) or _MAX_TARGET_TOKENS
    limits = [max(1, min(maximum, math.floor(options.max_length_ratio * len(ids)))) for ids in input_ids]
    minimums = [
        min(limit - 1, math.floor(options.min_length_ratio * len(ids)))
        for limit, ids in zip(limits, input_ids, strict=True)
    ]
    ends, lead = eos_token_ids(model, tokenizer), len(decoder_prefix_ids(model))
    if draw is None and fast_search_applies(model):
        lists, _ = fast_beam_search(
            model,
            sources,
            mask,
            num_beams=options.num_beams,
            limits=limits,
            ends=ends,
            length_penalty=options.length_penalty,
            minimums=minimums,
            steps=steps,
        )
        sequences = lists[:, : options.num_return_sequences].flatten(0, 1)
    else:
        processors = LogitsProcessorList()
        if getattr(model.generation_config, "renormalize_logits", False):
            # `generate` would do so last, and give the end of a cut hypothesis the whole probability.
            processors.append(LogitNormalization())
        processors.append(SentenceLengths(limits, options.num_beams, lead, ends, minimums))
        if draw is not None:
            processors.append(draw)
        sequences = model.generate(
            input_ids=sources,
            attention_mask=mask,
            num_beams=options.num_beams,
            num_return_sequences=options.num_return_sequences,
            max_new_tokens=max(limits) + lead,
            max_length=None,
            length_penalty=options.length_penalty,
            early_stopping=False,
            do_sample=False,
            renormalize_logits=False,
            logits_processor=processors,
        )[:, lead:]
    rows, hypotheses = _distinct(sequences.tolist(), limits, ends)
    scores = [math.nan] * len(rows)
    if scorer is not None:
        scores = hypothesis_scores(scorer, sources, mask, rows, hypotheses)
    finished = [subwords[-1] in ends for subwords in hypotheses]
    without_end = [subwords[: len(subwords) - ended] for subwords, ended in zip(hypotheses, finished, strict=True)]
    texts = tokenizer.batch_decode(without_end, skip_special_tokens=True)
    results: list[list[Hypothesis]] = [[] for _ in input_ids]
    for row, text, log_prob, subwords, ended in zip(rows, texts, scores, without_end, finished, strict=True):
        results[row].append(Hypothesis(text.strip(), log_prob, len(subwords), ended))
    for nbest in results if scorer is not None else []:
        # Like `generate`, count the language token that begins a translation.
        nbest.sort(
            key=lambda own: -own.log_prob / (lead - 1 + own.num_tokens + own.finished) ** options.length_penalty
        )
    return results


def _distinct(
    sequences: Sequence[list[int]], limits: Sequence[int], ends: Sequence[int]
) -> tuple[list[int], list[list[int]]]:
    """Return the sentence and the subwords of distinct hypotheses: the finished ones, or else the best of a list."""
    rows: list[int] = []
    hypotheses: list[list[int]] = []
    size = len(sequences) // len(limits)
    for index, limit in enumerate(limits):
        distinct: dict[tuple[int, ...], bool] = {}
        for sequence in sequences[index * size : (index + 1) * size]:
            last = next((position for position, token in enumerate(sequence[:limit]) if token in ends), None)
            subwords = sequence[:limit] if last is None else sequence[: last + 1]
            distinct.setdefault(tuple(subwords), last is not None)
        chosen = [subwords for subwords, ended in distinct.items() if ended] or list(distinct)[:1]
        rows += [index] * len(chosen)
        hypotheses += map(list, chosen)
    return rows, hypotheses
