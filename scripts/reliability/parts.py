"""Does jobs in parts (`--shard 2/3`): in any order, at the same time, twice, and again where a part was killed.

The cases are those whose undisturbed run is the part 1/1. However the parts came about, once each of them has ended
well the output is there, with the bytes of that run, and nothing lies beside it.
"""

from __future__ import annotations

import random
import shlex
import signal
import sys
from pathlib import Path

from campaign import Campaign, Probe, Reference, compared, verdict
from children import UNDISTURBED, Disturbance, Ended, Running, die, start

_AT_WORK = 2
"""Runs at the same time at most."""


class Parts:
    """Probes of jobs in parts.

    Args:
        campaign: Prepared, with the undisturbed runs.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign
        self.cases = [case for case in campaign.cases if case.in_parts]

    def probe(self, number: int, chance: random.Random, place: Path) -> Probe:
        """Does the job of the case whose turn it is in two or three parts: some are killed, then each is run whole."""
        case = self.cases[number % len(self.cases)]
        reference, words = self.campaign.references[case.name], self.campaign.words(case)
        count = chance.choice((2, 3))
        disturbed = chance.choices(range(1, count + 1), k=chance.randint(0, 3))
        whole = chance.sample(range(1, count + 1), count)
        twice = chance.choices(whole, k=chance.randint(0, 1))
        runs = [(part, _blow(reference, chance)) for part in disturbed]
        runs += [(part, UNDISTURBED) for part in chance.sample(whole + twice, len(whole + twice))]
        ended, at_work = list[Ended](), list[Running]()
        for part, disturbance in runs:
            if len(at_work) == _AT_WORK:
                ended.append(at_work.pop(0).end())
            at_work.append(start([*words, "--shard", f"{part}/{count}"], place, disturbance=disturbance))
        ended += [run.end() for run in at_work]
        findings = [finding for run in ended for finding in verdict(run, {0, -signal.SIGKILL})]
        if not findings:
            for lock in (place / "run").glob(".*.lock"):
                lock.unlink()
            findings = compared(reference, place)
        line = shlex.join(words) + "; parts " + " ".join(f"{part}/{count}" for part, _ in runs)
        return Probe(case.name, line, findings, sum(run.code == -signal.SIGKILL for run in ended))


def _blow(reference: Reference, chance: random.Random) -> Disturbance:
    """Draws when a part is killed; it has a part of the events of all of the work."""
    if chance.random() < 0.3:
        return Disturbance(after=chance.random() * reference.seconds)
    return Disturbance(at_event=chance.randint(1, max(1, reference.events)), act=die)


def main(words: list[str] | None = None) -> int:
    """Runs the campaign; returns the exit code."""
    campaign = Campaign(__doc__ or "", words)
    campaign.prepare()
    return campaign.loop(Parts(campaign).probe)


if __name__ == "__main__":
    sys.exit(main())
