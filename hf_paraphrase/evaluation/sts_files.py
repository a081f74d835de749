"""Finds and reads the files of the semantic textual similarity (STS) sets below a folder.

Layouts: SemEval STS 2012–2016 (`STS.input.<set>.txt` beside `STS.gs.<set>.txt`), SICK 2014 (`SICK_*.txt`), PIT-2015
(`*.data`, `test.label`) and the STS benchmark (`sts-*.csv`). All are read as UTF-8 text without csv quoting; only a
line feed ends a line, because the sentences themselves contain rarer Unicode line separators.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError
from .graded_set import GradedSet

STS_TASKS: dict[str, tuple[str, ...]] = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "OnWN", "SMTnews"),
    "STS13": ("headlines", "OnWN", "FNWN", "SMT"),
    "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "SICK": ("test",),
    "Twitter": ("test",),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
"""The 22 test sets of Wieting, Mallinson and Gimpel (2017), and STS16 for tuning."""

_STS_INPUT = re.compile(r"^STS(?:20)?(?P<year>1[2-7])?\.(?P<kind>input|gs)\.(?P<set>.+)\.txt$", re.IGNORECASE)
_STS_FOLDER = re.compile(r"STS(?:[-_. ]?(?:20)?|.*20)(?P<year>1[2-7])(?!\d)", re.IGNORECASE)
_NOT_A_TEST = re.compile(r"(?<![a-z])(train|trial)(?![a-z])", re.IGNORECASE)
_PIT_VOTES = re.compile(r"^\((\d+), (\d+)\)$")
_MAXIMUM_SCORE = 5.0


@dataclass(frozen=True)
class FoundSets:
    """What :func:`find_sts_sets` found.

    Attributes:
        sets: The graded sets, in the order of `STS_TASKS`, others after them.
        without_input: Keys of sets whose scores are there but whose sentences are not, e.g. `STS13 SMT`.
        paths: The files that were read.
    """

    sets: tuple[GradedSet, ...]
    without_input: tuple[str, ...]
    paths: tuple[Path, ...]


def find_sts_sets(folder: str | os.PathLike[str], *, families: tuple[str, ...] | None = None) -> FoundSets:
    """Finds every STS set below `folder`, at any depth, and reads it.

    The year of a SemEval set is read from its folder's name (`STS12-en-test`, `sts2012`, …); sets in a folder for
    training or trial are read too, under another family (`STS12 train`), so they never enter a test mean.
    Pairs with a blank gold line are unscored and left out. A copy with the same content is read once.

    Args:
        folder: Where to look.
        families: Only these families are read; all by default.

    Raises:
        InputError: If the folder does not exist; for a malformed file, with its line; for two different files that
            claim to be the same set.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError("no such folder", path=root, remedy="give the folder that holds the STS sets")
    found: dict[str, tuple[GradedSet, Path]] = {}
    lacking: dict[str, None] = {}
    paths: list[Path] = []
    for path in _files_below(root):
        recognised = _recognise(path)
        if recognised is None:
            continue
        family, name, read = recognised
        if families is not None and family not in families:
            continue
        if read is None:
            lacking[f"{family} {name}"] = None
            continue
        sentences1, sentences2, scores = read()
        if not scores:
            raise InputError(
                "no scored pair in it", path=path, remedy="remove the file, or replace it by a whole copy"
            )
        graded = GradedSet(name, family, sentences1, sentences2, np.asarray(scores, dtype=np.float64))
        earlier = found.get(graded.key)
        if earlier is None:
            found[graded.key] = (graded, path)
            paths.append(path)
        elif not _same_content(earlier[0], graded):
            raise InputError(
                f"{graded.key} was already read from {earlier[1]}, with other content",
                path=path,
                remedy="give a folder that holds each set once",
            )
    order = [f"{family} {name}" for family, names in STS_TASKS.items() for name in names]
    keys = [key for key in order if key in found] + [key for key in found if key not in order]
    return FoundSets(
        sets=tuple(found[key][0] for key in keys),
        without_input=tuple(key for key in lacking if key not in found),
        paths=tuple(paths),
    )


