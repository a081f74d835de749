"""Reads the raw files of graded evaluation sets: SemEval STS, SICK, PIT-2015 and the STS benchmark.

All are UTF-8 text without csv quoting; only a line feed ends a line, because the sentences themselves contain rarer
Unicode line separators. The sets are small: each is read whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from ...errors import InputError
from ..text_blocks import decoded_lines, whole_lines
from ..text_files import LineErrors

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
_SICK = re.compile(r"^SICK_(train|trial|test)(?:_annotated)?\.txt$", re.IGNORECASE)
_PIT = re.compile(r"^(train|dev|test)\.data$")
_STS_BENCHMARK = re.compile(r"^sts-(train|dev|test)\.csv$")
_NOT_A_TEST = re.compile(r"(?<![a-z])(train|trial)(?![a-z])", re.IGNORECASE)
_GOLD_NAME = re.compile(r"\.input\.", re.IGNORECASE)
_PIT_VOTES = re.compile(r"^\((\d+), (\d+)\)$")
_PIT_LABELS = {"true": 1, "false": 0, "----": None}

_GRADED = [("sentence1", pa.string()), ("sentence2", pa.string()), ("score", pa.float64())]
_NAMED = [("benchmark", pa.string()), ("subset", pa.string())]
STS = pa.schema([*_GRADED, *_NAMED])
SICK = pa.schema([*_GRADED, ("id", pa.string()), ("entailment", pa.string()), *_NAMED])
STS_BENCHMARK = pa.schema(
    [*_GRADED, ("genre", pa.string()), ("file", pa.string()), ("year", pa.string()), ("id", pa.string()), *_NAMED]
)
PIT = pa.schema(
    [
        *_GRADED,
        ("label", pa.int64()),
        ("judgement", pa.string()),
        ("topic_id", pa.string()),
        ("topic", pa.string()),
        ("tags1", pa.string()),
        ("tags2", pa.string()),
        *_NAMED,
    ]
)
"""All of them have `sentence1`, `sentence2`, `score`, and as `benchmark` and `subset` the set they belong to."""

Read = Callable[[LineErrors, Counter[str]], pa.Table]


@dataclass(frozen=True)
class GradedFile:
    """A file that belongs to a graded set.

    Attributes:
        family: The benchmark with its year: `STS12` … `STS16`, `SICK`, `Twitter`, `STS-B`; `STS12 train` for a part
            that is not a test set.
        name: The set's name within its family, e.g. `MSRpar`.
        files: All files that are read for it.
        read: Reads the set; None if only the scores are there and the sentences are not.
        lacks: `sentences` or `scores` where these are missing; reading a set without scores is an error.
    """

    family: str
    name: str
    path: Path
    schema: pa.Schema
    files: tuple[Path, ...] = ()
    read: Read | None = None
    lacks: str = ""


def recognise_graded_file(path: Path) -> GradedFile | None:
    """Returns which graded set a file belongs to, by its name; None for any other file."""
    if match := _STS_INPUT.match(path.name):
        return _recognise_semeval(path, match)
    if match := _SICK.match(path.name):
        return _described("SICK", match[1].lower(), path, SICK, (path,), read_sick)
    if match := _PIT.match(path.name):
        labels = path.with_suffix(".label")
        files = (path, labels) if labels.is_file() else (path,)
        lacks = "scores" if match[1] == "test" and not labels.is_file() else ""
        return _described("Twitter", match[1], path, PIT, files, read_pit, lacks)
    if match := _STS_BENCHMARK.match(path.name):
        return _described("STS-B", match[1], path, STS_BENCHMARK, (path,), read_stsbenchmark)
    return None


def _described(
    family: str,
    name: str,
    path: Path,
    schema: pa.Schema,
    files: tuple[Path, ...],
    read_file: Callable[[Path, LineErrors, Counter[str]], list[dict[str, Any]]],
    lacks: str = "",
) -> GradedFile:
    def read(errors: LineErrors, left_out: Counter[str]) -> pa.Table:
        named = {"benchmark": family, "subset": name}
        return pa.Table.from_pylist([row | named for row in read_file(path, errors, left_out)], schema=schema)

    return GradedFile(family, name, path, schema, files, read, lacks)


def _recognise_semeval(path: Path, match: re.Match[str]) -> GradedFile | None:
    if match["set"].upper() == "ALL":
        return None  # the concatenation of a year's sets
    year = match["year"] or _year_of(path.parent)
    if year is None:
        raise InputError(
            "cannot tell the year of this STS set", path=path, remedy="put it into a folder named like STS12-en-test"
        )
    part = _part_of(path.parent)
    family = f"STS{year}" + ("" if part is None else f" {part}")
    name = _set_name(f"STS{year}", match["set"])
    if match["kind"].lower() == "gs":
        sentences = _counterpart(path, "gs", "input", year)
        return GradedFile(family, name, path, STS, lacks="sentences") if sentences is None else None
    gold = _counterpart(path, "input", "gs", year)
    if gold is None:
        scored = _has_scores(path)
        beside = path.with_name(_GOLD_NAME.sub(".gs.", path.name, count=1))
        return _described(
            family,
            name,
            path,
            STS,
            (path,),
            lambda path, *rest: read_semeval(path, None if scored else beside, *rest),
            "" if scored else "scores",
        )
    return _described(family, name, path, STS, (path, gold), lambda path, *rest: read_semeval(path, gold, *rest))


def _year_of(folder: Path) -> str | None:
    """Reads the year from the nearest folder that names one."""
    resolved = folder.resolve()
    years = (_STS_FOLDER.search(parent.name) for parent in (resolved, *resolved.parents))
    return next((year["year"] for year in years if year), None)


def _part_of(folder: Path) -> str | None:
    """Returns `train` or `trial` where a folder, up to the one that names the year, is for that; None for a test."""
    names = [folder.name]
    resolved = folder.resolve()
    for parent in (resolved, *resolved.parents):
        names.append(parent.name)
        if _STS_FOLDER.search(parent.name):
            break
    return next((part[1].lower() for name in names if (part := _NOT_A_TEST.search(name))), None)


def _counterpart(path: Path, kind: str, other: str, year: str) -> Path | None:
    """Finds the gold file of an input file or the reverse: beside it, or in a sibling folder of the same year."""
    name = re.sub(rf"\.{kind}\.", f".{other}.", path.name, count=1, flags=re.IGNORECASE)
    beside = path.with_name(name)
    if beside.is_file():
        return beside
    siblings = sorted(folder / name for folder in path.absolute().parent.parent.iterdir() if folder.is_dir())
    return next(
        (
            file
            for file in siblings
            if file.is_file() and _year_of(file.parent) == year and _part_of(file.parent) == _part_of(path.parent)
        ),
        None,
    )


def _has_scores(path: Path) -> bool:
    """Returns whether the first line has a score as its third field, as files of STS 2017 have."""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        fields = file.readline().rstrip("\r\n").split("\t")
    return len(fields) > 2 and re.fullmatch(r"\s*\d(\.\d*)?\s*", fields[2]) is not None


def _set_name(family: str, raw: str) -> str:
    """Maps a file's set name to that of `SET_NAMES`: `surprise.OnWN` is OnWN, case does not matter."""
    plain = re.sub(r"^surprise\.", "", raw, flags=re.IGNORECASE)
    return next((name for name in SET_NAMES.get(family, ()) if name.lower() == plain.lower()), plain)


