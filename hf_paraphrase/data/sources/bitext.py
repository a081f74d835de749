"""Bitext from line-aligned files, tab-separated text, a translation memory, gettext catalogues or the Hub."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...artefacts.fsspec_path import to_path
from ...errors import InputError, UsageError
from ...messages import as_given
from ...settings import flag, seed_setting, setting
from ...text.languages import check_language, primary_language
from ...text.normalization import are_visible, decode_moses, normalize_texts
from ...text.words import count_words
from ..rows import Rows, open_rows
from ..schema import BITEXT, describe_columns
from ..text_blocks import LineErrors
from ..text_files import Block, read_aligned, read_tsv, texts_of_column
from .preparation import recipe_of
from .rows import fitted
from .source import Part, Source, UserFileSettings
from .translation_files import find_catalogues, read_catalogues, read_tmx

HELD_OUT = ("validation", "test")
_SIDES = ("source", "target")
OpenBlocks = Callable[[LineErrors], Iterator[Block]]
"""Opens files as one stream of the columns `source` and `target`."""

_RULES = ("drop_identical", "min_length", "max_length", "max_length_ratio")
_REPEATS = {"none": (), "pair": _SIDES, "source": ("source",), "target": ("target",)}


@dataclass(kw_only=True)
class BitextSource(Source, UserFileSettings):
    """Make a bitext data folder from aligned files, TSV, TMX or gettext catalogues (plain, .gz, .bz2, .xz, .zst).

    Row filters and decontamination never change validation and test sets that are given as files.
    """

    SUMMARY: ClassVar[str] = (
        "two line-aligned text files, a tab-separated file, a translation memory (TMX), or gettext catalogues"
    )
    TASKS: ClassVar[tuple[str, ...]] = ("translation",)
    TAGS: ClassVar[tuple[str, ...]] = ("bitext", "parallel-corpus")
    TEMPLATE: ClassVar[str] = "bitext"

    source_lang: str = setting("language code of the source, e.g. fr")
    target_lang: str = setting("language code of the target, e.g. en")
    source_file: str | None = setting("source sentences, one per line; with --target-file", None, path=True)
    target_file: str | None = setting("their translations, line by line", None, path=True)
    tsv: str | None = setting("one file with tab-separated fields, without quoting", None, path=True)
    columns: str = setting(
        "the fields of --tsv in their order, separated by commas or spaces: source, target, and _ for a field to "
        "skip (at the end of a line it may be absent)",
        "source,target",
        separator=",",
        only_with="tsv",
    )
    tmx: str | None = setting(
        "a translation memory; each unit with both languages is a pair; regions are ignored (fr-FR is fr)",
        None,
        path=True,
    )
    gettext: str | None = setting(
        "a gettext catalogue (.po, .mo) or a folder of catalogues in several languages; obsolete, fuzzy "
        "and untranslated messages are skipped",
        None,
        path=True,
    )
    dataset: str | None = setting(
        "a folder or file that load_dataset opens, with a column translation of both languages, or columns named by "
        "their codes, or source and target",
        None,
        path=True,
        dataset=True,
    )
    subset: str | None = setting("the configuration of --dataset, such as en-fr", None, only_with="dataset")
    split: str = setting("the split of --dataset that is read", "train", only_with="dataset")
    keep_columns: bool = setting(
        "also keep all other columns of --dataset; they are null in validation and test files",
        False,
        only_with="dataset",
    )
    validation_source_file: str | None = setting("source sentences of an existing validation set", None, path=True)
    validation_target_file: str | None = setting("target sentences of an existing validation set", None, path=True)
    test_source_file: str | None = setting("source sentences of an existing test set", None, path=True)
    test_target_file: str | None = setting("target sentences of an existing test set", None, path=True)
    validation_size: int = setting(
        "rows to draw for validation; no target sentence is in two splits",
        0,
        at_least=0,
        excludes="validation_source_file",
    )
    # The test part is drawn first, so that it does not depend on --validation-size.
    test_size: int = setting("rows to draw for test", 0, at_least=0, excludes="test_source_file")
    seed: int = seed_setting("random seed of sampling and --shuffle")
    shuffle: bool = setting("shuffle the training rows", False)
    drop_identical: bool = setting(
        "remove training rows whose sentences differ only in case, white space and invisible characters", False
    )
    min_length: int = setting("minimum words of each sentence of a training row; 0 = no limit", 0, at_least=0)
    max_length: int = setting("maximum words of each sentence of a training row; 0 = no limit", 0, at_least=0)
    max_length_ratio: float = setting(
        "maximum ratio of words of the longer to the shorter sentence of a training row; 0 = no limit",
        0.0,
        at_least=0,
    )
    drop_duplicates: str = setting(
        "training rows to remove as duplicates: of a pair, a source or a target; the first is kept",
        "none",
        choices=list(_REPEATS),
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages."""
        return (self.source_lang, self.target_lang)

    @property
    def title(self) -> str:
        """The languages and the name of the training data."""
        path = self.dataset or self.gettext or self.tmx or self.tsv or self.source_file or ""
        return f"Bitext {self.source_lang}-{self.target_lang} ({to_path(as_given(path)).name})"

    def check(self) -> None:
        """Check everything that can be checked before reading."""
        for code, name in ((self.source_lang, "--source-lang"), (self.target_lang, "--target-lang")):
            check_language(code, name)
        aligned = self.source_file is not None or self.target_file is not None
        if aligned + sum(name is not None for name in (self.tsv, self.tmx, self.gettext, self.dataset)) != 1:
            flags = "--source-file and --target-file, or --tsv, --tmx, --gettext or --dataset"
            raise UsageError(f"give either {flags}", remedy="one of them")
        for prefix in ("", "validation_", "test_"):
            names = [f"{prefix}{side}_file" for side in _SIDES]
            first, second = (getattr(self, name) for name in names)
            if (first is None) != (second is None):
                given, missing = map(flag, reversed(names) if first is None else names)
                raise UsageError(f"{given} needs {missing}", remedy="give both files")
            if first is not None and Path(first).resolve() == Path(second).resolve():
                problem = f"{' and '.join(map(flag, names))} are the same file"
                raise UsageError(problem, path=first, remedy="give two files")
        super().check()

    def parts(self) -> list[Part]:
        """Return the training part, and the validation and test parts that are given as files."""
        files, read = self._training_files()
        rules = {name: getattr(self, name) for name in _RULES}
        sizes = {part: size for part in reversed(HELD_OUT) if (size := getattr(self, f"{part}_size"))}
        selection = {"repeats": _REPEATS[self.drop_duplicates], "sizes": sizes, "shuffle": self.shuffle}
        parts = [self._part("train", files, read, rules, training=True, **selection)]
        for split in HELD_OUT:
            sides = [getattr(self, f"{split}_{side}_file") for side in _SIDES]
            if None not in sides:
                parts.append(self._part(split, *_aligned(*sides), {}))
        return parts

    def _part(self, split: str, files: list[Path], read: OpenBlocks, rules: dict[str, Any], **options: Any) -> Part:
        prefix = "-".join(self.languages if split == "train" else (*self.languages, split))
        others = self._other_columns
        class_names = self._rows.class_names if others else {}
        schema = pa.schema([*BITEXT, *others])

        def read_lines(errors: LineErrors) -> Iterator[pa.Table]:
            for lines, columns in read(errors):
                if self.moses_escapes:
                    columns |= {side: decode_moses(columns[side]) for side in _SIDES}
                yield pa.table({"line": pa.array(lines), **columns})

        def make_rows(lines: pa.Table) -> tuple[pa.Table, dict[str, int]]:
            rows, counts = clean(lines, **rules)
            line_number = pc.utf8_lpad(rows.column("line").cast(pa.string()), width=7, padding="0")
            rows = rows.append_column("id", pc.binary_join_element_wise(prefix, line_number, "-"))
            for name, code in zip(("source_lang", "target_lang"), self.languages, strict=True):
                rows = rows.append_column(name, pa.repeat(pa.scalar(code), rows.num_rows))
            return fitted(rows, schema), counts

        return Part(
            split,
            schema,
            files,
            read_lines,
            texts=_SIDES,
            clean=make_rows,
            class_names={name: tuple(names) for name, names in class_names.items() if name in schema.names},
            **options,
        )

    def _training_files(self) -> tuple[list[Path], OpenBlocks]:
        """Return the training files, and a function that opens them."""
        codes = self.languages
        if self.tsv is not None:
            names = [name.strip() for name in self.columns.split(",")]
            if sorted(name for name in names if name != "_") != sorted(_SIDES):
                problem = f"--columns `{self.columns}` must name source and target once each, and `_` for other fields"
                raise UsageError(problem, remedy="e.g. --columns target,source for a file with English first")
            return [to_path(self.tsv)], partial(read_tsv, to_path(self.tsv), names, header=self.header, names=codes)
        if self.tmx is not None:
            return [to_path(self.tmx)], partial(read_tmx, to_path(self.tmx), codes[0], codes[1])
        if self.gettext is not None:
            english = [primary_language(code) == "en" for code in codes]
            if sum(english) != 1:
                languages = " and ".join(codes)
                problem = f"the messages of gettext catalogues are English, but the languages are {languages}"
                raise UsageError(problem, remedy="one of --source-lang and --target-lang must be en")
            catalogues = find_catalogues(Path(self.gettext))
            lang, english_column = codes[english.index(False)], _SIDES[english.index(True)]
            return catalogues, partial(read_catalogues, catalogues, lang, english_column)
        if self.dataset is not None:
            return [], self._read_dataset
        return _aligned(self.source_file or "", self.target_file or "")

    @cached_property
    def _rows(self) -> Rows:
        return open_rows(str(self.dataset), self.split, subset=self.subset, roles=())

    @cached_property
    def _other_columns(self) -> list[pa.Field]:
        """The columns of --dataset that --keep-columns keeps."""
        ours = {*BITEXT.names, "line", "translation", *self.languages}
        return [field for field in self._rows.schema if field.name not in ours] if self.keep_columns else []

    def _read_dataset(self, errors: LineErrors) -> Iterator[Block]:
        dataset, rows = str(self.dataset), self._rows
        first = next(rows.tables(stop=1), rows.schema.empty_table())
        names = first.flatten().column_names
        columns = {}
        for side, code in zip(_SIDES, self.languages, strict=True):
            usual = [f"translation.{code}", code, side]
            columns[side] = next((name for name in usual if name in names), "")
            if not columns[side]:
                remedy = f"it needs one of the columns {', '.join(usual)}; {describe_columns(first.column_names)}"
                raise InputError(f"no column for the language `{code}`", path=dataset, remedy=remedy)
        if columns["source"] == "source" and "source_lang" in names and len(first):
            stated = first.column("source_lang")[0].as_py()
            if primary_language(stated or self.source_lang) != primary_language(self.source_lang):
                what = f"the source language is `{stated}`, not `{self.source_lang}`"
                raise InputError(what, path=dataset, remedy="give the two languages of the data set")
        # A column `translation` is an object with the languages as its keys.
        needed = [name for name in rows.columns if name == "translation" or name in columns.values()]
        others = [field.name for field in self._other_columns]
        row = 1
        for batch in rows.batches([*needed, *others]):
            flat, remedy = pa.Table.from_batches([batch.select(needed)]).flatten(), "it needs text in both languages"
            sides = {side: flat.column(name).combine_chunks() for side, name in columns.items()}
            texts = {side: texts_of_column(side, column, dataset, remedy) for side, column in sides.items()}
            texts |= {name: batch.column(name) for name in others}
            yield np.arange(row, row + flat.num_rows), texts
            row += flat.num_rows


