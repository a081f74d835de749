"""Translates sentences with `generate`: batches by length, n-best lists, exact scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase
from transformers.generation import LogitNormalization

from ..tokenization.token_lookup import list_of_texts
from .decoder_steps import DecoderMatrices
from .fast_search import CUT, SearchStopped, fast_beam_search, fast_search_applies
from .loading import decoder_start, end_units, source_units, target_limit
from .scoring import hypothesis_scores, padded_sources
from .search_settings import SearchConstraints

_HYPOTHESES_PER_BATCH = 640
"""Rows that the decoder handles at once; more does not make two cores faster, less wastes them."""
_SOURCE_UNITS_PER_BATCH = 1 << 16
"""Source units (rows * length) with annotations of their own at once: 0.8 GB in fp32 where the states have 1000
components."""
_LOGITS_PER_STEP = 1 << 26
"""Logits (rows * vocabulary) of a step of plain `generate`: a quarter of a gibibyte in fp32, and it makes copies."""


@dataclass(frozen=True)
class Hypothesis:
    """One translation of the n-best list.

    Attributes:
        text: The detokenised translation.
        log_prob: Σ log p of its units and the end token, in nats, from a separate fp32 forward pass.
        num_tokens: Its number of units without the end token.
        finished: Whether it ends in the end token; false if it was cut at the length limit.
    """

    text: str
    log_prob: float
    num_tokens: int
    finished: bool


class _StopSearch(LogitsProcessor):
    """Ends a search at its next step once an event is set."""

    def __init__(self, stop: Event) -> None:
        self.stop = stop

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        if self.stop.is_set():
            raise SearchStopped
        return scores


class _Lengths(LogitsProcessor):
    """Limits of the length of each sentence of a batch, whatever else is in it.

    Args:
        limits: Units with the end token, (sentences,).
        num_beams: Rows of a sentence.
        start: Units that every translation begins with.
        ends: Units that end one.
    """

    def __init__(self, limits: Sequence[int], num_beams: int, start: int, ends: Sequence[int]) -> None:
        self.limits = torch.tensor(limits).repeat_interleave(num_beams)
        self.start = start
        self.ends = list(ends)

    def generated(self, input_ids: torch.Tensor) -> int:
        """Returns how many units all hypotheses have."""
        return input_ids.shape[1] - self.start


class MinimumLengths(_Lengths):
    """Forbids the end token until a hypothesis has the least length for its own source."""

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Returns the scores, (rows, vocabulary), with -inf for an end that would come too early."""
        early = (self.limits > self.generated(input_ids) + 1).to(scores.device)
        if not bool(early.any()):
            return scores
        limited = scores.clone()
        for end in self.ends:
            limited[early, end] = -math.inf
        return limited


class _LengthLimits(_Lengths):
    """Ends every hypothesis that has reached the length limit of its own source."""

    # `generate` knows one limit for a batch and takes what it cuts there for finished, which pushes real translations
    # out of the n-best list. Here a cut hypothesis is given an end token that costs more than any real one.

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        over = self.limits <= self.generated(input_ids)
        if not bool(over.any()):
            return scores
        cut = torch.full_like(scores, -math.inf)
        cut[:, self.ends[0]] = CUT
        return torch.where(over.to(scores.device).unsqueeze(1), cut, scores)


