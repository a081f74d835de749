"""The parser of a verb's flags: lists that add up, one spelling of each flag to show, and the texts of `--help`."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import shutil
import types
import typing
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, NoReturn

from ..errors import UsageError, choice_of
from ..messages import show
from ..settings import types_of_fields
from .help_groups import help_groups

_TRUTH = {
    **dict.fromkeys(("yes", "true", "t", "y", "1"), True),
    **dict.fromkeys(("no", "false", "f", "n", "0"), False),
}


class VerbParser(argparse.ArgumentParser):
    """Makes the flags of a verb from its dataclass of arguments.

    They are those that `transformers.HfArgumentParser` would make, whose import takes longer than many a verb: a truth
    value is `--flag`, `--flag false` or `--no-flag`, a list is `--flag A B`.

    A flag that takes several values adds up where it is given several times, and what is given replaces the default.
    Every flag is called as its field, with hyphens; :meth:`hyphenated` is for words that may have underscores.

    Args:
        arguments_class: A dataclass whose fields carry help texts.
        verb: The verb, for messages.
    """

    def __init__(self, arguments_class: type[Any], verb: str) -> None:
        self._verb = verb
        self._arguments_class = arguments_class
        super().__init__(
            prog=f"hf-paraphrase {verb}",
            description=(arguments_class.__doc__ or "").strip(),
            # Every flag that is added makes a formatter, which would ask the terminal for its width anew.
            formatter_class=partial(_HelpFormatter, width=shutil.get_terminal_size().columns - 2),
            allow_abbrev=False,
        )
        hints = types_of_fields(arguments_class)
        for field in dataclasses.fields(arguments_class):
            self._add_field(field, hints[field.name])
        self.add_argument(
            "--config", metavar="FILE", help="a YAML file of `flag: value`; flags given here win over it"
        )

    def parsed(self, words: Sequence[str]) -> Any:
        """Makes the dataclass of hyphenated words.

        Raises:
            UsageError: For unknown flags, missing required ones, and values of the wrong type.
        """
        # A misspelled flag that is required is first of all misspelled.
        flags = [word for word in words if word.startswith("--") and word != "--" and " " not in word]
        unknown = [word for word in flags if word.partition("=")[0] not in self._option_string_actions]
        if not unknown or not {"-h", "--help"}.isdisjoint(words):
            namespace, unknown = self.parse_known_args(words)
        if unknown:
            self.refuse(unknown)
        names = [field.name for field in dataclasses.fields(self._arguments_class)]
        return self._arguments_class(**{name: getattr(namespace, name) for name in names})

    def _add_field(self, field: dataclasses.Field[Any], hint: Any) -> None:
        """Adds the flag of a field, whose type is a plain one, a list of such, or one of these or None.

        It has the names that the field lists, else the field's own, with hyphens.
        """
        if typing.get_origin(hint) in (typing.Union, types.UnionType):
            hint = next(part for part in typing.get_args(hint) if part is not type(None))
        settings = dict(field.metadata)
        names = settings.pop("names", None) or [f"--{field.name.replace('_', '-')}"]
        constraints = settings.pop("constraints", None)
        if constraints is not None and constraints.choices is not None:
            settings["choices"] = list(constraints.choices)
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        settings |= {"required": True} if default is dataclasses.MISSING else {"default": default}
        if separator := settings.pop("separator", None):
            settings |= {"nargs": "+", "action": partial(_Join, separator)}
        elif typing.get_origin(hint) is list:
            (hint,) = typing.get_args(hint)
            settings |= {"nargs": "+", "action": _Collect}
        elif hint is bool and default is not None:
            settings |= {"nargs": "?", "const": True}
        # argparse takes a percent sign for a format.
        help_text = settings.pop("help", "").replace("%", "%%")
        kind = _truth if hint is bool else hint
        self.add_argument(*names, dest=field.name, type=kind, help=help_text, **settings)
        if default is True:
            opposites = [f"--no-{name.removeprefix('--')}" for name in names]
            # The default is the flag's own.
            self.add_argument(
                *opposites,
                dest=field.name,
                action="store_false",
                default=argparse.SUPPRESS,
                help=f"turns {names[0]} off",
            )

    def hyphenated(self, words: Iterable[str]) -> list[str]:
        """Returns the words with hyphens for the underscores in the names of flags."""
        return [self._hyphenated(word) for word in words]

    def _hyphenated(self, word: str) -> str:
        name, equals, value = word.partition("=")
        name = name.replace("_", "-")
        return name + equals + value if name.startswith("--") and name in self._option_string_actions else word

    def fields_given(self, words: Iterable[str]) -> set[str]:
        """Returns the names of the fields that hyphenated words give a value."""
        names = (word.partition("=")[0] for word in words)
        return {self._option_string_actions[name].dest for name in names if name in self._option_string_actions}

    def fields_of_settings(self) -> dict[str, str]:
        """Returns the names of the fields by what a file may call them: every name of a flag, with hyphens.

        A switch that turns a flag off is no setting: the file gives the flag itself a value.
        """
        actions = self._option_string_actions.items()
        return {
            name.removeprefix("--"): action.dest
            for name, action in actions
            if action.nargs != 0 and action.dest != "config"
        }

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuses what is no choice of a flag, as argparse does, and names the nearest one."""
        if action.choices is not None and value not in action.choices:
            raise argparse.ArgumentError(
                action, f"invalid choice: {value!r}: {choice_of(value, map(str, action.choices))}"
            )

    def refuse(self, unknown: Sequence[str]) -> NoReturn:
        """Refuses words that are no flags of the verb, and names the flag that is nearest to the first.

        Raises:
            UsageError: Always.
        """
        name = unknown[0].partition("=")[0]
        near = difflib.get_close_matches(name.replace("_", "-"), self._option_string_actions, 1)
        hint = f", did you mean {near[0]}?" if near else ""
        self.error(f"unknown argument{'s' if len(unknown) > 1 else ''} {' '.join(unknown)}{hint}")

    def format_help(self) -> str:
        """Writes the help: what is required in the first line, then the flags in groups, the usual ones first."""
        shown: dict[str, list[argparse.Action]] = {}
        for action in self._actions:
            shown.setdefault(action.dest, []).append(action)
        required = [action for action in self._actions if action.required]
        formatter = self._get_formatter()
        words = [f"{action.option_strings[0]} {action.dest.upper()}" for action in required]
        formatter.add_usage(" ".join(["%(prog)s", *words, "[flags]"]), [], [])
        formatter.add_text(self.description)
        own = [name for name in shown if name not in {"help", "config"}]
        for title, names in help_groups(self._verb, [*own, "config", "help"], [action.dest for action in required]):
            formatter.start_section(title)
            formatter.add_arguments([action for name in names for action in shown[name]])
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
    """Reads a truth value.

    Raises:
        ArgumentTypeError: If it is none.
    """
    if word.lower() not in _TRUTH:
        raise argparse.ArgumentTypeError(f"a truth value is true or false, yes or no, 1 or 0, not {word!r}")
    return _TRUTH[word.lower()]


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
        setattr(namespace, self.dest, self._added(None if before is self.default else before, values or []))

    def _added(self, before: Any, values: Sequence[Any]) -> Any:
        """Adds the values of an occurrence to those of earlier ones, None for the first."""
        return [*(before or []), *values]


