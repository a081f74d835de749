"""`fingerprint`: evaluation sets to a list of sentence fingerprints that can be shared in their place."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.fingerprint_lists import FingerprintSettings, fingerprint
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb."""
    fingerprint.run(parse(FingerprintSettings, "fingerprint", argv))
