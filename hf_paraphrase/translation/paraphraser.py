"""Paraphrases by a round trip: into another language and back, the candidates of both beams filtered and ordered."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from ..artefacts.hub_models import BUILTIN
from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..data.fingerprints import normalise
from ..data.schema import BACK_TRANSLATED, SENTENCES
from ..errors import UsageError
from ..filtering.measuring import Measures, add_measures
from .bitext import are_different
from .loading import load_translation_model
from .search_settings import SearchOptions
from .translator import Translator, is_loop

_MEASURES = ["overlap", "bleu", "edit_distance"]


class RoundTrip(NamedTuple):
    """A way into another language and back."""

    forward: Translator
    backward: Translator

    @property
    def pivot(self) -> str:
        """The language in between, as the model calls it; `und` if that is not known."""
        codes = (self.forward.model.config.target_lang, self.backward.model.config.source_lang)
        return next((str(code) for code in codes if code), "und")


@dataclass
class _Candidate:
    """A paraphrase with the likeliest way to it."""

    text: str
    source: str
    source_lang: str
    num_tokens: int
    num_pivot_tokens: int
    best: float
    log_prob: float


@dataclass(frozen=True)
class Paraphraser(BatchFunction):
    """Translates sentences into other languages and back; the best of what comes back becomes pairs with them.

    Both beams give candidates. The same text reached by several ways is one candidate, whose probability is the mean
    over the round trips of the sum over their ways. Copies of the sentence, loops, near-copies and what is too
    dissimilar are left out. The others are ordered greedily, by the product of the probability a unit, the similarity
    above the least one, and the least distance to the sentence and to the paraphrases before.

    Attributes:
        models: For every round trip the model into the other language and the one back; or one model of several
            languages for all.
        num: Paraphrases of a sentence, at most.
        options: The settings of both searches: all hypotheses of the first are translated back.
        language: The language of the sentences, by the code of models that know several.
        pivots: The language in between of every round trip, likewise.
        encoder: The sentence encoder for `similarity`; the built-in one if not given and the sentences are English.
        min_similarity: The least similarity of a paraphrase.
        min_edit_distance: The least edit distance, as a share of the characters.
        device: Where to compute; a GPU if there is one and None is given.
        keep: Columns of the sentences that every paraphrase gets.
    """

    models: tuple[str, ...]
    num: int = 5
    options: SearchOptions = SearchOptions(num_beams=5, num_return_sequences=5)
    language: str | None = None
    pivots: tuple[str, ...] = ()
    encoder: str | None = None
    min_similarity: float = 0.7
    min_edit_distance: float = 0.15
    device: str | None = None
    keep: tuple[str, ...] = ()

    COUNTS: ClassVar[list[str]] = ["sentences", "pairs", "candidates", "copies", "loops", "near_copies", "dissimilar"]
    """What a report counts: distinct candidates, and why some were left out, besides sentences and pairs."""

    @cached_property
    def trips(self) -> list[RoundTrip]:
        """The open models."""
        trips = []
        for (forward, backward), pivot in zip(*self._routes(), strict=True):
            there = self._opened(forward, self.language, pivot)
            back = self._opened(backward, pivot, self.language)
            configs = there.model.config, back.model.config
            into, back_into = ((config.source_lang, config.target_lang) for config in configs)
            if any(map(are_different, into, back_into[::-1])):
                raise UsageError(
                    f"no round trip: {forward} translates {'→'.join(map(str, into))}, but {backward} "
                    f"{'→'.join(map(str, back_into))}",
                    remedy="give a model into another language and one back for every round trip",
                )
            trips.append(RoundTrip(there, back))
        return trips

    def _routes(self) -> tuple[list[tuple[str, str]], Sequence[str | None]]:
        """Returns the models of every round trip, and its language in between."""
        if len(self.models) == 1:
            if not self.pivots:
                raise UsageError(
                    "one model alone makes a round trip only if it knows several languages",
                    remedy="give --pivots and --language, or a second model that translates back",
                )
            return [(self.models[0], self.models[0]) for _ in self.pivots], self.pivots
        routes = list(zip(self.models[::2], self.models[1::2], strict=False))
        if len(self.models) % 2 or len(self.pivots) not in (0, len(routes)):
            raise UsageError(
                f"{len(self.models)} models and {len(self.pivots)} pivots are no round trips",
                remedy="give two models for every round trip, and one of --pivots for each or none",
            )
        return routes, self.pivots or [None] * len(routes)

    def _opened(self, name: str, source_lang: str | None, target_lang: str | None) -> Translator:
        model, tokenizer = load_translation_model(
            name, device=self.device, source_lang=source_lang, target_lang=target_lang
        )
        return Translator(model, tokenizer, self.options)

    @cached_property
    def used_encoder(self) -> str | None:
        """The encoder that measures similarity; None if there is none for the language."""
        language = self.trips[0].forward.model.config.source_lang or self.language
        is_english = language is not None and not are_different(language, "en")
        return self.encoder or (BUILTIN if is_english else None)

    @cached_property
    def _measures(self) -> Measures:
        return Measures(encoder=self.used_encoder, **({} if self.device is None else {"device": self.device}))

    def check_kept(self) -> None:
        """Checks that no column to keep has the name of one of the pairs, or of what becomes one."""
        own = {*SENTENCES.names, *self._measured([], [], []).column_names} if self.keep else {}
        for name in self.keep:
            if name in own:
                raise UsageError(f"--keep-columns `{name}` is a column of the pairs", remedy="rename it in the input")

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the pairs, in the order of the sentences and their ranks.

        Args:
            table: Rows with `id` and `sentence`.
            progress: Called with the number of rows done since the last call.

        Returns:
            The pairs with their measures, and the numbers named in :attr:`COUNTS`, with as `skipped` the `id` of every
            sentence without a paraphrase and the `reason`.
        """
        self.check_kept()
        ids, sentences = (table.column(name).to_pylist() for name in SENTENCES.names)
        candidates, reasons = self._candidates([text or "" for text in sentences])
        counts = Counter(dict.fromkeys(self.COUNTS, 0))
        rows: list[tuple[int, _Candidate]] = []
        for index, (sentence, found) in enumerate(zip(sentences, candidates, strict=True)):
            counts["candidates"] += len(found)
            for key, candidate in found.items():
                if key == normalise(sentence):
                    counts["copies"] += 1
                elif is_loop(candidate.text) and not is_loop(sentence):
                    counts["loops"] += 1
                else:
                    rows.append((index, candidate))
        measured = self._measured(rows, ids, sentences)
        kept: dict[int, list[dict[str, Any]]] = {}
        for (index, candidate), pair in zip(rows, measured.to_pylist(), strict=True):
            if pair["edit_distance"] < self.min_edit_distance:
                counts["near_copies"] += 1
            elif pair.get("similarity", math.inf) < self.min_similarity:
                counts["dissimilar"] += 1
            else:
                kept.setdefault(index, []).append(pair | {"candidate": candidate})
        pairs, places, skipped = [], [], []
        for index, sentence_id in enumerate(ids):
            for rank, pair in enumerate(_diverse(kept.get(index, []), self.num, self.min_similarity)):
                pairs.append({**pair, "rank": rank})
                places.append(index)
            if index not in kept:
                reason = "no candidate is left" if candidates[index] else reasons[index]
                skipped.append({"id": sentence_id, "reason": reason})
        counts.update(sentences=len(ids), pairs=len(pairs))
        progress(table.num_rows)
        made = pa.Table.from_pylist(pairs, schema=measured.schema)
        for name in self.keep:
            made = made.append_column(name, table.column(name).take(pa.array(places, pa.int64())))
        return made, {**counts, "skipped": skipped}

    def _candidates(self, sentences: Sequence[str]) -> tuple[list[dict[str, _Candidate]], list[str]]:
        """Returns the candidates of every sentence by their normalised texts, and why there are none."""
        found: list[dict[str, _Candidate]] = [{} for _ in sentences]
        reasons = ["no translation comes back"] * len(sentences)
        for trip in self.trips:
            there = trip.forward.nbest_lists(sentences, trip.forward.model.config.source_lang)
            pivots = list(dict.fromkeys(item.text for nbest in there if not isinstance(nbest, str) for item in nbest))
            back = dict(zip(pivots, trip.backward.nbest_lists(pivots, trip.pivot), strict=True))
            for index, nbest in enumerate(there):
                if isinstance(nbest, str):
                    reasons[index] = nbest
                    continue
                for pivot in nbest:
                    returned = back[pivot.text]
                    for item in [] if isinstance(returned, str) else returned:
                        log_prob = pivot.log_prob + item.log_prob - math.log(len(self.trips))
                        sizes = (item.num_tokens, pivot.num_tokens)
                        new = _Candidate(item.text, pivot.text, trip.pivot, *sizes, log_prob, log_prob)
                        _add(found[index], new)
        return found, reasons

    def _measured(
        self, rows: Sequence[tuple[int, _Candidate]], ids: Sequence[str], sentences: Sequence[str]
    ) -> pa.Table:
        """Returns the candidates as pairs with the measures."""
        pairs = [
            {
                "id": ids[index],
                "sentence1": sentences[index],
                "sentence2": candidate.text,
                "rank": 0,
                **vars(candidate),
            }
            for index, candidate in rows
        ]
        names = [*_MEASURES, *(["similarity"] if self.used_encoder is not None else [])]
        return add_measures(pa.Table.from_pylist(pairs, schema=BACK_TRANSLATED), names, measures=self._measures)


