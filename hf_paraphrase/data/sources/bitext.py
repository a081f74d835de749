"""Bitext from line-aligned files, tab-separated text, a translation memory or gettext catalogues.

    builder = BitextBuilder(source_file="train.fr.gz", target_file="train.en.gz", source_lang="fr", target_lang="en")
    builder.download_and_prepare()
    bitext = builder.as_dataset(split="train")

`prepare bitext` makes a data folder of the same rows that opens without this package. Under datasets 3 this file runs
as a loading script, see :mod:`hf_paraphrase.data.sources.builder`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from hf_paraphrase.data.cleaning import LENGTH_UNITS, CleaningRules, clean, normalize_punctuation
from hf_paraphrase.data.decontamination import DecontaminationSettings
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.language_identification import OtherLanguages
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.data.sources.bitext_files import HELD_OUT, BitextFiles, OpenBlocks
from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.card_values import funnel_rows
from hf_paraphrase.data.sources.preparation import recipe_of
from hf_paraphrase.data.sources.source import (
    LineErrorSettings,
    OriginSettings,
    Part,
    Parting,
    ReadRows,
    SampleSettings,
    Source,
)
from hf_paraphrase.data.text_files import LineErrors
from hf_paraphrase.errors import UsageError
from hf_paraphrase.settings import seed_setting, setting

REPEATING = ("source_lang", "target_lang")
"""The columns whose values repeat in a bitext, for `write_split`."""

_REPEATS = {"none": (), "pair": ("source", "target"), "source": ("source",), "target": ("target",)}
_STORED = pa.schema([("id", pa.string()), ("source", pa.string()), ("target", pa.string())])
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
    RECORDED: ClassVar[tuple[str, ...]] = ("counts", "contamination", "malformed")
    SHOWS_FUNNEL: ClassVar[bool] = True

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
        "leave out training rows whose sides are the same but for case and outer white space", False
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

    def known_schema(self) -> pa.Schema:
        """Every part is a bitext."""
        return BITEXT

    def parts(self) -> list[Part]:
        """Returns the training part, and those that are given as files."""
        disjoint = "source" if self.hold_out_sources else None
        languages = (self.source_lang, self.target_lang)
        punctuation = languages if self.normalize_punctuation else None
        prefix = "-".join(languages)
        files, read = self.training_files()
        train = Part(
            "train",
            _STORED,
            (partial(_read, read),),
            files,
            training=True,
            compared=("target",),
            clean=_Cleaning(prefix, punctuation, self.rules()),
            parting=Parting(
                repeats=_REPEATS[self.drop_duplicates],
                sizes={part: size for part in reversed(HELD_OUT) if (size := getattr(self, f"{part}_size"))},
                disjoint=disjoint,
                shuffle=self.shuffle,
                seed=self.seed,
            ),
            finish=lambda: (BITEXT, self._with_languages),
            repeating=REPEATING,
            remedy="loosen the rules",
        )
        parts = [train]
        for split in HELD_OUT:
            if given := self.given_files(split):
                files, read = given
                parts.append(
                    Part(
                        split,
                        _STORED,
                        (partial(_read, read),),
                        files,
                        clean=_Cleaning(f"{prefix}-{split}", punctuation, CleaningRules()),
                        parting=Parting(disjoint=disjoint),
                        finish=lambda: (BITEXT, self._with_languages),
                        repeating=REPEATING,
                        early=True,
                    )
                )
        return parts

    def files(self) -> list[Path]:
        """Lists the raw files: those of the training part, then those of the given parts, then catalogues."""
        catalogues = {found.path for found in self.catalogues()}
        return sorted(super().files(), key=lambda path: path in catalogues)

    def looked_at(self) -> list[Path]:
        """Lists all raw files but the catalogues, of which a faulty one may be left out whole."""
        catalogues = {found.path for found in self.catalogues()}
        return [path for path in self.files() if path not in catalogues]

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

    def card(self, folder: DataFolder, rows: ReadRows) -> dict[str, Any]:
        """Returns the languages, the columns, and what each rule left."""
        return {
            "source_lang": self.source_lang,
            "target_lang": self.target_lang,
            "files": _listed([path.name for path in self.files()]),
            "unit": self.unit,
            "columns": BITEXT.names,
            "splits": folder.sizes(),
            "rules": {
                part: (counts, funnel_rows(counts)) for part, counts in rows.counts.items() if "lines" in counts
            },
            "drawn": [part for part, counts in rows.counts.items() if "lines" not in counts],
            "sources_held_out": self.hold_out_sources,
            "seed": self.seed,
            "punctuation": self.normalize_punctuation,
        }

    @classmethod
    def choose(cls, config_name: str | None, settings: dict[str, Any]) -> tuple[str, str]:
        """Names the configuration by the language pair, e.g. `fr-en`, where it is given no name."""
        pair = f"{settings.get('source_lang') or 'xx'}-{settings.get('target_lang') or 'xx'}"
        return config_name or pair, "default"

    def _with_languages(self, rows: pa.Table) -> pa.Table:
        for name in REPEATING:
            rows = rows.append_column(name, pa.repeat(pa.scalar(getattr(self, name)), rows.num_rows))
        return rows


class BitextBuilder(SourceBuilder, source=BitextSource):
    """Builds a bitext with the columns `id`, `source`, `target`, `source_lang` and `target_lang`."""


prepare_bitext = recipe_of("bitext", BitextSource)


def _read(open_blocks: OpenBlocks, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
    for lines, sides in open_blocks(errors):
        yield pa.table({"line": pa.array(lines), "source": sides["source"], "target": sides["target"]})


@dataclass(frozen=True)
class _Cleaning:
    """Adds ids to rows, normalises punctuation, and leaves out what no rule lets through."""

    prefix: str
    punctuation: tuple[str, str] | None
    rules: CleaningRules

    def __call__(self, rows: pa.Table) -> tuple[pa.Table, dict[str, int]]:
        sides = [rows.column(name).combine_chunks() for name in ("source", "target")]
        if self.punctuation is not None:
            sides = list(map(normalize_punctuation, sides, self.punctuation))
        number = pc.utf8_lpad(rows.column("line").combine_chunks().cast(pa.string()), width=7, padding="0")
        identifier = pc.binary_join_element_wise(self.prefix, number, "-")
        return clean(pa.table([identifier, *sides], schema=_STORED), self.rules)


def _listed(names: list[str]) -> list[str]:
    """Shortens a long list of files for the card: provenance.json has them all."""
    different = list(dict.fromkeys(names))
    more = len(different) - _LISTED_FILES
    return different if more <= 0 else [*different[:_LISTED_FILES], f"and {more} more"]
