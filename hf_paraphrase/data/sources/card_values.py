"""What the cards of prepared data say: the columns, what became of the lines, and the YAML head of published sets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..containment import DEFAULT_SHARE
from ..line_errors import SKIPPED_LINES

if TYPE_CHECKING:
    from ..folder import DataFolder
    from .corpus import Corpus
    from .source import Source


def shared_values(source: Source, folder: DataFolder, corpus: Corpus) -> dict[str, Any]:
    """Returns what the cards of all sources say: the title, and what decontamination did."""
    return {
        "title": source.title,
        "url": getattr(source, "url", source.URL or None),
        "license": getattr(source, "license", source.LICENSE or None),
        "skipped": (folder.path / SKIPPED_LINES).is_file(),
        "ngrams": getattr(source, "decontaminate_ngrams", 0),
        "share": getattr(source, "decontaminate_share", DEFAULT_SHARE),
        "checked": corpus.checked,
        "contamination": corpus.contamination,
    }


def card_columns(schema: pa.Schema) -> list[dict[str, str]]:
    """Names the columns of a schema with their types as `datasets` spells them in a card."""
    spelling = {pa.string(): "string", pa.float64(): "float64", pa.int64(): "int64"}
    return [{"name": field.name, "dtype": spelling[field.type]} for field in schema]


def funnel_rows(counts: Mapping[str, int]) -> list[tuple[str, int, int]]:
    """Lists each rule with the number of records that it left out or moved, and how many were left after it."""
    left = counts["lines"]
    table = []
    for rule, count in counts.items():
        if rule not in {"lines", "rows"}:
            left -= count
            table.append((rule, count, left))
    return table


def values_of_published(source: Source, folder: DataFolder, corpus: Corpus) -> dict[str, Any]:
    """Returns what the card of a published set says: its YAML head, its fields with an example, and every count."""
    from .builder import part_features

    sizes = {str(size["name"]): size for size in folder.sizes()}
    configurations: dict[str, dict[str, Any]] = {}
    for name, part in corpus.parts.items():
        features = part_features(corpus, name)
        split = sizes[name] | {"name": part.split, "path": f"data/{name}-*"}
        # No underscore: datasets spells its features for YAML in a method that is its own.
        empty = {"name": part.configuration, "columns": list(features), "features": features._to_yaml_list()}
        configurations.setdefault(part.configuration, empty | {"splits": []})["splits"].append(split)
    with closing(corpus.batches(next(iter(corpus.parts)))) as tables:
        example = json.dumps(next(tables).slice(0, 1).to_pylist()[0], ensure_ascii=False)
    return {
        "front_matter": front_matter(source, list(configurations.values())),
        "configurations": list(configurations.values()),
        "files": list(dict.fromkeys(path.name for part in corpus.parts.values() for path in part.files)),
        "counts": corpus.counts,
        "negatives": corpus.negatives,
        "missing": source.missing(),
        "example": example,
        "description": source.DESCRIPTION,
        "citation": source.CITATION,
        "fields": source.FIELDS,
    }


def front_matter(source: Source, configurations: list[dict[str, Any]]) -> str:
    """Writes the YAML head that `load_dataset` and the Hub read: configurations, splits, features and sizes."""
    import yaml

    header: dict[str, Any] = {"language": list(source.languages)}
    if source.LICENSE:
        header["license"] = source.LICENSE
    header["task_categories"] = list(source.TASKS)
    header["pretty_name"] = source.title
    header["tags"] = list(source.TAGS)
    header["configs"] = [
        {
            "config_name": found["name"],
            **({"default": True} if index == 0 else {}),
            "data_files": [{"split": split["name"], "path": split["path"]} for split in found["splits"]],
        }
        for index, found in enumerate(configurations)
    ]
    header["dataset_info"] = [
        {
            "config_name": found["name"],
            "features": found["features"],
            "splits": [
                {name: split[name] for name in ("name", "num_bytes", "num_examples")} for split in found["splits"]
            ],
        }
        for found in configurations
    ]
    return str(yaml.safe_dump(header, sort_keys=False, allow_unicode=True, width=10_000))
