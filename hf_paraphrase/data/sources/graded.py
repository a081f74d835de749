"""Graded evaluation sets: SemEval STS 2012-2016, SICK 2014, PIT-2015 and the STS benchmark.

All are UTF-8 text without CSV quoting, and each set is read whole. Splits are `train`, `validation` and `test`;
SemEval STS has one split per year (`STS12` … `STS16`, and `STS12_train` for a training part). `evaluate` reads the raw
files and the folders that `prepare` makes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError
from ..folder import ORDER
from ..schema import with_column
from ..text_blocks import LineErrors, files_below
from ..text_files import Field, first_line_of, read_aligned_tables, read_tables
from .rows import fitted
from .source import LineErrorSettings, MissingFilesError, Part, Source, folder_setting, source_folder

SET_NAMES: dict[str, tuple[str, ...]] = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "OnWN", "SMTnews"),
    "STS13": ("headlines", "OnWN", "FNWN", "SMT"),
    "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
"""The scored sets of each year, in the order of the papers."""

_STS_INPUT = re.compile(r"^STS(?:20)?(?P<year>1[2-7])?\.(?P<kind>input|gs)\.(?P<set>.+)\.txt$", re.IGNORECASE)
_STS_FOLDER = re.compile(r"STS(?:[-_. ]?(?:20)?|.*20)(?P<year>1[2-7])(?!\d)", re.IGNORECASE)
_NOT_A_TEST = re.compile(r"(?<![a-z])(train|trial)(?![a-z])", re.IGNORECASE)
_SPLITS = {"train": "train", "dev": "validation", "trial": "validation", "test": "test"}


def _schema(*others: str) -> pa.Schema:
    kinds = {"score": pa.float64(), "label": pa.int64()}
    names = ("sentence1", "sentence2", "score", *others, "benchmark", "subset")
    return pa.schema([(name, kinds.get(name, pa.string())) for name in names])


STS = _schema()
SICK = _schema("id", "entailment")
STS_BENCHMARK = _schema("genre", "file", "year", "id")
PIT = _schema("label", "judgement", "topic_id", "topic", "tags1", "tags2")
"""All of them have `sentence1`, `sentence2`, `score`, and the names of the set as `benchmark` and `subset`."""

Rows = Callable[[Sequence[Path], LineErrors], Iterator[pa.Table]]


@dataclass(frozen=True)
class GradedFile:
    """A file that belongs to a graded set.

    `family` is the benchmark with its year: `STS12` … `STS16`, `SICK`, `Twitter`, `STS-B`; `STS12 train` for a part
    that is not a test set. `rows` reads its files; `lacks` names missing `sentences` or `scores`.
    """

    family: str
    name: str
    path: Path
    schema: pa.Schema
    files: tuple[Path, ...] = ()
    rows: Rows | None = None
    lacks: str = ""

    def read(self, errors: LineErrors) -> pa.Table:
        """Read all scored pairs of the set."""
        if self.rows is None or self.lacks:
            raise InputError(f"the {self.lacks} are missing", path=self.path, remedy="put their file next to it")
        tables = [fitted(table, self.schema) for table in self.rows(self.files, errors)]
        table = pa.concat_tables([self.schema.empty_table(), *tables])
        for side in ("sentence1", "sentence2"):
            table = with_column(table, side, pc.utf8_trim_whitespace(table.column(side)))
        for name, value in (("benchmark", self.family), ("subset", self.name)):
            table = with_column(table, name, pa.repeat(pa.scalar(value), table.num_rows))
        return table


def recognise_graded_file(path: Path) -> GradedFile | None:
    """Recognize a file of a graded set by its name; return None for any other file."""
    if match := _STS_INPUT.match(path.name):
        return _recognise_semeval(path, match)
    for family, (pattern, schema, rows) in _FILES.items():
        if match := re.fullmatch(pattern, path.name):
            labels = path.with_suffix(".label")
            files = (path, labels) if family == "Twitter" and labels.is_file() else (path,)
            lacks = "scores" if path.name == "test.data" and len(files) == 1 else ""
            return GradedFile(family, match[1].lower(), path, schema, files, rows, lacks)
    return None


def _recognise_semeval(path: Path, match: re.Match[str]) -> GradedFile | None:
    if match["set"].upper() == "ALL":
        return None  # the concatenation of a year's sets
    family = _family_of(path.parent, match["year"])
    if family is None:
        problem = "the year of this STS set is unknown"
        raise InputError(problem, path=path, remedy="put it into a folder named like STS12-en-test")
    # `surprise.OnWN` is OnWN, and case does not matter.
    plain = re.sub(r"^surprise\.", "", match["set"], flags=re.IGNORECASE)
    name = next((name for name in SET_NAMES.get(family[:5], ()) if name.lower() == plain.lower()), plain)
    other = _counterpart(path, match["kind"].lower(), family)
    if match["kind"].lower() == "gs":
        return GradedFile(family, name, path, STS, lacks="sentences") if other is None else None
    files = (path,) if other is None else (path, other)
    scored = other or re.fullmatch(r"\s*\d(\.\d*)?\s*", "".join(first_line_of(path).split("\t")[2:3]))
    return GradedFile(family, name, path, STS, files, _read_semeval, "" if scored else "scores")


def _family_of(folder: Path, year: str | None) -> str | None:
    """Return `STS12`, or `STS12 train` for a training or trial part, by the names of the folders."""
    names = [folder.name]
    for parent in (folder.resolve(), *folder.resolve().parents):
        names.append(parent.name)
        if match := _STS_FOLDER.search(parent.name):
            year = year or match["year"]
            break
    part = next((part[1].lower() for name in names if (part := _NOT_A_TEST.search(name))), None)
    return None if year is None else f"STS{year}" + ("" if part is None else f" {part}")


def _counterpart(path: Path, kind: str, family: str) -> Path | None:
    """Find the gold file of an input file, or vice versa, in the same folder or a sibling folder of the family."""
    other = "input" if kind == "gs" else "gs"
    beside = path.with_name(re.sub(rf"\.{kind}\.", f".{other}.", path.name, count=1, flags=re.IGNORECASE))
    if beside.is_file():
        return beside
    siblings = (folder / beside.name for folder in sorted(path.absolute().parent.parent.iterdir()))
    return next((file for file in siblings if file.is_file() and _family_of(file.parent, None) == family), None)


_SCORE = Field("score", pa.float64(), low=0, high=5)
_SIDES = (Field("sentence1"), Field("sentence2"))
_OTHERS = (Field("_"),) * 8


def _read_semeval(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Read a SemEval set with its scores in a file or the third field; a pair with a blank score is left out."""
    score = replace(_SCORE, may_be_null=True)
    fields = [[*_SIDES, score]] if len(files) == 1 else [[*_SIDES, *_OTHERS], [score]]
    for _, table in read_aligned_tables(files, fields, errors):
        scored = table.filter(table.column("score").is_valid())
        errors.left_out["unscored"] += table.num_rows - scored.num_rows
        yield scored


