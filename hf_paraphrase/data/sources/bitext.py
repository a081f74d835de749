"""Bitext from line-aligned files, tab-separated text, a translation memory or gettext catalogues.

    builder = BitextBuilder(source_file="train.fr.gz", target_file="train.en.gz", source_lang="fr", target_lang="en")
    builder.download_and_prepare()
    bitext = builder.as_dataset(split="train")

`prepare bitext` makes a data folder of the same rows that opens without this package. Under datasets 3 this file runs
as a loading script, see :mod:`hf_paraphrase.data.sources.builder`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_paraphrase.data.cleaning import LENGTH_UNITS, CleaningRules, clean, normalize_punctuation
from hf_paraphrase.data.decontamination import DecontaminationSettings
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.language_identification import OtherLanguages
from hf_paraphrase.data.languages import check_language, primary_language
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.card_values import funnel_rows
from hf_paraphrase.data.sources.gettext_catalogue import (
    PLURALS,
    Catalogue,
    find_catalogues,
    package_folders,
    read_catalogues,
)
from hf_paraphrase.data.sources.preparation import recipe_of
from hf_paraphrase.data.sources.source import LineErrorSettings, OriginSettings, Part, Parting, ReadRows, Source
from hf_paraphrase.data.sources.tmx import read_tmx
from hf_paraphrase.data.text_files import LineErrors, read_aligned, read_fields
from hf_paraphrase.errors import UsageError
from hf_paraphrase.settings import setting

REPEATING = ("source_lang", "target_lang")
"""The columns whose values repeat in a bitext, for `write_split`."""

HELD_OUT = ("validation", "test")
_REPEATS = {"none": (), "pair": ("source", "target"), "source": ("source",), "target": ("target",)}
_STORED = pa.schema([("id", pa.string()), ("source", pa.string()), ("target", pa.string())])
_LISTED_FILES = 20

Blocks = Iterator[tuple[np.ndarray, dict[str, pa.Array]]]
"""The numbers of the rows (rows,), int64, from 1, and the string arrays `source` and `target` of the same length."""


@dataclass(kw_only=True)
class BitextSource(Source, LineErrorSettings, DecontaminationSettings, OriginSettings):
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
    PATHS: ClassVar[tuple[str, ...]] = (
        "source_file",
        "target_file",
        "tsv",
        "tmx",
        "gettext",
        "validation_source_file",
        "validation_target_file",
        "test_source_file",
        "test_target_file",
    )

    source_lang: str = setting("language code of the source side, e.g. fr")
    target_lang: str = setting("language code of the target side, e.g. en")
    source_file: str | None = setting("source sentences, one a line; with --target-file", None)
    target_file: str | None = setting("their translations, line by line", None)
    tsv: str | None = setting("instead of the two: a file with tab-separated fields, no header, no quoting", None)
    columns: str = setting(
        "the fields of --tsv in their order, separated by commas or spaces: source, target, and _ for one to leave "
        "out (at the end it may be absent)",
        "source,target",
        separator=",",
    )
    tmx: str | None = setting(
        "or: a translation memory; each unit with both languages gives a pair, whatever their regions (fr-FR is fr)",
        None,
    )
    gettext: str | None = setting(
        "or: a gettext catalogue (.po, .mo) or a folder of them, of which those in the language that is not English "
        "are read; obsolete, fuzzy and untranslated messages are left out",
        None,
    )
    gettext_package: str | None = setting(
        "or: the catalogues inside an installed Python package of this name, e.g. django", None
    )
    gettext_plurals: str = setting(
        "messages with plural forms: pair the singular and the form for 5 with their translations, or skip them",
        "pair",
        choices=PLURALS,
    )
    gettext_drop_placeholders: bool = setting(
        "leave out messages with placeholders (%s, {name}, $name) or mark-up", False
    )
    validation_source_file: str | None = setting("a given validation part, source side", None)
    validation_target_file: str | None = setting("a given validation part, target side", None)
    test_source_file: str | None = setting("a given test part, source side", None)
    test_target_file: str | None = setting("a given test part, target side", None)
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
    seed: int = setting("seed of the draw and of --shuffle", 0, at_least=0)
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

    @property
    def title(self) -> str:
        """The languages, and what the training rows come from in a word."""
        if self.gettext_package is not None:
            name = f"messages of {self.gettext_package}"
        else:
            name = Path(self.gettext or self.tmx or self.tsv or self.source_file or "").name
        return f"Bitext {self.source_lang}-{self.target_lang} ({name})"

    @property
    def unit(self) -> str:
        """What is counted under `lines` for the training rows: lines, translation units or messages."""
        if self.tmx is not None:
            return "translation units"
        return "messages" if self.gettext is not None or self.gettext_package is not None else "lines"

    def known_schema(self) -> pa.Schema:
        """Every part is a bitext."""
        return BITEXT

    def parts(self) -> list[Part]:
        """Gives the training part, and those that are given as files.

        Raises:
            InputError: If catalogues are asked for and there are none.
            UsageError: If they are not English on one side, or the fields are not named.
        """
        apart = "source" if self.hold_out_sources else None
        languages = (self.source_lang, self.target_lang)
        punctuation = languages if self.normalize_punctuation else None
        prefix = "-".join(languages)
        files, read = self._training()
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
                apart=apart,
                shuffle=self.shuffle,
                seed=self.seed,
            ),
            finish=lambda: (BITEXT, self._with_languages),
            repeating=REPEATING,
            remedy="loosen the rules",
        )
        parts = [train]
        for split in HELD_OUT:
            source, target = self._given(split)
            if source is not None and target is not None:
                parts.append(
                    Part(
                        split,
                        _STORED,
                        (partial(_read, partial(open_aligned, source, target)),),
                        (Path(source), Path(target)),
                        clean=_Cleaning(f"{prefix}-{split}", punctuation, CleaningRules()),
                        parting=Parting(apart=apart),
                        finish=lambda: (BITEXT, self._with_languages),
                        repeating=REPEATING,
                        early=True,
                    )
                )
        return parts

    def files(self) -> list[Path]:
        """Lists the raw files: those of the training part, then those of the given parts, then catalogues."""
        return sorted(super().files(), key=lambda path: path in {found.path for found in self.catalogues()})

    def check(self) -> None:
        """Checks everything that can be checked before reading.

        Raises:
            UsageError: For settings that do not fit together.
            InputError: For a missing or empty file, or a language code that is none.
        """
        check_language(self.source_lang, "--source-lang")
        check_language(self.target_lang, "--target-lang")
        aligned = self.source_file is not None or self.target_file is not None
        others = (self.tsv, self.tmx, self.gettext, self.gettext_package)
        if aligned + sum(name is not None for name in others) != 1:
            raise UsageError(
                "give either --source-file and --target-file, or --tsv, --tmx, --gettext or --gettext-package",
                remedy="one of them",
            )
        _check_both("--source-file", self.source_file, "--target-file", self.target_file)
        given = False
        for part in HELD_OUT:
            source, target = self._given(part)
            _check_both(f"--{part}-source-file", source, f"--{part}-target-file", target)
            given = given or source is not None
        if self.hold_out_sources and not (given or self.validation_size or self.test_size):
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
        """Returns the rules for the rows of the training files.

        Raises:
            UsageError: If languages are to be identified and cannot be.
        """
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

    def catalogues(self) -> list[Catalogue]:
        """Finds the gettext catalogues in the language that is not English; none without `gettext…`.

        Raises:
            InputError: If there are none, or no such package is installed.
            UsageError: If not exactly one of the languages is English.
        """
        if self.gettext is None and self.gettext_package is None:
            return []
        folders = [Path(self.gettext)] if self.gettext is not None else package_folders(self.gettext_package or "")
        return [found for folder in folders for found in find_catalogues(folder, self._gettext_languages()[0])]

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

    @classmethod
    def other_inputs(cls, settings: Mapping[str, Any]) -> list[Path]:
        """Lists the folders of an installed package."""
        package = settings.get("gettext_package")
        return package_folders(package) if package else []

    def _training(self) -> tuple[tuple[Path, ...], Callable[[LineErrors], Blocks]]:
        """Returns the training files, and what opens them as one stream of blocks of numbered rows."""
        if self.tsv is not None:
            path = Path(self.tsv)
            return (path,), partial(read_fields, path, self._field_names())
        if self.tmx is not None:
            path = Path(self.tmx)
            return (path,), partial(read_tmx, path, self.source_lang, self.target_lang)
        if self.gettext is not None or self.gettext_package is not None:
            lang, english = self._gettext_languages()
            catalogues = self.catalogues()
            read = partial(
                read_catalogues,
                catalogues,
                lang,
                english,
                plurals=self.gettext_plurals,
                drop_placeholders=self.gettext_drop_placeholders,
            )
            return tuple(found.path for found in catalogues), read
        source, target = self.source_file or "", self.target_file or ""
        return (Path(source), Path(target)), partial(open_aligned, source, target)

    def _field_names(self) -> list[str]:
        names = [name.strip() for name in self.columns.split(",")]
        if sorted(name for name in names if name != "_") != ["source", "target"]:
            raise UsageError(
                f"--columns `{self.columns}` must name source and target once each, and `_` for other fields",
                remedy="e.g. --columns target,source for a file with English first",
            )
        return names

    def _gettext_languages(self) -> tuple[str, str]:
        """Returns the language of the translations, and the name of the English column."""
        english = [primary_language(code) == "en" for code in (self.source_lang, self.target_lang)]
        if sum(english) != 1:
            raise UsageError(
                f"the messages of gettext catalogues are English, but the languages are {self.source_lang} and "
                f"{self.target_lang}",
                remedy="one of --source-lang and --target-lang must be en",
            )
        return (self.target_lang, "source") if english[0] else (self.source_lang, "target")

    def _given(self, part: str) -> tuple[str | None, str | None]:
        """Returns the given source and target file of `validation` or `test`."""
        return getattr(self, f"{part}_source_file"), getattr(self, f"{part}_target_file")

    def _with_languages(self, rows: pa.Table) -> pa.Table:
        for name in REPEATING:
            rows = rows.append_column(name, pa.repeat(pa.scalar(getattr(self, name)), rows.num_rows))
        return rows


class BitextBuilder(SourceBuilder, source=BitextSource):
    """Builds a bitext with the columns `id`, `source`, `target`, `source_lang` and `target_lang`."""


prepare_bitext = recipe_of("bitext", BitextSource)


def open_aligned(source: str, target: str, errors: LineErrors) -> Blocks:
    """Streams the lines of two aligned files that can be read in both.

    Raises:
        InputError: As :func:`~hf_paraphrase.data.text_files.read_aligned`.
    """
    for line, (source_lines, target_lines) in read_aligned([Path(source), Path(target)], errors):
        lines = np.arange(line, line + len(source_lines))
        readable = pc.and_(source_lines.is_valid(), target_lines.is_valid())
        yield (
            lines[readable.to_numpy(zero_copy_only=False)],
            {"source": source_lines.filter(readable), "target": target_lines.filter(readable)},
        )


def _read(
    open_blocks: Callable[[LineErrors], Blocks], errors: LineErrors, left_out: Counter[str]
) -> Iterator[pa.Table]:
    for lines, sides in open_blocks(errors):
        yield pa.table({"line": pa.array(lines), "source": sides["source"], "target": sides["target"]})


@dataclass(frozen=True)
class _Cleaning:
    """Gives rows their ids, normalises punctuation, and leaves out what no rule lets through.

    Attributes:
        prefix: The beginning of the ids.
        punctuation: The languages by whose rules to normalise punctuation.
        rules: What to leave out.
    """

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


def _check_both(first_flag: str, first: str | None, second_flag: str, second: str | None) -> None:
    if (first is None) != (second is None):
        given, missing = (first_flag, second_flag) if second is None else (second_flag, first_flag)
        raise UsageError(f"{given} needs {missing}", remedy="give both sides")
    if first is not None and second is not None and Path(first).resolve() == Path(second).resolve():
        raise UsageError(f"{first_flag} and {second_flag} are the same file", path=first, remedy="give both sides")


def _listed(names: list[str]) -> list[str]:
    """Shortens a long list of files for the card: provenance.json has them all."""
    different = list(dict.fromkeys(names))
    more = len(different) - _LISTED_FILES
    return different if more <= 0 else [*different[:_LISTED_FILES], f"and {more} more"]
