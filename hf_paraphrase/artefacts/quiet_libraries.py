"""Calls transformers, tokenizers and safetensors: without bars and warnings, and with errors of one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import HfParaphraseError, ModelError

_LONGEST_MESSAGE = 300


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


@contextmanager
def opening(what: str, path: str | os.PathLike[str], remedy: str = "copy the model again") -> Iterator[None]:
    """Turns whatever a library raises in the block into one `ModelError`; transformers is quiet in it.

    Args:
        what: What is opened, e.g. `the model`.
        path: Its file or folder.
        remedy: What to do about the error.
    """
    try:
        with quiet_transformers():
            yield
    except HfParaphraseError:
        raise
    except BaseException as error:
        # Libraries written in Rust raise a PanicException, which is no `Exception` and cannot be imported.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        text = " ".join(f"{type(error).__name__}: {error}".split())
        if len(text) > _LONGEST_MESSAGE:
            text = text[:_LONGEST_MESSAGE] + " …"
        raise ModelError(f"{what} cannot be opened: {text}", path=path, remedy=remedy) from error