def length_batches(
    lengths: Sequence[int], num_beams: int, rows: int = _HYPOTHESES_PER_BATCH, units: int | None = None
) -> Iterator[list[int]]:
    """Yields indices of sentences of similar length, longest first; a batch may always hold one sentence."""
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    start = 0
    while start < len(order):
        size = rows // num_beams
        if units is not None:
            size = min(size, units // (num_beams * max(1, lengths[order[start]])))
        batch = order[start : start + max(1, size)]
        yield batch
        start += len(batch)


def search_batches(
    model: PreTrainedModel,
    lengths: Sequence[int],
    num_beams: int,
    fast: bool | None = None,
    *,
    sentences: int | None = None,
) -> Iterator[list[int]]:
    """Yields batches for :func:`translate_batch`, as :func:`length_batches`, that a search has the memory for."""
    if fast is None:
        fast = fast_search_applies(model)
    rows = _HYPOTHESES_PER_BATCH if sentences is None else min(_HYPOTHESES_PER_BATCH, sentences * num_beams)
    if not fast:
        rows = min(rows, _LOGITS_PER_STEP // int(model.config.vocab_size))
    # The fast search has them once a sentence, whatever the width.
    return length_batches(lengths, num_beams, rows, _SOURCE_UNITS_PER_BATCH * (num_beams if fast else 1))


@torch.inference_mode()
def translate_batch(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    input_ids: Sequence[list[int]],
    *,
    num_beams: int,
    num_return_sequences: int = 1,
    length_penalty: float = 1.0,
    max_length: int | None = None,
    constraints: SearchConstraints | None = None,
    candidates: torch.Tensor | None = None,
    scorer: PreTrainedModel | None = None,
    fast: bool | None = None,
    matrices: DecoderMatrices | None = None,
    stop: Event | None = None,
) -> list[list[Hypothesis]]:
    """Translates a batch of tokenised sentences into n-best lists, best first.

    Hypotheses that were cut at the length limit are kept only where none finished, and duplicates that `generate` uses
    as filling are dropped, so a list may be shorter than asked for; it is never empty. The other sentences of the
    batch change nothing but rounding (and candidates, which the whole batch has in common). The model's own generation
    config holds where the arguments say nothing else.

    Args:
        model: A translation model.
        tokenizer: Its tokenizer.
        input_ids: Source units with the special ones, one list a sentence, none empty.
        num_beams: Beam width; 1 is greedy search.
        num_return_sequences: Length of the n-best list.
        length_penalty: Exponent of the length by which a hypothesis' score is divided to rank it; 0 ranks by the
            total log-probability.
        max_length: Upper bound on the units of a translation, with the end token, whatever the source, beside that of
            the constraints and of the model.
        constraints: Length limits and bans; by default those of the reference's greatest length alone.
        candidates: The target units that may be used, distinct, the special ones among them, (candidates,); all if not
            given. The output layer shrinks to them (Jean et al. 2015 §3.3). For the fast search.
        scorer: The model that computes `log_prob`, normally the same one in fp32; the list is then ranked by its
            scores. `log_prob` is NaN without one.
        fast: Whether to search with :func:`fast_beam_search`, which finds the same lists; if not given, wherever it
            applies: to plain RNNsearch models.
        matrices: Those of the model where they are laid out already, for the fast search; any other ignores them.
        stop: Ends the search at its next step once it is set, from another thread.

    Raises:
        SearchStopped: If the search was ended so.
    """
    sources, mask = padded_sources(model, tokenizer, input_ids)
    constraints = constraints or SearchConstraints()
    limits = [constraints.longest(len(ids)) for ids in input_ids]
    for limit in (max_length, target_limit(model)):
        limits = limits if limit is None else [min(limit, own) for own in limits]
    banned = [int(tokenizer.unk_token_id)] if constraints.forbid_unknown else []
    ends = end_units(model, tokenizer)
    lead = len(decoder_start(model))
    processors = LogitsProcessorList()
    if constraints.min_length_ratio > 0:
        shortest = [min(limit, constraints.shortest(len(ids))) for ids, limit in zip(input_ids, limits, strict=True)]
        processors.append(MinimumLengths(shortest, num_beams, lead, ends))
    options: dict[str, Any] = {}
    if constraints.no_repeat_ngram_size:
        options["no_repeat_ngram_size"] = constraints.no_repeat_ngram_size
    if banned:
        options["suppress_tokens"] = [*banned, *(getattr(model.generation_config, "suppress_tokens", None) or [])]
    if fast_search_applies(model) if fast is None else fast:
        options |= {"custom_generate": fast_beam_search, "limits": limits, "matrices": matrices, "stop": stop}
        if candidates is not None:
            options["candidates"] = candidates.to(model.device)
    elif candidates is not None:
        raise ValueError("candidates are for the fast search")
    else:
        if stop is not None:
            processors.append(_StopSearch(stop))
        if getattr(model.generation_config, "renormalize_logits", False):
            # `generate` would do so last, and give the end of a cut hypothesis the whole probability.
            processors.append(LogitNormalization())
            options["renormalize_logits"] = False
        # Behind the least length, for it must find an end to cut at.
        processors.append(_LengthLimits(limits, num_beams, lead, ends))
    sequences = model.generate(
        input_ids=sources,
        attention_mask=mask,
        num_beams=num_beams,
        num_return_sequences=num_return_sequences,
        max_new_tokens=max(limits) + lead,
        max_length=None,
        logits_processor=processors,
        length_penalty=length_penalty,
        early_stopping=False,
        do_sample=False,
        **options,
    )[:, lead:]
    unit_ids = sequences.tolist()
    flat: list[tuple[int, list[int], bool]] = []
    for index, limit in enumerate(limits):
        own = unit_ids[index * num_return_sequences : (index + 1) * num_return_sequences]
        distinct = list(dict.fromkeys(_ended(row[:limit], ends) for row in own))
        ended = [units for units in distinct if units and units[-1] in ends]
        flat += [(index, list(units), bool(ended)) for units in ended or distinct[:1]]
    scores = [math.nan] * len(flat)
    if scorer is not None:
        rows, hypotheses = [index for index, _, _ in flat], [units for _, units, _ in flat]
        scores = hypothesis_scores(scorer, sources, mask, rows, hypotheses)
    without_end = [units[:-1] if finished else units for _, units, finished in flat]
    texts = tokenizer.batch_decode(without_end, skip_special_tokens=True)
    results: list[list[Hypothesis]] = [[] for _ in input_ids]
    for (index, _, finished), units, text, log_prob in zip(flat, without_end, texts, scores, strict=True):
        results[index].append(Hypothesis(text.strip(), log_prob, len(units), finished))
    if scorer is not None:
        # As `generate` counts: the language that a translation begins with too.
        more = lead - 1
        for nbest in results:
            nbest.sort(
                key=lambda item: -item.log_prob / max(1, more + item.num_tokens + item.finished) ** length_penalty
            )
    return results


def translate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: str | Sequence[str],
    *,
    num_beams: int = 5,
    length_penalty: float = 1.0,
    constraints: SearchConstraints | None = None,
    progress: Any = None,
    fast: bool | None = None,
) -> list[str]:
    """Translates texts, in their order; a blank text has an empty translation, a single text is a list of one.

    Args:
        model: A translation model.
        tokenizer: Its tokenizer.
        texts: Source sentences.
        num_beams: Beam width; 1 is greedy search.
        length_penalty: See :func:`translate_batch`.
        constraints: Length limits and bans.
        progress: A tqdm-like object whose `update(n)` is called with the number of sentences done.
        fast: See :func:`translate_batch`.
    """
    texts = list_of_texts(texts)
    input_ids = source_units(model, tokenizer, texts, truncation=True)
    filled = [index for index, ids in enumerate(input_ids) if ids]
    translations = [""] * len(texts)
    was_training = model.training
    model.eval()
    for chosen in search_batches(model, [len(input_ids[index]) for index in filled], num_beams, fast):
        indices = [filled[position] for position in chosen]
        hypotheses = translate_batch(
            model,
            tokenizer,
            [input_ids[index] for index in indices],
            num_beams=num_beams,
            length_penalty=length_penalty,
            constraints=constraints,
            fast=fast,
        )
        for index, nbest in zip(indices, hypotheses, strict=True):
            translations[index] = nbest[0].text
        if progress is not None:
            progress.update(len(indices))
    model.train(was_training)
    return translations


def _ended(row: list[int], ends: Sequence[int]) -> tuple[int, ...]:
    """Returns the units up to the first that ends a translation, that one included."""
    last = next((place for place, unit in enumerate(row) if unit in ends), len(row) - 1)
    return tuple(row[: last + 1])
