"""Checks of user input, and HTML for answers and errors, with all texts escaped."""

from __future__ import annotations

import functools
import html
import logging
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import HfParaphraseError, UsageError, error_of_the_system
from ..messages import printable, sanitize_line

_LOGGER = logging.getLogger(__name__)
MOST_SENTENCES = 12
"""Maximum number of sentences in a comparison; a larger heat map is hard to read."""
MOST_CHARACTERS = 6_000
"""Maximum number of characters in the text box."""
LONGEST = 2_000
"""Maximum number of characters of a sentence."""
WITH_MODELS = {"concurrency_id": "models", "concurrency_limit": 1, "api_visibility": "private"}
"""Options of events that use models: one at a time, because a tokenizer must not be called by two threads at once."""


def escape(text: str) -> str:
    """Escape HTML, control characters and bidirectional marks in a text."""
    return html.escape(printable(text))


def round_cell(value: Any) -> Any:
    """Return a table cell: numbers with three digits, None for NaN."""
    if isinstance(value, float):
        return None if math.isnan(value) else round(value, 3)
    return value


def render_note(text: str, *, error: bool = False) -> str:
    """Return the HTML of a message in a frame."""
    kind, role = ("error", "alert") if error else ("said", "status")
    return f'<p class="hfp-note hfp-{kind}" role="{role}">{escape(sanitize_line(text, 600))}</p>'


def report_errors(others: Sequence[Any] = ()) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that turns errors of an event handler into messages.

    The first value that a handler returns is HTML. After an error it is the message, followed by the values `others`.
    The traceback of an unexpected error is logged.
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
                shown = render_note(str(problem or f"this failed: {type(error).__name__}: {error}"), error=True)
                return (shown, *others) if others else shown

        return answer

    return decorate


def show_example(
    gr: Any, tab: Any, handler: Callable[..., Sequence[Any]], inputs: list[Any], outputs: list[Any]
) -> None:
    """Call a handler with its example inputs when a tab is opened for the first time."""
    is_shown = gr.State(False)

    def on_open(done: bool, *values: Any) -> list[Any]:
        return [True, *([gr.skip()] * len(outputs) if done else handler(*values))]

    tab.select(on_open, [is_shown, *inputs], [is_shown, *outputs], **WITH_MODELS)


def read_sentence(text: str | None, what: str = "the sentence") -> str:
    """Return typed text as one sentence with single spaces."""
    sentence = " ".join((text or "").split())
    if not sentence:
        raise UsageError(f"{what} is empty", remedy="type one")
    if len(sentence) > LONGEST:
        raise UsageError(
            f"{what} has {len(sentence):,} characters", remedy=f"at most {LONGEST:,}: a sentence, not a document"
        )
    return sentence


def read_sentences(text: str | None) -> list[str]:
    """Return the typed sentences, one per line, without empty lines."""
    lines = [line for line in (text or "").splitlines() if line.strip()]
    if len(lines) < 2:
        problem = "there is nothing to compare" if lines else "the text is empty"
        raise UsageError(problem, remedy="type two sentences, one per line")
    if len(lines) > MOST_SENTENCES:
        raise UsageError(f"these are {len(lines):,} sentences", remedy=f"at most {MOST_SENTENCES}, one per line")
    return [read_sentence(line, f"sentence {index}") for index, line in enumerate(lines, 1)]


@contextmanager
def shorten_upload_path(path: Path | None) -> Iterator[None]:
    """Remove the temporary folder of an upload from error messages."""
    try:
        yield
    except HfParaphraseError as error:
        if path is not None and error.path == str(path):
            error.path = path.name
        raise


def choose_source(upload: str | None, path: str | None) -> Path | None:
    """Return the uploaded file or the path on this machine; None without either."""
    path = (path or "").strip()
    if upload and path:
        raise UsageError("both an upload and a path are given", remedy="remove one of them")
    return Path(upload) if upload else Path(path).expanduser() if path else None
