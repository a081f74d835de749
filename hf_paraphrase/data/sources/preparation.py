"""`prepare SOURCE`: from the raw files of a source to a Parquet data folder with its card and provenance."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
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
from ..folder import DataFolder, write_split
from ..text_blocks import SKIPPED_LINES
from .rows import SourceRows
from .source import OutputSettings, Source


def prepare(source: str, **settings: Any) -> Any:
    """Turns raw files into a data folder, which is returned; of `comparable` the task.

    Args:
        source: The kind, as in `prepare SOURCE`; `hf_paraphrase.registry.SOURCES` has them all.
        settings: The flags of `prepare SOURCE` as keywords, e.g. `data_dir=…, output=…`.
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
    prepare_source.__doc__ = f"{(source.__doc__ or '').strip()}\n\nReturns:\n    The data folder that was made.\n"
    made: Recipe[..., DataFolder] = recipe(settings_class)(prepare_source)
    return made


def _prepare(name: str, source: Any) -> DataFolder:
    """Makes the data folder of a source that has been checked and knows its output."""
    command = f"prepare {name}"
    with Artefact(
        source.output, command=command, settings=source, inputs=source.inputs(), overwrite=source.overwrite
    ) as artefact:
        staging = artefact.staging
        with (
            tqdm(desc="read", unit=" lines", unit_scale=True) as bar,
            SourceRows(source, work=staging, progress=bar.update, listing=staging / SKIPPED_LINES) as rows,
        ):
            for shards in rows.names():
                part = rows.parts[shards]
                write_split(staging, shards, rows.tables(shards), part.schema, repeating=part.repeating)
        counts = {shards: rows.counts[shards] for shards in rows.parts}
        folder = DataFolder(staging)
        results = {"counts": counts, "missing": source.missing(), "contamination": rows.contamination}
        values = {
            "command": command,
            "title": source.title,
            "url": getattr(source, "url", source.URL or None),
            "license": getattr(source, "license", source.LICENSE or None),
            "skipped": (staging / SKIPPED_LINES).is_file(),
            "ngrams": getattr(source, "decontaminate_ngrams", 0),
            "similarity": getattr(source, "decontaminate_similarity", None),
            "checked": rows.checked,
        }
        own = source.card(folder, counts) or _published(source, folder, rows)
        settings: dict[str, Any] = source.record() | ({"url": source.URL} if source.URL else {})
        artefact.finish(results=results, card=Card(source.TEMPLATE, results | values | own), settings=settings)
    _report(source, results)
    return DataFolder(source.output)


def _report(source: Any, results: Mapping[str, Any]) -> None:
    """Logs what happened to every line."""
    if results["missing"]:
        log("not there: " + ", ".join(results["missing"]))
    for split, counts in results["counts"].items():
        left_out = [f"{rule} {count:,}" for rule, count in counts.items() if rule not in {"lines", "rows"} and count]
        origin = f" of {counts['lines']:,} lines" if "lines" in counts else " drawn"
        log(f"{split}: {counts['rows']:,} rows{origin}" + (f" ({', '.join(left_out)})" if left_out else ""))
    if results["contamination"]:
        matched = ", ".join(f"{name} {count:,}" for name, count in results["contamination"].items())
        log(f"rows found in evaluation sets: {matched}")
    log(f"data folder: {source.output}")


def card_columns(schema: pa.Schema) -> list[dict[str, str]]:
    """Names the columns of a schema with their types as `datasets` spells them in a card."""
    spelling = {pa.string(): "string", pa.float64(): "float64", pa.int64(): "int64"}
    return [{"name": field.name, "dtype": spelling[field.type]} for field in schema]


def _published(source: Source, folder: DataFolder, rows: SourceRows) -> dict[str, Any]:
    """Returns what the card of a published set says: its YAML head, its fields with an example, and every count."""
    from .builder import part_features

    sizes = {str(size["name"]): size for size in folder.sizes()}
    configurations: dict[str, dict[str, Any]] = {}
    for name, part in rows.parts.items():
        features = part_features(part)
        # No underscore: datasets spells its features for YAML in a method that is its own.
        empty = {"name": part.configuration, "columns": list(features), "features": features._to_yaml_list()}
        configuration = configurations.setdefault(part.configuration, empty | {"splits": []})
        configuration["splits"].append(sizes[name] | {"name": part.split, "path": f"data/{name}-*"})
    example = next(folder.batches(next(iter(rows.parts)))).slice(0, 1).to_pylist()[0]
    return {
        "front_matter": _front_matter(source, list(configurations.values())),
        "configurations": list(configurations.values()),
        "files": list(dict.fromkeys(path.name for part in rows.parts.values() for path in part.files)),
        "example": json.dumps(example, ensure_ascii=False),
        "description": source.DESCRIPTION,
        "citation": source.CITATION,
        "fields": source.FIELDS,
    }


def _front_matter(source: Source, configurations: Iterable[Mapping[str, Any]]) -> str:
    """Writes the YAML head that `load_dataset` and the Hub read: configurations, splits, features and sizes."""
    import yaml

    configs, infos = [], []
    for index, configuration in enumerate(configurations):
        name = {"config_name": configuration["name"]}
        files = [{"split": split["name"], "path": split["path"]} for split in configuration["splits"]]
        sizes = [
            {key: split[key] for key in ("name", "num_bytes", "num_examples")} for split in configuration["splits"]
        ]
        configs.append({**name, **({"default": True} if index == 0 else {}), "data_files": files})
        infos.append({**name, "features": configuration["features"], "splits": sizes})
    header = {
        "language": list(source.languages),
        **({"license": source.LICENSE} if source.LICENSE else {}),
        "task_categories": list(source.TASKS),
        "pretty_name": source.title,
        "tags": list(source.TAGS),
        "configs": configs,
        "dataset_info": infos,
    }
    return str(yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=10_000))
