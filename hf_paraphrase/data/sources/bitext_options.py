"""What to read into a bitext and what to keep of it, with the checks that need no reading."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ...errors import UsageError
from ..cleaning import LENGTH_UNITS, CleaningRules
from ..containment import DEFAULT_SHARE, check_ngrams
from ..language_identification import OtherLanguages
from ..languages import check_language, primary_language
from ..text_files import LineErrors, check_readable
from .gettext_catalogue import PLURALS, Catalogue, find_catalogues, package_folders

DUPLICATES = ("none", "pair", "source", "target")
HELD_OUT = ("validation", "test")


@dataclass
class BitextOptions:
    """What to read and what to keep; the flags of `prepare bitext` have the same names and meanings.

    Attributes:
        source_file: Foreign sentences, one a line (plain, .gz, .bz2, .xz or .zst); with `target_file`.
        target_file: Their English translations, line-aligned.
        tsv: Or: one file with tab-separated fields.
        columns: The fields of `tsv` in their order: `source`, `target`, and `_` for each one to leave out.
        tmx: Or: a translation memory.
        gettext: Or: a gettext catalogue (.po, .mo), or a folder of them; one of the languages must be English.
        gettext_package: Or: the catalogues inside an installed Python package of this name.
        gettext_plurals: `pair` the two forms of messages with plurals, or `skip` these messages.
        gettext_drop_placeholders: Leave out messages with placeholders or mark-up.
        source_lang: Language code of the source side.
        target_lang: Language code of the target side.
        validation_source_file: Given validation part, source side; with `validation_target_file`.
        validation_target_file: Given validation part, target side.
        test_source_file: Given test part, source side; with `test_target_file`.
        test_target_file: Given test part, target side.
        validation_size: Rows to draw for validation; no target sentence is then in two parts.
        test_size: Rows to draw for test; drawn first, so that it does not depend on `validation_size`.
        hold_out_sources: Leave out training rows whose source side is in validation or test, drawn or given, as well:
            the draw looks at target sides alone, and a source may have several translations.
        seed: Of the draw and of the shuffling.
        shuffle: Put the training rows into random order.
        drop_identical: Leave out rows whose sides are the same but for case. This, the other rules for rows and
            `decontaminate` never touch parts that are given as files: a test set stays what it is.
        min_length: Least length of a side, 0 for no limit.
        max_length: Greatest length of a side, 0 for no limit.
        max_length_ratio: Greatest ratio of the longer side to the shorter, 0 for no limit.
        length_unit: What lengths count: `words` or `characters`.
        identify_languages: Leave out rows of which a side is in another language than the stated one (py3langid).
        language_certainty: The least probability with which another language must be found, 0.5 to 1.
        drop_duplicates: Leave out repeats of a `pair`, a `source` or a `target`; the first one stays. Or `none`.
        normalize_punctuation: Apply the Moses punctuation rules to both sides of all parts.
        decontaminate: Evaluation files or folders, or fingerprint lists: training rows whose target side is in one of
            them are left out.
        decontaminate_ngrams: Words in an n-gram, to compare by n-grams as well (`containment.py`); 0 for whole
            sentences only.
        decontaminate_share: The least share of the n-grams of a target side that must occur in an evaluation set.
        on_error: `raise` at a malformed line, or `skip` it.
    """

    source_file: str | None = None
    target_file: str | None = None
    tsv: str | None = None
    columns: str = "source,target"
    tmx: str | None = None
    gettext: str | None = None
    gettext_package: str | None = None
    gettext_plurals: str = "pair"
    gettext_drop_placeholders: bool = False
    source_lang: str = ""
    target_lang: str = ""
    validation_source_file: str | None = None
    validation_target_file: str | None = None
    test_source_file: str | None = None
    test_target_file: str | None = None
    validation_size: int = 0
    test_size: int = 0
    hold_out_sources: bool = False
    seed: int = 0
    shuffle: bool = False
    drop_identical: bool = False
    min_length: int = 0
    max_length: int = 0
    max_length_ratio: float = 0.0
    length_unit: str = "words"
    identify_languages: bool = False
    language_certainty: float = 0.7
    drop_duplicates: str = "none"
    normalize_punctuation: bool = False
    decontaminate: list[str] = field(default_factory=list)
    decontaminate_ngrams: int = 0
    decontaminate_share: float = DEFAULT_SHARE
    on_error: str = "raise"

    @property
    def files(self) -> list[Path]:
        """The raw files.

        Raises:
            InputError: If catalogues are asked for and there are none.
            UsageError: If they are not English on one side.
        """
        names = [self.source_file, self.target_file, self.tsv, self.tmx]
        for part in HELD_OUT:
            names += self.held_out_files(part)
        return [*(Path(name) for name in names if name), *(catalogue.path for catalogue in self.catalogues())]

    @property
    def title(self) -> str:
        """What the training rows come from, in a word."""
        if self.gettext_package is not None:
            return f"messages of {self.gettext_package}"
        return Path(self.gettext or self.tmx or self.tsv or self.source_file or "").name

    @property
    def unit(self) -> str:
        """What is counted under `lines` for the training rows: lines, translation units or messages."""
        if self.tmx is not None:
            return "translation units"
        return "messages" if self.gettext is not None or self.gettext_package is not None else "lines"

    def catalogues(self) -> list[Catalogue]:
        """Finds the gettext catalogues in the language that is not English; none without `gettext…`.

        Raises:
            InputError: If there are none, or no such package is installed.
            UsageError: If not exactly one of the languages is English.
        """
        if self.gettext is None and self.gettext_package is None:
            return []
        folders = [Path(self.gettext)] if self.gettext is not None else package_folders(self.gettext_package or "")
        return [found for folder in folders for found in find_catalogues(folder, self.gettext_languages()[0])]

    def gettext_languages(self) -> tuple[str, str]:
        """Returns the language of the translations, and the name of the English column.

        Raises:
            UsageError: If not exactly one of the languages is English.
        """
        english = [primary_language(code) == "en" for code in (self.source_lang, self.target_lang)]
        if sum(english) != 1:
            raise UsageError(
                f"the messages of gettext catalogues are English, but the languages are {self.source_lang} and "
                f"{self.target_lang}",
                remedy="one of --source-lang and --target-lang must be en",
            )
        return (self.target_lang, "source") if english[0] else (self.source_lang, "target")

    @property
    def splits(self) -> list[str]:
        """The parts that come out, `train` first."""
        return ["train"] + [part for part in HELD_OUT if any(self.held_out_files(part)) or self.held_out_size(part)]

    def held_out_files(self, part: str) -> tuple[str | None, str | None]:
        """Returns the given source and target file of `validation` or `test`."""
        if part == "validation":
            return self.validation_source_file, self.validation_target_file
        return self.test_source_file, self.test_target_file

    def held_out_size(self, part: str) -> int:
        """Returns the number of rows to draw for `validation` or `test`."""
        return self.validation_size if part == "validation" else self.test_size

    def field_names(self) -> list[str]:
        """Returns the names in `columns`.

        Raises:
            UsageError: If they are not `source` and `target` once each and otherwise `_`.
        """
        names = [name.strip() for name in self.columns.split(",")]
        if sorted(name for name in names if name != "_") != ["source", "target"]:
            raise UsageError(
                f"--columns `{self.columns}` must name source and target once each, and `_` for other fields",
                remedy="e.g. --columns target,source for a file with English first",
            )
        return names

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
        if self.tsv is not None:
            self.field_names()
        for part in HELD_OUT:
            source, target = self.held_out_files(part)
            _check_both(f"--{part}-source-file", source, f"--{part}-target-file", target)
            if source is not None and self.held_out_size(part):
                raise UsageError(
                    f"--{part}-size draws a part that --{part}-source-file gives", remedy="one of the two"
                )
        if self.hold_out_sources and self.splits == ["train"]:
            raise UsageError(
                "--hold-out-sources needs a part that is held out",
                remedy="give --validation-size or --test-size, or files of these parts",
            )
        for flag, value in (
            ("--validation-size", self.validation_size),
            ("--test-size", self.test_size),
            ("--seed", self.seed),
            ("--min-length", self.min_length),
            ("--max-length", self.max_length),
        ):
            if value < 0:
                raise UsageError(f"{flag} {value} is negative", remedy="give 0 or more")
        if self.max_length_ratio and not self.max_length_ratio >= 1:
            raise UsageError(
                f"--max-length-ratio {self.max_length_ratio} is below 1", remedy="give 1 or more, or 0 for no limit"
            )
        if self.max_length and self.min_length > self.max_length:
            raise UsageError(
                f"--min-length {self.min_length} is above --max-length {self.max_length}", remedy="nothing fits both"
            )
        for flag, choice, choices in (
            ("--drop-duplicates", self.drop_duplicates, DUPLICATES),
            ("--length-unit", self.length_unit, LENGTH_UNITS),
            ("--gettext-plurals", self.gettext_plurals, PLURALS),
        ):
            if choice not in choices:
                raise UsageError(f"{flag} `{choice}` is unknown", remedy=f"one of {', '.join(choices)}")
        check_ngrams(self.decontaminate, self.decontaminate_ngrams, self.decontaminate_share)
        LineErrors(self.on_error)
        self.rules()
        for path in self.files:
            check_readable(path)

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


def _check_both(first_flag: str, first: str | None, second_flag: str, second: str | None) -> None:
    if (first is None) != (second is None):
        given, missing = (first_flag, second_flag) if second is None else (second_flag, first_flag)
        raise UsageError(f"{given} needs {missing}", remedy="give both sides")
    if first is not None and second is not None and Path(first).resolve() == Path(second).resolve():
        raise UsageError(f"{first_flag} and {second_flag} are the same file", path=first, remedy="give both sides")
