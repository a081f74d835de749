"""Makes the flags of a command from its settings dataclass: reads their values and formats `--help`."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import itertools
import re
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from ..errors import InputError, UsageError
from ..messages import warn_renamed
from ..settings import Settings, default_of, flag, option_of, plain_type, types_of_fields
from .results import show

S = TypeVar("S", bound=Settings)

_TRUTH = dict.fromkeys(["yes", "true", "t", "y", "on", "1"], True)
_TRUTH |= dict.fromkeys(["no", "false", "f", "n", "off", "0"], False)
_FLAGS = Settings.GROUP
_COMPUTING = "computing"
_LAST = "the run, its output and its card"
_HELP_FLAGS = ("help", "help_all")
_OF_THE_RUN = ("seed", "license", "url", "update_card", "overwrite", "resume", "report_to", "config", *_HELP_FLAGS)
_HELP = {"-h", "--help", "--help-all"}
_MANY = 40
"""The number of flags above which `--help` shows the first group alone."""


def parse(settings_class: type[S], verb: str, words: Sequence[str]) -> S:
    """Make settings from the words after a command; flags override the values of `--config FILE.yaml`."""
    settings: S = VerbParser(settings_class, verb).parse_words(words)
    return settings


class VerbParser(argparse.ArgumentParser):
    """A parser whose flags are the fields of a settings dataclass, spelt with hyphens or underscores.

    A boolean is `--flag`, `--flag false` or `--no-flag`. A list is `--flag A B`; repeated flags append to it. Given
    values replace the default.
    """

    def __init__(self, settings_class: type[Settings], verb: str, *, shows_all: bool = False) -> None:
        self._verb, self._settings_class = verb, settings_class
        self._renamed: dict[str, str] = {}
        super().__init__(
            prog=f"hf-paraphrase {verb}",
            description=(settings_class.__doc__ or "").strip(),
            # Every flag that is added makes a formatter, which would ask the terminal for its width again.
            formatter_class=partial(_HelpFormatter, width=shutil.get_terminal_size().columns - 2),
            # The dataclass has the defaults.
            argument_default=argparse.SUPPRESS,
            allow_abbrev=False,
        )
        # `-5<=log_prob` is a value, not a flag.
        self._negative_number_matcher = re.compile(r"-\.?\d")
        hints = types_of_fields(settings_class)
        for field in dataclasses.fields(settings_class):
            self._add_field(field, *plain_type(hints[field.name]))
        self.add_argument(
            "--config", metavar="FILE", help="a YAML file of `flag: value`; flags on the command line override it"
        )
        self._shows_all = shows_all or len(self._actions) <= _MANY
        others = f"show all {len(self._actions)} flags, including: {'; '.join(list(self._groups())[1:])}"
        self.add_argument("--help-all", action="help", help=argparse.SUPPRESS if self._shows_all else others)

    def _add_field(self, field: dataclasses.Field[Any], hint: Any, is_list: bool) -> None:
        """Add the flag of a field, which has values of a type, or a list of them."""
        option, default = option_of(field), default_of(field)
        names = option.names or [flag(field.name)]
        self._renamed |= {flag(name): names[0] for name in option.formerly}
        keywords: dict[str, Any] = {
            "help": _help_text(option.help, default),
            "required": default is dataclasses.MISSING,
        }
        if option.choices is not None:
            keywords["metavar"] = f"{{{','.join(option.choices)}}}"  # the settings check them
        if is_list or option.separator:
            keywords |= {"nargs": "+", "action": "extend"}
        elif option.alone is not None:
            keywords |= {"nargs": "?", "const": option.alone}
        elif hint is bool and default is not None:
            keywords |= {"nargs": "?", "const": True, "metavar": None if default is True else ""}
        self.add_argument(*names, dest=field.name, type=_truth if hint is bool else hint, **keywords)
        if default is True:
            opposites = [f"--no-{name.removeprefix('--')}" for name in names]
            self._renamed |= {flag(f"no_{name}"): opposites[0] for name in option.formerly}
            self.add_argument(*opposites, dest=field.name, action="store_false", help=f"disable {names[0]}")

    def parse_words(self, words: Sequence[str]) -> Any:
        """Make the settings from the words after the command."""
        self._shows_all |= "--help-all" in words
        paths = [word.removeprefix("--config=") for word in words if word.startswith("--config=")]
        paths += [path for word, path in itertools.pairwise(words) if word == "--config"]
        values = self._values_of_file(Path(paths[-1])) if paths else {}
        return cast(Any, self._settings_class)(**{**values, **self._values(words)})

    def _values(self, words: Sequence[str]) -> dict[str, Any]:
        words = [self._current_spelling(word) for word in words]
        # Before argparse reports missing flags: one of them may be misspelt.
        flags = [word.partition("=")[0] for word in words if re.match(r"--[^ =]+(?:=|$)", word)]
        unknown = [name for name in flags if name not in self._option_string_actions]
        given: dict[str, Any] = {}
        if not unknown or not _HELP.isdisjoint(words):
            namespace, unknown = self.parse_known_args(words)
            given = vars(namespace)
        if unknown:
            near = difflib.get_close_matches(unknown[0].replace("_", "-"), self._option_string_actions, 1)
            hint = f", did you mean {near[0]}?" if near else ""
            self.error(f"unknown argument{'s' if len(unknown) > 1 else ''} {' '.join(unknown)}{hint}")
        for field in dataclasses.fields(self._settings_class):
            if field.name in given and (separator := option_of(field).separator):
                given[field.name] = separator.join(word.strip(separator) for word in given[field.name])
        given.pop("config", None)
        return given

    def _current_spelling(self, word: str) -> str:
        """Replace a former name of a flag by the current one, and underscores by hyphens."""
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        if name in self._renamed:
            warn_renamed(name, self._renamed[name])
            name = self._renamed[name]
        return name + equals + value if name.startswith("--") and name in self._option_string_actions else word

    def _values_of_file(self, path: Path) -> dict[str, Any]:
        """Read the file of `--config`; flags that it sets are no longer required."""
        required = [action for action in self._actions if action.required]
        for action in required:
            action.required = False
        try:
            values = self._values(self._words_of_file(path))
        except UsageError as error:
            raise UsageError(error.message, path=path, remedy=error.remedy) from error
        for action in required:
            action.required = action.dest not in values
        return values

    def _words_of_file(self, path: Path) -> list[str]:
        """Convert a YAML file of `flag: value` to words of a command line: values as text, without null ones."""
        # YAML reads the language `no` as false and `12:30` as 750.
        import yaml

        try:
            loader = yaml.BaseLoader(path.read_text(encoding="utf-8"))
            root = loader.get_single_node()
            mapping = loader.construct_document(root) if isinstance(root, yaml.MappingNode) else {}
        except (OSError, yaml.YAMLError, ValueError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"not a readable YAML file: {reason}", path=path, remedy="check --config") from error
        if not isinstance(root, yaml.MappingNode):
            raise InputError("the file is not a YAML mapping", path=path, remedy="write `flag: value` lines")
        lines: dict[str, int] = {}
        for node, _ in root.value:
            name = f"--{node.value}".replace("_", "-")
            action = self._option_string_actions.get(self._renamed.get(name, name))
            meant, line = name if action is None else action.dest, node.start_mark.line + 1
            if meant in lines:
                problem = f"`{node.value}` is set in line {lines[meant]} already"
                raise InputError(problem, path=path, line=line, remedy="remove one of the two")
            lines[meant] = line
        words = []
        for key, value in mapping.items():
            name = f"--{key}".replace("_", "-")
            if "=" in name or name in {"--config", *_HELP}:
                self.error(f"unknown setting `{key}`")
            action = self._option_string_actions.get(self._renamed.get(name, name))
            is_list = isinstance(value, list) and (action is None or action.nargs == "+")
            values = value if is_list else [value]
            if any(isinstance(part, list | dict) for part in values):
                self.error(f"`{key}` is {value!r}, not {'values' if is_list else 'a single value'}")
            words += [f"{name}={part}" for part in values if is_list or part not in ("", "~", "null")]
        return words

    def _groups(self) -> dict[str, list[argparse.Action]]:
        """Group the flags by the `GROUP` of the class that declares them; required flags come first."""
        groups = {_FLAGS: [action for action in self._actions if action.required]}
        optional = {action.dest: action for action in self._actions if not action.required}
        last = [optional[name] for name in _OF_THE_RUN if name in optional]
        for action in self._actions:
            if not action.required and action.dest not in _OF_THE_RUN:
                groups.setdefault(self._group_of(action.dest), []).append(action)
        if len(groups) == 1:
            return {_FLAGS: groups[_FLAGS] + last}
        ordered = sorted(groups, key=lambda title: (title != _FLAGS, title == _COMPUTING))
        return {**{title: groups[title] for title in ordered}, _LAST: last}

    def _group_of(self, name: str) -> str:
        """Return the heading of a field: its own, or the `GROUP` of the class that declares it first."""
        owners = [base for base in self._settings_class.__mro__ if name in vars(base).get("__dataclass_fields__", ())]
        own = option_of(self._settings_class.__dataclass_fields__[name]).group
        return own or str(vars(owners[-1]).get("GROUP", _FLAGS))

    def format_help(self) -> str:
        """Write the help: the required flags in the first line, then all flags in groups."""
        formatter = self._get_formatter()
        required = [f"{action.option_strings[0]} {action.dest.upper()}" for action in self._actions if action.required]
        formatter.add_usage(" ".join(["%(prog)s", *required, "[flags]"]), [], [])
        formatter.add_text(self.description)
        groups = self._groups()
        if not self._shows_all:
            groups = {_FLAGS: groups[_FLAGS] + groups[_LAST][-len(_HELP_FLAGS) :]}
        for title, actions in groups.items():
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        return formatter.format_help()

    def print_help(self, file: Any = None) -> None:
        """Print the help to standard output, like any result."""
        show(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Raise an error; argparse would print the whole usage and exit."""
        raise UsageError(f"{self._verb}: {message}", remedy=f"see hf-paraphrase {self._verb} --help")


def _truth(word: str) -> bool:
    if word.lower() not in _TRUTH:
        raise argparse.ArgumentTypeError(f"{word!r} is not one of true, false, yes, no, 1, 0")
    return _TRUTH[word.lower()]


def _help_text(text: str, default: Any) -> str:
    """Add to a help text that the flag is required, or its default."""
    if default is dataclasses.MISSING:
        text += " (required)"
    elif default not in (None, "", []) and default is not False and "[default: " not in text:
        text += f" (default: {' '.join(map(str, default)) if isinstance(default, list) else default})"
    # argparse takes a percent sign for a format.
    return text.replace("%", "%%")


class _HelpFormatter(argparse.HelpFormatter):
    """Shows all names of a flag, followed by its values once."""

    def _format_action_invocation(self, action: argparse.Action) -> str:
        names = ", ".join(action.option_strings)
        if action.nargs == 0 or action.metavar == "":
            return names
        metavar = self._get_default_metavar_for_optional(action)
        values = f"{action.metavar or metavar} ..." if action.nargs == "+" else self._format_args(action, metavar)
        return f"{names} {values}"
