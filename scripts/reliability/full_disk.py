"""Fills the disk under every verb, at any of its changes of the file system and at any byte.

In a part of the probes no file may grow any more from the k-th change of the file system on, or not beyond some bytes
(`RLIMIT_FSIZE`, which native code meets as well); in the others the run works on a file system of its own in memory
that has some room left, where the system lets one be mounted. Such a run ends with 1 or 2 and one line, or does
without what it could not write; its inputs stay as they are, nothing half is seen, and once there is room it is done.
"""

from __future__ import annotations

import os
import random
import resource
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

from campaign import Campaign, Finding, OutputProbes, Probe, compared, error_lines, resumed, verdict
from children import Disturbance, run
from comparison import differences

_PAGE = 4096


class FullDisk(OutputProbes):
    """Probes that run out of room.

    Args:
        campaign: Prepared, with the undisturbed runs.
    """

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign)
        self.mounts = _can_mount(campaign.folder / "mounted")

    def probe(self, number: int, chance: random.Random, place: Path) -> Probe:
        """Runs the case whose turn it is without room, and again with room."""
        case, reference, words = self.turn(number)
        output = place / "run" / case.output
        if self.mounts and chance.random() < 0.5:
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", place], check=True)  # noqa: S603, S607
            try:
                return Probe(case.name, shlex.join(words), self._on_small_disk(number, chance, place))
            finally:
                subprocess.run(["umount", "-l", place], check=True)  # noqa: S603, S607
        most = chance.choice((0, 0, 1, 100, 5_000))
        event = chance.randint(1, max(1, reference.events))
        ended = run(words, place, disturbance=Disturbance(at_event=event, act=lambda: _let_no_file_grow(most)))
        return Probe(
            case.name,
            shlex.join(words),
            self._judged(number, place, ended.code, verdict(ended), len(error_lines(ended)), output),
        )

    def _on_small_disk(self, number: int, chance: random.Random, place: Path) -> list[Finding]:
        case, reference, words = self.turn(number)
        output = place / "run" / case.output
        paths = [reference.output] if reference.output.is_file() else list(reference.output.rglob("*"))
        pages = 2 * len(paths) + sum(path.stat().st_size // _PAGE for path in paths)
        for name in ("run", "temporary", "home"):
            (place / name).mkdir()
        _fill(place / "filler", chance.randint(0, pages))
        ended = run(words, place)
        (place / "filler").unlink()
        return self._judged(number, place, ended.code, verdict(ended), len(error_lines(ended)), output)

    def _judged(
        self, number: int, place: Path, code: int, findings: list[Finding], lines: int, output: Path
    ) -> list[Finding]:
        """Judges a run without room, and repeats it with room."""
        case, reference, words = self.turn(number)
        if code != 0:
            if lines != 1 and not findings:
                findings.append(Finding("not one line", f"{lines} lines of errors, exit code {code}"))
            if output.exists():
                findings.append(Finding("half an output", " ".join(differences(reference.output, output)[:5])))
            elif not case.keeps_work and (beside := [entry.name for entry in (place / "run").iterdir()]):
                findings.append(Finding("left over", " ".join(beside)))
            return findings or resumed(words, reference, place)
        return findings or compared(reference, place)


def _let_no_file_grow(most: int) -> None:
    """Keeps all files of this process from growing beyond some bytes."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))


def _fill(path: Path, pages: int) -> None:
    """Fills a file system but for some pages."""
    system = os.statvfs(path.parent)
    with path.open("wb") as stream:
        stream.write(bytes(max(0, system.f_bavail * system.f_frsize - pages * _PAGE)))


def _can_mount(folder: Path) -> bool:
    """Tells whether this user may mount a file system in memory."""
    folder.mkdir(exist_ok=True)
    if shutil.which("mount") is None or os.geteuid() != 0:
        return False
    made = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)  # noqa: S603, S607
    if made.returncode == 0:
        subprocess.run(["umount", folder], check=True)  # noqa: S603, S607
    return made.returncode == 0


def main(words: list[str] | None = None) -> int:
    """Runs the campaign; returns the exit code."""
    campaign = Campaign(__doc__ or "", words)
    campaign.prepare()
    return campaign.loop(FullDisk(campaign).probe)


if __name__ == "__main__":
    sys.exit(main())
