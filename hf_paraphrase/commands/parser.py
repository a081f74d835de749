"""The flags of a verb, made from its settings dataclass: their values, and the text of `--help`."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import itertools
import re
import shutil
import types
import typing
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from ..errors import UsageError, choice_of
from ..messages import show
from ..settings import Settings, constraints_of, flag, truth, types_of_fields, values_from_file

S = TypeVar("S", bound=Settings)

_FLAGS = Settings.GROUP
_COMPUTING = "computing"
_LAST = "the run, its output and its card"
_OF_THE_RUN = ("seed", "license", "url", "update_card", "overwrite", "resume", "report_to", "config", "help")


def parse(settings_class: type[S], verb: str, words: Sequence[str]) -> S:
    """Makes settings from the words behind a verb; `--config FILE.yaml` gives values that the other flags override.

    Raises:
        UsageError: For unknown flags, missing required ones, and values of the wrong type.
        InputError: If the configuration file cannot be read.
    """
    parsed: S = VerbParser(settings_class, verb).parsed(words)
    return parsed


class VerbParser(argparse.ArgumentParser):
    """A parser whose flags are the fields of a settings dataclass, spelt with hyphens or underscores.

    A truth value is `--flag`, `--flag false` or `--no-flag`; a list is `--flag A B`, and several occurrences of it add
    up. What is given replaces the default.
    """

    def __init__(self, settings_class: type[Settings], verb: str) -> None:
        self._verb = verb
        self._settings_class = cast(Any, settings_class)
        super().__init__(
            prog=f"hf-paraphrase {verb}",
            description=(settings_class.__doc__ or "").strip(),
            # Every flag that is added makes a formatter, which would ask the terminal for its width anew.
            formatter_class=partial(_HelpFormatter, width=shutil.get_terminal_size().columns - 2),
            allow_abbrev=False,
        )
        # `-5<=log_prob` is a value, not a flag.
        self._negative_number_matcher = re.compile(r"-\.?\d")
        hints = types_of_fields(settings_class)
        for field in dataclasses.fields(self._settings_class):
            self._add_field(field, hints[field.name])
        self.add_argument(
            "--config", metavar="FILE", help="a YAML file of `flag: value`; flags given here win over it"
        )

    def parsed(self, words: Sequence[str]) -> Any:
        """Makes the settings of the words behind the verb."""
        words = [self._hyphenated(word) for word in words]
        self._read_config(words)
        # Before argparse says which required flags are missing: one of them may be misspelt.
        flags = [
            word.partition("=")[0] for word in words if word.startswith("--") and word != "--" and " " not in word
        ]
        unknown = [name for name in flags if name not in self._option_string_actions]
        if not unknown or not {"-h", "--help"}.isdisjoint(words):
            namespace, unknown = self.parse_known_args(words)
        if unknown:
            near = difflib.get_close_matches(unknown[0].replace("_", "-"), self._option_string_actions, 1)
            hint = f", did you mean {near[0]}?" if near else ""
            self.error(f"unknown argument{'s' if len(unknown) > 1 else ''} {' '.join(unknown)}{hint}")
        names = [field.name for field in dataclasses.fields(self._settings_class)]
        return self._settings_class(**{name: getattr(namespace, name) for name in names})

    def _read_config(self, words: Sequence[str]) -> None:
        """Makes the values of the file that `--config` names the defaults."""
        paths = [word.removeprefix("--config=") for word in words if word.startswith("--config=")]
        paths += [path for word, path in itertools.pairwise(words) if word == "--config"]
        if paths:
            values = values_from_file(self._settings_class, Path(paths[-1]))
            self.set_defaults(**values)
            for action in self._actions:
                action.required = action.required and action.dest not in values

    def _add_field(self, field: dataclasses.Field[Any], hint: Any) -> None:
        """Adds the flag of a field, whose type is a plain one, a list of such, or one of these or None."""
        if typing.get_origin(hint) in (typing.Union, types.UnionType):
            hint = next(part for part in typing.get_args(hint) if part is not type(None))
        names = field.metadata.get("names") or [flag(field.name)]
        # argparse takes a percent sign for a format.
        settings: dict[str, Any] = {"help": field.metadata.get("help", "").replace("%", "%%")}
        if (choices := constraints_of(field).choices) is not None:
            settings["choices"] = list(choices)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        settings |= {"required": True} if default is dataclasses.MISSING else {"default": default}
        if separator := field.metadata.get("separator"):
            settings |= {"nargs": "+", "action": partial(_Join, separator)}
        elif typing.get_origin(hint) is list:
            (hint,) = typing.get_args(hint)
            settings |= {"nargs": "+", "action": _Collect}
        elif "alone" in field.metadata:
            settings |= {"nargs": "?", "const": field.metadata["alone"]}
        elif hint is bool and default is not None:
            settings |= {"nargs": "?", "const": True}
        self.add_argument(*names, dest=field.name, type=_truth if hint is bool else hint, **settings)
        if default is True:
            opposites = [f"--no-{name.removeprefix('--')}" for name in names]
            self.add_argument(
                *opposites,
                dest=field.name,
                action="store_false",
                default=argparse.SUPPRESS,
                help=f"turns {names[0]} off",
            )

    def _hyphenated(self, word: str) -> str:
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        return name + equals + value if name.startswith("--") and name in self._option_string_actions else word

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuses what is no choice of a flag, as argparse does, and names the nearest one."""
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(
                action, f"invalid choice: {value!r}: {choice_of(value, map(str, action.choices))}"
            )

    def _groups(self) -> dict[str, list[argparse.Action]]:
        """Sorts the flags by the `GROUP` of the class that declares them; what is required comes first."""
        groups: dict[str, list[argparse.Action]] = {_FLAGS: [action for action in self._actions if action.required]}
        own = [action for action in self._actions if not action.required]
        last = [action for name in _OF_THE_RUN for action in own if action.dest == name]
        for action in (action for action in own if action not in last):
            owner = [base for base in self._settings_class.__mro__ if hasattr(base, "__dataclass_fields__")]
            owner = [base for base in owner if action.dest in base.__dataclass_fields__]
            groups.setdefault(vars(owner[-1]).get("GROUP", _FLAGS), []).append(action)
        if len(groups) == 1:
            return {_FLAGS: groups[_FLAGS] + last}
        ordered = sorted(groups, key=lambda title: (title != _FLAGS, title == _COMPUTING))
        return {**{title: groups[title] for title in ordered}, _LAST: last}

    def format_help(self) -> str:
        """Writes the help: what is required in the first line, then the flags in groups."""
        formatter = self._get_formatter()
        required = [f"{action.option_strings[0]} {action.dest.upper()}" for action in self._actions if action.required]
        formatter.add_usage(" ".join(["%(prog)s", *required, "[flags]"]), [], [])
        formatter.add_text(self.description)
        for title, actions in self._groups().items():
            formatter.start_section(title)
            formatter.add_arguments(actions)
            formatter.end_section()
        return formatter.format_help()

    def print_help(self, file: Any = None) -> None:
        """Shows the help, as anything else is shown."""
        show(self.format_help())

    def error(self, message: str) -> NoReturn:
        """Raises what argparse would print with the whole usage.

        Raises:
            UsageError: Always.
        """
        raise UsageError(f"{self._verb}: {message}", remedy=f"see hf-paraphrase {self._verb} --help")


