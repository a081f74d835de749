"""One small run of every verb and important variant: the rows of `cases.yaml`, and the folder of what they make.

The tests of all verbs and the campaign of reliability take their command lines from here. `{nmt}` in the words of a
case is the output of the case `nmt`, `{sample}` the folder of the raw files.
"""

from __future__ import annotations

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
from hf_paraphrase.settings import constraints_of, flag
from sample import write_sample

_INPUT = re.compile(r"\{(\w+)\}([\w./-]*)")


@dataclass(frozen=True)
class Case:
    """A run of a verb.

    Attributes:
        name: Its name, and that of its output before `ending`.
        line: The words after `hf-paraphrase`, without `--output NAME`.
        ending: The suffix of an output that is a file.
        for_others: Whether it only makes inputs and fixtures and is not disturbed itself.
    """

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
        return field is not None and all(flag(name) in self.line.split() for name in constraints_of(field).only_with)

    def words(self, paths: dict[str, Path], *more: str) -> list[str]:
        """Returns the words of the command line."""
        words = [_INPUT.sub(lambda match: f"{paths[match[1]]}{match[2]}", word) for word in self.line.split()]
        return [*words, *(["--output", self.output] if self.writes else []), *more]


CASES = {
    name: Case(name, line=entry.pop("run"), **entry)
    for name, entry in yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8")).items()
}
"""Every case by its name."""


class Outputs:
    """Makes the output of each case once, when it is first asked for, in a folder that several processes may share."""

    def __init__(self, folder: Path, run: Callable[[list[str], Path], Ended]) -> None:
        self.folder = folder
        self._run = run
        folder.mkdir(parents=True, exist_ok=True)

    def __getitem__(self, name: str) -> Path:
        """The output of a case, which is alone in its folder but for what belongs to it, or the folder `sample`."""
        if name == "sample":
            return self._sample()
        self.run_of(name)
        return self.folder / name / CASES[name].output

    def paths(self, case: Case) -> dict[str, Path]:
        """Returns the paths of all that a case reads."""
        return {name: self[name] for name, _ in case.inputs}

    def run_of(self, name: str) -> Ended:
        """Returns how the undisturbed run of a case ended."""
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

    def _sample(self) -> Path:
        folder = self.folder / "sample"
        with FileLock(self.folder / "sample.lock"):
            if not folder.is_dir():
                write_sample(folder)
        return folder