def _files_below(root: Path) -> Iterator[Path]:
    for directory, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield from (Path(directory) / name for name in sorted(files))


Columns = tuple[list[str], list[str], list[float]]
Recognised = tuple[str, str, Callable[[], Columns] | None]


def _recognise(path: Path) -> Recognised | None:
    """Returns the family, the name and a reader for a file that belongs to a graded set; None for any other file."""
    name = path.name
    match = _STS_INPUT.match(name)
    if match:
        return _recognise_semeval(path, match)
    match = re.match(r"^SICK_(train|trial|test)(?:_annotated)?\.txt$", name, re.IGNORECASE)
    if match:
        return "SICK", match[1].lower(), lambda: _read_sick(path)
    match = re.match(r"^(train|dev|test)\.data$", name)
    if match:
        return "Twitter", match[1], lambda: _read_pit(path)
    match = re.match(r"^sts-(train|dev|test)\.csv$", name)
    if match:
        return "STS-B", match[1], lambda: _read_stsbenchmark(path)
    return None


def _recognise_semeval(path: Path, match: re.Match[str]) -> Recognised | None:
    if match["set"].upper() == "ALL":
        return None  # the concatenation of a year's sets
    year, folders = match["year"], [path.parent.name]
    for parent in [path.parent.resolve(), *path.parent.resolve().parents]:
        if year is not None:
            break
        in_name = _STS_FOLDER.search(parent.name)
        year = in_name["year"] if in_name else None
        folders.append(parent.name)
    if year is None:
        raise InputError(
            "cannot tell the year of this STS set", path=path, remedy="put it into a folder named like STS12-en-test"
        )
    # Only the folders from the one that names the year downward tell what the files are for.
    other = next((found[1].lower() for folder in folders if (found := _NOT_A_TEST.search(folder))), None)
    family = f"STS{year}" + ("" if other is None else f" {other}")
    name = _set_name(f"STS{year}", match["set"])
    if match["kind"].lower() == "gs":
        sentences = path.with_name(re.sub(r"\.gs\.", ".input.", path.name, count=1, flags=re.IGNORECASE))
        return None if sentences.is_file() else (family, name, None)
    gold = path.with_name(re.sub(r"\.input\.", ".gs.", path.name, count=1, flags=re.IGNORECASE))
    return family, name, lambda: _read_semeval(path, gold)


def _set_name(family: str, raw: str) -> str:
    """Maps a file's set name to that of `STS_TASKS`: `surprise.OnWN` is OnWN, case does not matter."""
    plain = re.sub(r"^surprise\.", "", raw, flags=re.IGNORECASE)
    return next((name for name in STS_TASKS.get(family, ()) if name.lower() == plain.lower()), plain)


def _same_content(first: GradedSet, second: GradedSet) -> bool:
    return (
        first.sentences1 == second.sentences1
        and first.sentences2 == second.sentences2
        and np.array_equal(first.scores, second.scores)
    )


def _read_semeval(path: Path, gold: Path) -> Columns:
    if not gold.is_file():
        raise InputError("no gold file beside it", path=path, remedy=f"put {gold.name} there")
    lines, golds = _lines(path), _lines(gold)
    if len(lines) != len(golds):
        raise InputError(
            f"{len(lines)} lines, but {len(golds)} in {gold.name}",
            path=path,
            line=min(len(lines), len(golds)) + 1,
            remedy="both need one line a pair; an unscored pair has a blank gold line",
        )
    columns: Columns = ([], [], [])
    for number, (line, score) in enumerate(zip(lines, golds, strict=True), start=1):
        if score.strip():
            fields = _fields(line, 2, path, number)
            _append(columns, fields[0], fields[1], _number(score, gold, number))
    return columns


