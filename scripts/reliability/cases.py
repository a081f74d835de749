"""One small run of every verb, on inputs from the built-in sample and on what the other runs make of them.

The output of the undisturbed run of a case is the reference of the campaign, and the input of the cases that name it:
`{nmt}` in the words of a case is the output of the case `nmt`, `{sample}` the folder of the raw files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from hf_paraphrase.commands.verbs import recipe_and_flags
from hf_paraphrase.settings import constraints_of, flag


@dataclass(frozen=True)
class Case:
    """A run of a verb.

    Attributes:
        name: What it is called, and its output too, before `ending`.
        line: The words after `hf-paraphrase`, but for `--output NAME`.
        ending: That of the name of an output that is a file.
        writes: Whether it has an output.
        prepares: Whether it is there only to make inputs for others, and is not disturbed itself.
    """

    name: str
    line: str
    ending: str = ""
    writes: bool = True
    prepares: bool = False

    @property
    def verb(self) -> str:
        """The verb."""
        return self.line.split()[0]

    @property
    def output(self) -> str:
        """The name of the output."""
        return self.name + self.ending

    @property
    def inputs(self) -> list[str]:
        """The names of the cases that make what it reads."""
        return [name for name in dict.fromkeys(re.findall(r"\{(\w+)\}", self.line)) if name != "sample"]

    def words(self, places: dict[str, str]) -> list[str]:
        """Returns the words of the command line.

        Args:
            places: Where the outputs of the other cases and the sample are.
        """
        words = [re.sub(r"\{(\w+)\}", lambda found: places[found[1]], word) for word in self.line.split()]
        return [*words, *(["--output", self.output] if self.writes else [])]

    def settings(self) -> type[Any]:
        """Returns the dataclass of the verb's settings."""
        return settings_of(self.line.split())

    @property
    def in_parts(self) -> bool:
        """Whether the run is one part of a job in parts, all of it."""
        return "--shard" in self.line.split()

    @property
    def resumes(self) -> bool:
        """Whether the verb has `--resume`, and the run all that it is for."""
        field = self.settings().__dataclass_fields__.get("resume")
        return field is not None and all(flag(name) in self.line.split() for name in constraints_of(field).only_with)

    @property
    def keeps_work(self) -> bool:
        """Whether what a run has done stays for the next one: parts go on without being told to."""
        return self.resumes or self.in_parts


def settings_of(words: list[str]) -> type[Any]:
    """Returns the settings of the verb that a command line names."""
    return recipe_and_flags(words)[1].settings


CASES = [
    Case(name, entry["run"], entry.get("ending", ""), entry.get("writes", True), entry.get("for_others", False))
    for name, entry in yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text(encoding="utf-8")).items()
]
"""Every case of `cases.yaml`; one may stand before those that it reads."""


def by_name() -> dict[str, Case]:
    """Returns the cases by their names."""
    return {case.name: case for case in CASES}


def needed(names: Iterable[str]) -> list[Case]:
    """Returns the cases of these names and all that they read, in the order in which they can run."""
    known, ordered = by_name(), dict[str, Case]()

    def add(name: str) -> None:
        if name not in ordered:
            for item in known[name].inputs:
                add(item)
            ordered[name] = known[name]

    for name in names:
        add(name)
    return list(ordered.values())
