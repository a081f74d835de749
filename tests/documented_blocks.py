"""The code blocks of documents, and running them as a reader does."""

from __future__ import annotations

import io
import re
import shlex
import sys

from hf_paraphrase.commands import main

_BLOCK = re.compile(r"(?:<!-- (quick|not run): (.*?) -->\n)?^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(text):
    """Return the fenced blocks of a text, each as its language and its code."""
    return [(language, code) for _, _, language, code in _BLOCK.findall(text)]


def runnable_blocks(text):
    """Yield the blocks of Python and shell, except those after a comment `<!-- not run: REASON -->`.

    Readers do not see these comments. `<!-- quick: this = that | these = those -->` replaces sizes that take a test
    too long.
    """
    for kind, comment, language, code in _BLOCK.findall(text):
        if language not in {"bash", "python"} or kind == "not run":
            continue
        for change in filter(None, comment.split(" | ")):
            printed, _, tested = change.partition(" = ")
            assert printed in code, f"the block has no `{printed}`:\n{code}"
            code = code.replace(printed, tested)
        yield language, code


def commands_of(code):
    """Return the commands of a shell block, each on one line."""
    return [line for line in code.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]


def run_line(line, monkeypatch):
    """Run one line of a shell block through the entry point of the command line."""
    text, _, line = line.rpartition(" | ")
    if text:
        given = " ".join(shlex.split(text)[1:]) + "\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    words = shlex.split(line)
    assert words[0] == "hf-paraphrase"
    assert main(words[1:]) == 0, line
