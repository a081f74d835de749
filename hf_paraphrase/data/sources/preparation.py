"""`prepare SOURCE`: from the raw files of a source to a Parquet data folder with its card and provenance."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import pyarrow as pa
from tqdm import tqdm

from ...artefacts.artefact import Artefact, Card, check_early
from ...errors import UsageError, choice_of
from ...messages import log, printable
from ...registry import SOURCES
from ...settings import Recipe, recipe
from ...text.languages import language_tag
from ..folder import DataFolder, write_split
from .rows import SourceRows
from .source import OutputSettings, Part, Source

SKIPPED_LINES = "skipped_lines.tsv"
"""The list of all lines that `--on-error skip` left out, in the data folder."""
_SPELLING = {pa.string(): "string", pa.float64(): "float64", pa.int64(): "int64"}


def prepare(source: str, **settings: Any) -> Any:
    """Turn raw files into a data folder and return it (for `comparable`, the task).

    Args:
        source: The name of a source, as in `prepare SOURCE`, of `hf_paraphrase.registry.SOURCES`.
        settings: The flags of `prepare SOURCE` as keywords, e.g. `data_dir=…, output=…`.
    """
    return preparation(source)(**settings)


def preparation(name: str) -> Recipe[..., Any]:
    """Return the recipe of `prepare NAME`: a function of the fields of a source and of the output."""
    if name not in SOURCES:
        raise UsageError(f"prepare: unknown kind `{name}`", remedy=choice_of(name, SOURCES))
    source = SOURCES[name]
    # An entry that makes something other than one data folder is a recipe itself.
    return recipe_of(name, source) if isinstance(source, type) else cast("Recipe[..., Any]", source)


@cache
def recipe_of(name: str, source: type[Source]) -> Recipe[..., DataFolder]:
    """Make the recipe of a source."""

    def check(self: Any) -> None:
        # Reading and checking the files may take a while.
        check_early(self.output, overwrite=self.overwrite)
        source.check(self)

    namespace: dict[str, Any] = {"__doc__": source.__doc__, "__module__": source.__module__, "check": check}
    # The title of a source without one is its name, not the name of the class made here.
    namespace["TITLE"] = source.TITLE or name
    settings_class: Any = type(f"Prepare{source.__name__}", (source, OutputSettings), namespace)
    settings_class = dataclass(kw_only=True)(settings_class)

    def prepare_source(settings: Any) -> DataFolder:
        return _prepare(name, settings)

    prepare_source.__name__ = prepare_source.__qualname__ = f"prepare_{name}"
    prepare_source.__doc__ = f"{(source.__doc__ or '').strip()}\n\nReturns:\n    The data folder.\n"
    return recipe(settings_class)(prepare_source)


def _prepare(name: str, source: Any) -> DataFolder:
    command = f"prepare {name}"
    with Artefact(source.output, command=command, settings=source, inputs=source.inputs()) as artefact:
        staging = artefact.staging
        with (
            tqdm(desc="read", unit=" lines", unit_scale=True) as bar,
            SourceRows(source, work=staging, progress=bar.update) as rows,
        ):
            for shards in rows.names():
                part = rows.parts[shards]
                write_split(staging, shards, rows.tables(shards), part.schema)
        if rows.skipped:
            records = [("file", "line", "reason"), *rows.skipped]
            lines = ["\t".join(" ".join(str(value).split()) for value in record) for record in records]
            (staging / SKIPPED_LINES).write_text("\n".join([*lines, ""]), "utf-8", "surrogateescape", newline="\n")
        counts = {shards: rows.counts[shards] for shards in rows.parts}
        results = {"counts": counts, "contamination": rows.contamination}
        settings: dict[str, Any] = source.record() | ({"url": source.URL} if source.URL else {})
        values = results | _card_values(command, source, DataFolder(staging), rows)
        artefact.finish(results=results, card=Card(source.TEMPLATE, values), settings=settings)
    _report(source, results)
    return DataFolder(source.output)


def _report(source: Any, results: Mapping[str, Any]) -> None:
    for split, counts in results["counts"].items():
        left_out = [f"{rule} {count:,}" for rule, count in counts.items() if rule not in {"lines", "rows"} and count]
        origin = f" of {counts['lines']:,} lines" if "lines" in counts else " drawn"
        log(f"{split}: {counts['rows']:,} rows{origin}" + (f" ({', '.join(left_out)})" if left_out else ""))
    if results["contamination"]:
        matched = ", ".join(f"{name} {count:,}" for name, count in results["contamination"].items())
        log(f"rows that match evaluation sets: {matched}")
    if len(set(map(language_tag, source.languages))) < len(source.languages):
        what = f"both languages are {source.languages[0]}; prepare pairs reads pairs in one language"
        log(f"warning: {what}", warning=True)
    log(f"data folder: {source.output}")


def _card_values(command: str, source: Any, folder: DataFolder, rows: SourceRows) -> dict[str, Any]:
    """Return the values of a card besides the results, with the YAML head for `load_dataset` and the Hub."""
    import yaml

    sizes = {str(size["name"]): size for size in folder.sizes()}
    configs: dict[str, Any] = {}
    infos: dict[str, Any] = {}
    for name, part in rows.parts.items():
        head = {"config_name": part.configuration}
        default = {} if configs else {"default": True}
        config = configs.setdefault(part.configuration, {**head, **default, "data_files": []})
        info = infos.setdefault(part.configuration, {**head, "features": _features(part), "splits": []})
        config["data_files"].append({"split": part.split, "path": f"data/{name}-*"})
        numbers = {key: sizes[name][key] for key in ("num_bytes", "num_examples")}
        info["splits"].append({"name": part.split, **numbers})
    license = source.license or source.LICENSE or None
    header = {
        "language": list(dict.fromkeys(source.languages)),
        **({"license": license} if license else {}),
        "task_categories": list(source.TASKS),
        "pretty_name": printable(" ".join(source.title.split())),
        "tags": list(source.TAGS),
        "configs": list(configs.values()),
        "dataset_info": list(infos.values()),
    }
    example = next(folder.batches(next(iter(rows.parts)))).slice(0, 1).to_pylist()[0]
    return {
        "front_matter": str(yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=10_000)),
        "command": command,
        "title": source.title,
        "description": source.DESCRIPTION or source.SUMMARY,
        "url": source.url or source.URL or None,
        "license": license,
        "languages": source.languages,
        "settings": source.record(),
        "infos": list(infos.values()),
        "files": source.origins(),
        "example": printable(json.dumps(example, ensure_ascii=False, default=str)),
        "skipped": bool(rows.skipped),
        "ngrams": source.decontaminate_ngrams,
        "similarity": source.decontaminate_similarity,
        "checked": list(dict.fromkeys([*rows.checked, *rows.contamination])),
    }


def _features(part: Part) -> list[dict[str, Any]]:
    """List the columns of a part with the names that `datasets` has for their types."""
    spelled = [{"name": field.name, "dtype": _SPELLING.get(field.type)} for field in part.schema]
    if not part.class_names and all(column["dtype"] for column in spelled):
        return spelled
    # `datasets` takes a second to import.
    from .loading import part_features

    # The method of `datasets` that writes features as YAML is private.
    return cast("list[dict[str, Any]]", part_features(part)._to_yaml_list())
