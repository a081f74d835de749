"""Reads a verb's dataclass of arguments from the command line and from a YAML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ..settings_file import read_settings_file

if TYPE_CHECKING:
    from .argument_parser import VerbParser

T = TypeVar("T")


def parse(arguments_class: type[T], verb: str, argv: Sequence[str]) -> T:
    """Parses `argv`, with `--config FILE.yaml` giving values that the other flags override.

    Args:
        arguments_class: A dataclass whose fields carry help texts.
        verb: The verb, for messages.
        argv: The words after the verb.

    Raises:
        UsageError: For unknown flags, missing required ones, and values of the wrong type.
        InputError: If the configuration file cannot be read.
    """
    from .argument_parser import VerbParser

    parser = VerbParser(arguments_class, verb)
    words = parser.hyphenated(argv)
    parsed: T = parser.parsed(_expand_config(words, parser) + words)
    return parsed


def _expand_config(words: list[str], parser: VerbParser) -> list[str]:
    path = None
    for position, word in enumerate(words):
        if word == "--config" and position + 1 < len(words):
            path = words[position + 1]
        elif word.startswith("--config="):
            path = word.removeprefix("--config=")
    if path is None:
        return []
    given, fields = parser.fields_given(words), parser.fields_of_settings()
    flags = {field: f"--{name}" for name, field in reversed(fields.items())}
    expanded: list[str] = []
    for field, value in read_settings_file(Path(path), fields).items():
        # A flag that collects values would add those given here to the file's instead of replacing them.
        if field not in given:
            flag = flags[field]
            expanded += [flag, *map(str, value)] if isinstance(value, list) else [f"{flag}={value}"]
    return expanded
