"""Graded evaluation sets: SemEval STS 2012-2016, SICK 2014, PIT-2015 and the STS benchmark.

All are UTF-8 text without CSV quoting. The sets are small: each is read whole. Splits are `train`, `validation` and
`test`, of SemEval STS a year each (`STS12` … `STS16`; parts for training and trial have splits of their own,
`STS12_train`). `evaluate` reads the folders that `prepare` makes as it does the raw files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError
from ...settings import setting
from ..text_blocks import LineErrors, files_below
from ..text_files import Field, first_line_of, read_lines, read_tables, read_typed_fields
from .source import LineErrorSettings, NothingThereError, Part, Source, source_folder

MAXIMUM_SCORE = 5.0
SET_NAMES: dict[str, tuple[str, ...]] = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "OnWN", "SMTnews"),
    "STS13": ("headlines", "OnWN", "FNWN", "SMT"),
    "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
"""The sets of each year that are scored, in the order of the papers."""

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
"""All of them have `sentence1`, `sentence2`, `score`, and as `benchmark` and `subset` the set they belong to."""

Row = dict[str, Any]
Rows = Callable[[Path, LineErrors], Iterator[Row]]


@dataclass(frozen=True)
class GradedFile:
    """A file that belongs to a graded set.

    `family` is the benchmark with its year: `STS12` … `STS16`, `SICK`, `Twitter`, `STS-B`; `STS12 train` for a part
    that is not a test set. `rows` reads the set; `lacks` says whether `sentences` or `scores` are not there.
    """

    family: str
    name: str
    path: Path
    schema: pa.Schema
    files: tuple[Path, ...] = ()
    rows: Rows | None = None
    lacks: str = ""

    def read(self, errors: LineErrors) -> pa.Table:
        """Reads the scored pairs of the set whole."""
        assert self.rows is not None
        named = {"benchmark": self.family, "subset": self.name}
        rows = [row | named for row in self.rows(self.path, errors)]
        table = pa.Table.from_pylist(rows, schema=self.schema)
        for index, name in enumerate(("sentence1", "sentence2")):
            table = table.set_column(index, name, pc.utf8_trim_whitespace(table.column(name)))
        return table


def recognise_graded_file(path: Path) -> GradedFile | None:
    """Returns which graded set a file belongs to, by its name; None for any other file."""
    if match := _STS_INPUT.match(path.name):
        return _recognise_semeval(path, match)
    for family, (pattern, schema, rows) in _FILES.items():
        if match := re.fullmatch(pattern, path.name, re.IGNORECASE if family == "SICK" else 0):
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
        raise InputError(
            "cannot tell the year of this STS set", path=path, remedy="put it into a folder named like STS12-en-test"
        )
    # `surprise.OnWN` is OnWN, and case does not matter.
    plain = re.sub(r"^surprise\.", "", match["set"], flags=re.IGNORECASE)
    name = next((name for name in SET_NAMES.get(family[:5], ()) if name.lower() == plain.lower()), plain)
    if match["kind"].lower() == "gs":
        sentences = _counterpart(path, "gs", "input", family)
        return GradedFile(family, name, path, STS, lacks="sentences") if sentences is None else None
    gold = _counterpart(path, "input", "gs", family)
    if gold is not None:
        return GradedFile(family, name, path, STS, (path, gold), partial(_read_semeval, gold))
    scored = re.fullmatch(r"\s*\d(\.\d*)?\s*", "".join(first_line_of(path).split("\t")[2:3])) is not None
    rows = _read_scored if scored else partial(_read_semeval, _other_name(path, "input", "gs"))
    return GradedFile(family, name, path, STS, (path,), rows, "" if scored else "scores")


def _family_of(folder: Path, year: str | None) -> str | None:
    """Returns `STS12`, or `STS12 train` for a part that is no test, by the folders up to that with the year."""
    names = [folder.name]
    for parent in (folder.resolve(), *folder.resolve().parents):
        names.append(parent.name)
        if found := _STS_FOLDER.search(parent.name):
            year = year or found["year"]
            break
    part = next((part[1].lower() for name in names if (part := _NOT_A_TEST.search(name))), None)
    return None if year is None else f"STS{year}" + ("" if part is None else f" {part}")


def _other_name(path: Path, kind: str, other: str) -> Path:
    return path.with_name(re.sub(rf"\.{kind}\.", f".{other}.", path.name, count=1, flags=re.IGNORECASE))


def _counterpart(path: Path, kind: str, other: str, family: str) -> Path | None:
    """Finds the gold file of an input file or the reverse: beside it, or in a sibling folder of the same family."""
    beside = _other_name(path, kind, other)
    if beside.is_file():
        return beside
    siblings = (folder / beside.name for folder in sorted(path.absolute().parent.parent.iterdir()))
    return next((file for file in siblings if file.is_file() and _family_of(file.parent, None) == family), None)


_SCORE = Field("score", pa.float64(), low=0, high=MAXIMUM_SCORE)
_SCORE_OR_BLANK = replace(_SCORE, may_be_null=True)


def _read_semeval(gold: Path, path: Path, errors: LineErrors) -> Iterator[Row]:
    """Reads a SemEval set; a pair with a blank gold line is unscored and left out."""
    if not gold.is_file():
        raise InputError("no gold file beside it", path=path, remedy=f"put {gold.name} there")
    of_lines = _gold_lines(path, gold, [_SCORE_OR_BLANK], errors)
    texts = (text for block in read_lines(path, errors) for text in block.to_pylist())
    for line, text in enumerate(texts, start=1):
        if text is None or line not in of_lines:
            continue
        sides = text.split("\t")[:2]
        score = of_lines[line]["score"]
        errors.left_out["unscored"] += score is None
        if score is not None and len(sides) == 2:
            yield {"sentence1": sides[0], "sentence2": sides[1], "score": score}
        elif score is not None:
            errors.handle("1 tab-separated field, 2 or more expected", path, line, "fix the line")


def _read_scored(path: Path, errors: LineErrors) -> Iterator[Row]:
    """Reads a SemEval set with the scores in its third field."""
    for table in read_tables(path, [Field("sentence1"), Field("sentence2"), _SCORE_OR_BLANK], errors):
        scored = table.column("score").is_valid()
        errors.left_out["unscored"] += table.num_rows - (pc.sum(scored).as_py() or 0)
        yield from table.filter(scored).to_pylist()


def _gold_lines(path: Path, gold: Path, fields: Sequence[Field], errors: LineErrors) -> dict[int, Row]:
    """Reads the gold file that is aligned with a file line by line."""
    counts = [sum(map(len, read_lines(file, LineErrors("skip")))) for file in (path, gold)]
    if counts[0] != counts[1]:
        raise InputError(
            f"{counts[0]} lines, but {counts[1]} in {gold.name}",
            path=path,
            line=min(counts) + 1,
            remedy="both need one line a pair; an unscored pair has a blank gold line",
        )
    errors.align([path, gold])
    return dict(_numbered(read_typed_fields(gold, fields, errors)))


def _numbered(blocks: Iterable[tuple[np.ndarray, pa.Table]]) -> Iterator[tuple[int, Row]]:
    for lines, table in blocks:
        yield from zip(lines.tolist(), table.to_pylist(), strict=True)


def _read_sick(path: Path, errors: LineErrors) -> Iterator[Row]:
    """Reads SICK by its header."""
    names = {
        "sentence_A": "sentence1",
        "sentence_B": "sentence2",
        "relatedness_score": "score",
        "pair_ID": "id",
        "entailment_judgment": "entailment",
    }
    header = first_line_of(path).split("\t")
    if missing := [raw for raw in list(names)[:3] if raw not in header]:
        raise InputError(f"the header lacks {', '.join(missing)}", path=path, line=1)
    return _read_columns([names.get(raw, "_") for raw in header], 1, path, errors)


def _read_stsbenchmark(path: Path, errors: LineErrors) -> Iterator[Row]:
    """Reads the STS benchmark: in some lines a source and a licence follow the sentences."""
    names = ["genre", "file", "year", "id", "score", "sentence1", "sentence2", "_", "_"]
    return _read_columns(names, 0, path, errors)


def _read_columns(names: Sequence[str], header_lines: int, path: Path, errors: LineErrors) -> Iterator[Row]:
    fields = [_SCORE if name == "score" else Field(name) for name in names]
    for table in read_tables(path, fields, errors, header_lines=header_lines):
        yield from table.to_pylist()


def _read_pit(path: Path, errors: LineErrors) -> Iterator[Row]:
    """Reads PIT-2015: fields 3 and 4 are the sentences; the score is on a scale of 0 to 1.

    The test file is scored by `test.label` (binary label, expert grade divided by 5), all pairs counting (Xu,
    Callison-Burch and Dolan 2015, similarity task). Train and dev have the votes `(yes, no)` of five annotators in
    field 5: the score is the share of yes, the label 1 from three votes on, 0 up to one, null where it is debatable.
    """
    labels = path.with_suffix(".label")
    if path.name == "test.data" and not labels.is_file():
        raise InputError("no test.label beside it", path=path, remedy="put the gold labels there")
    votes = None if labels.is_file() else r"\(([1-9]\d*, \d+|0, [1-9]\d*)\)"
    fields = [Field(name) for name in ("topic_id", "topic", "sentence1", "sentence2")]
    fields += [Field("judgement", pattern=votes, example="(3, 2)"), Field("tags1"), Field("tags2")]
    of_lines: dict[int, Row] | None = None
    if labels.is_file():
        gold = [Field("label", pattern="true|false|----", example="true, false or ----"), _SCORE]
        of_lines = _gold_lines(path, labels, gold, errors)
    for line, row in _numbered(read_typed_fields(path, fields, errors)):
        if of_lines is None:
            yes, no = map(int, row["judgement"].strip("()").split(", "))
            yield row | {"score": yes / (yes + no), "label": 1 if yes >= 3 else 0 if yes <= 1 else None}
        elif line in of_lines:
            yield row | of_lines[line] | {"label": {"true": 1, "false": 0}.get(of_lines[line]["label"])}


_FILES: dict[str, tuple[str, pa.Schema, Rows]] = {
    "SICK": (r"SICK_(train|trial|test)(?:_annotated)?\.txt", SICK, _read_sick),
    "Twitter": (r"(train|dev|test)\.data", PIT, _read_pit),
    "STS-B": (r"sts-(train|dev|test)\.csv", STS_BENCHMARK, _read_stsbenchmark),
}
"""For each benchmark of one file a split: its names, its columns, and what reads it."""


@dataclass(kw_only=True)
class GradedSource(Source, LineErrorSettings):
    """What graded sets share: a folder below which their files are, a split each."""

    TAGS: ClassVar[tuple[str, ...]] = ("semantic-textual-similarity",)
    PARTS: ClassVar[tuple[str, ...]] = ("train", "validation", "test")
    FAMILY: ClassVar[str] = ""

    data_dir: str

    def parts(self) -> list[Part]:
        """Lists the splits that are there, each with its sets in the order of the papers."""
        by_split: dict[str, list[GradedFile]] = {}
        for (split, _), graded in self._sets().items():
            by_split.setdefault(split, []).append(graded)
        if not by_split:
            raise NothingThereError(
                f"no file of {self.TITLE} is below this folder",
                path=self.data_dir,
                remedy="--help names the files that belong below --data-dir",
            )
        parts = []
        for split in sorted(by_split, key=lambda name: (self.PARTS.index(name) if name in self.PARTS else 0, name)):
            names = SET_NAMES.get(split, ())
            files = sorted(
                by_split[split],
                key=lambda graded: (names.index(graded.name) if graded.name in names else len(names), graded.name),
            )
            paths = [path for graded in files for path in graded.files]
            parts.append(Part(split, files[0].schema, paths, partial(_all, files)))
        return parts

    def _sets(self) -> dict[tuple[str, str], GradedFile]:
        """Finds the sets of the benchmark by split and name; a set that is there twice is an error."""
        sets: dict[tuple[str, str], GradedFile] = {}
        for path in files_below(source_folder(self.data_dir)):
            graded = recognise_graded_file(path)
            if graded is None or graded.rows is None or not graded.family.startswith(self.FAMILY):
                continue
            is_semeval = self.FAMILY == "STS1"
            key = (graded.family.replace(" ", "_"), graded.name) if is_semeval else (_SPLITS[graded.name], "")
            if key in sets:
                raise InputError(
                    f"{graded.family} {graded.name} occurs twice, also as {sets[key].path}",
                    path=path,
                    remedy="give a folder that holds each set once",
                )
            sets[key] = graded
        return sets


def _all(sets: list[GradedFile], errors: LineErrors) -> Iterator[pa.Table]:
    for graded in sets:
        table = graded.read(errors)
        if not table.num_rows:
            raise InputError(
                "the file contains no scored pair",
                path=graded.path,
                remedy="remove the file, or replace it with a complete copy",
            )
        yield table


@dataclass(kw_only=True)
class StsSource(GradedSource):
    """Makes a data folder of SemEval STS 2012-2016, one split a year; `evaluate` reads it as it does the raw files."""

    SUMMARY: ClassVar[str] = "SemEval STS 2012-2016: graded pairs, one split a year"
    TITLE: ClassVar[str] = "SemEval STS"
    DESCRIPTION: ClassVar[str] = "SemEval semantic textual similarity: sentence pairs scored from 0 to 5."
    URL: ClassVar[str] = "http://ixa2.si.ehu.eus/stswiki/"
    TEMPLATE: ClassVar[str] = "sts"
    FAMILY: ClassVar[str] = "STS1"

    data_dir: str = setting(
        "the folder below which files such as STS12-en-test/STS.input.MSRpar.txt and STS.gs.MSRpar.txt are",
        path=True,
    )

    def missing(self) -> list[str]:
        """Names the sets of these years that are not there, those with scores only among them."""
        present = {f"{graded.family} {graded.name}" for graded in self._sets().values()}
        names = (f"{family} {name}" for family, names in SET_NAMES.items() for name in names)
        return [name for name in names if name not in present]


@dataclass(kw_only=True)
class SickSource(GradedSource):
    """Makes a data folder of SICK 2014 (Marelli et al. 2014)."""

    SUMMARY: ClassVar[str] = "SICK 2014: graded pairs"
    TITLE: ClassVar[str] = "SICK 2014"
    DESCRIPTION: ClassVar[str] = "Sentence pairs with relatedness from 1 to 5 and entailment."
    LICENSE: ClassVar[str] = "cc-by-nc-sa-3.0"
    URL: ClassVar[str] = "https://zenodo.org/records/2787612"
    TEMPLATE: ClassVar[str] = "sick"
    FAMILY: ClassVar[str] = "SICK"

    data_dir: str = setting(
        "the folder below which SICK_train.txt, SICK_trial.txt and SICK_test_annotated.txt are, or some of them",
        path=True,
    )


@dataclass(kw_only=True)
class Pit2015Source(GradedSource):
    """Makes a data folder of PIT-2015 (Xu, Callison-Burch and Dolan 2015)."""

    SUMMARY: ClassVar[str] = "PIT-2015: graded pairs of tweets"
    TITLE: ClassVar[str] = "PIT-2015: paraphrases in Twitter"
    DESCRIPTION: ClassVar[str] = "Pairs of tweets on one topic, judged as paraphrases."
    URL: ClassVar[str] = "https://github.com/cocoxu/SemEval-PIT2015"
    TEMPLATE: ClassVar[str] = "pit2015"
    FAMILY: ClassVar[str] = "Twitter"

    data_dir: str = setting(
        "the folder below which train.data, dev.data, test.data and test.label are, or some of them",
        path=True,
    )


@dataclass(kw_only=True)
class StsBenchmarkSource(GradedSource):
    """Makes a data folder of the STS benchmark (Cer et al. 2017)."""

    SUMMARY: ClassVar[str] = "the STS benchmark: graded pairs"
    TITLE: ClassVar[str] = "STS benchmark"
    DESCRIPTION: ClassVar[str] = "A selection of SemEval STS 2012-2017, scored from 0 to 5."
    LICENSE: ClassVar[str] = "cc-by-sa-4.0"
    URL: ClassVar[str] = "http://ixa2.si.ehu.eus/stswiki/index.php/STSbenchmark"
    TEMPLATE: ClassVar[str] = "stsbenchmark"
    FAMILY: ClassVar[str] = "STS-B"

    data_dir: str = setting(
        "the folder below which sts-train.csv, sts-dev.csv and sts-test.csv are, or some of them", path=True
    )