class _Join(_Collect):
    """Joins the values of every occurrence to one text, for what takes its names in one text."""

    def __init__(self, separator: str, option_strings: Sequence[str], dest: str, **settings: Any) -> None:
        super().__init__(option_strings, dest, **settings)
        self._separator = separator

    def _added(self, before: Any, values: Sequence[Any]) -> Any:
        words = [word.strip(self._separator) for word in values]
        return self._separator.join(words if before is None else [before, *words])


class _HelpFormatter(argparse.HelpFormatter):
    """Says of each flag that it is required, or its default where that says something."""

    def _get_help_string(self, action: argparse.Action) -> str:
        text = action.help or ""
        if action.required:
            return f"{text} (required)"
        if action.default is argparse.SUPPRESS or "[default: " in text or _is_off(action):
            return text
        if action.default in (None, "", []):
            return text
        default = " ".join(map(str, action.default)) if isinstance(action.default, list) else str(action.default)
        return f"{text} (default: {default.replace('%', '%%')})"

    def _format_action_invocation(self, action: argparse.Action) -> str:
        names = ", ".join(action.option_strings)
        if action.nargs == 0 or _is_off(action):
            return names
        return f"{names} {self._format_args(action, self._get_default_metavar_for_optional(action))}"


def _is_off(action: argparse.Action) -> bool:
    """Tells whether a flag is a switch that is off where it is not given."""
    return action.nargs == "?" and action.const is True and action.default is False