def read_semeval(path: Path, gold: Path | None, errors: LineErrors, left_out: Counter[str]) -> list[dict[str, Any]]:
    """Reads a SemEval set; a pair with a blank gold line is unscored and left out.

    Args:
        path: The sentences.
        gold: The scores; None where they are the third field of `path`.
        errors: What to do with a malformed line.
        left_out: Counts the unscored pairs.
    """
    lines = _lines(path, errors)
    if gold is None:
        golds: list[str | None] = [None if line is None else [*line.split("\t"), "", "", ""][2] for line in lines]
    elif gold.is_file():
        golds = _lines(gold, errors)
    else:
        raise InputError("no gold file beside it", path=path, remedy=f"put {gold.name} there")
    if gold is not None and len(lines) != len(golds):
        raise InputError(
            f"{len(lines)} lines, but {len(golds)} in {gold.name}",
            path=path,
            line=min(len(lines), len(golds)) + 1,
            remedy="both need one line a pair; an unscored pair has a blank gold line",
        )
    rows = []
    for number, (line, text) in enumerate(zip(lines, golds, strict=True), start=1):
        if line is None or text is None:
            continue
        if not text.strip():
            left_out["unscored"] += 1
            continue
        fields = _fields(line, 2, path, number, errors)
        score = None if fields is None else _number(text, gold or path, number, errors)
        if fields is not None and score is not None:
            rows.append(_pair(fields[0], fields[1], score))
    return rows


def read_sick(path: Path, errors: LineErrors, left_out: Counter[str]) -> list[dict[str, Any]]:
    """Reads SICK by its header."""
    lines = _lines(path, errors)
    header = (lines[0] or "").split("\t") if lines else []
    wanted = ("sentence_A", "sentence_B", "relatedness_score")
    missing = [name for name in wanted if name not in header]
    if missing:
        raise InputError(f"the header lacks {', '.join(missing)}", path=path, line=1)
    first, second, score_field = (header.index(name) for name in wanted)
    optional = {name: header.index(raw) for name, raw in _SICK_COLUMNS.items() if raw in header}
    least = max(first, second, score_field, *optional.values()) + 1
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        fields = None if line is None else _fields(line, least, path, number, errors)
        score = None if fields is None else _number(fields[score_field], path, number, errors)
        if fields is not None and score is not None:
            others = {name: fields[place] for name, place in optional.items()}
            rows.append(_pair(fields[first], fields[second], score) | others)
    return rows


