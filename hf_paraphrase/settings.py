"""How a settings dataclass says each of its fields once, and how a function takes such settings.

A field made by :func:`setting` has its type, default, help (with the unit) and constraints in one place. From there
come the flag of the command line with its help, the check with its error, the parameters of the function in Python
(:func:`recipe`), and its documentation.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import functools
import inspect
import json
import os
import textwrap
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, cast, overload

from .apart import addresses_explained, check_apart
from .errors import UsageError, system_errors_explained
from .messages import stray_variables_hidden
from .shown_text import as_given, without_secrets
from .streams import streams_kept
from .value_checks import Constraints, check_type

P = ParamSpec("P")
S = TypeVar("S", bound="Settings")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

OUTPUT = "output"
"""The field that names what a verb makes."""
_CONSTRAINTS = "constraints"
_STREAM = "-"
_WORDS = frozenset(
    {
        *("split", "train_split", "dev_split", "test_split", "tuning_part", "test_part", "by", "keep", "filters"),
        *("columns", "target_column", "measures", "protocols", "tasks", "query", "device", "report_to", "shard"),
        "ray_address",
        *("lang", "source_lang", "target_lang", "language", "license", "url", "gettext_package"),
        *("repo_id", "revision", "commit_message", "exclude"),
    }
)
"""Fields of text that name nothing on the disk. Of any other it is taken to name an input, if there is such a file or
folder: one that is forgotten here costs a refusal, and not somebody's data."""
types_of_fields: Callable[[Any], dict[str, Any]] = functools.lru_cache(maxsize=256)(typing.get_type_hints)
"""The types of the fields of a dataclass by their names; Python would compile each of them anew at every call."""
_OF_THE_RUN = frozenset(
    {"overwrite", "resume", "shard", "engine", "ray_address", "ray_workers", "ray_cpus", "ray_gpus"}
)
"""Fields that say how a run meets what is there already and where it computes, and nothing about what it makes."""


def setting(
    help: str,
    default: Any = dataclasses.MISSING,
    *,
    above: float | None = None,
    at_least: float | None = None,
    below: float | None = None,
    at_most: float | None = None,
    choices: Iterable[str] | None = None,
    only_with: str | Mapping[str, Any] | None = None,
    excludes: str | Sequence[str] = (),
    names: Sequence[str] | None = None,
    separator: str | None = None,
    alone: Any = dataclasses.MISSING,
    written: bool = False,
) -> Any:
    """Declares a field of a settings dataclass.

    Args:
        help: What it is, with the unit.
        default: Its default; required without one. The flag of a list collects the values of all its occurrences.
        above: See :class:`Constraints`, as for the others up to `excludes`.
        at_least: See there.
        below: See there.
        at_most: See there.
        choices: Names, or a registry, whose names then count as they are when a value is checked.
        only_with: The name of another field, which must be given too, or the values that other fields must have.
        excludes: The names of other fields.
        names: All names of a flag that has several, as they shall be shown: `["--top-k", "--neighbours"]`.
        separator: Joins the values of all occurrences of the flag to one text.
        alone: What the flag means where no value follows it; it always needs one without this.
        written: Whether it names a file that is made; the field `output` does anyway.
    """
    others = {only_with: ()} if isinstance(only_with, str) else dict(only_with or {})
    constraints = Constraints(
        above=above,
        at_least=at_least,
        below=below,
        at_most=at_most,
        choices=choices,
        only_with={name: value if isinstance(value, tuple) else (value,) for name, value in others.items()},
        excludes=(excludes,) if isinstance(excludes, str) else tuple(excludes),
        written=written,
    )
    metadata: dict[str, Any] = {"help": help, _CONSTRAINTS: constraints}
    metadata |= {"names": list(names)} if names else {}
    metadata |= {"separator": separator} if separator else {}
    metadata |= {} if alone is dataclasses.MISSING else {"nargs": "?", "const": alone}
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def seed_setting(help: str, default: int | list[int] | None = 0, **constraints: Any) -> Any:
    """Declares a field that holds a seed, or several: what all generators of random numbers take, NumPy's among them.

    Args:
        help: What is drawn with it.
        default: Its default.
        **constraints: As for :func:`setting`.
    """
    return setting(help, default, at_least=0, at_most=(1 << 32) - 1, **constraints)


def constraints_of(field: dataclasses.Field[Any]) -> Constraints:
    """Returns the constraints of a field; none for a field that :func:`setting` did not make."""
    found: Constraints = field.metadata.get(_CONSTRAINTS, Constraints())
    return found


def flag(name: str) -> str:
    """Returns a field's name as the command line spells it."""
    return f"--{name.replace('_', '-')}"


