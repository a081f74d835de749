"""Opusparcus 1.0 (Creutz 2018): subtitle paraphrases in six languages, as a `datasets` builder.

    builder = OpusparcusBuilder(config_name="fr.80", data_dir="opusparcus_v1")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="train")

Configurations are named by the language: `fr` has all splits; `fr.80` takes as many training pairs as are estimated to
be 80 % good; `fr.labelled` is the development and test part without the pairs scored 2.5, on which the two annotators
differed about whether they are paraphrases. Training pairs that are also development or test pairs, in either order,
are left out and counted; `--decontaminate` looks for single sentences too, of four words or more. Under datasets 3
this file runs as a loading script, see `builder`. `prepare opusparcus` makes a data
folder of the same rows.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_paraphrase.data.fingerprints import is_among
from hf_paraphrase.data.row_selection import repeat_keys
from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.opusparcus_hub import hub_files, read_hub_rows
from hf_paraphrase.data.sources.source import Part, Reader, Source, TrainingSettings
from hf_paraphrase.data.sources.source_files import source_folder
from hf_paraphrase.data.text_files import COMPRESSED, LineErrors
from hf_paraphrase.data.typed_fields import Field, read_typed_fields
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.settings import setting

LANGUAGES = ("de", "en", "fi", "fr", "ru", "sv")
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("lang", pa.string()),
        ("pmi", pa.float64()),
        ("expected_alignments", pa.float64()),
        ("num_pivot_languages", pa.int64()),
        ("edit_distance", pa.float64()),
        ("score", pa.float64()),
        ("label", pa.int64()),
    ]
)
"""Training pairs have the four ranking columns, annotated pairs `score` and `label`; what a row lacks is null."""

UNDECIDED = 2.5
"""The mean score of a pair that one annotator took for a paraphrase and the other did not."""

_RANKING = ("pmi", "expected_alignments", "num_pivot_languages", "edit_distance")
_RAW_FILES = {"train": "train/{0}-train.txt", "validation": "dev/{0}-dev.txt", "test": "test/{0}-test.txt"}
_LETTERS = {"train": "N", "validation": "D", "test": "T"}
_SUFFIXES = ("", *sorted(COMPRESSED))


PUBLISHED = {
    "de": {90: 1_000_000, 80: 4_000_000, 70: 6_000_000, 60: 12_000_000},
    "en": {97: 1_000_000, 80: 5_000_000, 70: 20_000_000, 60: 34_000_000},
    "fi": {83: 1_000_000, 80: 2_500_000, 70: 3_500_000, 60: 9_000_000},
    "fr": {95: 1_000_000, 80: 5_000_000, 70: 13_000_000, 60: 22_000_000},
    "ru": {85: 1_000_000, 80: 2_000_000, 70: 5_000_000, 60: 15_000_000},
    "sv": {85: 1_000_000, 80: 1_200_000, 70: 1_800_000, 60: 5_000_000},
}
"""For each language and estimated percentage of good pairs, the number of pairs from the beginning of the file:
Sjöblom, Creutz and Aulamo (2018), Table 3, in which the figures are rounded. Figures for other percentages come from a
table of the user's, e.g. read off the curves in Creutz (2018)."""


