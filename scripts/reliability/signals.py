"""Interrupts verbs at any time, by signals and by readers that go away.

After SIGINT, SIGTERM and SIGHUP a verb says in one line that it was interrupted and ends with 130 (before it has begun
the last two end it at once); where nobody reads what it prints it ends with 0 or 1, without a word of Python's.
Whatever was written is whole, and the run can be resumed or repeated.
"""

from __future__ import annotations

import random
import shlex
import signal
import sys
from pathlib import Path

from campaign import Campaign, Finding, Probe, compared, error_lines, resumed, verdict
from children import NOT_BEGUN, Disturbance, run

_CODES = {
    signal.SIGINT: {130},
    signal.SIGTERM: {130, -signal.SIGTERM},
    signal.SIGHUP: {130, -signal.SIGHUP},
}


class Signals:
    """Probes of interruptions.

    Args:
        campaign: Prepared, with the undisturbed runs.
    """

    def __init__(self, campaign: Campaign) -> None:
        self.campaign = campaign

    def probe(self, number: int, chance: random.Random, place: Path) -> Probe:
        """Interrupts a run of the case whose turn it is."""
        case = self.campaign.cases[number % len(self.campaign.cases)]
        reference = self.campaign.references[case.name]
        words = self.campaign.words(case)
        sent = chance.choice((*_CODES, signal.SIGPIPE))
        if sent == signal.SIGPIPE:
            ended = run(words, place, disturbance=Disturbance(stdout_closed=True))
            findings = verdict(ended, {0, 1})
        else:
            moment = chance.random() * reference.seconds
            ended = run(words, place, disturbance=Disturbance(after=moment, signal=sent))
            if sent == signal.SIGINT and ended.code == NOT_BEGUN:
                return Probe(f"{sent.name}: {case.verb}", shlex.join(words), [])
            findings = verdict(ended, {0, *_CODES[sent]})
        if ended.code not in (0, 1) and len(error_lines(ended)) != (ended.code == 130):
            findings.append(Finding("not one line", ended.stderr[-300:]))
        output = place / "run" / case.output
        if case.writes and not findings:
            if output.exists():
                findings += compared(reference, place)
            else:
                beside = [entry.name for entry in (place / "run").iterdir()]
                if ended.code == 130 and beside and not case.keeps_work:
                    findings.append(Finding("left over", " ".join(beside)))
                findings = findings or resumed(words, reference, place)
        return Probe(f"{sent.name}: {case.verb}", shlex.join(words), findings)


def main(words: list[str] | None = None) -> int:
    """Runs the campaign; returns the exit code."""
    campaign = Campaign(__doc__ or "", words)
    campaign.prepare()
    return campaign.loop(Signals(campaign).probe)


if __name__ == "__main__":
    sys.exit(main())
