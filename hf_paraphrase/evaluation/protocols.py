"""The registry of STS protocols, by the name that `evaluate --protocols` takes.

The same cosines give other numbers under each protocol (2012 from 52.9 to 56.6 for one untrained scorer), so each is a
function, a table and a section of the results of its own, and no two are ever averaged. The protocol of the papers,
`paper`, is :func:`.sts.evaluate_scored`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..errors import UsageError
from .concatenated import evaluate_concatenated
from .protocol_result import ProtocolResult
from .scored_set import ScoredSet
from .senteval_sts import evaluate_senteval
from .sick import evaluate_sick
from .sts_benchmark import evaluate_sts_benchmark
from .wieting2021 import evaluate_wieting2021

PAPER = "paper"
"""The protocol of the paraphrastic embedding papers, whose result has a shape of its own."""

PROTOCOLS: dict[str, Callable[[Sequence[ScoredSet]], ProtocolResult]] = {
    "senteval": evaluate_senteval,
    "all": evaluate_concatenated,
    "stsb": evaluate_sts_benchmark,
    "sick": evaluate_sick,
    "wieting2021": evaluate_wieting2021,
}
"""The other protocols."""


def choose_protocols(requested: Iterable[str]) -> list[str]:
    """Returns the names of the protocols to apply, `paper` included where it is wanted; all of them by default.

    Raises:
        UsageError: For a name that is no protocol.
    """
    names = list(dict.fromkeys(requested))
    unknown = [name for name in names if name != PAPER and name not in PROTOCOLS]
    if unknown:
        raise UsageError(f"unknown protocol {', '.join(unknown)}", remedy=f"one of {', '.join((PAPER, *PROTOCOLS))}")
    return names or [PAPER, *PROTOCOLS]