class Settings:
    """Base class of settings dataclasses; a subclass checks what concerns several fields in its own :meth:`check`."""

    def check(self) -> None:
        """Refuses values that do not fit, and puts defaults that depend on other fields in their places.

        Raises:
            UsageError: For a value of another type, out of its range, or excluded by another field.
        """
        check_fields(self)

    def record(self) -> dict[str, Any]:
        """Returns every field that says what is made with its value, ready for `provenance.json`."""
        return {name: value for name, value in settings_of(self).items() if name not in _OF_THE_RUN}

    def paths_made(self) -> list[str]:
        """Lists the files and folders that are made; a subclass adds those whose names follow from others."""
        names = [field.name for field in dataclasses.fields(cast(Any, self)) if _is_made(field)]
        return [value for name in names if (value := getattr(self, name)) not in {None, _STREAM}]

    def paths_read(self) -> list[tuple[str, str]]:
        """Lists what may name a file or folder that is read, each with words for it."""
        return [
            (f"the input of {flag(name)}", value)
            for name in _fields_read(self)
            if name not in _WORDS
            for value in _as_list(getattr(self, name))
            if isinstance(value, str)
        ]


def settings_of(settings: Any) -> dict[str, Any]:
    """Returns every field of a dataclass with its value, without credentials, ready for `provenance.json`."""
    values = json.loads(json.dumps(dataclasses.asdict(settings), default=str))
    return {name: _as_given(value) for name, value in values.items()}


def _as_given(value: Any) -> Any:
    """Puts the names that a user gave to streams in place of those of their copies, and leaves out credentials."""
    if isinstance(value, list):
        return [_as_given(item) for item in value]
    return without_secrets(as_given(value)) if isinstance(value, str) else value


def is_given(settings: Any, name: str) -> bool:
    """Tells whether a field has another value than its default."""
    field = type(settings).__dataclass_fields__[name]
    if field.default_factory is not dataclasses.MISSING:
        return bool(getattr(settings, name) != field.default_factory())
    return bool(getattr(settings, name) != field.default)


def check_fields(settings: Any) -> None:
    """Checks each field of a dataclass that :func:`setting` made: its type first, then its constraints.

    A path object is taken for its name, also in a list, and one value for a list of it.

    Raises:
        UsageError: At the first field that does not fit.
    """
    hints = types_of_fields(type(settings))
    for field in dataclasses.fields(settings):
        if _CONSTRAINTS not in field.metadata:
            continue
        value = given = getattr(settings, field.name)
        is_list = typing.get_origin(hints[field.name]) is list
        if is_list and isinstance(value, str | int | float | tuple | os.PathLike):
            value = list(value) if isinstance(value, tuple) else [value]
        value = [_named(item) for item in value] if isinstance(value, list) else _named(value)
        if value is not given:
            setattr(settings, field.name, value)
        check_type(flag(field.name), value, hints[field.name])
        for item in _as_list(value):
            constraints_of(field).check(flag(field.name), item)
            # Names of what is there may have any bytes, where the libraries that open it allow that.
            if field.name in _WORDS or _is_made(field):
                _check_unicode(field.name, item)
            # As a path it would be the current folder.
            if item == "" and field.name not in _WORDS and field.default != "":
                raise UsageError(f"{flag(field.name)} is empty", remedy="give it a value, or leave it out")
    for field in dataclasses.fields(settings):
        if _CONSTRAINTS in field.metadata and is_given(settings, field.name):
            _check_others(settings, field.name, constraints_of(field))


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _fields_read(settings: Any) -> list[str]:
    """Lists the fields that may name a file to read: all but the names of a choice and of what is made."""
    fields = dataclasses.fields(settings)
    return [field.name for field in fields if not _is_made(field) and constraints_of(field).choices is None]


def _is_made(field: dataclasses.Field[Any]) -> bool:
    """Tells whether a field names what is made."""
    return field.name == OUTPUT or constraints_of(field).written


def _named(value: Any) -> Any:
    """Returns the name of a path, and anything else as it is."""
    return os.fspath(value) if isinstance(value, os.PathLike) else value


def _check_unicode(name: str, value: Any) -> None:
    """Refuses a text with half of a surrogate pair, which stands for a byte that is no UTF-8."""
    if isinstance(value, str) and any("\ud800" <= letter <= "\udfff" for letter in value):
        raise UsageError(f"{flag(name)} is no text in UTF-8: {value}", remedy="give it as your terminal encodes text")


