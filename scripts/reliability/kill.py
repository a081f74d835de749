"""Kills verbs wherever they change the file system, and at any time, and compares what a resumed run makes.

Each verb is run on a few sentences and killed (SIGKILL) before its k-th change of the file system, or after some time;
some of the runs that go on are killed again. Then it is resumed, a verb without `--resume` just repeated: its output
must have the bytes of that of an undisturbed run, and nothing may lie beside it.
"""

from __future__ import annotations

import random
import shlex
import sys
from pathlib import Path

from campaign import Campaign, Finding, OutputProbes, Probe, Reference, compared, resumed
from children import Disturbance, die, run


class Kills(OutputProbes):
    """Probes that kill runs."""

    def probe(self, number: int, chance: random.Random, place: Path) -> Probe:
        """Kills a run of the case whose turn it is, and resumes it."""
        case, reference, words = self.turn(number)
        output = place / "run" / case.output
        kills, findings, at_event = 0, list[Finding](), True
        while kills < (1 if chance.random() < 0.7 else 3):
            at_event = chance.random() < 0.8
            disturbance = _blow(reference, number // len(self.cases) if kills == 0 else None, at_event, chance)
            ended = run(_again(words, case.resumes and kills > 0), place, disturbance=disturbance)
            if ended.code != -9:
                break
            kills += 1
        else:
            ended = None
        # A verb without `--resume` may refuse to repeat what a kill came too late for; its output is compared below.
        done = ended is not None and ended.code == 2 and kills > 0 and not case.resumes and output.exists()
        if ended is not None and ended.code != 0 and not done:
            findings.append(Finding("not resumed" if kills else "not run", ended.fault or ended.stderr[-300:]))
        # Behind the renaming of its output a run has nothing left to lose, nor a verb without `--resume` to repeat.
        finished = output.exists() and not (at_event and case.resumes)
        if ended is None and not finished:
            findings += resumed(words, reference, place)
        elif not findings:
            # The files of locks, which the system has given back, stay.
            for lock in (place / "run").glob(".*.lock"):
                lock.unlink()
            findings += compared(reference, place)
        return Probe(case.name, shlex.join(words), findings, kills)


def _blow(reference: Reference, turn: int | None, at_event: bool, chance: random.Random) -> Disturbance:
    """Draws when a run is killed; over the turns of a case every event is met before one is met again."""
    if not at_event:
        return Disturbance(after=chance.random() * reference.seconds * 1.1)
    events = max(1, reference.events)
    if turn is None:
        return Disturbance(at_event=chance.randint(1, events), act=die)
    order = random.Random(reference.case.name).sample(range(1, events + 1), events)
    return Disturbance(at_event=order[turn % events], act=die)


def _again(words: list[str], resumes: bool) -> list[str]:
    return [*words, "--resume"] if resumes else words


def main(words: list[str] | None = None) -> int:
    """Runs the campaign; returns the exit code."""
    campaign = Campaign(__doc__ or "", words)
    campaign.prepare()
    return campaign.loop(Kills(campaign).probe)


if __name__ == "__main__":
    sys.exit(main())
