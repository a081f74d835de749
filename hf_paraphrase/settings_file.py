"""Settings in a YAML file of `name: value`, as `--config` takes it."""

from __future__ import annotations

import dataclasses
import datetime
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from .errors import InputError, UsageError
from .settings import Settings, flag

S = TypeVar("S", bound=Settings)

_SCALARS = (str, int, float, datetime.date)

_LONGEST_BYTES = 1 << 20
_TRUTH = {"yes": True, "true": True, "t": True, "y": True, "1": True}
_TRUTH |= {"no": False, "false": False, "f": False, "n": False, "0": False}


def read_settings_file(path: Path, fields: Mapping[str, str]) -> dict[str, Any]:
    """Reads a YAML file of settings.

    Args:
        path: The file.
        fields: The names of the fields by what the file may call them, with hyphens.

    Returns:
        The values by the names of the fields; those that are null are left out.

    Raises:
        UsageError: For a setting that there is not, or that stands there twice, or that is a mapping.
        InputError: If the file cannot be read.
    """
    found: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for key, value in _read_yaml(path).items():
        name = fields.get(str(key).replace("_", "-"))
        if name is None:
            remedy = f"one of {', '.join(sorted(set(fields.values())))}"
            raise UsageError(f"unknown setting `{key}`", path=path, remedy=remedy)
        if name in keys:
            raise UsageError(f"`{keys[name]}` and `{key}` are one setting", path=path, remedy="give one of the two")
        keys[name] = str(key)
        if isinstance(value, dict):
            raise UsageError(f"`{key}` is a mapping", path=path, remedy="give one value, or a list of values")
        if isinstance(value, list) and not all(isinstance(item, _SCALARS) for item in value):
            raise UsageError(f"`{key}` is a list of lists, or of nothing", path=path, remedy="give a list of values")
        if value is not None:
            found[name] = value
    return found


def settings_from_file(settings_class: type[S], path: Path, **given: Any) -> S:
    """Makes settings from a YAML file.

    Args:
        settings_class: Their class.
        path: The file.
        **given: Fields that win over the file.

    Raises:
        UsageError: As :func:`read_settings_file`, and for a value of another type.
        InputError: If the file cannot be read.
    """
    fields: dict[str, dataclasses.Field[Any]] = {
        field.name: field for field in dataclasses.fields(typing.cast(Any, settings_class))
    }
    names = {
        shown.removeprefix("--"): name
        for name, field in fields.items()
        for shown in field.metadata.get("names") or [flag(name)]
    }
    hints = typing.get_type_hints(settings_class)
    values = dict(given)
    for name, value in read_settings_file(path, names).items():
        if name not in given:
            separator = fields[name].metadata.get("separator")
            if separator is not None and isinstance(value, list):
                value = separator.join(str(item).strip(separator) for item in value)
            try:
                values[name] = _converted(value, hints[name])
            except ValueError as error:
                raise UsageError(f"`{name}` is {value!r}, of another type than {hints[name]}", path=path) from error
    return settings_class(**values)


def _converted(value: Any, hint: Any) -> Any:
    """Takes a value of the file for one of a type, as a flag would.

    Raises:
        ValueError: If it cannot be one.
    """
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        hint = next(part for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is list:
        (part,) = typing.get_args(hint)
        return [_converted(item, part) for item in (value if isinstance(value, list) else [value])]
    text = str(value)
    if hint is bool:
        if text.lower() not in _TRUTH:
            raise ValueError(text)
        return _TRUTH[text.lower()]
    return hint(text) if hint in (int, float) else text


def _read_yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        with path.open("rb") as stream:
            text = stream.read(_LONGEST_BYTES + 1)
        if len(text) > _LONGEST_BYTES:
            raise InputError(f"longer than {_LONGEST_BYTES >> 20} MiB, which no configuration is", path=path)
        content = _words_kept(yaml.SafeLoader)(text.decode("utf-8")).get_single_data()
    except OSError as error:
        raise InputError(
            f"cannot read the configuration: {error.strerror}", path=path, remedy="check the path"
        ) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # a date or number that cannot be, lists in lists
        raise InputError(f"not a YAML file: {error}", path=path) from error
    if not isinstance(content, dict):
        raise InputError("the configuration must be a mapping of `flag: value`", path=path)
    return content


def _words_kept(loader: type[Any]) -> type[Any]:
    """Returns a safe loader of YAML that takes `yes` and `no` for words, as YAML 1.2 does.

    A flag that is on or off takes the words too, but others have them among their choices, and the language `no` is
    Norwegian.
    """
    truth = "tag:yaml.org,2002:bool"
    words = {
        first: [(tag, pattern) for tag, pattern in known if tag != truth or first not in "yYnN"]
        for first, known in loader.yaml_implicit_resolvers.items()
    }
    return type("Loader", (loader,), {"yaml_implicit_resolvers": words})