def _add(found: dict[str, _Candidate], new: _Candidate) -> None:
    """Adds a way to a candidate; its text is that of the likeliest way."""
    key = normalise(new.text)
    if not key:
        return
    old = found.get(key)
    if old is None:
        found[key] = new
        return
    total = float(np.logaddexp(old.log_prob, new.log_prob))
    found[key] = new if new.best > old.best else old
    found[key].log_prob = total


def _diverse(pairs: Sequence[dict[str, Any]], num: int, min_similarity: float) -> list[dict[str, Any]]:
    """Chooses pairs greedily: likely, alike in meaning, and in other words than the sentence and those chosen."""
    left = list(pairs)
    chosen: list[dict[str, Any]] = []
    seen = [_ngrams(pairs[0]["sentence1"])] if pairs else []
    while left and len(chosen) < num:
        best = max(left, key=lambda pair: (_value(pair, seen, min_similarity), pair["log_prob"]))
        left.remove(best)
        chosen.append(best)
        seen.append(_ngrams(best["sentence2"]))
    return chosen


def _value(pair: Mapping[str, Any], seen: Sequence[Counter[tuple[str, ...]]], min_similarity: float) -> float:
    candidate = pair["candidate"]
    probability = math.exp(candidate.log_prob / (candidate.num_tokens + candidate.num_pivot_tokens + 2))
    own = _ngrams(candidate.text)
    # What is hardly similar enough is often an error, which is also what differs most.
    likeness = pair["similarity"] - min_similarity if "similarity" in pair else 1.0
    return probability * likeness * min(_distance(own, other) for other in seen)


def _ngrams(text: str) -> Counter[tuple[str, ...]]:
    """Counts words and pairs of words."""
    words = normalise(text).split()
    return Counter([(word,) for word in words]) + Counter(itertools.pairwise(words))


def _distance(one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> float:
    return 1.0 - 2.0 * (one & other).total() / max(1, one.total() + other.total())
