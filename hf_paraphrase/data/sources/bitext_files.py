"""The files that bitext comes in: training rows in one of four layouts, and parts that are given beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ...artefacts.remote_paths import to_path
from ...errors import UsageError
from ...settings import setting
from ..languages import check_language, primary_language
from ..text_blocks import LineErrors
from ..text_files import Block, HeaderSettings, read_readable, read_tsv
from .gettext_catalogue import PLURALS, find_catalogues, package_folders, read_catalogues
from .tmx import read_tmx

HELD_OUT = ("validation", "test")

OpenBlocks = Callable[[LineErrors], Iterator[Block]]
"""Opens files as one stream of the columns `source` and `target`."""


@dataclass(kw_only=True)
class BitextFiles(HeaderSettings):
    """Two languages, where their rows are, and how each file is opened."""

    source_lang: str = setting("language code of the source side, e.g. fr")
    target_lang: str = setting("language code of the target side, e.g. en")
    source_file: str | None = setting("source sentences, one a line; with --target-file", None, path=True)
    target_file: str | None = setting("their translations, line by line", None, path=True)
    tsv: str | None = setting("instead of the two: a file with tab-separated fields, no quoting", None, path=True)
    columns: str = setting(
        "the fields of --tsv in their order, separated by commas or spaces: source, target, and _ for one to leave "
        "out (at the end it may be absent)",
        "source,target",
        separator=",",
    )
    tmx: str | None = setting(
        "or: a translation memory; each unit with both languages gives a pair, whatever their regions (fr-FR is fr)",
        None,
        path=True,
    )
    gettext: str | None = setting(
        "or: a gettext catalogue (.po, .mo) or a folder of them, of which those in the language that is not English "
        "are read; obsolete, fuzzy and untranslated messages are left out",
        None,
        path=True,
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
    validation_source_file: str | None = setting("a given validation part, source side", None, path=True)
    validation_target_file: str | None = setting("a given validation part, target side", None, path=True)
    test_source_file: str | None = setting("a given test part, source side", None, path=True)
    test_target_file: str | None = setting("a given test part, target side", None, path=True)

    @property
    def title(self) -> str:
        """The languages, and what the training rows come from in a word."""
        if self.gettext_package is not None:
            name = f"messages of {self.gettext_package}"
        else:
            name = to_path(self.gettext or self.tmx or self.tsv or self.source_file or "").name
        return f"Bitext {self.source_lang}-{self.target_lang} ({name})"

    @property
    def unit(self) -> str:
        """What is counted under `lines` for the training rows: lines, translation units or messages."""
        if self.tmx is not None:
            return "translation units"
        return "messages" if self.gettext is not None or self.gettext_package is not None else "lines"

    def check(self) -> None:
        """Checks that the settings are valid."""
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
        for part in HELD_OUT:
            source, target = self._sides(part)
            _check_both(f"--{part}-source-file", source, f"--{part}-target-file", target)
        super().check()

    def training_files(self) -> tuple[tuple[Path, ...], OpenBlocks]:
        """Returns the training files, and what opens them."""
        if self.tsv is not None:
            path = Path(self.tsv)
            names = self._field_names()
            codes = (self.source_lang, self.target_lang)
            return (path,), partial(read_tsv, path, names, header=self.header, names=codes)
        if self.tmx is not None:
            path = Path(self.tmx)
            return (path,), partial(read_tmx, path, self.source_lang, self.target_lang)
        if self.gettext is not None or self.gettext_package is not None:
            lang, english = self._gettext_languages()
            folders = package_folders(self.gettext_package or "") if self.gettext is None else [Path(self.gettext)]
            catalogues = [found for folder in folders for found in find_catalogues(folder, lang)]
            read = partial(
                read_catalogues,
                catalogues,
                lang,
                english,
                plurals=self.gettext_plurals,
                drop_placeholders=self.gettext_drop_placeholders,
            )
            return tuple(found.path for found in catalogues), read
        return _aligned(self.source_file or "", self.target_file or "")

    def given_files(self, part: str) -> tuple[tuple[Path, ...], OpenBlocks] | None:
        """Returns the files of `validation` or `test`, and what opens them; None where they are not given."""
        source, target = self._sides(part)
        if source is None or target is None:
            return None
        return _aligned(source, target)

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

    def _sides(self, part: str) -> tuple[str | None, str | None]:
        return getattr(self, f"{part}_source_file"), getattr(self, f"{part}_target_file")


def _aligned(source: str, target: str) -> tuple[tuple[Path, ...], OpenBlocks]:
    files = (Path(source), Path(target))
    return files, partial(read_readable, files, ("source", "target"))


def _check_both(first_flag: str, first: str | None, second_flag: str, second: str | None) -> None:
    if (first is None) != (second is None):
        given, missing = (first_flag, second_flag) if second is None else (second_flag, first_flag)
        raise UsageError(f"{given} needs {missing}", remedy="give both sides")
    if first is not None and second is not None and Path(first).resolve() == Path(second).resolve():
        raise UsageError(f"{first_flag} and {second_flag} are the same file", path=first, remedy="give both sides")
