"""Sampling whose draws depend on the sentence and the seed alone, not on the batch or the shard."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from transformers import (
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from ..translation.beam_search import Hypothesis
from ..translation.forced_decoding import hypothesis_scores, padded_sources
from ..translation.loading import decoder_prefix_ids, eos_token_ids, target_limit
from ..translation.search_settings import BeamSearchConfig
from ..translation.translator import Translator
from .generators import SamplingOptions


class SeededDraw(LogitsProcessor):
    """Draws one token per row and leaves only this token possible, so that a greedy search samples.

    Row i takes its random numbers from a generator of its own, seeded with the seed, the sentence and i.
    """

    def __init__(self, options: SamplingOptions, token_ids: Sequence[int], rows: int) -> None:
        self.warpers = LogitsProcessorList()
        if options.temperature != 1.0:
            self.warpers.append(TemperatureLogitsWarper(options.temperature))
        if options.top_k:
            self.warpers.append(TopKLogitsWarper(options.top_k))
        if options.top_p < 1.0:
            self.warpers.append(TopPLogitsWarper(options.top_p))
        key = int.from_bytes(hashlib.blake2b(np.asarray(token_ids, "<i8").tobytes(), digest_size=8).digest())
        self.generators = [np.random.default_rng([options.seed, key, row]) for row in range(rows)]

    def __call__(self, input_ids: torch.LongTensor, scores: torch.Tensor) -> torch.Tensor:
        """Return scores (rows, vocabulary) of 0 for the drawn tokens and −∞ for all others."""
        probabilities = self.warpers(input_ids, scores.float()).softmax(-1).cpu().double()
        sums = probabilities.cumsum(-1)
        numbers = torch.tensor([[generator.random()] for generator in self.generators], dtype=torch.float64)
        drawn = torch.searchsorted(sums, numbers * sums[:, -1:], right=True)
        # Rounding must not lead to a token of probability 0 behind the last possible one.
        last = (probabilities > 0).long().cumsum(-1).argmax(-1, keepdim=True)
        only = torch.full_like(scores, -math.inf)
        return only.scatter(-1, torch.minimum(drawn, last).to(scores.device), 0.0)


class SamplingTranslator(Translator):
    """A translator that samples its translations; `num_return_sequences` of the options is the number of samples."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        options: BeamSearchConfig,
        sampling: SamplingOptions,
    ) -> None:
        super().__init__(model, tokenizer, dataclasses.replace(options, bf16=False, num_beams=1))
        self.sampling = sampling

    def search_batch(self, input_ids: list[list[int]], references: Any) -> list[list[Hypothesis] | str]:
        """Sample translations of each source, most probable first; one source at a time, without padding."""
        return [self._samples(ids) for ids in input_ids]

    @torch.inference_mode()
    def _samples(self, ids: list[int]) -> list[Hypothesis] | str:
        model: Any = self.model
        num, lead, ends = (
            self.options.num_return_sequences,
            len(decoder_prefix_ids(model)),
            eos_token_ids(model, self.tokenizer),
        )
        longest = math.floor(self.options.max_length_ratio * len(ids))
        limit = max(1, min(longest, target_limit(model) or longest))
        sources, mask = padded_sources(model, self.tokenizer, [ids])
        sequences = model.generate(
            input_ids=sources.repeat(num, 1),
            attention_mask=mask.repeat(num, 1),
            num_beams=1,
            do_sample=False,
            max_new_tokens=limit + lead - 1,
            max_length=None,
            logits_processor=LogitsProcessorList([SeededDraw(self.sampling, ids, num)]),
        )[:, lead:].tolist()
        distinct = dict.fromkeys(tuple(until_end(row, ends)) for row in sequences)
        ended = [list(subwords) for subwords in distinct if subwords and subwords[-1] in ends]
        if not ended:
            return "no translation ends within the length limit"
        scores = hypothesis_scores(model, sources, mask, [0] * len(ended), ended)
        texts = self.tokenizer.batch_decode([subwords[:-1] for subwords in ended], skip_special_tokens=True)
        hypotheses = [
            Hypothesis(text.strip(), log_prob, len(subwords) - 1, True)
            for text, log_prob, subwords in zip(texts, scores, ended, strict=True)
            if text.strip()
        ]
        first = {item.text: item for item in sorted(hypotheses, key=lambda item: item.log_prob)}
        ranked = sorted(first.values(), key=lambda item: -item.log_prob)
        return ranked or "the model's translation is empty"


def until_end(token_ids: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Cut token ids after the first end token."""
    end = next((index for index, token in enumerate(token_ids) if token in ends), len(token_ids))
    return list(token_ids[: end + 1])
