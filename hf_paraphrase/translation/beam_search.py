"""Translates sentences with `generate`: batches by length, n-best lists, exact scores."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from transformers import LogitsProcessor, LogitsProcessorList, PreTrainedModel, PreTrainedTokenizerBase
from transformers.generation import LogitNormalization

from ..data.batch_function import Progress, no_progress
from ..encoders.backends.padded_batches import batch_by_length, evaluation_mode
from ..models.stepwise_decoder import StepwiseDecoder
from ..tokenization.fast_tokenize import list_of_texts
from .fast_search import CUT, fast_beam_search, fast_search_applies
from .forced_decoding import hypothesis_scores, padded_sources
from .loading import decoder_prefix_ids, encode_sources, eos_token_ids, target_limit
from .search_settings import MAX_LENGTH_RATIO, BeamSearchConfig

_HYPOTHESES_PER_BATCH = 640
"""Rows that the decoder handles at once; more does not make two cores faster, less wastes them."""
_SOURCE_UNITS_PER_BATCH = 1 << 16
"""Source subwords (rows * length) with annotations of their own at once: 0.8 GB in fp32 where the states have 1000
components."""
_MOST_TARGET_UNITS = 1_000
"""Greatest length of a translation by a model that sets no limit of its own."""
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

    `generate` has one limit per batch and counts hypotheses that it cuts there as finished, which pushes real
    translations out of the n-best list. Here a hypothesis that is cut gets an end token that costs more than any real
    one. Every translation begins with `start` tokens.
    """

    def __init__(
        self,
        limits: Sequence[int],
        num_beams: int,
        start: int,
        ends: Sequence[int],
        minimums: Sequence[int] | None = None,
    ) -> None:
        self.limits = torch.tensor(limits).repeat_interleave(num_beams)
        self.minimums = torch.tensor(minimums or [0] * len(limits)).repeat_interleave(num_beams)
        self.start, self.ends = start, list(ends)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Return the scores, (rows, vocabulary); beyond its limit a row can only be cut."""
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
    model: PreTrainedModel, lengths: Sequence[int], num_beams: int, *, sentences: int = _HYPOTHESES_PER_BATCH
) -> Iterator[list[int]]:
    """Yield indices of sentences of similar length, longest first, as many as a search has the memory for.

    There are at most `sentences` in a batch; there may always be one.
    """
    rows, subwords = _HYPOTHESES_PER_BATCH, _SOURCE_UNITS_PER_BATCH
    if not fast_search_applies(model):
        # The fast search has annotations once a sentence, whatever the width.
        rows, subwords = min(rows, _LOGITS_PER_STEP // int(model.config.vocab_size)), subwords // num_beams
    return batch_by_length(lengths, max(1, min(rows // num_beams, sentences)), subwords)


@torch.inference_mode()
def translate_batch(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    input_ids: Sequence[list[int]],
    options: BeamSearchConfig,
    *,
    scorer: PreTrainedModel | None = None,
    steps: StepwiseDecoder | None = None,
) -> list[list[Hypothesis]]:
    """Translate a batch of tokenised sentences into n-best lists, best first.

    Hypotheses that were cut at the length limit are kept only where none finished, and duplicates that `generate` uses
    as filling are dropped, so a list may be shorter than asked for; it is never empty. The other sentences of the
    batch change nothing but rounding. The model's own generation config holds where the arguments say nothing else.

    `input_ids` are source subwords with the special ones, none empty. The `scorer`, normally the same model in fp32,
    computes `log_prob`, NaN without one, and ranks the list. `steps` is the decoder of an RNNsearch model, where it is
    laid out already, or restricted to the target subwords that may be used (Jean et al. 2015 §3.3), the special ones
    among them.
    """
    sources, mask = padded_sources(model, tokenizer, input_ids)
    greatest = target_limit(model) or _MOST_TARGET_UNITS
    limits = [max(1, min(greatest, math.floor(options.max_length_ratio * len(ids)))) for ids in input_ids]
    minimums = [
        min(limit - 1, math.floor(options.min_length_ratio * len(ids)))
        for limit, ids in zip(limits, input_ids, strict=True)
    ]
    ends = eos_token_ids(model, tokenizer)
    lead = len(decoder_prefix_ids(model))
    if fast_search_applies(model):
        units_found, _ = fast_beam_search(
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
        sequences = units_found[:, : options.num_return_sequences].flatten(0, 1)
    else:
        processors = LogitsProcessorList()
        if getattr(model.generation_config, "renormalize_logits", False):
            # `generate` would do so last, and give the end of a cut hypothesis the whole probability.
            processors.append(LogitNormalization())
        processors.append(SentenceLengths(limits, options.num_beams, lead, ends, minimums))
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
    found = _distinct(sequences.tolist(), limits, ends)
    rows, hypotheses = [row for row, _ in found], [subwords for _, subwords in found]
    scores = [math.nan] * len(found)
    if scorer is not None:
        scores = hypothesis_scores(scorer, sources, mask, rows, hypotheses)
    finished = [subwords[-1] in ends for subwords in hypotheses]
    without_end = [subwords[: len(subwords) - ended] for subwords, ended in zip(hypotheses, finished, strict=True)]
    texts = tokenizer.batch_decode(without_end, skip_special_tokens=True)
    results: list[list[Hypothesis]] = [[] for _ in input_ids]
    for row, text, log_prob, subwords, ended in zip(rows, texts, scores, without_end, finished, strict=True):
        results[row].append(Hypothesis(text.strip(), log_prob, len(subwords), ended))
    for nbest in results if scorer is not None else []:
        # As `generate` counts: the language that a translation begins with too.
        nbest.sort(
            key=lambda item: -item.log_prob / (lead - 1 + item.num_tokens + item.finished) ** options.length_penalty
        )
    return results


def _distinct(
    sequences: Sequence[list[int]], limits: Sequence[int], ends: Sequence[int]
) -> list[tuple[int, list[int]]]:
    """Return the sentence and the subwords of distinct hypotheses: those that end, or else the best one of a list."""
    found: list[tuple[int, list[int]]] = []
    size = len(sequences) // len(limits)
    for index, limit in enumerate(limits):
        distinct: dict[tuple[int, ...], bool] = {}
        for row in sequences[index * size : (index + 1) * size]:
            last = next((place for place, unit in enumerate(row[:limit]) if unit in ends), None)
            subwords = row[:limit] if last is None else row[: last + 1]
            distinct.setdefault(tuple(subwords), last is not None)
        kept = [subwords for subwords, ended in distinct.items() if ended] or list(distinct)[:1]
        found += [(index, list(subwords)) for subwords in kept]
    return found


def translate(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    texts: str | Sequence[str],
    *,
    num_beams: int = 5,
    length_penalty: float = 1.0,
    max_length_ratio: float = MAX_LENGTH_RATIO,
    options: BeamSearchConfig | None = None,
    decoder_for: Callable[[list[list[int]]], StepwiseDecoder | None] = lambda input_ids: None,
    progress: Progress = no_progress,
) -> list[str]:
    """Translate texts, in their order; a blank text has an empty translation, a single text is a list of one.

    A text that is longer than the model reads is cut.

    Args:
        model: The model, in its evaluation mode meanwhile.
        tokenizer: Its tokenizer.
        texts: The sources.
        num_beams: The beam width; like the next two a setting of :class:`.BeamSearchConfig`.
        length_penalty: The exponent of the length in ranking.
        max_length_ratio: The maximum length of a translation.
        options: All settings of the search, instead of the three.
        decoder_for: Makes the decoder of a batch; see `steps` of :func:`translate_batch`.
        progress: Called with the number of sentences done since the last call.
    """
    options = options or BeamSearchConfig(
        num_beams, 1, length_penalty=length_penalty, max_length_ratio=max_length_ratio
    )
    texts = list_of_texts(texts)
    input_ids = encode_sources(model, tokenizer, texts, truncation=True)
    filled = [index for index, ids in enumerate(input_ids) if ids]
    translations = [""] * len(texts)
    with evaluation_mode(model):
        for chosen in search_batches(model, [len(input_ids[index]) for index in filled], options.num_beams):
            indices = [filled[position] for position in chosen]
            batch = [input_ids[index] for index in indices]
            nbest_lists = translate_batch(model, tokenizer, batch, options, steps=decoder_for(batch))
            for index, nbest in zip(indices, nbest_lists, strict=True):
                translations[index] = nbest[0].text
            progress(len(indices))
    return translations
