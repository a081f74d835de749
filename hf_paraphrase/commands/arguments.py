"""Reads a verb's dataclass of arguments from the command line and from a YAML file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import InputError, UsageError

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
    words = _expand_config(words, parser) + words
    # Left to itself the parser answers an unknown flag with a bare ValueError.
    parsed, *_, unknown = parser.parse_args_into_dataclasses(
        args=words, look_for_args_file=False, return_remaining_strings=True
    )
    if unknown:
        parser.error(f"unknown argument{'s' if len(unknown) > 1 else ''} {' '.join(unknown)}")
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
    expanded: list[str] = []
    keys: dict[str, str] = {}
    for key, value in _read_yaml(Path(path)).items():
        setting = str(key).replace("_", "-")
        name = fields.get(setting)
        if name is None:
            remedy = f"one of {', '.join(sorted(set(fields.values())))}"
            raise UsageError(f"unknown setting `{key}`", path=path, remedy=remedy)
        if name in keys:
            raise UsageError(f"`{keys[name]}` and `{key}` are one setting", path=path, remedy="give one of the two")
        keys[name] = str(key)
        if isinstance(value, dict):
            raise UsageError(f"`{key}` is a mapping", path=path, remedy="give one value, or a list of values")
        # A flag that collects values would add those given here to the file's instead of replacing them.
        if value is None or name in given:
            continue
        flag = f"--{setting}"
        expanded += [flag, *map(str, value)] if isinstance(value, list) else [f"{flag}={value}"]
    return expanded


def _read_yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read the configuration: {error.strerror}", path=path) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"not a YAML file: {error}", path=path) from error
    if not isinstance(content, dict):
        raise InputError("the configuration must be a mapping of `flag: value`", path=path)
    return content
