"""What the programs of the campaign share: their flags, the undisturbed runs, the loop over probes, the table.

A probe is numbered, and all that is drawn in it is drawn from the seed and that number, so that
`--seed S --probe N` repeats it alone.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from cases import CASES, Case, needed
from children import ENVIRONMENT, Ended, Limits, import_everything, run
from comparison import changed, differences, state_of

ALLOWED_CODES = frozenset({0, 1, 2, 130})
"""What a verb may end with."""
SECRET = "canary-5e1f0c"  # noqa: S105 - it stands in a file that nothing may read
"""What stands in the private files of the campaign, and nowhere else may ever stand."""
_LAST_RESORT = re.compile(r"Traceback|please report it|Exception ignored")
_TOO_MUCH = re.compile(r"MemoryError|bad_alloc|allocate memory|not enough memory|realloc", re.IGNORECASE)
_CHANGING = re.compile(r"0x[0-9a-f]+|\d+")


class Finding(NamedTuple):
    """What a probe found.

    Attributes:
        kind: In a word or two; the table counts it.
        text: What was seen.
    """

    kind: str
    text: str


class Probe(NamedTuple):
    """What a probe came to.

    Attributes:
        name: Of what kind it was; the table has a row for each.
        line: The command that was probed.
        findings: What was found.
        kills: How many runs were killed in it.
    """

    name: str
    line: str
    findings: list[Finding]
    kills: int = 0


@dataclass(frozen=True)
class Reference:
    """The undisturbed run of a case.

    Attributes:
        case: The case.
        output: Its output; what it wrote beside it lies beside it.
        events: How many events it came to.
        seconds: How long it took.
    """

    case: Case
    output: Path
    events: int
    seconds: float


def verdict(ended: Ended, allowed: Iterable[int] = ALLOWED_CODES, memory: int = 1 << 30) -> list[Finding]:
    """Judges how a run ended, whatever was done to it.

    Args:
        ended: The run.
        allowed: The exit codes that it may end with.
        memory: Bytes that it may take.
    """
    findings = []
    last = " ".join(ended.stderr.split("\n")[-4:])[-600:]
    if ended.hung:
        return [Finding("hang", f"no end after {ended.seconds:.0f} s: {last}")]
    if _TOO_MUCH.search(ended.stderr) or ended.memory > memory:
        findings.append(Finding("memory", f"{ended.memory >> 20} MiB: {ended.fault or last}"))
    elif _LAST_RESORT.search(ended.stderr):
        findings.append(Finding("traceback", ended.fault or last))
    if "\x1b]0;owned" in ended.stderr + ended.stdout:
        findings.append(Finding("control characters", "of an input reach the terminal"))
    if ended.code < 0 and ended.code not in allowed:
        findings.append(Finding("signal", f"{-ended.code}: {last}"))
    elif ended.code not in allowed:
        findings.append(Finding("exit code", f"{ended.code}: {last}"))
    if SECRET in ended.stderr + ended.stdout:
        findings.append(Finding("leak", "the content of a private file is printed"))
    return findings


def error_lines(ended: Ended) -> list[str]:
    """Returns the lines of errors among what a run said; one may stand behind a progress bar."""
    return re.findall(r"hf-paraphrase: .*", ended.stderr)


def compared(reference: Reference, place: Path) -> list[Finding]:
    """Compares all that a run has written with what an undisturbed run writes.

    Args:
        reference: The undisturbed run.
        place: The folder of the other run.
    """
    names = [entry.name for entry in reference.output.parent.iterdir()] if reference.case.writes else []
    wrong = [
        part if name == reference.case.output else name
        for name in names
        for part in differences(reference.output.parent / name, place / "run" / name)
    ]
    findings = [Finding("differing bytes", " ".join(wrong[:8]))] if wrong else []
    beside = sorted({entry.name for entry in (place / "run").iterdir()} - set(names))
    return [*findings, *([Finding("left over", " ".join(beside))] if beside else [])]


def resumed(words: Sequence[str], reference: Reference, place: Path) -> list[Finding]:
    """Resumes a run, or repeats that of a verb without `--resume`, and compares what it has written in the end."""
    ended = run([*words, "--resume"] if reference.case.resumes else words, place)
    findings = verdict(ended)
    if ended.code != 0 and not findings:
        findings.append(Finding("not resumed", ended.stderr[-300:]))
    return findings or compared(reference, place)


class Campaign:
    """A program of the campaign.

    Args:
        summary: What it does, for its help.
        words: Its command line.

    Attributes:
        seed: The seed of all its probes.
        folder: Where it works.
        cases: Those that are probed.
        references: The undisturbed runs by the names of their cases, once :meth:`prepare` has made them.
    """

    def __init__(self, summary: str, words: Sequence[str] | None = None) -> None:
        parser = argparse.ArgumentParser(description=summary)
        parser.add_argument("--seed", type=int, default=0, help="the seed of the probes (default: 0)")
        parser.add_argument("--minutes", type=float, default=2.0, help="how long probes are begun (default: 2)")
        parser.add_argument("--probes", type=int, help="how many probes at most (default: any number)")
        parser.add_argument("--probe", type=int, help="repeat this probe alone, and keep its folder")
        parser.add_argument("--verbs", nargs="+", help="verbs, or names of cases, to probe (default: all)")
        parser.add_argument(
            "--work", help="a folder that keeps the undisturbed runs for other programs of the campaign"
        )
        parsed = parser.parse_args(words)
        self.seed, self._minutes, self._only, self._most = parsed.seed, parsed.minutes, parsed.probe, parsed.probes
        self._kept = parsed.work is not None
        self.folder = Path(parsed.work or tempfile.mkdtemp(prefix="reliability.")).resolve()
        chosen = [case for case in CASES if not case.prepares]
        if parsed.verbs:
            chosen = [case for case in chosen if {case.verb, case.name} & set(parsed.verbs)]
        if not chosen:
            parser.error(f"no case of {' '.join(parsed.verbs)}")
        self.cases = chosen
        self.references: dict[str, Reference] = {}
        self._flags = f" --verbs {' '.join(parsed.verbs)}" if parsed.verbs else ""
        self._program = Path(sys.argv[0]).stem
        self._counts: dict[str, collections.Counter[str]] = {}
        self._found: list[tuple[int, str, str, Finding]] = []
        self._protected: list[Path] = []

    def prepare(self, extra: Iterable[str] = ()) -> None:
        """Makes the sample, the private files and the undisturbed runs of the cases and of all that they read.

        Args:
            extra: The names of other cases that are needed.

        Raises:
            SystemExit: If an undisturbed run fails.
        """
        caches = {"HF_HOME": str(self.folder / "hub"), "MPLCONFIGDIR": str(self.folder / "matplotlib")}
        os.environ.update({**ENVIRONMENT, **caches})
        self.folder.mkdir(parents=True, exist_ok=True)
        import_everything()
        from sample import write_sample

        if not (self.folder / "sample").is_dir():
            write_sample(self.folder / "sample")
        for name in ("private", "home"):
            (self.folder / name).mkdir(exist_ok=True)
            if not (self.folder / name / ".secret").is_file():
                (self.folder / name / ".secret").write_text(f"{SECRET}\n" * 20)
        started = time.monotonic()
        for case in needed([*(case.name for case in self.cases), *extra]):
            self.references[case.name] = self._reference(case)
        self._protected = [self.folder / name for name in ("sample", "reference", "private", "home")]
        spent = time.monotonic() - started
        print(f"{len(self.references)} undisturbed runs in {spent:.0f} s; {self.folder}", file=sys.stderr, flush=True)

    def _reference(self, case: Case) -> Reference:
        place = self.folder / "reference" / case.name
        record = place / "run.json"
        if not record.is_file():
            shutil.rmtree(place, ignore_errors=True)
            ended = run(self.words(case), place, limits=Limits(300))
            if ended.code != 0:
                sys.exit(f"the undisturbed run of {case.name} ended with {ended.code}: {ended.stderr[-2000:]}")
            record.write_text(json.dumps({"events": ended.events, "seconds": ended.seconds}))
        values = json.loads(record.read_text())
        return Reference(case, place / "run" / case.output, values["events"], values["seconds"])

    def words(self, case: Case) -> list[str]:
        """Returns the command line of a case."""
        places = {name: str(reference.output) for name, reference in self.references.items()}
        return case.words({**places, "sample": str(self.folder / "sample")})

    def loop(self, probe: Callable[[int, random.Random, Path], Probe]) -> int:
        """Probes until the time is up and prints the table.

        Args:
            probe: Does the probe of a number, with what draws its chances, in a folder of its own.

        Returns:
            The exit code: 1 if anything was found.
        """
        until = time.monotonic() + 60 * self._minutes
        number = self._only or 0
        begun = time.monotonic()
        while time.monotonic() < until and (self._most is None or number < self._most):
            self.do(number, probe)
            if self._only is not None:
                break
            number += 1
        print(self.table(time.monotonic() - begun))
        if not self._kept and self._only is None:
            shutil.rmtree(self.folder, ignore_errors=True)
        return 1 if self._found else 0

    def do(self, number: int, probe: Callable[[int, random.Random, Path], Probe]) -> Probe:
        """Does one probe and keeps what it found; its folder goes where it found nothing."""
        place = self.folder / "probes" / self._program / str(number)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        before = state_of(self._protected)
        done = probe(number, random.Random(f"{self.seed} {number}"), place)
        touched = changed(before, state_of(self._protected))
        if touched:
            done.findings.append(Finding("touched outside", " ".join(touched[:5])))
        counts = self._counts.setdefault(done.name, collections.Counter())
        counts["probes"] += 1
        counts["kills"] += done.kills
        for finding in done.findings:
            counts[finding.kind] += 1
            self._found.append((number, done.name, done.line, finding))
            print(
                f"{done.name}: {finding.kind}: {finding.text}\n  {self._again(number)}\n  {done.line}",
                file=sys.stderr,
                flush=True,
            )
        if not done.findings and self._only is None:
            shutil.rmtree(place, ignore_errors=True)
        return done

    def _again(self, number: int) -> str:
        return f"python scripts/reliability/{self._program}.py --seed {self.seed} --probe {number}{self._flags}"

    def table(self, seconds: float) -> str:
        """Returns the table: kinds of probes in rows, kinds of findings in columns, and how to repeat them."""
        kinds = list(dict.fromkeys(kind for counts in self._counts.values() for kind in counts))
        kinds = [kind for kind in kinds if kind != "kills" or any(counts[kind] for counts in self._counts.values())]
        total = sum(self._counts.values(), collections.Counter())
        lines = [f"| {self._program} | {' | '.join(kinds)} |", "|---" * (len(kinds) + 1) + "|"]
        for name, counts in [*sorted(self._counts.items()), ("all", total)]:
            lines.append(f"| {name} | {' | '.join(str(counts[kind]) for kind in kinds)} |")
        found = sum(counts for kind, counts in total.items() if kind not in ("probes", "kills"))
        reached = f"{total['probes']:,} probes, {total['kills']:,} kills, {found} findings"
        lines += ["", f"{reached} in {seconds / 60:.1f} minutes, seed {self.seed}"]
        alike: dict[tuple[str, str], list[int]] = {}
        for number, (_, name, _, finding) in enumerate(self._found):
            what = finding.text if finding.kind == "traceback" else name
            alike.setdefault((finding.kind, _CHANGING.sub("", what)), []).append(number)
        for found_at in alike.values():
            number, name, line, finding = self._found[found_at[0]]
            lines.append(f"- {name}: {finding.kind} ({len(found_at)} of this kind): {finding.text[:300]}")
            lines += [f"  {self._again(number)}", f"  hf-paraphrase {line[:300]}"]
        return "\n".join(lines)


class OutputProbes:
    """Probes of the cases that write an output, which take turns.

    Args:
        campaign: Prepared, with the undisturbed runs.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.cases = [case for case in campaign.cases if case.writes]

    def turn(self, number: int) -> tuple[Case, Reference, list[str]]:
        """Returns the case whose turn it is, its undisturbed run, and its command line."""
        case = self.cases[number % len(self.cases)]
        return case, self.campaign.references[case.name], self.campaign.words(case)
