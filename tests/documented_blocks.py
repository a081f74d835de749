"""The code blocks of documents, and running them as a reader does."""

from __future__ import annotations

import io
import re
import shlex
import sys

from hf_paraphrase.commands import main

_BLOCK = re.compile(r"(?:<!-- quick: (.*?) -->\n)?^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


def blocks(text):
    """The fenced blocks of a text, each as its language and its text."""
    return [(language, code) for _, language, code in _BLOCK.findall(text)]


def quick_blocks(text):
    """Those blocks with what the comment before one puts in place of what a test has no time for.

    Such a comment, which no reader sees, is `<!-- quick: this = that | these = those -->`.
    """
    for quick, language, code in _BLOCK.findall(text):
        for change in filter(None, quick.split(" | ")):
            printed, _, tested = change.partition(" = ")
            assert printed in code, f"the block has no `{printed}`:\n{code}"
            code = code.replace(printed, tested)
        yield language, code


def commands_of(code):
    """The lines of a shell block, each with what it goes on with in the next one."""
    return [line for line in code.replace("\\\n", " ").splitlines() if line.strip() and not line.startswith("#")]


def run_line(line, monkeypatch):
    """Runs one line of a shell block through the command line's own entry point."""
    text, _, line = line.rpartition(" | ")
    if text:
        given = " ".join(shlex.split(text)[1:]) + "\n"
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    words = shlex.split(line)
    assert words[0] == "hf-paraphrase"
    assert main(words[1:]) == 0, line
