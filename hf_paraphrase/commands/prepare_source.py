"""What every `prepare SOURCE` does: read, write Parquet, say where it comes from, and tell the user."""

from __future__ import annotations

import dataclasses
import json
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder
from ..artefacts.provenance import write_provenance
from ..data.containment import DEFAULT_SHARE
from ..data.parquet import split_sizes, write_split
from ..data.skipped_lines import FILE_NAME
from ..data.sources.source import SourceCorpus, SourceOptions
from ..messages import say
from ..settings import setting, settings_of
from .prepare_reports import report, watched


@dataclass(kw_only=True)
class SourceArguments:
    """The flags that all sources share."""

    output: str = setting("the data folder to make")
    on_error: str = setting(
        "raise: a malformed line ends the work; skip: it is left out, counted, and listed in skipped_lines.tsv",
        "raise",
        choices=["raise", "skip"],
    )
    overwrite: bool = setting("replace an existing output folder", False)


@dataclass(kw_only=True)
class TrainingSourceArguments(SourceArguments):
    """The flags that sources of training pairs share."""

    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: training pairs of which a sentence is in them go", []
    )
    decontaminate_ngrams: int = setting(
        "words in an n-gram: pairs of which a side shares most of its n-grams with an evaluation set, or contains a "
        "sentence of one, go as well; 8 is usual, 0 = whole sentences only",
        0,
    )
    decontaminate_share: float = setting(
        "least share of the n-grams of a side that must occur in one evaluation set, above 0 to 1", DEFAULT_SHARE
    )
    negatives: int | None = setting(
        "a seed: add as many random pairs, with label 0 (the others get label 1); for losses that use labels", None
    )


@dataclass(frozen=True)
class SourceCard:
    """What the header of a card needs.

    Attributes:
        template: The template in `dataset_cards/`.
        title: The name of the data set.
        license: As the Hub spells it; None if none is stated.
        languages: Language codes.
        tasks: Task categories of the Hub.
        tags: Further tags.
        values: What the template needs beyond these.
        url: Where the data set is at home.
    """

    template: str
    title: str
    license: str | None
    languages: tuple[str, ...] = ("en",)
    tasks: tuple[str, ...] = ("sentence-similarity",)
    tags: tuple[str, ...] = ("paraphrase",)
    values: dict[str, Any] = field(default_factory=dict)
    url: str | None = None


def prepare_source(arguments: Any, options_class: type[SourceOptions], command: str, card: SourceCard) -> None:
    """Makes the data folder of a source.

    Args:
        arguments: The parsed arguments; those with the names of options are handed on.
        options_class: The source's options.
        command: The command, for messages and provenance, e.g. `prepare opusparcus`.
        card: The header of the card.
    """
    names = {field.name for field in dataclasses.fields(options_class)}
    options = options_class(**{name: value for name, value in vars(arguments).items() if name in names})
    check_output(arguments.output, overwrite=arguments.overwrite)
    options.check()
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        with (
            tqdm(desc="read", unit=" rows", unit_scale=True) as bar,
            SourceCorpus(options, work=staging, progress=bar.update, listing=staging / FILE_NAME) as corpus,
        ):
            bar.close()
            for part in corpus.parts:
                with tqdm(desc=part.name, total=corpus.num_rows(part), unit=" rows", unit_scale=True) as bar:
                    write_split(staging, part.name, watched(corpus.batches(part), bar), corpus.schema(part))
            with closing(corpus.batches(corpus.parts[0])) as tables:
                example = json.dumps(next(tables).slice(0, 1).to_pylist()[0], ensure_ascii=False)
            values = _card_values(staging, corpus, card) | {"command": command, "example": example}
        missing = options.missing()
        results = {
            "counts": corpus.counts,
            "negatives": corpus.negatives,
            "missing": missing,
            "contamination": corpus.contamination,
            "malformed": corpus.malformed,
        }
        settings = settings_of(arguments) | {"url": card.url}
        if corpus.negatives:
            settings["seed"] = settings["negatives"]
        write_provenance(staging, command=command, settings=settings, inputs=options.inputs(), results=results)
        write_card(staging, "dataset_cards", card.template, values | {"missing": missing})
    for name, count in corpus.negatives.items():
        say(f"{name}: {count:,} negatives added")
    if missing:
        say("not there: " + ", ".join(missing))
    report(arguments.output, corpus.counts, corpus.contamination, corpus.malformed)


def _card_values(folder: Path, corpus: SourceCorpus, card: SourceCard) -> dict[str, Any]:
    from ..data.sources.source_builder import part_features

    sizes = {str(size["name"]): size for size in split_sizes(folder)}
    configurations: dict[str, dict[str, Any]] = {}
    for part in corpus.parts:
        features = part_features(corpus, part)
        split = sizes[part.name] | {"name": part.split, "path": f"data/{part.name}-*"}
        # No underscore: datasets spells its features for YAML in a method that is its own.
        empty = {"name": part.configuration, "columns": list(features), "features": features._to_yaml_list()}
        found = configurations.setdefault(part.configuration, empty | {"splits": []})
        found["splits"].append(split)
    return {
        "title": card.title,
        "front_matter": front_matter(card, list(configurations.values())),
        "license": card.license,
        "url": card.url,
        "configurations": list(configurations.values()),
        "files": list(dict.fromkeys(path.name for part in corpus.parts for path in part.files)),
        "counts": corpus.counts,
        "negatives": corpus.negatives,
        "skipped": (folder / FILE_NAME).is_file(),
        "ngrams": getattr(corpus.options, "decontaminate_ngrams", 0),
        "share": getattr(corpus.options, "decontaminate_share", DEFAULT_SHARE),
        "checked": corpus.checked,
        "contamination": corpus.contamination,
        **card.values,
    }


def front_matter(card: SourceCard, configurations: list[dict[str, Any]]) -> str:
    """Writes the YAML header that `load_dataset` and the Hub read: configurations, splits, features and sizes."""
    import yaml

    header: dict[str, Any] = {"language": list(card.languages)}
    if card.license is not None:
        header["license"] = card.license
    header["task_categories"] = list(card.tasks)
    header["pretty_name"] = card.title
    header["tags"] = list(card.tags)
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
