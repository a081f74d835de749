"""transformers without bars and warnings of its own: what it would say of a folder is checked here, and told."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_transformers(*, warns: bool = False) -> Iterator[None]:
    """Keeps transformers from showing a bar for every file that it reads or writes, and lists of missing weights.

    Without effect where it has not been imported yet.

    Args:
        warns: Whether its warnings are shown, and bars alone are not.
    """
    if "transformers" not in sys.modules:
        yield
        return
    from transformers.utils import logging

    shows_bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    # Setting a level empties the caches of all loggers, so that it is set where it changes alone.
    silenced = not warns and verbosity != logging.ERROR
    if silenced:
        logging.set_verbosity_error()
    try:
        yield
    finally:
        if silenced:
            logging.set_verbosity(verbosity)
        if shows_bars:
            logging.enable_progress_bar()
