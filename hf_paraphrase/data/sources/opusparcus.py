"""Opusparcus 1.0 (Creutz 2018): subtitle paraphrases in six languages.

The configuration `labelled` is the development and test part without the pairs scored 2.5, on which the two annotators
differed. Training pairs that are also development or test pairs, in either order, are left out and counted;
`--decontaminate` looks for single sentences too, of four words or more.

Raw files are those of the distribution. Parquet files of the Hub have the columns `sent1`, `sent2`, `annot_score`,
`gem_id`; they are found at any depth, the split is the last of `train`, `validation` and `test` in the path, and a
component such as `fr` or `fr.90` names the language and the estimated quality of the training pairs.
Complete annotated parts (`validation.full`) are taken where they are beside shortened ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError, UsageError
from ...settings import setting
from ..fingerprints import is_among
from ..records import column_names, read_records
from ..row_selection import repeat_keys
from ..text_blocks import LineErrors
from ..typed_fields import Field, read_tables, typed
from .source import NothingThereError, Part, Read, Source, TrainingSettings, find_files, source_folder

LANGUAGES = ("de", "en", "fi", "fr", "ru", "sv")
_RANKING = {
    "pmi": "double",
    "expected_alignments": "double",
    "num_pivot_languages": "int64",
    "edit_distance": "double",
}
SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("id", "sentence1", "sentence2", "lang")]
    + [(name, pa.type_for_alias(kind)) for name, kind in {**_RANKING, "score": "double", "label": "int64"}.items()]
)
"""Training pairs have the four ranking columns, annotated pairs `score` and `label`; what a row lacks is null."""

UNDECIDED = 2.5
"""The mean score of a pair that one annotator took for a paraphrase and the other did not."""

_RAW_FILES = {"train": "{0}-train.txt", "validation": "{0}-dev.txt", "test": "{0}-test.txt"}
_LETTERS = {"train": "N", "validation": "D", "test": "T"}
_SYNONYMS = {
    "id": ("gem_id", "id", "pair_id"),
    "sentence1": ("sent1", "sentence1"),
    "sentence2": ("sent2", "sentence2"),
    "score": ("annot_score", "score"),
}
_SPLIT = re.compile(r"(?<![a-z])(train|validation|dev|test)(?P<full>[._]full)?(?![a-z])")
_LANGUAGE = re.compile(r"(de|en|fi|fr|ru|sv)(?:[._-](?P<quality>\d+))?")

PUBLISHED = {
    "de": {90: 1_000_000, 80: 4_000_000, 70: 6_000_000, 60: 12_000_000},
    "en": {97: 1_000_000, 80: 5_000_000, 70: 20_000_000, 60: 34_000_000},
    "fi": {83: 1_000_000, 80: 2_500_000, 70: 3_500_000, 60: 9_000_000},
    "fr": {95: 1_000_000, 80: 5_000_000, 70: 13_000_000, 60: 22_000_000},
    "ru": {85: 1_000_000, 80: 2_000_000, 70: 5_000_000, 60: 15_000_000},
    "sv": {85: 1_000_000, 80: 1_200_000, 70: 1_800_000, 60: 5_000_000},
}
"""For each language and estimated percentage of good pairs, the number of pairs from the beginning of the file:
Sjöblom, Creutz and Aulamo (2018), Table 3, in which the figures are rounded."""


@dataclass(kw_only=True)
class OpusparcusSource(Source, TrainingSettings):
    """Makes a data folder of Opusparcus 1.0 (Creutz 2018) for one language.

    The split train holds ranked pairs, best first; validation and test hold pairs with the annotators' mean score.
    The configuration `labelled` is validation and test without the pairs scored 2.5.
    """

    SUMMARY: ClassVar[str] = "Opusparcus 1.0: subtitle paraphrases in six languages"
    DESCRIPTION: ClassVar[str] = "Opusparcus 1.0: paraphrases from film and television subtitles."
    LICENSE: ClassVar[str] = "cc-by-nc-4.0"
    URL: ClassVar[str] = "https://huggingface.co/datasets/GEM/opusparcus"
    TEMPLATE: ClassVar[str] = "opusparcus"
    PARTS: ClassVar[tuple[str, ...]] = ("train", "validation", "test")

    data_dir: str = setting(
        "the unpacked distribution, with fr/train/fr-train.txt.bz2 and so on, or Parquet files", path=True
    )
    lang: str = setting("the language", choices=LANGUAGES, names=["--lang", "--language"])
    quality: int | None = setting(
        "take the training pairs, best first, of which this percentage is estimated to be good; published are 90, 80, "
        "70, 60 (de), 97, 80, 70, 60 (en), 83, 80, 70, 60 (fi), 95, 80, 70, 60 (fr), 85, 80, 70, 60 (ru, sv)",
        None,
    )

    @property
    def title(self) -> str:
        """The name, with the language."""
        return f"Opusparcus 1.0 ({self.lang})"

    def parts(self) -> list[Part]:
        """Lists the splits that are there; the annotated ones also as the configuration `labelled`."""
        sources = self._sources()
        if not sources:
            raise InputError(
                f"no Opusparcus files for {self.lang} below this folder",
                path=self.data_dir,
                remedy=f"expected {self.lang}/train/{self.lang}-train.txt.bz2, dev and test, or Parquet files",
            )
        if "train" not in sources and (self.quality is not None or self.decontaminate):
            raise InputError(
                f"no training pairs of {self.lang} below this folder",
                path=self.data_dir,
                remedy="--quality and --decontaminate concern the training part only",
            )
        judged = [read for split, (_, read) in sources.items() if split != "train"]
        parts = []
        for split, (files, read) in sources.items():
            if split == "train":
                parts.append(Part(split, SCHEMA, files, partial(_without_judged, read, judged), training=True))
            else:
                parts.append(Part(split, SCHEMA, files, read))
        schema = pa.schema([field for field in SCHEMA if field.name not in _RANKING])
        for split, (files, read) in sources.items():
            if split != "train":
                read = partial(_labelled_only, read)
                parts.append(Part(split, schema, files, read, configuration="labelled", may_be_empty=True))
        return parts

    def _sources(self) -> dict[str, tuple[list[Path], Read]]:
        """Finds the files of each split, raw ones before Parquet, and what reads them."""
        selected: int | None = None
        read_files: Callable[..., Iterator[pa.Table]] = _read_raw
        try:
            found = find_files(self.data_dir, {split: name.format(self.lang) for split, name in _RAW_FILES.items()})
            files = {split: [path] for split, path in found.items()}
        except NothingThereError:
            files, selected = _hub_files(source_folder(self.data_dir), self.lang, self.quality)
            read_files = _read_hub
        most = None
        if self.quality is not None and self.quality != selected:
            most = pairs_at_quality(self.lang, self.quality)
        sources: dict[str, tuple[list[Path], Read]] = {}
        for split, paths in files.items():
            read = partial(read_files, paths, split, self.lang)
            sources[split] = (paths, partial(_described, read, split, self.lang, most if split == "train" else None))
        return sources


def pairs_at_quality(lang: str, quality: int) -> int:
    """Returns the number of pairs to take for an estimated percentage of good ones."""
    pairs_by_quality = PUBLISHED[lang]
    if quality not in pairs_by_quality:
        qualities = ", ".join(str(percent) for percent in sorted(pairs_by_quality, reverse=True))
        raise UsageError(
            f"no number of pairs is known for --quality {quality} in {lang}; known are {qualities}",
            remedy="take one of these, or give --first N to filter",
        )
    return pairs_by_quality[quality]


def _read_raw(files: Sequence[Path], split: str, lang: str, errors: LineErrors) -> Iterator[pa.Table]:
    letter = _LETTERS[split]
    fields = [
        Field("id", pattern=rf"{lang}-{letter}[0-9]+", example=f"{lang}-{letter}12"),
        Field("sentence1"),
        Field("sentence2"),
    ]
    if split == "train":
        fields += [Field(name, pa.type_for_alias(kind)) for name, kind in _RANKING.items()]
    else:
        fields.append(Field("score", pa.float64(), low=1, high=4))
    for path in files:
        yield from read_tables(path, fields, errors, remedy="fix the line, or fetch Opusparcus 1.0 again")


def _described(read: Read, split: str, lang: str, most: int | None, errors: LineErrors) -> Iterator[pa.Table]:
    """Takes the first rows, and adds the language and for annotated rows the label, which is null at 2.5."""
    taken = 0
    for table in read(errors):
        if most is not None:
            table = table.slice(0, most - taken)
        taken += table.num_rows
        table = table.append_column("lang", pa.repeat(pa.scalar(lang), table.num_rows))
        if split != "train":
            score = table.column("score")
            label = pc.if_else(pc.greater(score, UNDECIDED), 1, 0).cast(pa.int64())
            table = table.append_column(
                "label", pc.if_else(pc.equal(score, UNDECIDED), pa.scalar(None, pa.int64()), label)
            )
        yield table
        if taken == most:
            return


def _without_judged(read: Read, judged: Sequence[Read], errors: LineErrors) -> Iterator[pa.Table]:
    """Leaves out training pairs that are development or test pairs too, in either order, however short they are."""
    judged_keys = [np.empty(0, np.uint64)]
    for other in judged:
        # Errors in these files are reported where they are read themselves.
        for table in other(LineErrors("skip")):
            sides = _sides(table)
            judged_keys += [repeat_keys(*sides), repeat_keys(*reversed(sides))]
    keys = np.unique(np.concatenate(judged_keys))
    for table in read(errors):
        matched = is_among(repeat_keys(*_sides(table)), keys)
        if matched.any():
            errors.left_out["evaluation_pair"] += int(matched.sum())
            table = table.filter(pa.array(~matched))
        yield table


def _sides(table: pa.Table) -> list[pa.Array]:
    return [table.column(name).combine_chunks() for name in ("sentence1", "sentence2")]


def _labelled_only(read: Read, errors: LineErrors) -> Iterator[pa.Table]:
    for table in read(errors):
        decided = table.column("label").is_valid()
        errors.left_out["undecided"] += table.num_rows - int(pc.sum(decided).as_py() or 0)
        yield table.filter(decided)


def _hub_files(folder: Path, lang: str, quality: int | None) -> tuple[dict[str, list[Path]], int | None]:
    """Finds the Parquet files of one language by split, and the quality of the training pairs, None for all of them.

    Without a folder of `quality` those of the lowest are taken, which hold all pairs of the others.
    """
    shards: dict[tuple[str, bool], list[tuple[int, Path]]] = {}
    for path in sorted(folder.rglob("*.parquet")):
        inner = path.relative_to(folder)
        languages = [match for part in inner.parts[:-1] if (match := _LANGUAGE.fullmatch(part))]
        splits = [match for part in inner.parts for match in _SPLIT.finditer(part)]
        # The folder itself may be that of a language.
        if splits and (not languages or languages[-1][1] == lang):
            split = "validation" if splits[-1][1] == "dev" else splits[-1][1]
            stated = int(languages[-1]["quality"] or 0) if languages else 0
            shards.setdefault((split, bool(splits[-1]["full"])), []).append((stated, path))
    files: dict[str, list[Path]] = {}
    selected: int | None = None
    for split in _RAW_FILES:
        found = shards.get((split, True)) or shards.get((split, False)) or []
        qualities = {stated for stated, _ in found}
        # The annotated parts are the same in all of them.
        wanted = min(qualities - {0}, default=0)
        if split == "train" and quality is not None and quality in qualities:
            wanted = selected = quality
        if found:
            files[split] = [path for stated, path in found if stated == wanted]
    return files, selected


def _read_hub(files: Sequence[Path], split: str, lang: str, errors: LineErrors) -> Iterator[pa.Table]:
    fields = [Field("id", pattern=".+"), Field("sentence1", pattern="(?s).*"), Field("sentence2", pattern="(?s).*")]
    if split != "train":
        fields.append(Field("score", pa.float64(), low=1, high=4))
    for path in files:
        present = column_names(path, "parquet")
        names = {}
        for field in fields:
            usual = _SYNONYMS[field.name]
            names[field.name] = next((name for name in usual if name in present), usual[0])
        for _, table in typed(read_records(path, "parquet", names, errors), fields, path, errors, "fix the file"):
            yield table
