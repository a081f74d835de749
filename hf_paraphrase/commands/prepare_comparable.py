"""`prepare comparable`: a task of the kind of BUCC 2017 from prepared bitexts, and the bitext to train on for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder
from ..artefacts.provenance import write_provenance
from ..data.parquet import read_schema, read_table, split_sizes, write_split
from ..data.schema import BITEXT, require_columns
from ..data.sources.comparable import ComparableOptions, ComparableTask, make_comparable
from ..errors import InputError, UsageError
from ..messages import say
from ..settings import setting, settings_of
from ..studies.mining.collections import identifiers, write_gold, write_side
from .arguments import parse
from .prepare_reports import check_license

BITEXT_FOLDER = "bitext"
PARTS = ("sample", "training", "test")


@dataclass
class Arguments:
    """Makes two collections of sentences with a few translations hidden in them, to be found with `mine`."""

    output: str = setting("the folder to make: the task in the layout of BUCC 2017, and in bitext/ what is left over")
    bitext: list[str] = setting("one or more folders made by `prepare bitext`, of one pair of languages")
    split: str = setting("the split of the bitexts to take", "train")
    sentences: int = setting("sentences on each side of the parts training and test", 20_000)
    sample_sentences: int = setting("sentences on each side of the part sample", 2_000)
    share: float = setting("share of each side that has its translation on the other, above 0 and below 1", 0.03)
    min_words: int = setting("fewest words of a sentence of the task", 4)
    max_words: int = setting("most words of a sentence of the task", 60)
    near_duplicate: float = setting(
        "similarity from which on two sentences count as one, above 0 to 1: 1 - Levenshtein distance / length", 0.9
    )
    validation_size: int = setting("rows of the left-over bitext to hold out for validation", 1_000)
    seed: int = setting("seed of all draws", 0)
    license: str | None = setting("the licence of the sentences for the card, as the Hub spells it", None)
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `prepare comparable`.

    Raises:
        UsageError: For numbers out of range.
        InputError: If the bitexts are missing, of different languages, or too small.
        OutputError: If the output exists or cannot be written.
    """
    arguments = parse(Arguments, "prepare comparable", argv)
    check_output(arguments.output, overwrite=arguments.overwrite)
    check_license(arguments.license)
    options = ComparableOptions(
        # The test part is drawn first, so that the size of the others does not change it.
        {"test": arguments.sentences, "training": arguments.sentences, "sample": arguments.sample_sentences},
        share=arguments.share,
        min_words=arguments.min_words,
        max_words=arguments.max_words,
        near_duplicate=arguments.near_duplicate,
        validation_size=arguments.validation_size,
        seed=arguments.seed,
    )
    options.check()
    folders = [Path(folder) for folder in arguments.bitext]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("--bitext names a folder twice", remedy="name each once")
    rows = _read(folders, arguments.split)
    languages = tuple(_language(rows, f"{side}_lang", folders[0]) for side in ("source", "target"))
    say(f"{len(rows):,} rows; drawing the parts takes some minutes at tens of thousands of sentences")
    task = make_comparable(rows, options)
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        _write_task(staging, task, languages)
        _write_bitext(staging / BITEXT_FOLDER, rows, task, arguments, languages, folders)
        results: dict[str, Any] = {
            "counts": task.counts,
            "parts": {
                name: {
                    "sentences": len(part.source),
                    "gold": len(part.gold),
                    "near_duplicates_left_out": part.near_duplicates,
                }
                for name, part in task.parts.items()
            },
        }
        write_provenance(
            staging,
            command="prepare comparable",
            settings=settings_of(arguments),
            inputs=folders,
            results=results,
        )
        write_card(
            staging,
            "dataset_cards",
            "comparable",
            {
                "title": f"Comparable corpora {languages[0]}-{languages[1]}",
                "source_lang": languages[0],
                "target_lang": languages[1],
                "license": arguments.license,
                "files": [folder.resolve().name for folder in folders],
                "parts": {name: results["parts"][name] for name in PARTS},
                "share": arguments.share,
                "near_duplicate": arguments.near_duplicate,
                "words": (arguments.min_words, arguments.max_words),
                "counts": task.counts,
                "seed": arguments.seed,
                "splits": split_sizes(staging / BITEXT_FOLDER),
            },
        )
    for name in PARTS:
        part = task.parts[name]
        say(
            f"{name}: {len(part.source):,} sentences a side, {len(part.gold):,} pairs hidden in them "
            f"({part.near_duplicates:,} groups left out as near-duplicates)"
        )
    say(f"bitext that shares no sentence with them: {task.counts['train']:,} rows")
    say(f"task folder: {arguments.output}")


def _read(folders: Sequence[Path], split: str) -> pa.Table:
    for folder in folders:
        require_columns(read_schema(folder, split).names, BITEXT.names, str(folder))
    tables = [read_table(folder, split, BITEXT.names).cast(BITEXT) for folder in folders]
    return pa.concat_tables(tables).combine_chunks()


def _language(rows: pa.Table, column: str, folder: Path) -> str:
    found = [str(value) for value in pc.unique(rows.column(column)).to_pylist()]
    if len(found) != 1:
        raise InputError(
            f"the column {column} has {len(found)} languages: {', '.join(found[:5]) or 'none'}",
            path=folder,
            remedy="give bitexts of one pair of languages",
        )
    return found[0]


def _write_task(folder: Path, task: ComparableTask, languages: tuple[str, ...]) -> None:
    for name, part in task.parts.items():
        names = [identifiers(language, len(part.source)) for language in languages]
        stem = f"{'-'.join(languages)}.{name}"
        for language, side, texts in zip(languages, names, (part.source, part.target), strict=True):
            write_side(folder / f"{stem}.{language}", side, texts)
        write_gold(folder / f"{stem}.gold", names[0], names[1], part.gold)


def _write_bitext(
    folder: Path,
    rows: pa.Table,
    task: ComparableTask,
    arguments: Arguments,
    languages: tuple[str, ...],
    folders: Sequence[Path],
) -> None:
    for split, mask in (("train", task.train), ("validation", task.validation)):
        # In random order: the bitexts are of different kinds, and often sorted.
        order = np.random.default_rng([arguments.seed, len(rows)]).permutation(np.flatnonzero(mask))
        write_split(folder, split, [rows.take(pa.array(order))], BITEXT)
    counts = {"train": task.counts["train"], "validation": task.counts["validation"]}
    write_provenance(
        folder,
        command="prepare comparable",
        settings=settings_of(arguments),
        inputs=folders,
        results={"counts": {split: {"rows": number} for split, number in counts.items()}},
    )
    write_card(
        folder,
        "dataset_cards",
        "bitext",
        {
            "title": f"Bitext {languages[0]}-{languages[1]} beside a comparable corpus",
            "source_lang": languages[0],
            "target_lang": languages[1],
            "license": arguments.license,
            "files": [item.resolve().name for item in folders],
            "unit": "rows",
            "columns": BITEXT.names,
            "splits": split_sizes(folder),
            "rules": {},
            "drawn": ["validation"] if counts["validation"] else [],
            "seed": arguments.seed,
            "punctuation": False,
            "skipped": False,
            "checked": [],
            "contamination": {},
        },
    )
