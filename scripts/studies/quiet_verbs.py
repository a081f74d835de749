"""A verb of the command line as a step of a study, which wants its files and not its table."""

from __future__ import annotations

import contextlib
import io
import sys

from hf_paraphrase.commands import main


def run_verb(*words: object) -> None:
    """Runs a verb without what it prints; ends the study with the verb's exit code if it fails."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = main([str(word) for word in words])
    if code:
        sys.exit(code)
