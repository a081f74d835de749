"""A name of a file, folder or model that is not there, and the nearest one that is."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from ..artefacts.hub_models import BUILTIN, WORDLLAMA
from ..errors import HfParaphraseError, ModelError

_MOST_NEIGHBOURS = 10_000
_LIKENESS = 0.75


def with_near_name(problem: HfParaphraseError) -> HfParaphraseError:
    """Adds to an error about something that is not there what may have been meant.

    Args:
        problem: Any error; one about something else comes back as it is.
    """
    if problem.path is None or not problem.message.startswith("no such"):
        return problem
    near = _near(problem.path, is_model=isinstance(problem, ModelError))
    if near is not None:
        problem.remedy = f"did you mean {near}? Else {problem.remedy}" if problem.remedy else f"did you mean {near}?"
    return problem


def _near(path: str, *, is_model: bool) -> str | None:
    place = Path(path)
    if os.path.lexists(place):
        return None
    try:
        with os.scandir(place.parent) as entries:
            names = [entry.name for entry, _ in zip(entries, range(_MOST_NEIGHBOURS), strict=False)]
    except (OSError, ValueError):
        return None
    known = [name for name in names if not name.startswith(".")]
    if is_model and path == place.name:
        known += [BUILTIN, WORDLLAMA]
    found = difflib.get_close_matches(place.name, known, 1, _LIKENESS)
    return str(place.with_name(found[0])) if found else None
