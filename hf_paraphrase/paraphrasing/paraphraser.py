"""The recipe of the verb `paraphrase`: sentences in, pairs with paraphrases out, by a round trip of translation.

A round trip is into another language and back; the candidates of both beams are filtered and ordered.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import pyarrow as pa

from ..artefacts.hub_models import BUILTIN, model_name
from ..artefacts.provenance import inherited_metadata
from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..data.folder import DataFolder, write_split
from ..data.rows import open_rows
from ..data.schema import BACK_TRANSLATED, SENTENCES, columns_named, require_columns
from ..data.sentences import lines_of_file
from ..data.text_blocks import DEFAULT_COLUMNS, kind_of_rows
from ..errors import HfParaphraseError, InputError, UsageError
from ..filtering.measuring import Measures, add_measures
from ..jobs.pair_output import finish_pairs, merge_reports
from ..jobs.sharded_output import ShardedOutput
from ..jobs.shards import ShardJob, cut, reports
from ..messages import log
from ..settings import recipe, setting
from ..text.normalization import normalize_words
from ..translation.back_translation import is_loop
from ..translation.bitext import are_different
from ..translation.search_settings import SearchJobSettings, SearchOptions

if TYPE_CHECKING:
    from ..translation.translator import Translator


@dataclass(kw_only=True)
class ParaphraseSettings(SearchJobSettings):
    """Paraphrase sentences: translate them into other languages and back, and keep what is worded differently."""

    models: list[str] = setting(
        "for every round trip a translation model and one that translates back; or one multilingual model", path=True
    )
    input: str = setting(
        "sentences: lines of text, - for standard input; Parquet, CSV, JSON lines; a data folder",
        path=True,
        dataset=True,
    )
    output: str = setting("data folder for the pairs; it appears only when complete")
    column: str | None = setting(
        f"column of the sentences; if not given, the first of {', '.join(DEFAULT_COLUMNS)} that exists",
        None,
        names=["--column", "--columns"],
    )
    keep_columns: list[str] = setting("columns, such as label, to copy to every paraphrase of a row", [])
    split: str = setting("split of the data folder", "train")
    language: str | None = setting(
        "language of the sentences: its code in a multilingual model, such as eng_Latn",
        None,
        names=["--language", "--lang"],
    )
    pivots: list[str] = setting("code of the pivot language, one for every round trip", [])
    num: int = setting("maximum number of paraphrases per sentence", 5, at_least=1)
    num_beams: int = setting(
        "beam width of both directions: N translations, each with N translations back", 5, at_least=1
    )
    encoder: str | None = setting("encoder that measures similarity [default: builtin, for English]", None, path=True)
    min_similarity: float = setting(
        "minimum similarity of a paraphrase to its sentence; -1 keeps all", 0.7, at_least=-1, at_most=1
    )
    min_edit_distance: float = setting(
        "minimum edit distance to its sentence, as a fraction of the characters", 0.15, at_least=0, at_most=1
    )
    max_sentences: int | None = setting("paraphrase only the first N sentences", None, at_least=1)
    shard_size: int = setting("sentences per shard, the unit of work", 200, at_least=1)

    def __post_init__(self) -> None:
        """Takes the word for standard input as the name of its file, which every recipe copies first."""
        if self.input == "-":
            self.input = "/dev/stdin"

    def paraphraser(self, device: str | None) -> Paraphraser:
        """Returns the batch function of these settings."""
        names = ("num", "language", "pivots", "encoder", "min_similarity", "min_edit_distance")
        given = {name: getattr(self, name) for name in names}
        options = self.options(device, num_return_sequences=self.num_beams)
        return Paraphraser(tuple(self.models), options=options, device=device, keep=tuple(self.keep_columns), **given)


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
        models, pivots = self.models, self.pivots
        if len(models) == 1:
            if not pivots:
                raise UsageError(
                    "a single model makes a round trip only if it is multilingual",
                    remedy="give --pivots and --language, or a second model that translates back",
                )
            models *= 2 * len(pivots)
        if len(models) % 2 or len(pivots) not in (0, len(models) // 2):
            raise UsageError(
                f"{len(models)} models and {len(pivots)} pivots do not form round trips",
                remedy="give two models for every round trip, and one of --pivots for each or none",
            )
        return list(map(self._trip, models[::2], models[1::2], pivots or [None] * (len(models) // 2)))

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
        from ..translation.loading import load_translation_model
        from ..translation.translator import Translator

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
        """Returns the pairs of rows with `id` and `sentence`, with their measures, in the order of rows and ranks.

        The report has the numbers named in :attr:`COUNTS`, and as `skipped` the `id` of every sentence without a
        paraphrase and the `reason`.
        """
        rows = table.select(SENTENCES.names).to_pylist()
        candidates, reasons = self._candidates([row["sentence"] or "" for row in rows])
        counts = Counter(dict.fromkeys(self.COUNTS, 0))
        counts.update(sentences=len(rows), candidates=sum(map(len, candidates)))
        pairs: list[dict[str, Any]] = []
        for index, (row, found) in enumerate(zip(rows, candidates, strict=True)):
            for text, candidate in found.items():
                if text == normalize_words(row["sentence"]):
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
    text = normalize_words(new["sentence2"])
    old = candidates.get(text)
    if old is not None:
        total = float(np.logaddexp(old["log_prob"], new["log_prob"]))
        new = {**(new if new["best"] > old["best"] else old), "log_prob": total}
    if text:
        candidates[text] = new


def _ngrams(text: str) -> Counter[tuple[str, ...]]:
    """Counts words and pairs of words."""
    words = normalize_words(text).split()
    return Counter([(word,) for word in words]) + Counter(itertools.pairwise(words))


def _distance(one: Counter[tuple[str, ...]], other: Counter[tuple[str, ...]]) -> float:
    return 1.0 - 2.0 * (one & other).total() / max(1, one.total() + other.total())


def paraphrase(
    sentences: str | Sequence[str], *, models: str | Sequence[str], num: int = 5, **settings: Any
) -> list[list[str]]:
    """Paraphrases sentences by a round trip through another language, or several.

        paraphrase(["How are you?"], models=["Helsinki-NLP/opus-mt-en-fr", "Helsinki-NLP/opus-mt-fr-en"])

    Args:
        sentences: The sentences; a single one is a list of one.
        models: For every round trip the model into another language and the one back; or one model of several
            languages.
        num: Paraphrases of a sentence, at most.
        **settings: Other settings of :func:`paraphrase_file`, such as `pivots`, `num_beams` or `min_similarity`.

    Returns:
        The paraphrases of every sentence, a likely and different one first; none where no candidate is left.
    """
    from ..tokenization.fast_tokenize import list_of_texts

    texts = list_of_texts(sentences)
    chosen = [models] if isinstance(models, str | os.PathLike) else list(models)
    checked = ParaphraseSettings(models=chosen, input="sentences", output="none", num=num, **settings)
    checked.check()
    function = checked.paraphraser(checked.device)
    found: list[list[str]] = [[] for _ in texts]
    for start in range(0, len(texts), checked.shard_size):
        part = texts[start : start + checked.shard_size]
        rows = {"id": [str(start + index) for index in range(len(part))], "sentence": part}
        for pair in function(pa.table(rows, schema=SENTENCES)).to_pylist():
            found[int(pair["id"])].append(pair["sentence2"])
    return found


@recipe(ParaphraseSettings)
def paraphrase_file(settings: ParaphraseSettings) -> DataFolder:
    """Paraphrases the sentences of a file or data folder by round trips through other languages.

    A job that was killed is continued with `resume`; the bytes are the same.

    Returns:
        The data folder of the pairs; with `shard`, while parts are missing, that of the incomplete work.
    """
    kept = list(dict.fromkeys(columns_named(settings.keep_columns, ())))
    settings = dataclasses.replace(settings, keep_columns=kept)
    function = settings.paraphraser(settings.device or (None if settings.computes_here else "cpu"))
    output = ShardedOutput(
        settings.output,
        settings,
        command="paraphrase",
        inputs=[*settings.models, settings.input, *([settings.encoder] if settings.encoder else [])],
        resume=settings.resume,
        job={"bf16": function.options.bf16},
        free=["device", "precision"],
    )
    here = settings.here(function)
    encoder, trips = here.used_encoder, here.trips
    here.check_kept()
    if encoder is None:
        log("similarity is not measured: the built-in encoder knows only English; choose another with --encoder")
    with output:
        if output.finished:
            return DataFolder(output.target)
        output.begin()
        try:
            sentences = _sentences(settings, output.work)
        except HfParaphraseError:
            # No part has begun without them.
            output.discard()
            raise
        shards = cut("train", sentences.count("train"), settings.shard_size, source="train")
        job = ShardJob(sentences, {"train": function}, settings.shard_size)
        output.run(job, output.own(shards), what="paraphrase", unit="sentence")
        if not output.is_whole(shards):
            return DataFolder(output.current)
        pivots, models = [trip.pivot for trip in trips], [model_name(model) for model in settings.models]
        models = models * 2 * len(pivots) if len(models) == 1 else models
        values = {
            "license": inherited_metadata(settings.input)["license"] if Path(settings.input).is_dir() else None,
            "settings": settings.record(),
            "trips": list(zip(models[::2], models[1::2], pivots, strict=True)),
        }
        results = merge_reports(output.current, reports(shards, output.current), function.COUNTS) | {
            "search": dataclasses.asdict(function.options),
            "encoder": None if encoder is None else model_name(encoder),
            "pivots": pivots,
        }
        finish_pairs(output, results, "paraphrased", values)
    log(
        f"of {results['candidates']:,} candidates {results['copies']:,} are copies, {results['near_copies']:,} "
        f"near-copies, {results['loops']:,} loops, {results['dissimilar']:,} dissimilar"
    )
    return DataFolder(output.target)


def _sentences(settings: ParaphraseSettings, work: Path) -> DataFolder:
    """Returns the sentences, numbered from 0, as a data folder, which is written where it is not there yet."""
    folder = work / "sentences"
    if folder.is_dir():
        return DataFolder(folder)
    schema, tables = _opened(settings)
    temporary = folder.with_name(f"{folder.name}.{os.urandom(4).hex()}")
    write_split(temporary, "train", _numbered(tables, schema, settings.max_sentences), schema)
    with suppress(OSError):  # another part of the job was faster
        temporary.rename(folder)
    return DataFolder(folder)


def _opened(settings: ParaphraseSettings) -> tuple[pa.Schema, Iterator[pa.Table]]:
    """Opens the input: the schema of the sentences with the columns to keep, and their tables without numbers."""
    path, wanted = Path(settings.input), [] if settings.column is None else [settings.column]
    if path.is_file() and kind_of_rows(path) is None:
        require_columns(["sentence"], [*wanted, *settings.keep_columns], settings.input)
        return SENTENCES, (pa.table({"sentence": lines}) for lines in lines_of_file(path))
    rows = open_rows(settings.input, settings.split, roles=())
    (column, *_) = rows.text_columns(wanted)
    names = [column, *settings.keep_columns]
    schema = pa.schema([*SENTENCES, *map(rows.require(*settings.keep_columns).field, settings.keep_columns)])
    if next(rows.tables(names, stop=1), None) is None:
        raise InputError("there are no rows", path=settings.input, remedy="give a file or --split with some")
    return schema, (table.rename_columns(schema.names[1:]) for table in rows.tables(names))


def _numbered(tables: Iterable[pa.Table], schema: pa.Schema, most: int | None) -> Iterator[pa.Table]:
    """Numbers rows from 0, and ends after so many."""
    count = 0
    for table in tables:
        table = table if most is None else table.slice(0, most - count)
        ids = pa.array([str(count + index) for index in range(table.num_rows)], pa.string())
        yield pa.table([ids, *table.columns], schema.names).cast(schema)
        count += table.num_rows
        if count == most:
            return
