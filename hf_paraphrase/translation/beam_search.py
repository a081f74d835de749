"""Translates sentences with `generate`: batches by length, n-best lists, exact scores."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

import torch
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase

from ..tokenization.token_lookup import list_of_texts
from .batching import TranslationCollator
from .candidates import restrict_vocabulary
from .constraints import MinimumLengths, SearchConstraints
from .decoder_steps import DecoderMatrices
from .fast_search import CUT, SearchStopped, fast_beam_search, fast_search_applies
from .prefix_scoring import prefix_tree_scores

_HYPOTHESES_PER_BATCH = 640
"""Rows that the decoder handles at once; more does not make two cores faster, less wastes them."""
_SOURCE_UNITS_PER_BATCH = 1 << 16
"""Source units (rows * length) with annotations of their own at once: 0.8 GB in fp32 where the states have 1000
components."""
_LOGITS_PER_BATCH = 1 << 27
"""Logits (rows * steps * vocabulary) computed at once when hypotheses are scored: half a gibibyte in fp32."""


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


class _LengthLimits(LogitsProcessor):
    """Ends every hypothesis that has reached the length limit of its own source, whatever else is in the batch."""

    # `generate` knows one limit for a batch and takes what it cuts there for finished, which pushes real translations
    # out of the n-best list. Here a cut hypothesis is given an end token that costs more than any real one.

    def __init__(self, limits: Sequence[int], num_beams: int, end: int) -> None:
        self.limits = torch.tensor(limits).repeat_interleave(num_beams)
        self.lowest = min(limits)
        self.end = end

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        generated = input_ids.shape[1] - 1
        if generated < self.lowest:
            return scores
        over = (self.limits <= generated).to(scores.device).unsqueeze(1)
        cut = torch.full_like(scores, -math.inf)
        cut[:, self.end] = CUT
        return torch.where(over, cut, scores)


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
    batch change nothing but rounding (and candidates, which the whole batch has in common).

    Args:
        model: A translation model.
        tokenizer: Its tokenizer.
        input_ids: Source units with the end token, one list a sentence, none empty.
        num_beams: Beam width; 1 is greedy search.
        num_return_sequences: Length of the n-best list.
        length_penalty: Exponent of the length by which a hypothesis' score is divided to rank it; 0 ranks by the
            total log-probability.
        max_length: Upper bound on the units of a translation, with the end token, whatever the source, beside that of
            the constraints.
        constraints: Length limits and bans; by default those of the reference's greatest length alone.
        candidates: The target units that may be used, in ascending order, the special ones among them, (candidates,);
            all if not given. The output layer and the target embedding shrink to them.
        scorer: The model that computes `log_prob`, normally the same one in fp32; the list is then ranked by its
            scores. `log_prob` is NaN without one.
        fast: Whether to search with :func:`fast_beam_search`, which finds the same lists; if not given, wherever it
            applies: to plain RNNsearch models.
        matrices: Those of the model where they are laid out already, for the fast search; any other ignores them.
        stop: Ends the search at its next step once it is set, from another thread.

    Raises:
        SearchStopped: If the search was ended so.
    """
    pairs = [{"input_ids": ids, "labels": [0]} for ids in input_ids]
    batch = TranslationCollator(_token_id(tokenizer.pad_token_id))(pairs)
    device = model.device
    sources, mask = batch["input_ids"].to(device), batch["attention_mask"].to(device)
    end = _token_id(tokenizer.eos_token_id)
    constraints = constraints or SearchConstraints()
    limits = [constraints.longest(len(ids)) for ids in input_ids]
    if max_length is not None:
        limits = [min(max_length, limit) for limit in limits]
    units_of = None
    banned = [_token_id(tokenizer.unk_token_id)] if constraints.forbid_unknown else []
    search_end = end
    if candidates is not None:
        units_of = candidates.to(device)
        model = restrict_vocabulary(model, units_of)
        search_end = int(torch.searchsorted(units_of, end))
        banned = [int(place) for place in torch.isin(units_of, torch.tensor(banned, device=device)).nonzero()]
    processors: list[LogitsProcessor] = []
    if constraints.min_length_ratio > 0:
        shortest = [min(limit, constraints.shortest(len(ids))) for ids, limit in zip(input_ids, limits, strict=True)]
        processors.append(MinimumLengths(shortest, num_beams, search_end))
    if fast is None:
        fast = fast_search_applies(model)
    search: dict[str, Any] = {}
    if fast:
        search = {"custom_generate": fast_beam_search, "limits": limits, "matrices": matrices, "stop": stop}
    else:
        if stop is not None:
            processors.append(_StopSearch(stop))
        # Behind the least length, for it must find an end to cut at.
        processors.append(_LengthLimits(limits, num_beams, search_end))
    sequences = model.generate(
        input_ids=sources,
        attention_mask=mask,
        num_beams=num_beams,
        num_return_sequences=num_return_sequences,
        max_new_tokens=max(limits) + 1,
        max_length=None,
        logits_processor=LogitsProcessorList(processors),
        no_repeat_ngram_size=constraints.no_repeat_ngram_size or None,
        suppress_tokens=banned or None,
        **search,
        length_penalty=length_penalty,
        early_stopping=False,
        do_sample=False,
    )[:, 1:]
    unit_ids = (sequences if units_of is None else units_of[sequences]).tolist()
    kept: list[list[tuple[tuple[int, ...], bool]]] = []
    for index, limit in enumerate(limits):
        own = unit_ids[index * num_return_sequences : (index + 1) * num_return_sequences]
        distinct = list(dict.fromkeys(_units(row[:limit], end) for row in own))
        finished_only = [item for item in distinct if item[1]]
        kept.append(finished_only or distinct[:1])
    flat = [(index, units, finished) for index, items in enumerate(kept) for units, finished in items]
    scores = [math.nan] * len(flat)
    if scorer is not None:
        # Of an ensemble the score is the mean over its members.
        members = list(getattr(scorer, "members", [scorer]))
        totals = [_log_probs(member, sources, mask, flat, end) for member in members]
        scores = [sum(values) / len(members) for values in zip(*totals, strict=True)]
    texts = tokenizer.batch_decode([list(units) for _, units, _ in flat], skip_special_tokens=True)
    results: list[list[Hypothesis]] = [[] for _ in input_ids]
    for (index, units, finished), text, log_prob in zip(flat, texts, scores, strict=True):
        results[index].append(Hypothesis(text.strip(), log_prob, len(units), finished))
    if scorer is not None:
        for nbest in results:
            nbest.sort(key=lambda item: -item.log_prob / max(1, item.num_tokens + item.finished) ** length_penalty)
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
    """Translates texts, in their order; an empty text has an empty translation, a single text is a list of one.

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
    input_ids = [list(ids) for ids in tokenizer(texts, truncation=True)["input_ids"]] if texts else []
    filled = [index for index, ids in enumerate(input_ids) if len(ids) > 1]
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


def _units(row: list[int], end: int) -> tuple[tuple[int, ...], bool]:
    finished = end in row
    return tuple(row[: row.index(end)] if finished else row), finished


def _log_probs(
    model: PreTrainedModel,
    sources: torch.Tensor,
    mask: torch.Tensor,
    hypotheses: Sequence[tuple[int, tuple[int, ...], bool]],
    end: int,
) -> list[float]:
    """Scores hypotheses by teacher forcing; what `generate` reports depends on its arithmetic and its processors."""
    if fast_search_applies(model):
        units_with_end = [[*units, end] if finished else list(units) for _, units, finished in hypotheses]
        return prefix_tree_scores(model, sources, mask, [index for index, _, _ in hypotheses], units_with_end)
    scores = [0.0] * len(hypotheses)
    for chosen in _scoring_batches([len(units) + 1 for _, units, _ in hypotheses], int(model.config.vocab_size)):
        rows = torch.tensor([hypotheses[position][0] for position in chosen], device=sources.device)
        units = [list(hypotheses[position][1]) + ([end] if hypotheses[position][2] else []) for position in chosen]
        pairs = [{"input_ids": [0], "labels": row} for row in units]
        labels = TranslationCollator(0)(pairs)["labels"].to(sources.device)
        previous = model.prepare_decoder_input_ids_from_labels(labels)
        logits = model(
            input_ids=sources[rows],
            attention_mask=mask[rows],
            decoder_input_ids=previous,
            use_cache=False,
            return_dict=True,
        ).logits
        log_probs = logits.float().log_softmax(-1).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        # On the processor, for not every device has numbers of double precision.
        totals = log_probs.masked_fill(labels == -100, 0.0).cpu().double().sum(1).tolist()
        for position, total in zip(chosen, totals, strict=True):
            scores[position] = total
    return scores


def _scoring_batches(lengths: Sequence[int], vocab_size: int) -> Iterator[list[int]]:
    """Yields indices of hypotheses of similar length, shortest first, so few that their logits fit in memory."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        logits = (len(batch) + 1) * lengths[index] * vocab_size
        if batch and (len(batch) == _HYPOTHESES_PER_BATCH or logits > _LOGITS_PER_BATCH):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def _token_id(value: Any) -> int:
    if not isinstance(value, int):
        raise ValueError(f"the tokenizer lacks a padding or end token: {value!r}")
    return value
