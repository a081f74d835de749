"""Scores given translations under a translation model by teacher forcing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from ..tokenization.token_lookup import list_of_texts
from .batching import TranslationCollator

_ROWS_PER_BATCH = 256
_LOGITS_PER_BATCH = 1 << 26


class TranslationScores(NamedTuple):
    """What a model thinks of translations.

    Attributes:
        log_probs: Σ log p of the units and the end token in nats, float64 (translations,); NaN where the source or
            the translation is empty.
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
    other units, so scores of its list can differ from these; the tokenizer's units are those of the training data.

    Args:
        model: A translation model; it computes in the arithmetic of its weights.
        tokenizer: Its tokenizer.
        sources: Source sentences, normalised as for translation.
        translations: A translation of each.
    """
    sources, translations = list_of_texts(sources), list_of_texts(translations)
    log_probs = np.full(len(sources), np.nan)
    num_tokens = np.zeros(len(sources), dtype=np.int64)
    if not len(sources):
        return TranslationScores(log_probs, num_tokens)
    input_ids = tokenizer(sources)["input_ids"]
    labels = tokenizer(text_target=translations)["input_ids"]
    num_tokens[:] = [max(0, len(ids) - 1) for ids in labels]
    pad = tokenizer.pad_token_id
    if not isinstance(pad, int):
        raise ValueError(f"the tokenizer lacks a padding token: {pad!r}")
    collate = TranslationCollator(pad)
    filled = [index for index in range(len(sources)) if len(input_ids[index]) > 1 and num_tokens[index] > 0]
    filled.sort(key=lambda index: (len(labels[index]), len(input_ids[index]), index))
    for chosen in _batches(filled, [len(ids) for ids in labels], int(model.config.vocab_size)):
        batch = collate([{"input_ids": input_ids[index], "labels": labels[index]} for index in chosen])
        targets = batch["labels"].to(model.device)
        logits = model(
            input_ids=batch["input_ids"].to(model.device),
            attention_mask=batch["attention_mask"].to(model.device),
            decoder_input_ids=model.prepare_decoder_input_ids_from_labels(targets),
            use_cache=False,
            return_dict=True,
        ).logits
        units = logits.float().log_softmax(-1).gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        log_probs[chosen] = units.masked_fill(targets == -100, 0.0).cpu().double().sum(1).numpy()
    return TranslationScores(log_probs, num_tokens)


def _batches(indices: Sequence[int], lengths: Sequence[int], vocab_size: int) -> Iterator[list[int]]:
    """Yields runs of indices, ordered by ascending length, so few that their logits fit in memory."""
    batch: list[int] = []
    for index in indices:
        if batch and (
            len(batch) == _ROWS_PER_BATCH or (len(batch) + 1) * lengths[index] * vocab_size > _LOGITS_PER_BATCH
        ):
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch
