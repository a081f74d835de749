"""Starts two runs of each verb on one output at once, or almost at once.

One of them wins; the other one says in a line that somebody is at work, or that the output is there, and ends with 2.
The output is that of a single run. With `--overwrite` both may do the work, one after the other.
"""

from __future__ import annotations

import random
import shlex
import sys
import time
from pathlib import Path

from campaign import Campaign, Finding, OutputProbes, Probe, compared, error_lines, verdict
from children import start


class TwoAtOnce(OutputProbes):
    """Probes of two runs; parts of one job do not keep each other out, and are probed in `parts.py`.

    Args:
        campaign: Prepared, with the undisturbed runs.
    """

    def __init__(self, campaign: Campaign) -> None:
        super().__init__(campaign)
        self.cases = [case for case in self.cases if not case.in_parts]

    def probe(self, number: int, chance: random.Random, place: Path) -> Probe:
        """Runs the case whose turn it is twice at once."""
        case, reference, words = self.turn(number)
        overwrite = chance.random() < 0.3 and "overwrite" in case.settings().__dataclass_fields__
        words += ["--overwrite"] if overwrite else []
        first = start(words, place)
        time.sleep(chance.choice((0.0, 0.0, chance.random() * reference.seconds)))
        second = start(words, place)
        both = [first.end(), second.end()]
        findings = [finding for ended in both for finding in verdict(ended, {0, 2})]
        codes = sorted(ended.code for ended in both)
        if not findings and codes != [0, 2] and not (overwrite and codes == [0, 0]):
            findings.append(
                Finding("not one winner", f"exit codes {codes}: {both[0].stderr[-200:]} {both[1].stderr[-200:]}")
            )
        for ended in both:
            if ended.code == 2 and len(error_lines(ended)) != 1:
                findings.append(Finding("not one line", ended.stderr[-300:]))
        if 0 in codes:
            found = compared(reference, place)
            # `overwrite` is a setting, of which the record tells.
            findings += [item for item in found if not (overwrite and item.text.endswith("provenance.json"))]
        return Probe(case.name, shlex.join(words), findings)


def main(words: list[str] | None = None) -> int:
    """Runs the campaign; returns the exit code."""
    campaign = Campaign(__doc__ or "", words)
    campaign.prepare()
    return campaign.loop(TwoAtOnce(campaign).probe)


if __name__ == "__main__":
    sys.exit(main())
