"""Paraphrases with sequence-to-sequence models: paraphrasers, or round trips through translation models.

Sampled texts depend on the sentence and the seed alone, not on the batch or the shard.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import chain
from typing import Any, NamedTuple

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

from ..artefacts.hub_models import model_name
from ..data.batch_function import Progress, no_progress
from ..errors import UsageError
from ..text.normalization import normalize_words
from ..translation.beam_search import Hypothesis, translate_batch
from ..translation.bitext import are_different
from ..translation.search_settings import BeamSearchConfig
from ..translation.translator import Translator, choose_usable
from .generators import ROUND_TRIP_PARAPHRASES, Candidate, Generator, SamplingOptions

OpenTranslator = Callable[[str, str | None, str | None], Translator]
"""Opens the model of a name for a source and a target language."""


class Seq2SeqParaphraser(Generator):
    """A model that was trained to paraphrase, such as a T5 or BART model."""

    def __init__(self, translator: Translator, name: str, language: str | None = None) -> None:
        config: Any = translator.model.config
        if are_different(config.source_lang, config.target_lang):
            problem = f"the model translates {config.source_lang}→{config.target_lang}, so it is no paraphraser"
            raise UsageError(
                problem, path=name, remedy="use --generator round-trip, with a model that translates back"
            )
        self.translator, self.name = translator, name
        self.language = config.source_lang or language

    def candidates(
        self, sentences: Sequence[str], num: int, *, progress: Progress = no_progress
    ) -> list[list[Candidate] | str]:
        """Search for paraphrases, or sample them."""
        outcomes: list[list[Candidate] | str] = []
        for nbest in self.translator.nbest_lists(sentences, self.language, progress=progress):
            if isinstance(nbest, str):
                outcomes.append(nbest)
            else:
                outcomes.append([Candidate(each.text, each.log_prob, each.num_tokens) for each in nbest[:num]])
        return outcomes

    def describe(self) -> dict[str, Any]:
        """Return the name of the model and its prefix."""
        prefix = getattr(self.translator.model.config, "prefix", None)
        return {"model": model_name(self.name), "prefix": prefix}


class RoundTrip(NamedTuple):
    """A model that translates into the pivot language, and a model that translates back."""

    forward: Translator
    backward: Translator

    @property
    def pivot(self) -> str:
        """The model's code of the pivot language, or `und`."""
        return str(self.forward.model.config.target_lang or self.backward.model.config.source_lang or "und")


