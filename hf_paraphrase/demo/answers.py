"""How the page answers when something is wrong: in words, where the result would stand."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

from ..errors import HfParaphraseError, error_of_the_system
from .pictures import note

_LOGGER = logging.getLogger(__name__)


def answered(empty: tuple[Any, ...] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator for what handles an event of the page, whose first result is HTML.

    An error that the user can fix becomes that HTML. One that nobody has foreseen does too, and its traceback goes to
    the log: the page stays as it is for everyone else.
    """

    def decorate(handler: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(handler)
        def answer(*args: Any, **kwargs: Any) -> Any:
            try:
                return handler(*args, **kwargs)
            except Exception as error:
                problem = error if isinstance(error, HfParaphraseError) else error_of_the_system(error)
                if problem is None:
                    _LOGGER.exception("the page could not answer")
                shown = note(str(problem or f"this failed: {type(error).__name__}: {error}"), error=True)
                return (shown, *empty) if empty else shown

        return answer

    return decorate
