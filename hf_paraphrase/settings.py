"""Options of commands, each declared once as a field of a settings dataclass.

A field made by :func:`setting` defines the flag of the command line and of a YAML file, the check of its value, the
parameter of the Python function (:func:`recipe`), and the rule that no output overlaps an input.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
import glob
import inspect
import json
import math
import operator
import os
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, ParamSpec, Protocol, TypeVar, cast

from .errors import HfParaphraseError, OutputError, StrPath, UsageError, choice_of, error_of_the_system
from .inputs import copied_inputs
from .messages import as_given, sanitize_line, warn_renamed, without_secrets
from .registry import BUILTINS

P = ParamSpec("P")
S = TypeVar("S", bound="Settings")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

URL = re.compile(r"(?:\w+::)*[a-z][a-z0-9+.-]+://.*", re.DOTALL)
"""A URL such as s3://bucket/folder; one may lead through another: simplecache::s3://bucket/folder."""
OPTION = "option"
"""The key of the :class:`Option` in the metadata of a field."""
_BOUNDS = {"above": operator.gt, "at_least": operator.ge, "below": operator.lt, "at_most": operator.le}
_FILES_OF_AN_ARTEFACT = ("provenance.json", "config.json", "tokenizer.json", "modules.json")
types_of_fields: Callable[[Any], dict[str, Any]] = functools.lru_cache(maxsize=256)(typing.get_type_hints)


@dataclass(frozen=True)
class Option:
    """The texts of an option, and the rules for its value, or for each value of a list; None is never checked.

    Attributes:
        help: Its description, with the unit.
        names: All spellings of a flag that has several, in the order of the help: `["--top-k", "--neighbours"]`.
        formerly: Former names of the field, which still work as flags and keywords, and warn once.
        separator: Joins the values of all occurrences of the flag to one text.
        alone: The value of the flag if no value follows it; without `alone` a value is required.
        group: The heading in `--help`, if it is not the `GROUP` of the class.
        choices: The valid values; a registry is read when the value is checked.
        only_with: Other fields that must have one of these values, or any value for ().
        excludes: Other fields that must not be given.
        path: Whether it names a file, folder or model to read, also as `NAME=PATH` or `PATH:PATH`.
        dataset: Whether it names data, also as `owner/name`, a dataset on the Hub.
        prefix: Whether it is the common beginning of the names of input files, before a dot.
        written: Whether it names a file or folder to write; the field `output` always does.
    """

    help: str = ""
    names: Sequence[str] = ()
    formerly: Sequence[str] = ()
    separator: str | None = None
    alone: Any = None
    group: str | None = None
    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    choices: Iterable[str] | None = None
    only_with: Mapping[str, Sequence[Any]] = dataclasses.field(default_factory=dict)
    excludes: Sequence[str] = ()
    path: bool = False
    dataset: bool = False
    prefix: bool = False
    written: bool = False

    def check(self, name: str, value: Any) -> None:
        """Refuse an invalid value; the name is for the message."""
        if value is None:
            return
        if self.choices is not None and value not in (choices := list(self.choices)):
            raise UsageError(f"{name} `{value}` is unknown", remedy=choice_of(value, choices))
        bounds = {bound: getattr(self, bound) for bound in _BOUNDS if getattr(self, bound) is not None}
        if not all(_BOUNDS[bound](value, limit) for bound, limit in bounds.items()):
            wanted = " and ".join(f"{bound.replace('_', ' ')} {limit:.12g}" for bound, limit in bounds.items())
            raise UsageError(f"{name} must be {wanted}, not {value}")
        if isinstance(value, float) and not math.isfinite(value):
            raise UsageError(f"{name} must be a finite number, not {value}")


def setting(
    help: str,
    default: Any = dataclasses.MISSING,
    *,
    only_with: str | Mapping[str, Any] | None = None,
    excludes: str | Sequence[str] = (),
    formerly: str | Sequence[str] = (),
    **options: Any,
) -> Any:
    """Declare a field of a settings dataclass, which is required without a default.

    `only_with` is the name of another field that must be given too, or maps names to values; `excludes` and
    `formerly` are one name or several. For all `options` see :class:`Option`.
    """
    if options.get("dataset"):
        help += "; also owner/name of a dataset on the Hub"
    others = {only_with: ()} if isinstance(only_with, str) else only_with or {}
    options["only_with"] = {name: value if isinstance(value, tuple) else (value,) for name, value in others.items()}
    options["excludes"] = _as_list(excludes)
    option = Option(help, formerly=_as_list(formerly), **options)
    if isinstance(default, list):
        return dataclasses.field(default_factory=lambda: list(default), metadata={OPTION: option})
    return dataclasses.field(default=default, metadata={OPTION: option})


def seed_setting(help: str, default: int | list[int] | None = 0, **options: Any) -> Any:
    """Declare a field for a seed or several, in a range that all random number generators accept."""
    return setting(help, default, at_least=0, at_most=(1 << 32) - 1, **options)


