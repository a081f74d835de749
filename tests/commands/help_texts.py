"""The help texts of flags, as `--help` shows them."""

from __future__ import annotations

import re

from hf_paraphrase.commands.argument_parser import VerbParser


def help_of(arguments_class, monkeypatch):
    """Returns for each flag, as it is shown with its values, the text that explains it."""
    monkeypatch.setenv("COLUMNS", "100000")
    options = VerbParser(arguments_class, "verb").format_help().partition("\nflags:\n")[2]
    return dict(re.split(r"\s{2,}", entry.strip(), maxsplit=1) for entry in re.split(r"\n(?=  -)", options))
