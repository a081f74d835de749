"""Disturb commands at random for some minutes: kill them, fill the disk, run two at once, damage their inputs.

    python scripts/reliability/campaign.py --minutes 10 [--seed 0] [--cases avg bt] [--kinds kill] [--probe 17]

Each probe takes the next case of cases.yaml and compares its output with an undisturbed run. Seed and number repeat a
probe. The exit code is 0 without findings, 1 with findings, and 3 if every finding is a run that took too long, which
may be due to a slow machine.
"""

from __future__ import annotations

import argparse
import collections
import gc
import os
import random
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from cases import CASES, Case, Outputs, contents, differences, left_over
from forks import Ended, Fork, kill, run
from hf_paraphrase.commands.verbs import all_recipes

_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "CUDA_VISIBLE_DEVICES": ""}
KINDS = ("kill", "full_disk", "two_at_once", "damaged_input")
_FOUND, _TOO_SLOW = 1, 3


@dataclass
class Probes:
    """Disturb runs; each method returns a line per finding."""

    outputs: Outputs

    def kill(self, case: Case, chance: random.Random, folder: Path) -> list[str]:
        """Kill a run before one of its changes of the file system, up to three times, then let it finish."""
        for _ in range(chance.choice((1, 1, 3))):
            ended = self._run(case, folder, self._change(case, chance), kill)
            if ended.code != -9:
                break
            output = folder / "run" / case.output
            if output.exists() and differences(self.outputs[case.name], output):
                return ["a killed run left half an output"]
        return self._finished(case, folder)

    def full_disk(self, case: Case, chance: random.Random, folder: Path) -> list[str]:
        """Limit the size of files from some change of the file system on, then let the run finish without a limit."""
        room = chance.choice((0, 0, 1, 100, 5_000)), resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        act = partial(resource.setrlimit, resource.RLIMIT_FSIZE, room)
        ended = self._run(case, folder, self._change(case, chance), act)
        output = folder / "run" / case.output
        if ended.code != 0 and (output.exists() or len(ended.errors) != 1 or ended.has_traceback):
            return [f"without room it ended with {ended.code}: {ended.stderr[-500:]}"]
        return self._finished(case, folder)

    def two_at_once(self, case: Case, chance: random.Random, folder: Path) -> list[str]:
        """Start two runs on one output at almost the same time: the second is refused."""
        if case.in_parts:
            return []
        words = case.words(self.outputs.paths(case))
        first = Fork(words, folder / "run")
        time.sleep(chance.choice((0.0, 0.0, 0.5 * chance.random())))
        second = Fork(words, folder / "run")
        both = [first.end(), second.end()]
        if sorted(ended.code for ended in both) != [0, 2]:
            return [f"two at once ended with {[ended.code for ended in both]}: {[ended.errors for ended in both]}"]
        return self._compared(case, folder / "run")

    def damaged_input(self, case: Case, chance: random.Random, folder: Path) -> list[str]:
        """Damage an input file at random: the run is refused in one line, or does not need the file."""
        paths = self.outputs.paths(case)
        if not paths:
            return []
        name = chance.choice(sorted(paths))
        shutil.copytree(paths[name] if name == "sample" else paths[name].parent, folder / "input")
        paths[name] = folder / "input" / ("" if name == "sample" else paths[name].name)
        path = chance.choice([file for file in sorted((folder / "input").rglob("*")) if file.is_file()])
        path.write_bytes(damaged(path.read_bytes(), chance))
        ended = run(case.words(paths), folder / "run")
        if ended.code == 0:
            return []
        if ended.code != 2 or len(ended.errors) != 1 or ended.has_traceback:
            return [f"{path.relative_to(folder)} damaged: ended with {ended.code}: {ended.stderr[-500:]}"]
        # A part leaves the state of the job to later parts, and a job leaves finished work to `--resume`.
        finished = (path for path in (folder / "run").glob(".*.partial/output/**/*") if path.is_file())
        if case.in_parts or (case.resumes and any(finished)):
            return []
        return [f"left over: {entry}" for entry in left_over(folder / "run")]

    def _change(self, case: Case, chance: random.Random) -> int:
        return chance.randint(1, max(1, self.outputs.run_of(case.name).changes))

    def _run(self, case: Case, folder: Path, at: int = 0, *act: Callable[[], None]) -> Ended:
        more = ["--resume"] if case.resumes and (folder / "run").is_dir() else []
        return run(case.words(self.outputs.paths(case), *more), folder / "run", at, *act)

    def _finished(self, case: Case, folder: Path) -> list[str]:
        """Let a disturbed run finish, and compare its output with the output of an undisturbed run."""
        ended = self._run(case, folder)
        complete = ended.code == 2 and not case.resumes and (folder / "run" / case.output).exists()
        if ended.code != 0 and not complete:
            return [f"repeated, it ended with {ended.code}: {ended.stderr[-500:]}"]
        return self._compared(case, folder / "run")

    def _compared(self, case: Case, folder: Path) -> list[str]:
        output = self.outputs[case.name]
        wrong = [f"other bytes: {name}" for name in differences(output, folder / case.output)]
        return wrong + [f"left over: {entry}" for entry in left_over(folder, *output.parent.iterdir())]


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Cut a content off, empty it, flip a bit of it, or insert bytes into it."""
    start, end = sorted(chance.choices(range(len(content) + 1), k=2))
    garbage = chance.choice((b"\x00", b"\xff\xfe", b"\n", b"\t", b'"', b"{", b"nan", b"1e400", b"-1", b"null"))
    bit = bytes([content[start] ^ 1 << chance.randrange(8)]) if start < len(content) else b""
    before, behind = content[:start], content[start:]
    return chance.choice((before, b"", before + bit + behind[1:], before + garbage + behind, before + content[end:]))


def main(words: Sequence[str] | None = None) -> int:
    """Run the campaign; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", nargs="+", choices=CASES, metavar="CASE", help="default: all")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--probe", type=int, help="repeat this probe alone and keep its folder")
    parsed = parser.parse_args(words)
    os.environ.update(_ENVIRONMENT)
    # Imported once, for all forks.
    all_recipes()
    gc.freeze()
    work = Path(tempfile.mkdtemp(prefix="reliability."))
    probes = Probes(Outputs(work / "undisturbed", run))
    cases = [CASES[name] for name in parsed.cases or CASES if CASES[name].writes and not CASES[name].for_others]
    until, number = time.monotonic() + 60 * parsed.minutes, parsed.probe or 0
    tried, findings, slow = collections.Counter[str](), collections.Counter[str](), 0
    while time.monotonic() < until:
        kind, case = parsed.kinds[number % len(parsed.kinds)], cases[number // len(parsed.kinds) % len(cases)]
        folder = work / "probe" / str(number)
        lines: list[str] = []
        try:
            lines = probe(probes, kind, case, random.Random(f"{parsed.seed} {number}"), folder)
            findings[kind] += len(lines)
        except TimeoutError as error:
            slow += 1
            lines = [f"too slow: {error}"]
        tried[kind] += 1
        for line in lines:
            print(f"probe {number}, {kind} of {case.name}: {line}", flush=True)
        if parsed.probe is not None:
            print(folder)
            break
        shutil.rmtree(folder, ignore_errors=True)
        number += 1
    if parsed.probe is None:
        shutil.rmtree(work)
        for kind in parsed.kinds:
            print(f"{kind:14}{tried[kind]:6} probes {findings[kind]:4} findings, seed {parsed.seed}")
    return _FOUND if findings.total() else _TOO_SLOW if slow else 0


def probe(probes: Probes, kind: str, case: Case, chance: random.Random, folder: Path) -> list[str]:
    """Run one probe; return a line per finding, changed inputs included."""
    before = {name: contents(path) for name, path in probes.outputs.paths(case).items()}
    findings: list[str] = getattr(probes, kind)(case, chance, folder)
    changed = [name for name, content in before.items() if contents(probes.outputs[name]) != content]
    return findings + [f"input changed: {name}" for name in changed]


if __name__ == "__main__":
    sys.exit(main())