def option_of(field: dataclasses.Field[Any]) -> Option:
    """Return the option of a field; an empty one for a field that :func:`setting` did not make."""
    return cast(Option, field.metadata.get(OPTION, Option()))


def flag(name: str) -> str:
    """Return a field's name as the command line spells it."""
    return f"--{name.replace('_', '-')}"


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a field; `dataclasses.MISSING` if it is required."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def is_given(settings: Any, name: str) -> bool:
    """Return whether a field has another value than its default."""
    return bool(getattr(settings, name) != default_of(type(settings).__dataclass_fields__[name]))


def plain_type(hint: Any) -> tuple[Any, bool]:
    """Return the type of a field's values without None, and whether the field is a list of them."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    return (typing.get_args(hint)[0], True) if typing.get_origin(hint) is list else (hint, False)


def is_written(field: dataclasses.Field[Any]) -> bool:
    """Return whether a field names a file or folder to write."""
    return field.name == "output" or option_of(field).written


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


@dataclass
class Settings:
    """Base class of settings dataclasses; `GROUP` is the heading in `--help` of the flags that a class declares."""

    GROUP: ClassVar[str] = "flags"

    def check(self) -> None:
        """Convert values to plain Python types and refuse invalid values; a subclass may refuse more."""
        hints = types_of_fields(type(self))
        fields = [field for field in dataclasses.fields(self) if OPTION in field.metadata]
        for field in fields:
            name, option, default = flag(field.name), option_of(field), default_of(field)
            value = _plain(getattr(self, field.name), is_list=plain_type(hints[field.name])[1])
            setattr(self, field.name, value)
            check_type(name, value, hints[field.name])
            is_path = option.path or is_written(field)
            # An empty path would be the current folder.
            if (value == [] != default) or (is_path and "" in _as_list(value) and default != ""):
                raise UsageError(f"{name} is empty", remedy="give it a value, or leave it out")
            for part in _as_list(value):
                option.check(name, part)
        for field in fields:
            if is_given(self, field.name):
                self._check_others(self._given_flag(field.name), option_of(field))

    def _given_flag(self, name: str) -> str:
        """Return the flag of a field for its value: `--no-flag` for a boolean that is disabled."""
        default = default_of(type(self).__dataclass_fields__[name])
        return flag(f"no_{name}" if default is True and getattr(self, name) is False else name)

    def _check_others(self, name: str, option: Option) -> None:
        for other, values in option.only_with.items():
            if not (getattr(self, other) in values if values else is_given(self, other)):
                spelled = [str(value).lower() if isinstance(value, bool) else value for value in values]
                wanted = " or ".join(f"{flag(other)} {value}" for value in spelled if value is not None) or flag(other)
                raise UsageError(f"{name} is for {wanted}", remedy="give that too, or leave it out")
        for other in option.excludes:
            if is_given(self, other):
                other = self._given_flag(other)
                raise UsageError(f"{name} and {other} exclude each other", remedy="leave one of them out")

    def record(self) -> dict[str, Any]:
        """Return every field that determines the output, for the provenance, without credentials."""
        values = json.loads(json.dumps(dataclasses.asdict(self), default=str))
        return {name: _published(value) for name, value in values.items() if name not in {"overwrite", "resume"}}

    def paths_made(self) -> list[str]:
        """List the files and folders to write; a subclass adds outputs with derived names."""
        names = [field.name for field in dataclasses.fields(self) if is_written(field)]
        return [value for name in names if (value := getattr(self, name)) not in {None, "-"}]

    def paths_read(self) -> list[tuple[str, str]]:
        """List the files, folders and models to read, each with its description for messages."""
        paths: list[tuple[str, str]] = []
        for field in dataclasses.fields(self):
            option = option_of(field)
            values = [value for value in _as_list(getattr(self, field.name)) if isinstance(value, str)]
            if option.prefix:
                values = [path for value in values for path in glob.glob(f"{glob.escape(value)}.*")]  # noqa: PTH207
            if option.path or option.prefix:
                paths += [(f"the input of {flag(field.name)}", value) for value in values]
        return paths


def _published(value: Any) -> Any:
    if isinstance(value, list):
        return [_published(part) for part in value]
    return without_secrets(as_given(value)) if isinstance(value, str) else value


def _plain(value: Any, *, is_list: bool) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if is_list and isinstance(value, str | int | float | tuple | os.PathLike):
        value = _as_list(value)
    if isinstance(value, list):
        return [_plain(part, is_list=False) for part in value]
    if not isinstance(value, os.PathLike):
        return value
    path = os.fspath(value)  # a path object is never the name of a model in a package
    return os.path.join(os.curdir, path) if path in BUILTINS else path  # noqa: PTH118


def check_type(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that does not have the type of its field, a hint of `typing.get_type_hints`."""
    if not _fits(value, hint):
        wanted = inspect.formatannotation(hint)
        shown = sanitize_line(repr(value), 80)
        raise UsageError(f"{name} is {shown}, of another type than {wanted}", remedy="give one of that type")


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in typing.get_args(hint))
    if origin is list:
        return isinstance(value, list) and all(_fits(part, typing.get_args(hint)[0]) for part in value)
    if hint in (int, float):
        return isinstance(value, int | hint) and not isinstance(value, bool)
    return hint is Any or isinstance(value, origin or hint)


