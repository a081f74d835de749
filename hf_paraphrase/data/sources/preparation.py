"""`prepare SOURCE`: from the raw files of a source to a Parquet data folder with its card and provenance."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import pyarrow as pa
from tqdm import tqdm

from ...artefacts.artefact import Artefact, Card, check_early
from ...errors import UsageError, choice_of
from ...messages import log
from ...registry import SOURCES
from ...settings import Recipe, recipe
from ...tables import format_table
from ..folder import DataFolder, write_split
from ..line_errors import SKIPPED_LINES
from .card_values import funnel_rows, shared_values, values_of_published
from .corpus import Corpus
from .source import OutputSettings, Source


def prepare(source: str, **settings: Any) -> Any:
    """Turns raw files into a data folder.

    Args:
        source: The kind, as in `prepare SOURCE`; `hf_paraphrase.registry.SOURCES` has them all.
        settings: The flags of `prepare SOURCE` as keywords, e.g. `data_dir=…, output=…`.

    Returns:
        The :class:`~hf_paraphrase.data.folder.DataFolder` that was made; of `comparable` the task.
    """
    return preparation(source)(**settings)


def preparation(name: str) -> Recipe[..., Any]:
    """Returns the recipe of `prepare NAME`: a function of the fields of a source, and of where the output goes."""
    if name not in SOURCES:
        raise UsageError(f"prepare: unknown kind `{name}`", remedy=choice_of(name, SOURCES))
    source_class = SOURCES[name]
    # What makes something other than one data folder is registered as a recipe of its own.
    return recipe_of(name, source_class) if isinstance(source_class, type) else cast("Recipe[..., Any]", source_class)


@cache
def recipe_of(name: str, source: type[Source]) -> Recipe[..., DataFolder]:
    """Makes the recipe of a source."""

    def check(self: Any) -> None:
        # Reading and checking the files may take a while.
        check_early(self.output, overwrite=self.overwrite)
        source.check(self)

    namespace: dict[str, Any] = {"__doc__": source.__doc__, "__module__": source.__module__, "check": check}
    # Without a title of its own it is called by its name, not by that of the class made here.
    namespace["TITLE"] = source.TITLE or name
    made_class = type(f"Prepare{source.__name__}", (source, OutputSettings), namespace)
    settings_class: Any = dataclass(kw_only=True)(made_class)

    def prepare_source(settings: Any) -> DataFolder:
        return _prepare(name, settings)

    prepare_source.__name__ = prepare_source.__qualname__ = f"prepare_{name}"
    prepare_source.__doc__ = f"""{_PREPARED.format(description=(source.__doc__ or "").strip())}"""
    made: Recipe[..., DataFolder] = recipe(settings_class)(prepare_source)
    return made


_PREPARED = """{description}

Returns:
    The data folder that was made.

Raises:
    UsageError: For settings that do not fit together.
    InputError: For files that are missing or malformed, and if no row is left.
    OutputError: If the output is in the way.
"""


def _prepare(name: str, source: Any) -> DataFolder:
    """Makes the data folder of a source that has been checked and knows its output."""
    command = f"prepare {name}"
    with Artefact(
        source.output, command=command, settings=source, inputs=source.inputs(), overwrite=source.overwrite
    ) as artefact:
        staging = artefact.staging
        with (
            tqdm(desc="read", unit=f" {source.unit}", unit_scale=True) as bar,
            Corpus(source, work=staging, progress=bar.update, listing=staging / SKIPPED_LINES) as corpus,
        ):
            bar.close()
            for shards, part in corpus.parts.items():
                with tqdm(desc=shards, total=corpus.num_rows(shards), unit=" rows", unit_scale=True) as bar:
                    tables = _watched(corpus.batches(shards), bar)
                    write_split(staging, shards, tables, corpus.schema(shards), repeating=part.repeating)
            folder = DataFolder(staging)
            own = source.card(folder, corpus) or values_of_published(source, folder, corpus)
            values = {"command": command} | shared_values(source, folder, corpus) | own
        results = {
            "counts": corpus.counts,
            "negatives": corpus.negatives,
            "missing": source.missing(),
            "contamination": corpus.contamination,
            "malformed": corpus.malformed,
        }
        artefact.finish(
            results={key: results[key] for key in source.RECORDED} | source.results(corpus),
            card=Card(source.TEMPLATE, values),
            settings=_recorded(source, corpus),
        )
    _report(source, corpus, results["missing"])
    return DataFolder(source.output)


def _recorded(source: Any, corpus: Corpus) -> dict[str, Any]:
    settings: dict[str, Any] = source.record()
    if source.URL:
        settings["url"] = source.URL
    if corpus.negatives:
        settings["seed"] = settings["negatives"]
    return settings


def _watched(tables: Iterable[pa.Table], bar: Any) -> Iterator[pa.Table]:
    """Passes tables on and moves a progress bar by their rows."""
    for table in tables:
        yield table
        bar.update(table.num_rows)


def _report(source: Any, corpus: Corpus, missing: list[str]) -> None:
    """Logs what happened to every line."""
    if source.SHOWS_FUNNEL:
        log(_funnel_table(corpus.counts["train"], source.unit))
    for name, count in corpus.negatives.items():
        log(f"{name}: {count:,} negatives added")
    if missing:
        log("not there: " + ", ".join(missing))
    for split, rules in corpus.counts.items():
        left_out = [f"{rule} {count:,}" for rule, count in rules.items() if rule not in {"lines", "rows"} and count]
        origin = f" of {rules['lines']:,} {source.unit}" if "lines" in rules else " drawn"
        log(f"{split}: {rules['rows']:,} rows{origin}" + (f" ({', '.join(left_out)})" if left_out else ""))
    if corpus.contamination:
        matched = ", ".join(f"{name} {count:,}" for name, count in corpus.contamination.items())
        log(f"rows found in evaluation sets: {matched}")
    if corpus.malformed:
        log("skipped, first of them:\n" + "\n".join(f"  {line}" for line in corpus.malformed))
    log(f"data folder: {source.output}")


def _funnel_table(counts: dict[str, int], unit: str) -> str:
    """Formats :func:`funnel_rows` as a Markdown table, from what was read to what is left."""
    total = counts["lines"]
    table = [["read", "", f"{total:,}", "100.0%"]]
    for rule, count, left in funnel_rows(counts):
        table.append([rule, f"{count:,}", f"{left:,}", f"{left / max(1, total):.1%}"])
    return format_table(["rule", "left out", unit, "share"], table).rstrip()
