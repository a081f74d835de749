"""One small run of every command and important variant: the rows of `cases.yaml`, their outputs, and how these differ.

The tests of all commands and the reliability campaign use these command lines. In them `{nmt}` is the output of the
case `nmt`, and `{sample}` the folder of the raw files.
"""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import yaml
from filelock import FileLock

from forks import Ended
from hf_paraphrase.commands.verbs import recipe_and_flags
from hf_paraphrase.settings import flag, option_of
from sample import write_sample

_TIMES = re.compile(r"seconds|runtime|per_second|duration|elapsed|interruptions|total_flos|peak_memory")
_TIMES_OF_CARDS = re.compile(r"\d[\d,.]* (?:s|seconds|minutes|sentences a second)\b")
_INPUT = re.compile(r"\{(\w+)\}([\w./-]*)")


@dataclass(frozen=True)
class Case:
    """A run of a verb; the head of `cases.yaml` explains the fields."""

    name: str
    line: str
    ending: str = ""
    writes: bool = True
    for_others: bool = False
    prints: bool = False

    @property
    def output(self) -> str:
        """The file name of the output."""
        return self.name + self.ending

    @property
    def inputs(self) -> list[tuple[str, str]]:
        """What it reads: the name of a case or `sample`, and the path below its output."""
        return list(dict.fromkeys(_INPUT.findall(self.line)))

    @property
    def verb(self) -> str:
        """The verb."""
        return self.line.split()[0]

    @property
    def settings(self) -> dict[str, Any]:
        """The fields of the verb's settings."""
        settings: Any = recipe_and_flags(self.line.split())[1].settings
        return {field.name: field for field in fields(settings)}

    @property
    def in_parts(self) -> bool:
        """Whether it is one part of a job: parts continue without `--resume`, and two may run at once."""
        return "--shard" in self.line.split()

    @property
    def resumes(self) -> bool:
        """Whether `--resume` applies to this run."""
        field = self.settings.get("resume")
        return field is not None and all(flag(name) in self.line.split() for name in option_of(field).only_with)

    def words(self, paths: dict[str, Path], *more: str) -> list[str]:
        """Return the words of the command line."""
        words = [_INPUT.sub(lambda match: f"{paths[match[1]]}{match[2]}", word) for word in self.line.split()]
        return [*words, *(["--output", self.output] if self.writes else []), *more]


CASES = {
    name: Case(name, line=entry.pop("run"), **entry)
    for name, entry in yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8")).items()
}
"""Every case by its name."""


class Outputs:
    """Make the output of each case once, when it is first asked for, in a folder that several processes may share."""

    def __init__(self, folder: Path, run: Callable[[list[str], Path], Ended]) -> None:
        self.folder = folder
        self._run = run
        folder.mkdir(parents=True, exist_ok=True)

    def __getitem__(self, name: str) -> Path:
        """Return the output of a case: the only output in its folder, or the folder `sample`."""
        if name != "sample":
            self.run_of(name)
            return self.folder / name / CASES[name].output
        with FileLock(self.folder / "sample.lock"):
            if not (self.folder / name).is_dir():
                write_sample(self.folder / name)
        return self.folder / name

    def paths(self, case: Case) -> dict[str, Path]:
        """Return the paths of all that a case reads."""
        return {name: self[name] for name, _ in case.inputs}

    def run_of(self, name: str) -> Ended:
        """Return how the undisturbed run of a case ended."""
        case, folder, record = CASES[name], self.folder / name, self.folder / f"{name}.json"
        words = case.words(self.paths(case))
        with FileLock(self.folder / f"{name}.lock"):
            if not record.is_file():
                # What an interrupted session left.
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
                ended = self._run(words, folder)
                if ended.code != 0:
                    raise RuntimeError(f"the undisturbed run of {name} ended with {ended.code}: {ended.stderr}")
                record.write_text(json.dumps(ended), encoding="utf-8")
        return Ended(*json.loads(record.read_text(encoding="utf-8")))


def differences(expected: Path, found: Path) -> list[str]:
    """Name the files of two outputs, files or folders, that are not the same.

    Files are compared byte for byte, without times in JSON, tables and cards, and the interruptions of a run.
    """
    sides = contents(expected), contents(found)
    other = {name for name in {*sides[0], *sides[1]} if sides[0].get(name) != sides[1].get(name)}
    values = {name: {_timeless(name, side[name]) if name in side else None for side in sides} for name in other}
    return sorted(name for name in other if len(values[name]) > 1)


def contents(path: Path) -> dict[str, bytes]:
    """Read a file or all files of a folder, by their names in it."""
    if path.is_file():
        return {path.suffix: path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


def left_over(folder: Path, *outputs: Path) -> list[str]:
    """List the files that a run left in its folder, without its outputs and the empty lock files."""
    names = {output.name for output in outputs}
    others = [entry for entry in folder.iterdir() if entry.name not in names]
    return sorted(entry.name for entry in others if entry.is_dir() or entry.stat().st_size > 0)


def _timeless(name: str, content: bytes) -> bytes | str:
    try:
        if name.endswith((".json", ".jsonl")):
            lines = content.splitlines() if name.endswith("l") else [content]
            return json.dumps([json.loads(line, object_hook=_untimed) for line in lines], sort_keys=True)
        if name.endswith(".csv"):
            return json.dumps(list(map(_untimed, csv.DictReader(io.StringIO(content.decode())))))
        if name.endswith(".md"):
            return _TIMES_OF_CARDS.sub("TIME", content.decode())
    except ValueError:
        # A damaged file is compared as it is.
        return content
    return content


def _untimed(record: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if not _TIMES.search(name)}
