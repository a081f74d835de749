"""Hands damaged files, hostile folders and impossible numbers to the verbs.

A probe damages one input of one verb (a file that a parser reads, or something in a folder that the verb opens), or
gives one of its numeric flags an impossible value. Whatever comes, the verb ends soon with 0, 1 or 2, without a
traceback and within its memory; where it fails it leaves nothing behind, and it never touches or tells what is not
its own.
"""

from __future__ import annotations

import random
import shlex
import shutil
import sys
import typing
from pathlib import Path

import yaml

from campaign import SECRET, Campaign, Finding, Probe, verdict
from cases import Case, settings_of
from children import Ended, Limits, run
from mutations import damage_folder, damaged

_LIMITS = Limits(seconds=25, memory=3 << 30)
_NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "-1",
    "0",
    "-0.0",
    "1e-320",
    str(10**18),
    "9" * 5_000,
    "",
    "text",
    "0x10",
    "१",
    "1_0",
]
_ENDLESS = {str(10**18), "inf"}
"""Numbers that may ask for endless work, which is then ended."""
_WORKERS = ("workers", "threads", "processes")
INPUTS = yaml.safe_load((Path(__file__).parent / "inputs.yaml").read_text(encoding="utf-8"))
"""What is damaged, and the verbs that read it."""
_SILENT = ("push", "evaluate-mining")


class Fuzz:
    """Probes of damaged inputs.

    Args:
        campaign: Prepared, with the undisturbed runs.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self._places = {name: str(reference.output) for name, reference in campaign.references.items()}
        self._places["sample"] = str(campaign.folder / "sample")
        self._private = campaign.folder / "private"
        names = {case.verb for case in campaign.cases}
        self.files, self.folders = (
            {name: entry for name, entry in INPUTS[kind].items() if entry["run"].split()[0] in names}
            for kind in ("files", "folders")
        )
        self.flags = [(case, flag) for case in campaign.cases for flag in numeric_flags(case)]

    def probe(self, number: int, chance: random.Random, place: Path) -> Probe:
        """Damages a file, a folder or a flag, in turn."""
        (place / "run").mkdir()
        choices = [(self._file, self.files), (self._folder, self.folders), (self._flag, self.flags)]
        possible = [method for method, entries in choices if entries]
        return possible[number % len(possible)](chance, place)

    def _file(self, chance: random.Random, place: Path) -> Probe:
        name = chance.choice(list(self.files))
        source, line = self.files[name]["it"], self.files[name]["run"]
        path = Path(source.format(**self._places))
        damaged_path = place / "run" / path.name
        damaged_path.write_bytes(damaged(path.read_bytes(), chance, path.name))
        words = [word.format(**self._places, it=damaged_path.name) for word in line.split()]
        return self._judged(f"file: {name}", words, place, damaged_path.name)

    def _folder(self, chance: random.Random, place: Path) -> Probe:
        name = chance.choice(list(self.folders))
        source, line, file = (self.folders[name].get(key) for key in ("it", "run", "file"))
        folder = place / "run" / source
        shutil.copytree(self._places[source], folder)
        done = [damage_folder(folder, chance, self._private, file) for _ in range(chance.choice((1, 1, 2)))]
        words = [word.format(**self._places, it=source) for word in line.split()]
        probe = self._judged(f"folder: {name}", words, place, source, writes="--update-card" not in words)
        return probe._replace(line=f"{probe.line}   # {'; '.join(done)}")

    def _flag(self, chance: random.Random, place: Path) -> Probe:
        case, flag = chance.choice(self.flags)
        value = chance.choice(_NUMBERS)
        if value in _ENDLESS and any(part in flag for part in _WORKERS):
            value = "-1"
        words = [*self.campaign.words(case), f"{flag}={value}"]
        ended = run(words, place, limits=_LIMITS)
        findings = verdict(ended)
        if value in _ENDLESS:
            # Who asks for endless work gets it, but must be told where there is not the memory for it.
            findings = [finding for finding in findings if finding.kind not in ("hang", "memory")]
            findings += [Finding("memory", f"{ended.memory >> 20} MiB")] if ended.memory > _LIMITS.memory else []
        if not ended.hung:
            findings += self._left(ended, place, case.output if case.writes else None, case.resumes)
        return Probe(f"flag: {case.verb}", shlex.join(words)[:400], findings)

    def _judged(self, name: str, words: list[str], place: Path, damaged_name: str, writes: bool = True) -> Probe:
        fields = settings_of(words).__dataclass_fields__
        writes = writes and "output" in fields and words[0] not in _SILENT and "--query-file" not in words
        words = [*words, "--output", "output"] if writes else words
        ended = run(words, place, limits=_LIMITS)
        resumes = "resume" in fields
        findings = verdict(ended) + self._left(ended, place, "output" if writes else None, resumes, damaged_name)
        return Probe(name, shlex.join(words), findings)

    def _left(self, ended: Ended, place: Path, output: str | None, resumes: bool, *inputs: str) -> list[Finding]:
        """Judges what a run left in the folder in which it worked."""
        findings = []
        path = None if output is None else place / "run" / output
        if path is not None and path.exists() and ended.code != 0:
            findings.append(Finding("half an output", f"exit code {ended.code}, and {output} is there"))
        if path is not None and not path.exists() and ended.code == 0:
            findings.append(Finding("no output", "exit code 0"))
        beside = sorted({entry.name for entry in (place / "run").iterdir()} - set(inputs))
        # The unfinished work of a verb that resumes stays.
        if path is not None and path.exists():
            # What belongs to an output that is a file has its name, with another ending.
            beside = [name for name in beside if not name.startswith(path.stem)]
        if beside and not (resumes and ended.code != 0):
            findings.append(Finding("left over", " ".join(beside)))
        if path is not None and any(
            SECRET.encode() in file.read_bytes() for file in path.rglob("*") if file.is_file()
        ):
            findings.append(Finding("leak", "the content of a private file is in the output"))
        return findings


def numeric_flags(case: Case) -> list[str]:
    """Names the flags of a case whose values are numbers."""
    hints = typing.get_type_hints(case.settings())
    numeric = [name for name, hint in hints.items() if {int, float} & {hint, *typing.get_args(hint)}]
    return [f"--{name.replace('_', '-')}" for name in numeric if name in case.settings().__dataclass_fields__]


def prepare(campaign: Campaign) -> Fuzz:
    """Makes the undisturbed runs of the cases, and those whose output is damaged or read beside what is damaged."""
    names = {case.verb for case in campaign.cases}
    entries = [entry for kind in INPUTS.values() for entry in kind.values() if entry["run"].split()[0] in names]
    extra = [entry["it"] for entry in INPUTS["folders"].values() if entry in entries]
    extra += [name for entry in entries for name in Case("", f"{entry['it']} {entry['run']}").inputs if name != "it"]
    campaign.prepare(dict.fromkeys(extra))
    return Fuzz(campaign)


def main(words: list[str] | None = None) -> int:
    """Runs the campaign; returns the exit code."""
    campaign = Campaign(__doc__ or "", words)
    return campaign.loop(prepare(campaign).probe)


if __name__ == "__main__":
    sys.exit(main())
