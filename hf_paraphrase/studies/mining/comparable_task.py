"""`prepare comparable`: a task of the kind of BUCC 2017 from prepared bitexts, and the bitext to train on for it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...artefacts.artefact import Artefact, Card
from ...artefacts.cards import check_license, write_card
from ...artefacts.provenance import write_provenance
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder, write_split
from ...data.schema import BITEXT
from ...data.sources.source import OutputSettings
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import recipe, setting
from .collections import identifiers, write_gold, write_side
from .comparable import ComparableTask, DrawSettings, make_comparable

BITEXT_FOLDER = "bitext"
PARTS = ("sample", "training", "test")


@dataclass(kw_only=True)
class ComparableSettings(DrawSettings, OutputSettings):
    """Makes two collections of sentences with a few translations hidden in them, to be found with `mine`.

    The output has the task in the layout of BUCC 2017, and in bitext/ what is left over.
    """

    bitext: list[str] = setting("one or more folders made by `prepare bitext`, of one pair of languages", path=True)
    split: str = setting("the split of the bitexts to take", "train")
    sentences: int = setting("sentences on each side of the parts training and test", 20_000)
    sample_sentences: int = setting("sentences on each side of the part sample", 2_000)
    license: str | None = setting("the licence of the sentences for the card, as the Hub spells it", None)

    @property
    def sizes(self) -> dict[str, int]:
        """Sentences on each side of the parts; the test part is drawn first, so that others do not change it."""
        return {"test": self.sentences, "training": self.sentences, "sample": self.sample_sentences}

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        check_license(self.license)
        self.check_sizes(self.sizes)
        if len({Path(folder).resolve() for folder in self.bitext}) < len(self.bitext):
            raise UsageError("--bitext names a folder twice", remedy="name each once")


@dataclass(frozen=True)
class Comparable:
    """A task that was made."""

    folder: Path
    bitext: DataFolder
    task: ComparableTask


@recipe(ComparableSettings)
def prepare_comparable(settings: ComparableSettings) -> Comparable:
    """A task like BUCC's from prepared bitexts: translations hidden in two collections."""
    with Artefact(
        settings.output,
        command="prepare comparable",
        settings=settings,
        inputs=settings.bitext,
        overwrite=settings.overwrite,
    ) as artefact:
        return _prepare(settings, artefact)


def _prepare(settings: ComparableSettings, artefact: Artefact) -> Comparable:
    folders = [Path(folder) for folder in settings.bitext]
    rows = _read(folders, settings.split)
    languages = tuple(_language(rows, f"{side}_lang", folders[0]) for side in ("source", "target"))
    if languages[0] == languages[1]:
        raise InputError(
            f"both sides are in the language {languages[0]}, so that their files would have one name",
            path=folders[0],
            remedy="give bitexts of two languages",
        )
    log(f"{len(rows):,} rows; drawing the parts takes some minutes at tens of thousands of sentences")
    task = make_comparable(rows, settings.sizes, settings)
    staging = artefact.staging
    _write_task(staging, task, languages)
    _write_bitext(staging / BITEXT_FOLDER, rows, task, settings, languages, artefact.fingerprints)
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
    card = Card(
        "comparable",
        {
            "title": f"Comparable corpora {languages[0]}-{languages[1]}",
            "source_lang": languages[0],
            "target_lang": languages[1],
            "license": settings.license,
            "files": [folder.resolve().name for folder in folders],
            "parts": {name: results["parts"][name] for name in PARTS},
            "share": settings.share,
            "near_duplicate": settings.near_duplicate,
            "words": (settings.min_words, settings.max_words),
            "counts": task.counts,
            "seed": settings.seed,
            "splits": DataFolder(staging / BITEXT_FOLDER).sizes(),
        },
    )
    artefact.finish(results=results, card=card)
    for name in PARTS:
        part = task.parts[name]
        log(
            f"{name}: {len(part.source):,} sentences a side, {len(part.gold):,} pairs hidden in them "
            f"({part.near_duplicates:,} groups left out as near-duplicates)"
        )
    log(f"bitext that shares no sentence with them: {task.counts['train']:,} rows")
    log(f"task folder: {settings.output}")
    return Comparable(Path(settings.output), DataFolder(Path(settings.output) / BITEXT_FOLDER), task)


def _read(folders: Sequence[Path], split: str) -> pa.Table:
    opened = [DataFolder(folder) for folder in folders]
    for folder in opened:
        folder.require(*BITEXT.names, split=split)
    return pa.concat_tables([folder.table(split, BITEXT.names).cast(BITEXT) for folder in opened]).combine_chunks()


def _language(rows: pa.Table, column: str, folder: Path) -> str:
    languages = [str(value) for value in pc.unique(rows.column(column)).to_pylist()]
    if len(languages) != 1:
        raise InputError(
            f"the column {column} has {len(languages)} languages: {', '.join(languages[:5]) or 'none'}",
            path=folder,
            remedy="give bitexts of one pair of languages",
        )
    return languages[0]


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
    settings: ComparableSettings,
    languages: tuple[str, ...],
    inputs: Mapping[str, str],
) -> None:
    for split, mask in (("train", task.train), ("validation", task.validation)):
        # In random order: the bitexts are of different kinds, and often sorted.
        order = np.random.default_rng([settings.seed, len(rows)]).permutation(np.flatnonzero(mask))
        write_split(folder, split, [rows.take(pa.array(order))], BITEXT)
    counts = {"train": task.counts["train"], "validation": task.counts["validation"]}
    write_provenance(
        folder,
        command="prepare comparable",
        settings=settings.record(),
        inputs=inputs,
        results={"counts": {split: {"rows": number} for split, number in counts.items()}},
    )
    write_card(
        folder,
        Card(
            "bitext",
            {
                "title": f"Bitext {languages[0]}-{languages[1]} beside a comparable corpus",
                "source_lang": languages[0],
                "target_lang": languages[1],
                "license": settings.license,
                "files": [to_path(item).resolve().name for item in inputs],
                "unit": "rows",
                "columns": BITEXT.names,
                "splits": DataFolder(folder).sizes(),
                "rules": {},
                "drawn": ["validation"] if counts["validation"] else [],
                "seed": settings.seed,
                "punctuation": False,
                "skipped": False,
                "checked": [],
                "contamination": {},
            },
        ),
    )