def _truth(word: str) -> bool:
    try:
        return truth(word)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


class _Collect(argparse.Action):
    """Collects the values of every occurrence; argparse's own `extend` would add them to the default."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest)
        setattr(namespace, self.dest, self.added(None if before is self.default else before, list(values or [])))

    def added(self, before: Any, values: list[Any]) -> Any:
        """Adds the values of an occurrence to those of earlier ones, None for the first."""
        return [*(before or []), *values]


class _Join(_Collect):
    """Joins the values of every occurrence to one text, for what takes its names in one text."""

    def __init__(self, separator: str, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        super().__init__(option_strings, dest, **settings)
        self._separator = separator

    def added(self, before: Any, values: list[Any]) -> Any:
        words = [word.strip(self._separator) for word in values]
        return self._separator.join(words if before is None else [before, *words])


class _HelpFormatter(argparse.HelpFormatter):
    """Says of each flag that it is required, or its default where that says something."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        if action.required:
            return f"{text} (required)"
        says_nothing = action.default in (None, argparse.SUPPRESS, "", []) or action.default is False
        if says_nothing or "[default: " in text:
            return text
        default = " ".join(
            map(str, cast(Any, action.default if isinstance(action.default, list) else [action.default]))
        )
        return f"{text} (default: {default.replace('%', '%%')})"

    def _format_action_invocation(self, action: argparse.Action) -> str:
        names = ", ".join(action.option_strings)
        if action.nargs == 0 or (action.const is True and action.default is False):
            return names
        return f"{names} {self._format_args(action, self._get_default_metavar_for_optional(action))}"
