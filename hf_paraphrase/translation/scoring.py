"""Scores translations under a translation model by teacher forcing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from transformers import PreTrainedModel, PreTrainedTokenizerBase
from transformers.modeling_outputs import BaseModelOutput

from ..data.same_text import is_blank
from ..tokenization.token_lookup import list_of_texts
from .batching import padded
from .fast_search import fast_search_applies
from .loading import decoder_start, end_units, positions, source_limit, source_units, target_units
from .prefix_scoring import prefix_tree_scores

_ROWS_PER_BATCH = 640
_LOGITS_PER_BATCH = 1 << 27
"""Logits (rows * steps * vocabulary) computed at once when hypotheses are scored: half a gibibyte in fp32."""


class TranslationScores(NamedTuple):
    """What a model thinks of translations.

    Attributes:
        log_probs: Σ log p of the units and the end token in nats, float64 (translations,); NaN where the source or
            the translation is empty or longer than the model reads.
        num_tokens: Units without the end token, int64 (translations,).
    """

    log_probs: np.ndarray
    num_tokens: np.ndarray


@torch.inference_mode()
def score_translations(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    sources: str | Sequence[str],
    translations: str | Sequence[str],
) -> TranslationScores:
    """Computes log p(translation | source) of each pair; a single text is a list of one.

    A translation is cut into units as the tokenizer cuts it. Beam search may have put the same text together from
    other units, so scores of its list can differ from these.
    """
    sources, translations = list_of_texts(sources), list_of_texts(translations)
    input_ids, units = source_units(model, tokenizer, sources), target_units(tokenizer, translations)
    log_probs = np.full(len(sources), np.nan)
    num_tokens = np.array([len(row) for row in units], dtype=np.int64)
    end = end_units(model, tokenizer)[0]
    longest_source = source_limit(model, tokenizer) or np.inf
    longest_target = (positions(model) or np.inf) - len(decoder_start(model))
    chosen = [
        index
        for index in range(len(sources))
        if 0 < len(input_ids[index]) <= longest_source
        and 0 < len(units[index]) <= longest_target
        and not is_blank(translations[index])
    ]
    lengths = [len(units[index]) + 1 for index in chosen]
    for batch in scoring_batches(lengths, int(model.config.vocab_size)):
        indices = [chosen[position] for position in batch]
        batch_ids, mask = padded_sources(model, tokenizer, [input_ids[index] for index in indices])
        hypotheses = [[*units[index], end] for index in indices]
        log_probs[indices] = hypothesis_scores(model, batch_ids, mask, range(len(indices)), hypotheses)
    return TranslationScores(log_probs, num_tokens)


def padded_sources(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, input_ids: Sequence[Sequence[int]]
) -> tuple[Tensor, Tensor]:
    """Returns the units and the mask of sources, (batch, source length) each, where the model computes."""
    lengths = torch.tensor([len(ids) for ids in input_ids])
    units = padded(input_ids, int(tokenizer.pad_token_id))
    mask = (torch.arange(units.shape[1]) < lengths.unsqueeze(1)).long()
    return units.to(model.device), mask.to(model.device)


@torch.no_grad()
def hypothesis_scores(
    model: PreTrainedModel,
    sources: Tensor,
    mask: Tensor,
    rows: Sequence[int],
    hypotheses: Sequence[Sequence[int]],
) -> list[float]:
    """Computes Σ log p of the units of hypotheses behind what every translation of the model begins with.

    What `generate` reports depends on its arithmetic and its processors. Sources and their mask are (batch, source
    length), `rows` has for each hypothesis the row of its source.
    """
    if fast_search_applies(model):
        return prefix_tree_scores(model, sources, mask, rows, hypotheses)
    start = decoder_start(model)
    own: Any = model
    annotations = own.get_encoder()(input_ids=sources, attention_mask=mask, return_dict=True).last_hidden_state
    scores = [0.0] * len(hypotheses)
    for chosen in scoring_batches([len(units) for units in hypotheses], int(model.config.vocab_size)):
        targets = padded([[*start, *hypotheses[position]] for position in chosen], -100).to(sources.device)
        own_rows = torch.tensor([rows[position] for position in chosen], device=sources.device)
        logits = model(
            encoder_outputs=BaseModelOutput(last_hidden_state=annotations[own_rows]),
            attention_mask=mask[own_rows],
            decoder_input_ids=targets[:, :-1].clamp(min=0),
            use_cache=False,
            return_dict=True,
        ).logits
        logits, targets = logits[:, len(start) - 1 :], targets[:, len(start) :]
        log_probs = logits.float().log_softmax(-1).gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        # On the processor, for not every device has numbers of double precision.
        totals = log_probs.masked_fill(targets == -100, 0.0).cpu().double().sum(1).tolist()
        for position, total in zip(chosen, totals, strict=True):
            scores[position] = total
    return scores


def scoring_batches(lengths: Sequence[int], vocab_size: int) -> Iterator[list[int]]:
    """Yields indices of hypotheses of similar length, shortest first, so few that their logits fit in memory."""
    batch: list[int] = []
    for index in sorted(range(len(lengths)), key=lengths.__getitem__):
        logits = (len(batch) + 1) * lengths[index] * vocab_size
        if batch and (len(batch) == _ROWS_PER_BATCH or logits > _LOGITS_PER_BATCH):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
