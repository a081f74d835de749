"""Calls transformers, tokenizers and safetensors: without bars and warnings, and with errors of one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import HfParaphraseError, ModelError
from ..messages import shown_line

_LONGEST_MESSAGE = 300


@contextmanager
def quiet_transformers(*, warns: bool = False) -> Iterator[None]:
    """Keeps transformers from showing a bar for every file, and unless `warns`, its warnings.

    Without effect if it has not been imported yet.
    """
    if "transformers" not in sys.modules:
        yield
        return
    from transformers.utils import logging

    shows_bars, verbosity = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    # Setting a level empties the caches of all loggers, so that it is set only if it changes.
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


@contextmanager
def opening(what: str, path: str | os.PathLike[str], remedy: str = "copy the model again") -> Iterator[None]:
    """Turns whatever a library raises in the block into one `ModelError`; `what` is e.g. `the model`."""
    try:
        with quiet_transformers():
            yield
    except HfParaphraseError:
        raise
    except BaseException as error:
        # Libraries written in Rust raise a PanicException, which is not an `Exception` and cannot be imported.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        text = shown_line(f"{type(error).__name__}: {error}", _LONGEST_MESSAGE)
        raise ModelError(f"{what} cannot be opened: {text}", path=path, remedy=remedy) from error
