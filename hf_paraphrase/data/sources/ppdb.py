"""The Paraphrase Database, 1.0 and 2.0.

Three layouts are read, recognised by the first line: the database itself (rules), every pack and size; lexical lists,
a head and its paraphrases on a line, as used for retrofitting word vectors; the annotated sample with human scores.

Rules have features, `name=value name=value …`, which become columns of numbers. Which there are differs between
releases; the first lines of the first file have them all.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError, UsageError
from ...settings import setting
from ..cleaning import count_words
from ..languages import check_language
from ..schema import PAIRS
from ..text_files import PLAIN_OR_COMPRESSED, Fields, LineErrors, count_fields, first_line_of, read_lines
from ..typed_fields import FLOAT, Field, read_tables
from .source import Part, Read, Source, TrainingSettings

_SEPARATOR = " ||| "
_RULE = pa.schema([*PAIRS, ("lhs", pa.string()), ("alignment", pa.string()), ("entailment", pa.string())])
_LEXICAL = pa.schema([*PAIRS, ("rank", pa.int64())])
_ANNOTATED = pa.schema([*PAIRS, ("score", pa.float64()), ("lhs", pa.string()), ("votes", pa.list_(pa.float64()))])
_REMEDY = "fix the line, or fetch the file again"
_ABSENT = frozenset({"NA", "nan", "NaN", "null", "None", ""})
"""Values that stand for a missing number."""
_NUMBER = re.compile(FLOAT)


@dataclass(kw_only=True)
class PpdbSource(Source, TrainingSettings):
    """Makes a data folder of PPDB 1.0 or 2.0, any pack and size, its lexical lists, or its annotated sample."""

    SUMMARY: ClassVar[str] = "PPDB 1.0 and 2.0: the database, its lexical lists, its annotated sample"
    TITLE: ClassVar[str] = "PPDB: The Paraphrase Database"
    DESCRIPTION: ClassVar[str] = "PPDB: paraphrases of words and phrases found by bilingual pivoting."
    LICENSE: ClassVar[str] = "cc-by-3.0"
    URL: ClassVar[str] = "http://paraphrase.org/"
    TEMPLATE: ClassVar[str] = "ppdb"

    file: list[str] = setting(f"one or more files, {PLAIN_OR_COMPRESSED}, read in their order", path=True)
    max_tokens: int = setting(
        "take pairs from the beginning until they have this many tokens, both sides together; 0 = all", 0, at_least=0
    )
    lang: str = setting("language code of the phrases", "en", names=["--lang", "--language"])

    def check(self) -> None:
        """Checks the language too."""
        check_language(self.lang, "--lang")
        super().check()

    def parts(self) -> list[Part]:
        """Returns the one part: `train`, or `test` for the annotated sample."""
        if not self.file:
            raise UsageError("no --file", remedy="name one or more files of PPDB")
        files = tuple(map(Path, self.file))
        layouts = set(map(_layout_of, files))
        if len(layouts) > 1:
            raise InputError(
                f"files of several layouts: {', '.join(sorted(layouts))}",
                path=files[0],
                remedy="prepare each by itself",
            )
        (layout,) = layouts
        if layout == "annotated":
            if self.max_tokens or self.decontaminate:
                raise UsageError(
                    "--max-tokens and --decontaminate do not apply to the annotated sample", path=files[0]
                )
            return [Part("test", _ANNOTATED, files, partial(_read_annotated, files))]
        schema, read = _LEXICAL, partial(_read_lexical, files)
        if layout == "rules":
            columns = column_names(_features_in(files[0]))
            schema = pa.schema([*_RULE, *((column, pa.float64()) for column in columns.values())])
            read = partial(_read_rules, files, columns)
        return [Part("train", schema, files, partial(_limited, read, self.max_tokens), training=True)]


def _limited(read: Read, most: int, errors: LineErrors) -> Iterator[pa.Table]:
    """Takes rows until they have so many tokens; the row that reaches the limit counts."""
    taken = 0
    for table in read(errors):
        if most:
            lengths = sum(count_words(table.column(name).combine_chunks()) for name in PAIRS.names)
            reached = np.cumsum(lengths) + taken
            table = table.slice(0, int(np.searchsorted(reached, most)) + 1)
            taken = int(reached[-1]) if len(reached) else taken
        yield table
        if most and taken >= most:
            return


def _layout_of(path: Path) -> str:
    first = first_line_of(path)
    return "rules" if _SEPARATOR in first else "annotated" if "\t" in first else "lexical"


def _features_in(path: Path) -> list[str]:
    """Lists the features of the first rules of a file."""
    lines = next(read_lines(path, LineErrors("skip"))).drop_null().to_pylist()
    texts = [line.split(_SEPARATOR)[3] for line in lines if line.count(_SEPARATOR) >= 4]
    return [name for name in dict.fromkeys(item.rpartition("=")[0] for text in texts for item in text.split()) if name]


def _read_rules(files: Sequence[Path], columns: dict[str, str], errors: LineErrors) -> Iterator[pa.Table]:
    """Reads `[LHS] ||| phrase ||| paraphrase ||| features ||| alignment`, and in 2.0 ` ||| entailment`."""
    for path in files:
        first_line = 1
        for lines in read_lines(path, errors):
            counts = count_fields(lines, _SEPARATOR)
            good = (counts == 5) | (counts == 6)
            for row in np.flatnonzero(~good & (counts > 0)):
                wanted = f"fields where 5 or 6 separated by `{_SEPARATOR.strip()}` are expected"
                errors.handle(f"{counts[row]} {wanted}", path, first_line + int(row), _REMEDY)
            fields = Fields(lines.filter(pa.array(good)), _SEPARATOR)
            numbers = np.flatnonzero(good) + first_line
            first_line += len(lines)
            last = pc.if_else(pa.array(counts[good] == 6), pa.array(fields.starts + 5), pa.scalar(None, pa.int64()))
            lhs, first, second, texts, alignment = map(fields.column, range(5))
            sides = (pc.utf8_trim_whitespace(side) for side in (first, second))
            table = pa.table([*sides, lhs, alignment, fields.take(last)], schema=_RULE)
            rows: list[dict[str, float | None]] = []
            fits = []
            for text, number in zip(texts.to_pylist(), numbers.tolist(), strict=True):
                try:
                    rows.append(_features(text, columns))
                    fits.append(True)
                except ValueError as error:
                    errors.handle(str(error), path, number, "expected name=value, each name once")
                    fits.append(False)
            table = table.filter(pa.array(fits, pa.bool_()))
            for name, column in columns.items():
                table = table.append_column(column, pa.array([row.get(name) for row in rows], pa.float64()))
            yield table


def _features(text: str, known: Iterable[str]) -> dict[str, float | None]:
    """Splits `name=value name=value …`, each at its last `=`."""
    features: dict[str, float | None] = {}
    for item in text.split():
        name, _, value = item.rpartition("=")
        if name not in known:
            raise ValueError(f"`{item}` is not one of the features of the first lines")
        if name in features:
            raise ValueError(f"feature `{name}` occurs twice")
        if value not in _ABSENT and not _NUMBER.match(value):
            raise ValueError(f"the value of `{item}` is not a number")
        number = None if value in _ABSENT else float(value)
        # One too great for a float is as good as missing.
        features[name] = number if number is not None and np.isfinite(number) else None
    return features


def column_names(features: Iterable[str]) -> dict[str, str]:
    """Names a column for each feature: letters, digits and `_` only, so that `filter --keep` can use it.

    `PPDB2.0Score` becomes `PPDB2_0Score`, `p(e|f,LHS)` becomes `p_e_f_LHS`, and `-logp(LHS|e1)` `minus_logp_LHS_e1`.
    """
    columns: dict[str, str] = {}
    taken = {*_RULE.names, "label", "features"}
    for name in features:
        plain = re.sub(r"[^0-9A-Za-z]+", "_", re.sub("^-", "minus_", name)).strip("_") or "feature"
        plain = f"feature_{plain}" if plain[0].isdigit() else plain
        column, number = plain, 2
        while column in taken:
            column, number = f"{plain}_{number}", number + 1
        columns[name] = column
        taken.add(column)
    return columns


def _read_lexical(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Reads `head paraphrase1 paraphrase2 …`: as many pairs as the head has paraphrases."""
    for path in files:
        first_line = 1
        for lines in read_lines(path, errors):
            rows = []
            for number, line in enumerate(lines.to_pylist(), start=first_line):
                # Not `split()`, for which the control characters that some entries consist of are white space.
                head, *paraphrases = re.split(r"[ \t]+", (line or "").strip(string.whitespace))
                rows += [(head, paraphrase, rank) for rank, paraphrase in enumerate(paraphrases)]
                if line is not None and not paraphrases:
                    errors.handle("no head with paraphrases", path, number, _REMEDY)
            first_line += len(lines)
            columns = zip(*rows, strict=True) if rows else ((), (), ())
            yield pa.table(list(map(list, columns)), schema=_LEXICAL)


def _read_annotated(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Reads `mean score, [LHS], phrase, paraphrase, votes`, tab-separated; votes are separated by commas."""
    number = r"([0-9]+\.?[0-9]*|\.[0-9]+)"
    fields = [
        Field("score", pa.float64(), low=1, high=5),
        Field("lhs"),
        Field("sentence1"),
        Field("sentence2"),
        Field("votes", pattern=f"{number}(,{number})*", example="3.0,4.0,5.0"),
    ]
    for path in files:
        for table in read_tables(path, fields, errors, remedy=_REMEDY):
            votes = [list(map(float, text.split(","))) for text in table.column("votes").to_pylist()]
            yield table.set_column(table.column_names.index("votes"), "votes", pa.array(votes, pa.list_(pa.float64())))