@dataclass(kw_only=True)
class OpusparcusSource(Source, TrainingSettings):
    """Makes a data folder of Opusparcus 1.0 (Creutz 2018) for one language.

    The split train holds ranked pairs, best first; validation and test hold pairs with the annotators' mean score.
    The configuration `labelled` is validation and test without the pairs scored 2.5.
    """

    SUMMARY: ClassVar[str] = "Opusparcus 1.0: subtitle paraphrases in six languages"
    DESCRIPTION: ClassVar[str] = "Opusparcus 1.0: paraphrases from film and television subtitles."
    CITATION: ClassVar[str] = (
        "Mathias Creutz. 2018. Open Subtitles Paraphrase Corpus for Six Languages. In Proceedings of the Eleventh "
        "International Conference on Language Resources and Evaluation (LREC 2018), Miyazaki, Japan."
    )
    LICENSE: ClassVar[str] = "cc-by-nc-4.0"
    URL: ClassVar[str] = "https://huggingface.co/datasets/GEM/opusparcus"
    TEMPLATE: ClassVar[str] = "opusparcus"
    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("default", "labelled")
    PATHS: ClassVar[tuple[str, ...]] = ("data_dir", "quality_table")

    data_dir: str = setting(
        "the unpacked distribution, with fr/train/fr-train.txt.bz2 and so on, or Parquet files", path=True
    )
    lang: str = setting("the language", choices=LANGUAGES, names=["--lang", "--language"])
    quality: int | None = setting(
        "take the training pairs, best first, of which this percentage is estimated to be good; published are 90, 80, "
        "70, 60 (de), 97, 80, 70, 60 (en), 83, 80, 70, 60 (fi), 95, 80, 70, 60 (fr), 85, 80, 70, 60 (ru, sv)",
        None,
    )
    quality_table: str | None = setting(
        "a file of language, percentage, number of pairs (tab-separated) for --quality instead of the published ones",
        None,
        only_with="quality",
        path=True,
    )
    first: int = setting("take this many training pairs, best first; 0 = all", 0, at_least=0, excludes="quality")

    @property
    def title(self) -> str:
        """The name, with the language."""
        return f"Opusparcus 1.0 ({self.lang})"

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages."""
        return (self.lang,)

    def limit(self) -> int | None:
        """Returns the number of training pairs to take; None for all."""
        if self.quality is None:
            return self.first or None
        table = None if self.quality_table is None else Path(self.quality_table)
        return pairs_at_quality(self.lang, self.quality, table)

    def parts(self) -> list[Part]:
        """Lists the splits that are there; the annotated ones also as the configuration `labelled`."""
        folder = source_folder(self.data_dir)
        sources = self._raw_sources(folder) or self._hub_sources(folder)
        if not sources:
            raise InputError(
                f"no Opusparcus files for {self.lang} below this folder",
                path=folder,
                remedy=f"expected {self.lang}/train/{self.lang}-train.txt.bz2, dev and test, or Parquet files",
            )
        selected = self.quality is not None or self.first != 0
        if (selected or self.negatives is not None or self.decontaminate) and "train" not in sources:
            raise InputError(
                f"no training pairs of {self.lang} below this folder",
                path=folder,
                remedy="--quality, --first, --negatives and --decontaminate concern the training part only",
            )
        if "train" in sources:
            files, read = sources["train"]
            judged = tuple(source for split, (_, source) in sources.items() if split != "train")
            sources["train"] = (files, partial(_without_judged, read, judged) if judged else read)
        parts = []
        for split, (files, read) in sources.items():
            parts.append(Part(split, SCHEMA, (read,), files, training=split == "train"))
        labelled = [part for part in parts if part.split != "train"]
        for part in labelled:
            reader = partial(_labelled_only, part.readers[0])
            schema = pa.schema([field for field in SCHEMA if field.name not in _RANKING])
            parts.append(Part(part.split, schema, (reader,), part.files, configuration="labelled", may_be_empty=True))
        return parts

    def missing(self) -> list[str]:
        """Names the splits that are not there."""
        present = {part.split for part in self.parts()}
        return [split for split in _RAW_FILES if split not in present]

    def inputs(self) -> list[Path]:
        """Lists everything that is read."""
        return super().inputs() + ([Path(self.quality_table)] if self.quality_table else [])

    def _raw_sources(self, folder: Path) -> _Sources:
        sources: _Sources = {}
        for split, pattern in _RAW_FILES.items():
            name = pattern.format(self.lang)
            for root in (folder / self.lang, folder):
                path = next((root / f"{name}{end}" for end in _SUFFIXES if (root / f"{name}{end}").is_file()), None)
                if path is not None:
                    most = self.limit() if split == "train" else None
                    read = partial(_read_raw, path, split, self.lang)
                    sources[split] = ((path,), partial(_described, read, split, self.lang, most))
                    break
        return sources

    def _hub_sources(self, folder: Path) -> _Sources:
        files, quality = hub_files(folder, self.lang, self.quality)
        sources: _Sources = {}
        for split, paths in files.items():
            # A folder such as fr.90 holds the selection already.
            most = self.limit() if split == "train" and quality is None else None
            read = partial(read_hub_rows, paths, split, self.lang)
            sources[split] = (paths, partial(_described, read, split, self.lang, most))
        return sources

    @classmethod
    def choose(cls, config_name: str | None, settings: dict[str, Any]) -> tuple[str, str]:
        """Reads language, quality and configuration off a name such as `fr.80` or `fr.labelled`."""
        name = config_name or settings.get("lang") or ""
        lang, _, rest = name.partition(".")
        if lang not in LANGUAGES or not (rest in {"", "labelled"} or re.fullmatch(r"\d{1,9}", rest)):
            raise UsageError(
                f"no configuration `{name}`", remedy="a language (de, en, fi, fr, ru, sv), e.g. fr, fr.80, fr.labelled"
            )
        if settings.setdefault("lang", lang) != lang:
            raise UsageError(f"the configuration is `{name}`, but lang is `{settings['lang']}`", remedy="give one")
        if rest.isdecimal() and settings.setdefault("quality", int(rest)) != int(rest):
            raise UsageError(f"the configuration is `{name}`, but quality is {settings['quality']}", remedy="give one")
        return name, "labelled" if rest == "labelled" else "default"


class OpusparcusBuilder(SourceBuilder, source=OpusparcusSource):
    """Builds Opusparcus for one language; `config_name` is `LANG`, `LANG.QUALITY` or `LANG.labelled`."""


def pairs_at_quality(lang: str, quality: int, table: Path | None = None) -> int:
    """Returns the number of pairs to take for an estimated percentage of good ones.

    Args:
        lang: The language.
        quality: The percentage.
        table: A file of `lang`, `quality`, number of pairs (tab-separated, no header) instead of :data:`PUBLISHED`.
    """
    figures = PUBLISHED if table is None else read_quality_table(table)
    pairs_by_quality = figures.get(lang, {})
    if quality not in pairs_by_quality:
        qualities = ", ".join(str(percent) for percent in sorted(pairs_by_quality, reverse=True)) or "none"
        raise UsageError(
            f"no number of pairs is known for --quality {quality} in {lang}; known are {qualities}",
            path=table,
            remedy="take one of these, or --first N, or give the figures with --quality-table",
        )
    return pairs_by_quality[quality]


def read_quality_table(path: Path) -> dict[str, dict[int, int]]:
    """Reads a table of `lang`, `quality` (per cent), number of pairs."""
    figures: dict[str, dict[int, int]] = {}
    fields = [
        Field("lang", pattern="[a-z]{2}", example="fr"),
        Field("quality", pa.int64(), low=1, high=100),
        Field("pairs", pa.int64(), low=1),
    ]
    for lines, rows in read_typed_fields(path, fields, LineErrors()):
        for line, row in zip(lines.tolist(), rows.to_pylist(), strict=True):
            of_language = figures.setdefault(row["lang"], {})
            if row["quality"] in of_language:
                raise InputError(f"{row['lang']} {row['quality']} occurs twice", path=path, line=line)
            of_language[row["quality"]] = row["pairs"]
    return figures


_Sources = dict[str, tuple[tuple[Path, ...], Reader]]


def _read_raw(path: Path, split: str, lang: str, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
    letter = _LETTERS[split]
    fields = [
        Field("id", pattern=rf"{lang}-{letter}[0-9]+", example=f"{lang}-{letter}12"),
        Field("sentence1"),
        Field("sentence2"),
    ]
    if split == "train":
        kinds = (pa.float64(), pa.float64(), pa.int64(), pa.float64())
        fields += [Field(name, kind) for name, kind in zip(_RANKING, kinds, strict=True)]
    else:
        fields.append(Field("score", pa.float64(), low=1, high=4))
    for _, table in read_typed_fields(path, fields, errors, remedy="fix the line, or fetch Opusparcus 1.0 again"):
        yield table


def _described(
    read: Reader, split: str, lang: str, most: int | None, errors: LineErrors, left_out: Counter[str]
) -> Iterator[pa.Table]:
    """Takes the first rows, and adds the language and for annotated rows the label."""
    taken = 0
    for table in read(errors, left_out):
        if most is not None:
            table = table.slice(0, most - taken)
        taken += table.num_rows
        table = table.append_column("lang", pa.repeat(pa.scalar(lang), table.num_rows))
        yield table if split == "train" else _with_labels(table)
        if taken == most:
            return


def _without_judged(
    read: Reader, judged: tuple[Reader, ...], errors: LineErrors, left_out: Counter[str]
) -> Iterator[pa.Table]:
    """Leaves out training pairs that are development or test pairs too, in either order, however short they are."""
    judged_keys = [np.empty(0, np.uint64)]
    for other in judged:
        # Errors in these files are reported where they are read themselves.
        for table in other(LineErrors("skip"), Counter()):
            sides = [table.column(name).combine_chunks() for name in ("sentence1", "sentence2")]
            judged_keys += [repeat_keys(*sides), repeat_keys(*reversed(sides))]
    keys = np.unique(np.concatenate(judged_keys))
    for table in read(errors, left_out):
        sides = [table.column(name).combine_chunks() for name in ("sentence1", "sentence2")]
        matched = is_among(repeat_keys(*sides), keys)
        if matched.any():
            left_out["evaluation_pair"] += int(matched.sum())
            table = table.filter(pa.array(~matched))
        yield table


def _with_labels(table: pa.Table) -> pa.Table:
    """Adds `label`: 1 for a score above 2.5, 0 for one below, null for 2.5 itself."""
    score = table.column("score")
    label = pc.if_else(pc.greater(score, UNDECIDED), 1, 0).cast(pa.int64())
    decided = pc.not_equal(score, UNDECIDED)
    return table.append_column("label", pc.if_else(decided, label, pa.scalar(None, pa.int64())))


def _labelled_only(read: Reader, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
    for table in read(errors, left_out):
        decided = table.column("label").is_valid()
        left_out["undecided"] += table.num_rows - int(pc.sum(decided).as_py() or 0)
        yield table.filter(decided)