def _check_others(settings: Any, name: str, constraints: Constraints) -> None:
    for other, values in constraints.only_with.items():
        found = getattr(settings, other)
        if values and found not in values:
            wanted = " or ".join(f"{flag(other)} {_spelled(value)}" for value in values if value is not None)
            raise UsageError(f"{flag(name)} is for {wanted}", remedy="give that too, or leave it out")
        if not values and not is_given(settings, other):
            raise UsageError(f"{flag(name)} is for {flag(other)}", remedy="give that too, or leave it out")
    for other in constraints.excludes:
        if is_given(settings, other):
            raise UsageError(f"{flag(name)} and {flag(other)} exclude each other", remedy="leave one of them out")


def _spelled(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class Recipe(Protocol[P, R_co]):
    """A function that is called with the fields of its settings.

    Attributes:
        settings: The settings dataclass.
    """

    settings: type[Settings]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co:
        """Runs it with settings of these fields."""
        ...

    def run(self, settings: Any) -> R_co:
        """Runs it with settings that exist already, as the command line does; they are checked first."""
        ...


def with_options(settings_class: type[S], entries: Mapping[str, Any]) -> type[S]:
    """Makes a settings class that has the options of the entries of a registry, beside its own fields.

    Args:
        settings_class: The settings dataclass.
        entries: Dataclasses by their names; their fields that :func:`setting` made are options. Where two of them
            have one of the same name, it is one option, and the first says what it is.

    Raises:
        UsageError: If an option is called like a field of the settings class.
    """
    own = {field.name for field in dataclasses.fields(cast(Any, settings_class))}
    added: dict[str, tuple[str, Any, dataclasses.Field[Any]]] = {}
    for entry in entries.values():
        hints = types_of_fields(entry)
        for field in dataclasses.fields(entry):
            if _CONSTRAINTS in field.metadata and field.name not in added:
                if field.name in own:
                    raise UsageError(f"{flag(field.name)} is an option of the verb", remedy="give yours another name")
                added[field.name] = field.name, hints[field.name], copy.copy(field)
    namespace = {"__doc__": settings_class.__doc__, "__module__": settings_class.__module__}
    return dataclasses.make_dataclass(
        settings_class.__name__, added.values(), bases=(settings_class,), namespace=namespace, kw_only=True
    )


@overload
def recipe(settings_class: Callable[P, S]) -> Callable[[Callable[[S], R]], Recipe[P, R]]: ...


@overload
def recipe(settings_class: Callable[[], type[S]]) -> Callable[[Callable[[S], R]], Recipe[..., R]]: ...


def recipe(settings_class: Any) -> Any:
    """Turns a function of settings into one of their fields, with their names, types, defaults and help.

    Args:
        settings_class: The settings dataclass, a :class:`Settings`; or what makes it, where some of its fields are
            options of what is registered, as by :func:`with_options`.
    """

    def current() -> Any:
        return settings_class if isinstance(settings_class, type) else settings_class()

    def decorate(function: Callable[[Any], Any]) -> Any:
        def run(settings: Any) -> Any:
            with (
                stray_variables_hidden(),
                system_errors_explained(),
                streams_kept(settings, _fields_read(settings)),
                addresses_explained(settings.paths_read),
            ):
                settings.check()
                check_apart(settings.paths_made(), settings.paths_read())
                return function(settings)

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            # More may have been registered since the function was made.
            settings_now = current()
            _check_names(function.__name__, kwargs, settings_now)
            return run(settings_now(*args, **kwargs))

        made = cast(Any, call)
        made.settings, made.run = current(), run
        made.__signature__ = inspect.signature(made.settings).replace(
            return_annotation=inspect.signature(function).return_annotation
        )
        made.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if name == "return"}
        made.__doc__ = _documented(function, made.settings)
        return made

    return decorate


def _check_names(function: str, given: Iterable[str], settings_class: type[Any]) -> None:
    """Raises the usual TypeError for an option that a function lacks, with the name that is nearest to it."""
    names = [field.name for field in dataclasses.fields(settings_class)]
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            hint = f": did you mean `{near[0]}`?" if near else ""
            raise TypeError(f"{function}() has no option `{name}`{hint}")


def _documented(function: Callable[..., Any], settings_class: type[Any]) -> str:
    """Puts what the fields are into a docstring of Google's style, before its first section."""
    text = inspect.cleandoc(function.__doc__ or "")
    lines = ["Args:"]
    for field in dataclasses.fields(settings_class):
        described = f"{field.name}: {field.metadata.get('help', '')}".rstrip()
        lines += textwrap.wrap(described, 112, initial_indent="    ", subsequent_indent="        ")
    sections = [f"\n{name}:" for name in ("Returns", "Yields", "Raises") if f"\n{name}:" in text]
    place = min((text.index(section) for section in sections), default=len(text))
    return f"{text[:place].rstrip()}\n\n" + "\n".join(lines) + "\n" + text[place:]