_SICK_COLUMNS = {"id": "pair_ID", "entailment": "entailment_judgment"}


def read_stsbenchmark(path: Path, errors: LineErrors, left_out: Counter[str]) -> list[dict[str, Any]]:
    """Reads the STS benchmark: genre, file, year, id, score, two sentences, and in some lines a source and licence."""
    rows = []
    for number, line in enumerate(_lines(path, errors), start=1):
        fields = None if line is None else _fields(line, 7, path, number, errors)
        score = None if fields is None else _number(fields[4], path, number, errors)
        if fields is not None and score is not None:
            others = dict(zip(("genre", "file", "year", "id"), fields, strict=False))
            rows.append(_pair(fields[5], fields[6], score) | others)
    return rows


def read_pit(path: Path, errors: LineErrors, left_out: Counter[str]) -> list[dict[str, Any]]:
    """Reads PIT-2015: fields 3 and 4 are the sentences; the score is on a scale of 0 to 1.

    The test file is scored by `test.label` (binary label, expert grade divided by 5), all pairs counting, the
    debatable ones too (Xu, Callison-Burch and Dolan 2015, similarity task). Train and dev have the votes `(yes, no)`
    of five annotators in field 5: the score is the share of yes. The label is 1 from three votes on, 0 up to one, and
    null between, where the pair is debatable.
    """
    labels = path.with_suffix(".label")
    lines = _lines(path, errors)
    if path.name == "test.data" and not labels.is_file():
        raise InputError("no test.label beside it", path=path, remedy="put the gold labels there")
    gold: list[str | None] = [None] * len(lines)
    if labels.is_file():
        gold = _lines(labels, errors)
        if len(gold) != len(lines):
            raise InputError(
                f"{len(gold)} lines, but {len(lines)} in {path.name}",
                path=labels,
                line=min(len(lines), len(gold)) + 1,
                remedy="both need one line a pair",
            )
    rows = []
    for number, (line, text) in enumerate(zip(lines, gold, strict=True), start=1):
        fields = None if line is None else _fields(line, 5, path, number, errors)
        if fields is None or (labels.is_file() and text is None):
            continue
        if labels.is_file():
            judged = _gold_judgement(text or "", labels, number, errors)
        else:
            judged = _votes(fields[4], path, number, errors)
        if judged is None:
            continue
        score, label = judged
        padded = [*fields, None, None]
        rows.append(
            _pair(fields[2], fields[3], score)
            | {"label": label, "judgement": fields[4], "topic_id": fields[0], "topic": fields[1]}
            | {"tags1": padded[5], "tags2": padded[6]}
        )
    return rows


def _gold_judgement(text: str, path: Path, number: int, errors: LineErrors) -> tuple[float, int | None] | None:
    fields = _fields(text, 2, path, number, errors)
    score = None if fields is None else _number(fields[1], path, number, errors)
    if fields is None or score is None:
        return None
    if fields[0].strip() not in _PIT_LABELS:
        errors.handle(f"`{fields[0]}` is not true, false or ----", path, number, "fix the line")
        return None
    return score, _PIT_LABELS[fields[0].strip()]


def _votes(text: str, path: Path, number: int, errors: LineErrors) -> tuple[float, int | None] | None:
    match = _PIT_VOTES.match(text.strip())
    if match is None or int(match[1]) + int(match[2]) == 0:
        errors.handle(f"`{text}` is not a count of votes like (3, 2)", path, number, "fix the line")
        return None
    yes = int(match[1])
    return yes / (yes + int(match[2])), 1 if yes >= 3 else 0 if yes <= 1 else None


def _pair(sentence1: str, sentence2: str, score: float) -> dict[str, Any]:
    return {"sentence1": sentence1.strip(), "sentence2": sentence2.strip(), "score": score}


def _lines(path: Path, errors: LineErrors) -> list[str | None]:
    """Returns the lines of a UTF-8 file without their ends; None for one that is not UTF-8 and is skipped."""
    lines: list[str | None] = []
    for block in whole_lines(path):
        lines += decoded_lines(block, path, len(lines) + 1, errors)
    return [None if line is None else line.removesuffix("\r") for line in lines]


def _fields(line: str, count: int, path: Path, number: int, errors: LineErrors) -> list[str] | None:
    fields = line.split("\t")
    if len(fields) >= count:
        return fields
    errors.handle(
        f"{len(fields)} tab-separated field{'s' if len(fields) > 1 else ''}, {count} or more expected",
        path,
        number,
        "fix the line",
    )
    return None


def _number(text: str, path: Path, number: int, errors: LineErrors) -> float | None:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if 0.0 <= value <= MAXIMUM_SCORE:
        return value
    errors.handle(f"`{text.strip()}` is not a score from 0 to {MAXIMUM_SCORE:g}", path, number, "fix the line")
    return None