def _read_sick(path: Path) -> Columns:
    lines = _lines(path)
    header = lines[0].split("\t") if lines else []
    wanted = ("sentence_A", "sentence_B", "relatedness_score")
    missing = [name for name in wanted if name not in header]
    if missing:
        raise InputError(f"the header lacks {', '.join(missing)}", path=path, line=1)
    first, second, score = (header.index(name) for name in wanted)
    columns: Columns = ([], [], [])
    for number, line in enumerate(lines[1:], start=2):
        fields = _fields(line, max(first, second, score) + 1, path, number)
        _append(columns, fields[first], fields[second], _number(fields[score], path, number))
    return columns


def _read_stsbenchmark(path: Path) -> Columns:
    columns: Columns = ([], [], [])
    for number, line in enumerate(_lines(path), start=1):
        fields = _fields(line, 7, path, number)
        _append(columns, fields[5], fields[6], _number(fields[4], path, number))
    return columns


def _read_pit(path: Path) -> Columns:
    """Reads PIT-2015: fields 3 and 4 are the sentences; the score is on a scale of 0 to 1.

    The test file is scored by `test.label` (binary label, expert grade divided by 5), all pairs counting, the
    debatable ones too (Xu, Callison-Burch and Dolan 2015, similarity task). Train and dev have the votes `(yes, no)`
    of five annotators in field 5: the score is the share of yes.
    """
    labels = path.with_suffix(".label")
    lines = _lines(path)
    if path.name == "test.data" and not labels.is_file():
        raise InputError("no test.label beside it", path=path, remedy="put the gold labels there")
    scores: list[float] = []
    if labels.is_file():
        label_lines = _lines(labels)
        if len(label_lines) != len(lines):
            raise InputError(
                f"{len(label_lines)} lines, but {len(lines)} in {path.name}",
                path=labels,
                line=min(len(lines), len(label_lines)) + 1,
                remedy="both need one line a pair",
            )
        scores = [_number(_fields(line, 2, labels, i)[1], labels, i) for i, line in enumerate(label_lines, start=1)]
    columns: Columns = ([], [], [])
    for number, line in enumerate(lines, start=1):
        fields = _fields(line, 5, path, number)
        score = scores[number - 1] if scores else _share_of_votes(fields[4], path, number)
        _append(columns, fields[2], fields[3], score)
    return columns


def _share_of_votes(text: str, path: Path, number: int) -> float:
    match = _PIT_VOTES.match(text.strip())
    if match is None or int(match[1]) + int(match[2]) == 0:
        raise InputError(f"`{text}` is not a count of votes like (3, 2)", path=path, line=number)
    return int(match[1]) / (int(match[1]) + int(match[2]))


def _append(columns: Columns, sentence1: str, sentence2: str, score: float) -> None:
    columns[0].append(sentence1.strip())
    columns[1].append(sentence2.strip())
    columns[2].append(score)


def _lines(path: Path) -> list[str]:
    """Returns the lines of a UTF-8 file without their ends, a byte order mark and carriage returns removed."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"cannot read: {error.strerror}", path=path) from error
    raw = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    if raw[-1] == b"":
        raw.pop()
    lines = []
    for number, line in enumerate(raw, start=1):
        try:
            lines.append(line.decode("utf-8").removesuffix("\r"))
        except UnicodeDecodeError as error:
            raise InputError("not UTF-8 text", path=path, line=number, remedy="convert it to UTF-8") from error
    return lines


def _fields(line: str, count: int, path: Path, number: int) -> list[str]:
    fields = line.split("\t")
    if len(fields) < count:
        raise InputError(
            f"{len(fields)} tab-separated field{'s' if len(fields) > 1 else ''}, {count} or more expected",
            path=path,
            line=number,
        )
    return fields


def _number(text: str, path: Path, number: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not 0.0 <= value <= _MAXIMUM_SCORE:
        raise InputError(f"`{text.strip()}` is not a score from 0 to {_MAXIMUM_SCORE:g}", path=path, line=number)
    return value
