"""`push`: a model, data or metric folder to the Hub."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import UsageError
from ..hub.run import PushSettings, push
from ..messages import show
from .arguments import parse


def main(argv: Sequence[str]) -> None:
    """Runs the verb.

    Raises:
        UsageError: For a token among the words.
    """
    if any(word.partition("=")[0] in {"--token", "--hf-token", "--hf_token"} for word in argv):
        # Other users of the machine can read a command line; and the parser's own message would repeat the value.
        raise UsageError("push: a token is no flag's value", remedy="set HF_TOKEN, log in, or name a --token-file")
    show(str(push.run(parse(PushSettings, "push", argv))))
