"""Paraphrases by sequence-to-sequence models: one trained to paraphrase, or translation there and back."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..artefacts.hub_models import model_name
from ..data.batch_function import Progress, no_progress
from ..errors import UsageError
from ..text.normalization import normalize_words
from ..translation.bitext import are_different
from ..translation.translator import Translator
from .generators import ROUND_TRIP_PARAPHRASES, Candidate, Generator, SharedProgress

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
        """Search for paraphrases, or samples them."""
        nbest_lists = self.translator.nbest_lists(sentences, self.language, progress=progress)
        return [
            nbest
            if isinstance(nbest, str)
            else [Candidate(result.text, result.log_prob, result.num_tokens) for result in nbest[:num]]
            for nbest in nbest_lists
        ]

    def describe(self) -> dict[str, Any]:
        """Return the name of the model and its prefix."""
        prefix = getattr(self.translator.model.config, "prefix", None)
        return {"model": model_name(self.name), "prefix": prefix}


class RoundTrip(NamedTuple):
    """A model that translates into the pivot language, and one that translates back."""

    forward: Translator
    backward: Translator

    @property
    def pivot(self) -> str:
        """The pivot language as the model calls it, or `und`."""
        return str(self.forward.model.config.target_lang or self.backward.model.config.source_lang or "und")


class RoundTrips(Generator):
    """Translates sentences into other languages and every translation back.

    A text reached through several translations is one candidate. Its `round_trip_log_prob` is the logarithm of its
    probability, summed over these translations and averaged over the round trips. Its `log_prob` is given the most
    probable of these translations.
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
        if len(models) == 1:
            if not pivots:
                raise UsageError(
                    "a single model makes a round trip only if it is multilingual",
                    remedy="give --pivots and --language, or a second model that translates back",
                )
            models = [*models] * 2 * len(pivots)
        if len(models) % 2 or len(pivots) not in (0, len(models) // 2):
            raise UsageError(
                f"{len(models)} models and {len(pivots)} pivots do not form round trips",
                remedy="give two models for every round trip, and one of --pivots for each or none",
            )
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
        """Translate there and back, `num` translations in each direction."""
        shared = SharedProgress(progress, len(sentences), 2 * len(self.trips))
        merged: list[dict[str, tuple[float, Candidate]]] = [{} for _ in sentences]
        reasons = ["no translation comes back"] * len(sentences)
        for trip in self.trips:
            forward = trip.forward.nbest_lists(
                sentences, trip.forward.model.config.source_lang, progress=shared.phase(len(sentences))
            )
            pivots = list(dict.fromkeys(pivot.text for nbest in map(_listed, forward) for pivot in nbest[:num]))
            backward = trip.backward.nbest_lists(pivots, trip.pivot, progress=shared.phase(len(pivots)))
            returned = dict(zip(pivots, map(_listed, backward), strict=True))
            for index, nbest in enumerate(forward):
                if isinstance(nbest, str):
                    reasons[index] = nbest
                for pivot in _listed(nbest)[:num]:
                    for back in returned[pivot.text][:num]:
                        log_prob = pivot.log_prob + back.log_prob - math.log(len(self.trips))
                        origin = pivot.text, trip.pivot, log_prob, pivot.num_tokens
                        _merge(merged[index], Candidate(back.text, back.log_prob, back.num_tokens, *origin))
        shared.finish()
        return [
            [candidate for _, candidate in own.values()] or reason for own, reason in zip(merged, reasons, strict=True)
        ]

    def describe(self) -> dict[str, Any]:
        """Return the models and the pivot language of each round trip."""
        names = list(map(model_name, self.names))
        pivots = [trip.pivot for trip in self.trips]
        return {"trips": [list(trip) for trip in zip(names[::2], names[1::2], pivots, strict=True)]}


def _listed(nbest: Any) -> list[Any]:
    return [] if isinstance(nbest, str) else nbest


def _check_languages(trip: RoundTrip, forward: str, backward: str) -> None:
    there, back = ((part.model.config.source_lang, part.model.config.target_lang) for part in trip)
    if any(map(are_different, there, back[::-1])):
        raise UsageError(
            f"no round trip: {forward} translates {'→'.join(map(str, there))}, but {backward} "
            f"{'→'.join(map(str, back))}",
            remedy="give a model into another language and one back for every round trip",
        )


def _merge(merged: dict[str, tuple[float, Candidate]], new: Candidate) -> None:
    """Add the probability of a round trip to its text, which otherwise describes the most probable round trip."""
    key, total = normalize_words(new.text), new.round_trip_log_prob
    assert total is not None
    best, kept = total, new
    if key in merged:
        old_best, old = merged[key]
        best, kept = (total, new) if total > old_best else (old_best, old)
        total = float(np.logaddexp(old.round_trip_log_prob or 0.0, total))
    if key:
        merged[key] = best, kept._replace(round_trip_log_prob=total)