class RoundTrips(Generator):
    """Translates sentences into other languages and every translation back.

    A text reached through several pivot translations is one candidate. Its `round_trip_log_prob` is the logarithm of
    its probability, summed over these translations and averaged over the round trips. Its `log_prob` is conditional on
    the most probable of these translations.
    """

    schema = ROUND_TRIP_PARAPHRASES

    def __init__(self, trips: Sequence[RoundTrip], names: Sequence[str] = ()) -> None:
        self.trips, self.names = list(trips), list(names)
        self.language = self.trips[0].forward.model.config.source_lang

    @classmethod
    def open(
        cls, models: Sequence[str], language: str | None, pivots: Sequence[str], open_translator: OpenTranslator
    ) -> RoundTrips:
        """Open two models for each round trip, or one multilingual model for all."""
        if not models:
            raise UsageError("a round trip needs models", remedy="give two, or a multilingual one with pivots")
        if len(models) == 1:
            if not pivots:
                remedy = "give --pivots and --language, or a second model that translates back"
                raise UsageError("a single model makes a round trip only if it is multilingual", remedy=remedy)
            models = [*models] * 2 * len(pivots)
        if len(models) % 2 or len(pivots) not in (0, len(models) // 2):
            remedy = "give two models for every round trip, and one of --pivots for each or none"
            raise UsageError(f"{len(models)} models and {len(pivots)} pivots do not form round trips", remedy=remedy)
        trips = []
        codes: Sequence[str | None] = pivots or [None] * (len(models) // 2)
        for forward, backward, pivot in zip(models[::2], models[1::2], codes, strict=True):
            trip = RoundTrip(open_translator(forward, language, pivot), open_translator(backward, pivot, language))
            _check_languages(trip, forward, backward)
            trips.append(trip)
        generator = cls(trips, models)
        generator.language = generator.language or language
        return generator

    def candidates(
        self, sentences: Sequence[str], num: int, *, progress: Progress = no_progress
    ) -> list[list[Candidate] | str]:
        """Translate into the pivot languages and back, with `num` translations in each direction."""
        phase = _share_progress(progress, len(sentences), 2 * len(self.trips))
        merged: list[dict[str, tuple[float, Candidate]]] = [{} for _ in sentences]
        reasons = ["no translation comes back"] * len(sentences)
        for trip in self.trips:
            forward = trip.forward.nbest_lists(
                sentences, trip.forward.model.config.source_lang, progress=phase(len(sentences))
            )
            pivots = list(dict.fromkeys(pivot.text for nbest in map(_as_list, forward) for pivot in nbest[:num]))
            backward = trip.backward.nbest_lists(pivots, trip.pivot, progress=phase(len(pivots)))
            returned = dict(zip(pivots, map(_as_list, backward), strict=True))
            for index, nbest in enumerate(forward):
                if isinstance(nbest, str):
                    reasons[index] = nbest
                for pivot in _as_list(nbest)[:num]:
                    for back in returned[pivot.text][:num]:
                        log_prob = pivot.log_prob + back.log_prob - math.log(len(self.trips))
                        origin = pivot.text, trip.pivot, log_prob, pivot.num_tokens
                        _merge(merged[index], Candidate(back.text, back.log_prob, back.num_tokens, *origin))
        return [
            [candidate for _, candidate in own.values()] or reason for own, reason in zip(merged, reasons, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        """Return the models and the pivot language of each round trip."""
        names = list(map(model_name, self.names))
        pivots = [trip.pivot for trip in self.trips]
        return {"trips": [list(trip) for trip in zip(names[::2], names[1::2], pivots, strict=True)]}


def _share_progress(progress: Progress, sentences: int, phases: int) -> Callable[[int], Progress]:
    """Return a function that makes the progress function of a phase; all phases together report `sentences`."""
    done, reported = Fraction(), 0

    def phase(steps: int) -> Progress:
        def advance(count: int) -> None:
            nonlocal done, reported
            done += Fraction(count, steps or 1)
            total = int(sentences * done / phases)
            progress(total - reported)
            reported = total

        if not steps:
            advance(1)
        return advance

    return phase


def _as_list(nbest: Any) -> list[Any]:
    return [] if isinstance(nbest, str) else nbest


def _check_languages(trip: RoundTrip, forward: str, backward: str) -> None:
    forth, back = ((part.model.config.source_lang, part.model.config.target_lang) for part in trip)
    if any(map(are_different, forth, back[::-1])):
        raise UsageError(
            f"no round trip: {forward} translates {'→'.join(map(str, forth))}, but {backward} "
            f"{'→'.join(map(str, back))}",
            remedy="give a model into another language and one back for every round trip",
        )


def _merge(merged: dict[str, tuple[float, Candidate]], new: Candidate) -> None:
    """Add a round trip to its text: sum the probabilities, and keep the other values of the most probable trip."""
    key, total = normalize_words(new.text), new.round_trip_log_prob
    assert total is not None
    best, kept = total, new
    if key in merged:
        old_best, old = merged[key]
        best, kept = (total, new) if total > old_best else (old_best, old)
        total = float(np.logaddexp(old.round_trip_log_prob or 0.0, total))
    if key:
        merged[key] = best, kept._replace(round_trip_log_prob=total)


class SeededDraw(LogitsProcessor):
    """Draws one token per row and excludes all others, so that a greedy search samples.

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
        uniform = torch.tensor([[generator.random()] for generator in self.generators], dtype=torch.float64)
        drawn = torch.searchsorted(sums, uniform * sums[:, -1:], right=True)
        # Rounding must not select a token of probability 0 after the last possible one.
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

    def _samples(self, ids: list[int]) -> list[Hypothesis] | str:
        num = self.options.num_return_sequences
        draw = SeededDraw(self.sampling, ids, num)
        one_each = dataclasses.replace(self.options, num_return_sequences=1)
        lists = translate_batch(self.model, self.tokenizer, [ids] * num, one_each, scorer=self.model, draw=draw)
        samples = chain.from_iterable(lists)
        return choose_usable(sorted(samples, key=lambda sample: sample.log_prob, reverse=True))
