"""Bitext from line-aligned files, tab-separated text, a translation memory or gettext catalogues."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UsageError
from ...settings import seed_setting, setting
from ..cleaning import LENGTH_UNITS, CleaningRules, clean, normalize_punctuation
from ..decontamination import DecontaminationSettings
from ..folder import DataFolder
from ..language_identification import OtherLanguages
from ..schema import BITEXT
from ..text_blocks import LineErrors
from .bitext_files import HELD_OUT, BitextFiles, OpenBlocks
from .preparation import funnel_rows, recipe_of
from .source import LineErrorSettings, OriginSettings, Part, SampleSettings, Selection, Source

REPEATING = ("source_lang", "target_lang")
"""The columns whose values repeat in a bitext, for `write_split`."""

_REPEATS = {"none": (), "pair": ("source", "target"), "source": ("source",), "target": ("target",)}
_LISTED_FILES = 20


@dataclass(kw_only=True)
class BitextSource(BitextFiles, Source, SampleSettings, LineErrorSettings, DecontaminationSettings, OriginSettings):
    """Makes a bitext data folder from aligned files, TSV, TMX or gettext catalogues (plain, .gz, .bz2, .xz, .zst).

    The rules for rows and decontamination never touch parts that are given as files: a test set stays what it is.
    """

    SUMMARY: ClassVar[str] = (
        "two line-aligned text files, a tab-separated file, a translation memory (TMX), or gettext catalogues"
    )
    DESCRIPTION: ClassVar[str] = "Parallel text, one sentence pair a row."
    TEMPLATE: ClassVar[str] = "bitext"

    validation_size: int = setting(
        "rows to draw for validation; no target sentence is then in two parts",
        0,
        at_least=0,
        excludes="validation_source_file",
    )
    # The test part is drawn first, so that it does not depend on the size of the other.
    test_size: int = setting("rows to draw for test", 0, at_least=0, excludes="test_source_file")
    # The draw looks at target sides alone, and a source may have several translations.
    hold_out_sources: bool = setting(
        "leave out training rows whose source sentence is in validation or test, with another translation", False
    )
    seed: int = seed_setting("seed of the draws and of --shuffle")
    shuffle: bool = setting("put the training rows into random order", False)
    drop_identical: bool = setting(
        "leave out training rows whose sides are the same but for case, white space and invisible characters", False
    )
    min_length: int = setting(
        "least length of a side of a training row, in --length-unit; 0 = no limit", 0, at_least=0
    )
    max_length: int = setting(
        "greatest length of a side of a training row, in --length-unit; 0 = no limit", 0, at_least=0
    )
    max_length_ratio: float = setting(
        "greatest ratio of the longer side of a training row to the shorter, in --length-unit; 0 = no limit",
        0.0,
        at_least=0,
    )
    length_unit: str = setting(
        "what lengths count: words between white space, or characters (Chinese, Japanese, Thai, …)",
        "words",
        choices=LENGTH_UNITS,
    )
    identify_languages: bool = setting(
        "leave out training rows of which a side is in another language than the stated one; needs py3langid, and a "
        "core does about 7,000 rows a second",
        False,
    )
    language_certainty: float = setting(
        "least probability with which another language must be found, 0.5 to 1", 0.7, at_least=0.5, at_most=1
    )
    drop_duplicates: str = setting(
        "training rows to leave out as repeats: of a pair, a source or a target; the first stays",
        "none",
        choices=list(_REPEATS),
    )
    normalize_punctuation: bool = setting("bring punctuation to one form with the Moses rules (sacremoses)", False)

    def parts(self) -> list[Part]:
        """Returns the training part, and those that are given as files."""
        files, read = self.training_files()
        selection = Selection(
            repeats=_REPEATS[self.drop_duplicates],
            sizes={part: size for part in reversed(HELD_OUT) if (size := getattr(self, f"{part}_size"))},
            disjoint="source" if self.hold_out_sources else None,
            shuffle=self.shuffle,
            seed=self.seed,
        )
        parts = [self._part("train", files, read, self.rules(), training=True, selection=selection)]
        for split in HELD_OUT:
            if given := self.given_files(split):
                parts.append(self._part(split, *given, CleaningRules()))
        return parts

    def _part(
        self, split: str, files: tuple[Path, ...], read: OpenBlocks, rules: CleaningRules, **options: Any
    ) -> Part:
        languages = (self.source_lang, self.target_lang)
        prefix = "-".join(languages if split == "train" else (*languages, split))
        cleaning = _Cleaning(prefix, languages, self.normalize_punctuation, rules)
        remedy = "loosen the rules" if split == "train" else None
        return Part(
            split, BITEXT, files, partial(_read, read), texts=("source", "target"), compared=("target",),
            clean=cleaning, repeating=REPEATING, remedy=remedy, **options,
        )  # fmt: skip

    def looked_at(self) -> list[Path]:
        """Lists all raw files but the catalogues, of which a faulty one may be left out whole."""
        given = [path for part in self.parts() if part.split != "train" for path in part.files]
        return given if self.unit == "messages" else self.files()

    def check(self) -> None:
        """Checks everything that can be checked before reading."""
        held_out = any(self.given_files(part) for part in HELD_OUT) or self.validation_size or self.test_size
        if self.hold_out_sources and not held_out:
            raise UsageError(
                "--hold-out-sources needs a part that is held out",
                remedy="give --validation-size or --test-size, or files of these parts",
            )
        if self.max_length_ratio and not self.max_length_ratio >= 1:
            raise UsageError(
                f"--max-length-ratio {self.max_length_ratio} is below 1", remedy="give 1 or more, or 0 for no limit"
            )
        if self.max_length and self.min_length > self.max_length:
            raise UsageError(
                f"--min-length {self.min_length} is above --max-length {self.max_length}", remedy="nothing fits both"
            )
        super().check()

    def rules(self) -> CleaningRules:
        """Returns the rules for the rows of the training files."""
        languages = None
        if self.identify_languages:
            languages = OtherLanguages(self.source_lang, self.target_lang, self.language_certainty)
        return CleaningRules(
            drop_identical=self.drop_identical,
            min_length=self.min_length,
            max_length=self.max_length,
            max_length_ratio=self.max_length_ratio,
            length_unit=self.length_unit,
            languages=languages,
        )

    def card(self, folder: DataFolder, counts: Mapping[str, dict[str, int]]) -> dict[str, Any]:
        """Returns the languages, the columns, and what each rule left."""
        read = {part: (found, funnel_rows(found)) for part, found in counts.items() if "lines" in found}
        return {
            "source_lang": self.source_lang,
            "target_lang": self.target_lang,
            "files": _listed([path.name for path in self.files()]),
            "unit": self.unit,
            "columns": BITEXT.names,
            "splits": folder.sizes(),
            "rules": read,
            "drawn": [part for part in counts if part not in read],
            "sources_held_out": self.hold_out_sources,
            "seed": self.seed,
            "punctuation": self.normalize_punctuation,
        }


prepare_bitext = recipe_of("bitext", BitextSource)


def _read(open_blocks: OpenBlocks, errors: LineErrors) -> Iterator[pa.Table]:
    for lines, sides in open_blocks(errors):
        yield pa.table({"line": pa.array(lines), "source": sides["source"], "target": sides["target"]})


@dataclass(frozen=True)
class _Cleaning:
    """Makes rows of lines, normalises punctuation, and leaves out what no rule lets through."""

    prefix: str
    languages: tuple[str, str]
    punctuation: bool
    rules: CleaningRules

    def __call__(self, lines: pa.Table) -> tuple[pa.Table, dict[str, int]]:
        rows, counts = clean(self._with_punctuation(lines), self.rules)
        number = pc.utf8_lpad(rows.column("line").cast(pa.string()), width=7, padding="0")
        identifier = pc.binary_join_element_wise(self.prefix, number, "-")
        languages = [pa.repeat(pa.scalar(code), rows.num_rows) for code in self.languages]
        return pa.table([identifier, *rows.columns[1:], *languages], schema=BITEXT), counts

    def _with_punctuation(self, lines: pa.Table) -> pa.Table:
        if not self.punctuation:
            return lines
        sides = (
            normalize_punctuation(lines.column(name).combine_chunks(), code)
            for name, code in zip(("source", "target"), self.languages, strict=True)
        )
        return pa.table([lines.column("line"), *sides], names=lines.column_names)


def _listed(names: list[str]) -> list[str]:
    """Shortens a long list of files for the card: provenance.json has them all."""
    different = list(dict.fromkeys(names))
    more = len(different) - _LISTED_FILES
    return different if more <= 0 else [*different[:_LISTED_FILES], f"and {more} more"]