def _read_sick(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Read SICK by its header."""
    required = {"sentence_A": _SIDES[0], "sentence_B": _SIDES[1], "relatedness_score": _SCORE}
    fields = {**required, "pair_ID": Field("id"), "entailment_judgment": Field("entailment")}
    header = first_line_of(files[0]).split("\t")
    if missing := [name for name in required if name not in header]:
        raise InputError(f"the header lacks {', '.join(missing)}", path=files[0], line=1, remedy="download it again")
    return read_tables(files[0], [fields.get(name, Field("_")) for name in header], errors, header_lines=1)


def _read_stsbenchmark(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Read the STS benchmark; in some lines a source and a licence follow the sentences."""
    fields = [*map(Field, ("genre", "file", "year", "id")), _SCORE, *_SIDES, *_OTHERS[:2]]
    return read_tables(files[0], fields, errors)


def _read_pit(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Read PIT-2015: fields 3 and 4 are the sentences; the score is on a scale of 0 to 1.

    The scores of the test file are in `test.label` (binary label, expert grade divided by 5; all pairs count: Xu,
    Callison-Burch and Dolan 2015, similarity task). Train and dev have the votes `(yes, no)` of five annotators in
    field 5. The score is the fraction of yes. The label is 1 from three votes on, 0 up to one, and null for two.
    """
    votes = None if len(files) > 1 else r"\(([1-9]\d*, \d+|0, [1-9]\d*)\)"
    fields = [Field("topic_id"), Field("topic"), *_SIDES, Field("judgement", pattern=votes, example="(3, 2)")]
    fields += [Field("tags1"), Field("tags2")]
    if len(files) > 1:
        gold = [Field("label", pattern="true|false|----", example="true, false or ----"), _SCORE]
        for _, table in read_aligned_tables(files, [fields, gold], errors):
            numbers = pc.index_in(table.column("label"), pa.array(["false", "true"])).cast(pa.int64())
            yield with_column(table, "label", numbers)
        return
    for table in read_tables(files[0], fields, errors):
        counts = [tuple(map(int, text.strip("()").split(", "))) for text in table.column("judgement").to_pylist()]
        scores = [yes / (yes + no) for yes, no in counts]
        numbers = [1 if yes >= 3 else 0 if yes <= 1 else None for yes, _ in counts]
        table = with_column(table, "score", pa.array(scores, pa.float64()))
        yield with_column(table, "label", pa.array(numbers, pa.int64()))


_FILES: dict[str, tuple[str, pa.Schema, Rows]] = {
    "SICK": (r"(?i)SICK_(train|trial|test)(?:_annotated)?\.txt", SICK, _read_sick),
    "Twitter": (r"(train|dev|test)\.data", PIT, _read_pit),
    "STS-B": (r"sts-(train|dev|test)\.csv", STS_BENCHMARK, _read_stsbenchmark),
}
"""For each benchmark with one file per split: the file names, the columns and the reader."""


@dataclass(kw_only=True)
class GradedSource(Source, LineErrorSettings):
    """Base class of graded sets: a folder with one file per split or set."""

    TAGS: ClassVar[tuple[str, ...]] = ("semantic-textual-similarity",)
    FAMILY: ClassVar[str] = ""

    data_dir: str

    def parts(self) -> list[Part]:
        """List the splits whose files exist, each with its sets in the order of the papers."""
        by_split: dict[str, dict[str, GradedFile]] = {}
        for path in files_below(source_folder(self.data_dir)):
            graded = recognise_graded_file(path)
            if graded is None or graded.lacks == "sentences" or not graded.family.startswith(self.FAMILY):
                continue
            sets = by_split.setdefault(_SPLITS.get(graded.name, graded.family.replace(" ", "_")), {})
            if graded.name in sets:
                problem = f"{graded.family} {graded.name} occurs twice, also as {sets[graded.name].path}"
                raise InputError(problem, path=path, remedy="give a folder with one copy of each set")
            sets[graded.name] = graded
        if not by_split:
            remedy = "--help lists the files of --data-dir"
            raise MissingFilesError(f"this folder contains no file of {self.TITLE}", path=self.data_dir, remedy=remedy)
        parts = []
        for split in sorted(by_split, key=lambda split: (ORDER.get(split, 3), split)):
            order = [*SET_NAMES.get(split, ()), *sorted(by_split[split])]
            ordered = [by_split[split][name] for name in sorted(by_split[split], key=order.index)]
            files = [path for graded in ordered for path in graded.files]
            parts.append(Part(split, ordered[0].schema, files, partial(_read_all, ordered)))
        return parts


def _read_all(sets: list[GradedFile], errors: LineErrors) -> Iterator[pa.Table]:
    for graded in sets:
        table = graded.read(errors)
        if not table.num_rows:
            remedy = "remove the file, or replace it with a complete copy"
            raise InputError("the file contains no scored pair", path=graded.path, remedy=remedy)
        yield table


@dataclass(kw_only=True)
class StsSource(GradedSource):
    """Make a data folder of SemEval STS 2012-2016, one split per year; `evaluate` reads it like the raw files."""

    SUMMARY: ClassVar[str] = "SemEval STS 2012-2016: graded pairs, one split per year"
    TITLE: ClassVar[str] = "SemEval STS"
    URL: ClassVar[str] = "http://ixa2.si.ehu.eus/stswiki/"
    TEMPLATE: ClassVar[str] = "sts"
    FAMILY: ClassVar[str] = "STS1"

    data_dir: str = folder_setting("files such as STS12-en-test/STS.input.MSRpar.txt and STS.gs.MSRpar.txt")


@dataclass(kw_only=True)
class SickSource(GradedSource):
    """Make a data folder of SICK 2014 (Marelli et al. 2014)."""

    SUMMARY: ClassVar[str] = "SICK 2014: graded pairs"
    TITLE: ClassVar[str] = "SICK 2014"
    LICENSE: ClassVar[str] = "cc-by-nc-sa-3.0"
    URL: ClassVar[str] = "https://zenodo.org/records/2787612"
    TEMPLATE: ClassVar[str] = "sick"
    FAMILY: ClassVar[str] = "SICK"

    data_dir: str = folder_setting("SICK_train.txt, SICK_trial.txt and SICK_test_annotated.txt, or some of them")


@dataclass(kw_only=True)
class Pit2015Source(GradedSource):
    """Make a data folder of PIT-2015 (Xu, Callison-Burch and Dolan 2015)."""

    SUMMARY: ClassVar[str] = "PIT-2015: graded pairs of tweets"
    TITLE: ClassVar[str] = "PIT-2015: paraphrases in Twitter"
    URL: ClassVar[str] = "https://github.com/cocoxu/SemEval-PIT2015"
    TEMPLATE: ClassVar[str] = "pit2015"
    FAMILY: ClassVar[str] = "Twitter"

    data_dir: str = folder_setting("train.data, dev.data, test.data and test.label, or some of them")


@dataclass(kw_only=True)
class StsBenchmarkSource(GradedSource):
    """Make a data folder of the STS benchmark (Cer et al. 2017)."""

    SUMMARY: ClassVar[str] = "the STS benchmark: graded pairs"
    TITLE: ClassVar[str] = "STS benchmark"
    LICENSE: ClassVar[str] = "cc-by-sa-4.0"
    URL: ClassVar[str] = "http://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark"
    TEMPLATE: ClassVar[str] = "stsbenchmark"
    FAMILY: ClassVar[str] = "STS-B"

    data_dir: str = folder_setting("sts-train.csv, sts-dev.csv and sts-test.csv, or some of them")
