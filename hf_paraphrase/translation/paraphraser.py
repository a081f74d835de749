"""Paraphrases by a round trip: into another language and back, the candidates of both beams filtered and ordered."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
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


class RoundTrip(NamedTuple):
    """A way into another language and back."""

    forward: Translator
    backward: Translator

    @property
    def pivot(self) -> str:
        """The language in between, as the model calls it; `und` if that is not known."""
        return str(self.forward.model.config.target_lang or self.backward.model.config.source_lang or "und")


@dataclass(frozen=True)
class Paraphraser(BatchFunction):
    """Translates sentences into other languages and back; the best of what comes back becomes pairs with them.

    Both beams give candidates. The same text reached by several ways is one candidate, whose probability is the mean
    over the round trips of the sum over their ways. Copies of the sentence, loops, near-copies and what is too
    dissimilar are left out. The others are ordered greedily, by the product of the probability a unit, the similarity
    above the least one, and the least distance to the sentence and to the paraphrases before.

    The fields are settings of the verb of the same names; `options` are those of both searches, of which all
    hypotheses of the first are translated back, and `keep` are columns of the sentences that every paraphrase gets.
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
        pivots = self.pivots
        if len(self.models) == 1:
            if not pivots:
                raise UsageError(
                    "one model alone makes a round trip only if it knows several languages",
                    remedy="give --pivots and --language, or a second model that translates back",
                )
            return [self._trip(self.models[0], self.models[0], pivot) for pivot in pivots]
        routes = list(zip(self.models[::2], self.models[1::2], strict=False))
        if len(self.models) % 2 or len(pivots) not in (0, len(routes)):
            raise UsageError(
                f"{len(self.models)} models and {len(pivots)} pivots are no round trips",
                remedy="give two models for every round trip, and one of --pivots for each or none",
            )
        own_pivots: Sequence[str | None] = pivots or [None] * len(routes)
        return [self._trip(there, back, pivot) for (there, back), pivot in zip(routes, own_pivots, strict=True)]

    def _trip(self, forward: str, backward: str, pivot: str | None) -> RoundTrip:
        """Opens the models of a round trip, whose languages must meet."""
        trip = RoundTrip(self._opened(forward, self.language, pivot), self._opened(backward, pivot, self.language))
        there, back = ((item.model.config.source_lang, item.model.config.target_lang) for item in trip)
        if any(map(are_different, there, back[::-1])):
            raise UsageError(
                f"no round trip: {forward} translates {'→'.join(map(str, there))}, but {backward} "
                f"{'→'.join(map(str, back))}",
                remedy="give a model into another language and one back for every round trip",
            )
        return trip

    def _opened(self, name: str, source_lang: str | None, target_lang: str | None) -> Translator:
        languages = {"source_lang": source_lang, "target_lang": target_lang}
        return Translator(*load_translation_model(name, device=self.device, **languages), self.options)

    @cached_property
    def used_encoder(self) -> str | None:
        """The encoder that measures similarity; None if there is none for the language."""
        language = self.trips[0].forward.model.config.source_lang or self.language
        is_english = language is not None and not are_different(language, "en")
        return self.encoder or (BUILTIN if is_english else None)

    @cached_property
    def _measures(self) -> Measures:
        return Measures(encoder=self.used_encoder, **({} if self.device is None else {"device": self.device}))

    def _measured(self, pairs: list[dict[str, Any]]) -> pa.Table:
        names = ["overlap", "bleu", "edit_distance", *([] if self.used_encoder is None else ["similarity"])]
        return add_measures(pa.Table.from_pylist(pairs, schema=BACK_TRANSLATED), names, measures=self._measures)

    def check_kept(self) -> None:
        """Checks that no column to keep has the name of one of the pairs, or of what becomes one."""
        own = {*SENTENCES.names, *self._measured([]).column_names} if self.keep else {}
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
        rows = table.select(SENTENCES.names).to_pylist()
        candidates, reasons = self._candidates([row["sentence"] or "" for row in rows])
        counts = Counter(dict.fromkeys(self.COUNTS, 0))
        counts.update(sentences=len(rows), candidates=sum(map(len, candidates)))
        pairs: list[dict[str, Any]] = []
        for index, (row, found) in enumerate(zip(rows, candidates, strict=True)):
            for text, candidate in found.items():
                if text == normalise(row["sentence"]):
                    counts["copies"] += 1
                elif is_loop(candidate["sentence2"]) and not is_loop(row["sentence"]):
                    counts["loops"] += 1
                else:
                    pairs.append({"index": index, "id": row["id"], "sentence1": row["sentence"], **candidate})
        measured = self._measured(pairs)
        kept: list[list[dict[str, Any]]] = [[] for _ in rows]
        for pair, measures in zip(pairs, measured.to_pylist(), strict=True):
            if measures["edit_distance"] < self.min_edit_distance:
                counts["near_copies"] += 1
            elif measures.get("similarity", math.inf) < self.min_similarity:
                counts["dissimilar"] += 1
            else:
                kept[pair["index"]].append({**pair, **measures})
        chosen = [pair for own in kept for pair in self._diverse(own)]
        counts["pairs"] = len(chosen)
        skipped = [
            {"id": row["id"], "reason": "no candidate is left" if found else reason}
            for row, own, found, reason in zip(rows, kept, candidates, reasons, strict=True)
            if not own
        ]
        progress(table.num_rows)
        made = pa.Table.from_pylist(chosen, schema=measured.schema)
        indices = pa.array([pair["index"] for pair in chosen], pa.int64())
        for name in self.keep:
            made = made.append_column(name, table.column(name).take(indices))
        return made, {**counts, "skipped": skipped}

    def _candidates(self, sentences: Sequence[str]) -> tuple[list[dict[str, dict[str, Any]]], list[str]]:
        """Returns the candidates of every sentence by their normalised texts, and why there are none."""
        candidates: list[dict[str, dict[str, Any]]] = [{} for _ in sentences]
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
                        way = {"source": pivot.text, "source_lang": trip.pivot, "best": log_prob, "log_prob": log_prob}
                        way |= {"num_tokens": item.num_tokens, "num_pivot_tokens": pivot.num_tokens}
                        _add(candidates[index], {"sentence2": item.text, "rank": 0, **way})
        return candidates, reasons

    def _diverse(self, pairs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Chooses pairs greedily: likely, alike in meaning, and in other words than the sentence and those chosen."""
        left = [{**pair, "ngrams": _ngrams(pair["sentence2"])} for pair in pairs]
        seen = [_ngrams(pairs[0]["sentence1"])] if pairs else []
        chosen: list[dict[str, Any]] = []

        def value(pair: dict[str, Any]) -> tuple[float, float]:
            probability = math.exp(pair["log_prob"] / (pair["num_tokens"] + pair["num_pivot_tokens"] + 2))
            # What is hardly similar enough is often an error, which is also what differs most.
            likeness = pair["similarity"] - self.min_similarity if "similarity" in pair else 1.0
            return probability * likeness * min(_distance(pair["ngrams"], other) for other in seen), pair["log_prob"]

        while left and len(chosen) < self.num:
            best = max(left, key=value)
            left.remove(best)
            seen.append(best["ngrams"])
            chosen.append({**best, "rank": len(chosen)})
        return chosen


def _add(candidates: dict[str, dict[str, Any]], new: dict[str, Any]) -> None:
    """Adds a way to a candidate; its text is that of the likeliest way."""
    text = normalise(new["sentence2"])
    old = candidates.get(text)
    if old is not None:
        total = float(np.logaddexp(old["log_prob"], new["log_prob"]))
        new = {**(new if new["best"] > old["best"] else old), "log_prob": total}
    if text:
        candidates[text] = new


def _ngrams(text: str) -> Counter[tuple[str, ...]]:
    """Counts words and pairs of words."""
    words = normalise(text).split()
    return Counter([(word,) for word in words]) + Counter(itertools.pairwise(words))


def _distance(one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> float:
    return 1.0 - 2.0 * (one & other).total() / max(1, one.total() + other.total())
