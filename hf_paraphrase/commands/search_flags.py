"""Turns the flags of a beam search, which several verbs have, into its constraints."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..errors import UsageError

if TYPE_CHECKING:
    from ..translation.constraints import SearchConstraints


def check_search_flags(arguments: Any) -> None:
    """Checks `length_penalty`, `min_length_ratio`, `max_length_ratio`, `max_target_units` and `no_repeat_ngram_size`.

    Raises:
        UsageError: If one is out of range, or no length satisfies all.
    """
    if not math.isfinite(arguments.length_penalty):
        raise UsageError(f"--length-penalty must be finite, but is {arguments.length_penalty}")
    if not arguments.min_length_ratio >= 0:
        raise UsageError(f"--min-length-ratio must not be below 0, but is {arguments.min_length_ratio}")
    if not arguments.min_length_ratio < arguments.max_length_ratio < float("inf"):
        raise UsageError(
            f"--max-length-ratio {arguments.max_length_ratio} must be above --min-length-ratio "
            f"{arguments.min_length_ratio} and finite"
        )
    if arguments.max_target_units < 1:
        raise UsageError(f"--max-target-units must be 1 or more, not {arguments.max_target_units}")
    if arguments.no_repeat_ngram_size < 0:
        raise UsageError(f"--no-repeat-ngram-size must not be below 0, but is {arguments.no_repeat_ngram_size}")


def search_constraints(arguments: Any) -> SearchConstraints:
    """Makes the constraints from a verb's arguments."""
    from ..translation.constraints import SearchConstraints

    return SearchConstraints(
        min_length_ratio=arguments.min_length_ratio,
        max_length_ratio=arguments.max_length_ratio,
        max_units=arguments.max_target_units,
        forbid_unknown=arguments.forbid_unknown,
        no_repeat_ngram_size=arguments.no_repeat_ngram_size,
    )