prepare_bitext = recipe_of("bitext", BitextSource)


def _aligned(source: str, target: str) -> tuple[list[Path], OpenBlocks]:
    files = [to_path(source), to_path(target)]
    return files, partial(read_aligned, files, _SIDES)


def clean(
    table: pa.Table,
    *,
    drop_identical: bool = False,
    min_length: int = 0,
    max_length: int = 0,
    max_length_ratio: float = 0.0,
) -> tuple[pa.Table, dict[str, int]]:
    """Drop rows with an empty source or target, and rows that break a rule; a limit of 0 means no limit.

    Returns the remaining rows, and the number of dropped rows by rule; a row counts under the first rule that applies.
    """
    source, target = (table.column(name).combine_chunks() for name in _SIDES)
    good = {"empty_side": are_visible(source) & are_visible(target)}
    if drop_identical or min_length or max_length or max_length_ratio:
        lengths = count_words(source), count_words(target)
        shorter, longer = np.minimum(*lengths), np.maximum(*lengths)
    if drop_identical:
        # Case folding is slow, so only pairs with equal numbers of words and equal beginnings are compared.
        rows = np.flatnonzero(good["empty_side"] & (shorter == longer))
        rows = rows[_may_begin_alike(*(side.take(pa.array(rows)) for side in (source, target)))]
        good["identical_sides"] = np.ones(len(source), dtype=bool)
        sides = (normalize_texts(side.take(pa.array(rows))) for side in (source, target))
        good["identical_sides"][rows] = pc.not_equal(*sides).to_numpy(zero_copy_only=False)
    if min_length:
        good["too_short"] = shorter >= min_length
    if max_length:
        good["too_long"] = longer <= max_length
    if max_length_ratio:
        good["length_ratio"] = longer <= max_length_ratio * shorter
    keep = np.ones(len(source), dtype=bool)
    counts: dict[str, int] = {}
    for rule, stay in good.items():
        counts[rule] = int((keep & ~stay).sum())
        keep &= stay
    return (table if keep.all() else table.filter(pa.array(keep))), counts


def _may_begin_alike(source: pa.Array, target: pa.Array) -> np.ndarray:
    """Return which pairs do not begin with different ASCII letters or digits, (sentences,), bool: a cheap filter."""
    first, second = (
        pc.ascii_lower(pc.utf8_slice_codeunits(pc.utf8_trim_whitespace(side), 0, 1)) for side in (source, target)
    )
    both_ascii = pc.and_(pc.ascii_is_alnum(first), pc.ascii_is_alnum(second))
    return pc.or_(pc.equal(first, second), pc.invert(both_ascii)).to_numpy(zero_copy_only=False)