def check_overlap(outputs: Iterable[StrPath], inputs: Iterable[tuple[str, StrPath]]) -> None:
    """Refuse an output that is or contains an input or another output, or is inside a model or data folder.

    An input may also be `NAME=PATH` or `PATH:PATH`; a path that does not exist, such as `builtin`, passes.
    """
    read = [(name, path) for name, text in inputs for path in _existing_paths(os.fspath(text))]
    protected = [(name, path, any((path / file).is_file() for file in _FILES_OF_AN_ARTEFACT)) for name, path in read]
    for output in outputs:
        if URL.fullmatch(os.fspath(output)):
            raise OutputError("the output is a URL", path=output, remedy="write it to this machine, and copy it")
        target = Path(os.path.realpath(Path(output).expanduser()))
        for name, path, is_whole in protected:
            relation = "is" if target == path else "contains" if target in path.parents else None
            relation = "is inside" if path in target.parents and is_whole else relation
            if relation is not None:
                raise OutputError(f"the output {relation} {name}, {path}", path=output, remedy="name another output")
        protected.append(("another output", target, True))


def _existing_paths(text: str) -> Iterator[Path]:
    for part in filter(None, dict.fromkeys([text, text.partition("=")[2], *text.split(":")])):
        try:
            path = Path(part).expanduser()
            if os.path.lexists(path):
                yield from {path.resolve(), path.parent.resolve() / path.name}
        except (OSError, ValueError, RuntimeError):
            continue  # not a valid file name, or a loop of links


class Recipe(Protocol[P, R_co]):
    """A function called with the fields of its settings dataclass; its method `run` takes the settings."""

    settings: type[Settings]

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...  # noqa: D102
    def run(self, settings: Any) -> R_co: ...  # noqa: D102


def with_options(settings_class: type[S], entries: Mapping[str, Any]) -> type[S]:
    """Make a settings class that also has the options of the dataclasses in a registry."""
    own = {field.name for field in dataclasses.fields(settings_class)}
    added: dict[str, tuple[str, Any, dataclasses.Field[Any]]] = {}
    for entry in entries.values():
        hints = types_of_fields(entry)
        for field in [field for field in dataclasses.fields(entry) if OPTION in field.metadata]:
            if field.name in own:
                raise UsageError(f"{flag(field.name)} is an option of the command", remedy="give yours another name")
            added.setdefault(field.name, (field.name, hints[field.name], copy.copy(field)))
    namespace = {"__doc__": settings_class.__doc__, "__module__": settings_class.__module__}
    return dataclasses.make_dataclass(
        settings_class.__name__, added.values(), bases=(settings_class,), namespace=namespace, kw_only=True
    )


def recipe(
    settings_class: Callable[P, S], options_of: Mapping[str, Any] | None = None
) -> Callable[[Callable[[S], R]], Recipe[P, R]]:
    """Turn a function of settings into a function of their fields and of the options of a registry's entries."""

    def current() -> Any:
        return settings_class if options_of is None else with_options(cast(Any, settings_class), options_of)

    def decorate(function: Callable[[Any], Any]) -> Any:
        def run(settings: Any) -> Any:
            options = {field.name: option_of(field) for field in dataclasses.fields(settings)}
            inputs = {name: option.dataset for name, option in options.items() if option.path}
            try:
                with copied_inputs(settings, inputs):
                    settings.check()
                    check_overlap(settings.paths_made(), settings.paths_read())
                    return function(settings)
            except HfParaphraseError:
                raise
            except Exception as error:
                if (explained := error_of_the_system(error)) is None:
                    raise
                raise explained from error

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            settings = current()
            for field in dataclasses.fields(settings):
                option = option_of(field)
                for spelling in (*option.names, *option.formerly):
                    name = spelling.strip("-").replace("-", "_")
                    if name in kwargs and field.name not in kwargs:
                        if name in option.formerly:
                            warn_renamed(f"{name}=", f"{field.name}=")
                        kwargs[field.name] = kwargs.pop(name)
            try:
                inspect.signature(settings).bind(*args, **kwargs)
            except TypeError as error:
                raise TypeError(f"{function.__name__}() {error}") from None
            return run(settings(*args, **kwargs))

        made = cast(Any, call)
        made.settings, made.run = current(), run
        made.__signature__ = inspect.signature(made.settings).replace(
            return_annotation=inspect.signature(function).return_annotation
        )
        made.__annotations__ = {name: hint for name, hint in function.__annotations__.items() if name == "return"}
        lines = [inspect.cleandoc(function.__doc__ or ""), "", "Args:"]
        for field in dataclasses.fields(made.settings):
            described = f"{field.name}: {option_of(field).help}".rstrip()
            lines += textwrap.wrap(described, 112, initial_indent="    ", subsequent_indent="        ")
        made.__doc__ = "\n".join(lines)
        return made

    return decorate
