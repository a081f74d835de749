"""`push`: a model, data or metric folder to the Hub."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from ..errors import HfParaphraseError, UsageError
from ..hub.run import PushSettings, push
from ..hub.tokens import redact
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb; no message repeats a token that was given as a flag's value."""
    if any(word.partition("=")[0] in {"--token", "--hf-token", "--hf_token"} for word in argv):
        # Other users of the machine can read a command line; and the parser's own message would repeat the value.
        raise UsageError("push: a token is no flag's value", remedy="set HF_TOKEN, log in, or name a --token-file")
    try:
        settings = parse(PushSettings, "push", argv)
    except HfParaphraseError as error:
        error.message = redact(error.message)
        error.path = None if error.path is None else redact(error.path)
        raise
    sys.stdout.write(str(push.run(settings)))
