"""What must hold of the value of a setting: its type, its range, and the names to choose from."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any

from .errors import UsageError, choice_of

_LARGEST_INTEGER = (1 << 63) - 1
"""The greatest integer that arrays hold."""
_LARGEST_FLOAT = 1e30
"""Models compute in single precision, which ends at 3.4e38: optimizers divide a learning rate by 0.1 and less."""


@dataclass(frozen=True)
class Constraints:
    """What must hold of a value that is not None, or of each of a list.

    Attributes:
        above: It is greater than this.
        at_least: It is this or greater.
        below: It is less than this.
        at_most: It is this or less.
        choices: It is one of these names.
        only_with: It may differ from its default only where these other fields have one of these values; an empty
            collection of values stands for anything but the field's default.
        excludes: It may differ from its default only where these other fields do not.
        written: It is the name of a file or folder that is made.
    """

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None
    choices: Iterable[str] | None = None
    only_with: Mapping[str, tuple[Any, ...]] = dataclasses.field(default_factory=dict)
    excludes: tuple[str, ...] = ()
    written: bool = False

    def check(self, name: str, value: Any) -> None:
        """Refuses a value that does not fit.

        Args:
            name: What it is called, for the message.
            value: The value.

        Raises:
            UsageError: If it does not.
        """
        if value is None:
            return
        if self.choices is not None and value not in (choices := list(self.choices)):
            raise UsageError(f"{name} `{value}` is unknown", remedy=choice_of(value, choices))
        bounds = (
            (self.above, lambda bound: value > bound, "above"),
            (self.at_least, lambda bound: value >= bound, "at least"),
            (self.below, lambda bound: value < bound, "below"),
            (self.at_most, lambda bound: value <= bound, "at most"),
        )
        stated = [(bound, holds, words) for bound, holds, words in bounds if bound is not None]
        if not all(holds(bound) for bound, holds, _ in stated):
            wanted = " and ".join(f"{words} {_number(bound)}" for bound, _, words in stated)
            raise UsageError(f"{name} must be {wanted}, not {value}")
        if isinstance(value, float) and not abs(value) <= _LARGEST_FLOAT:
            raise UsageError(f"{name} must be within ±{_LARGEST_FLOAT:g}, not {value}")
        if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
            raise UsageError(f"{name} must be within ±{_LARGEST_INTEGER}, not {value}")


def check_count(name: str, value: Any) -> None:
    """Refuses an argument of a Python function that is no whole number of at least 1.

    Args:
        name: What it is called, for the message.
        value: The value, of Python or of NumPy.

    Raises:
        UsageError: If it is none.
    """
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise UsageError(f"{name} is {value!r}, not a whole number", remedy="give one of at least 1")
    if value < 1:
        raise UsageError(f"{name} must be at least 1, not {value}")


def check_type(name: str, value: Any, hint: Any) -> None:
    """Refuses a value of another type than its field has.

    Args:
        name: What it is called, for the message.
        value: The value.
        hint: The type, as `typing.get_type_hints` gives it.

    Raises:
        UsageError: If it is of another.
    """
    if not _fits(value, hint):
        raise UsageError(
            f"{name} is {value!r}, of another type than {_type_name(hint)}", remedy="give one of that type"
        )


def _fits(value: Any, hint: Any) -> bool:
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_fits(value, part) for part in typing.get_args(hint))
    if hint is Any:
        return True
    if origin is list:
        (part,) = typing.get_args(hint)
        return isinstance(value, list) and all(_fits(item, part) for item in value)
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, origin or hint)


def _type_name(hint: Any) -> str:
    return str(hint).replace("NoneType", "None") if typing.get_origin(hint) else getattr(hint, "__name__", str(hint))


def _number(bound: float) -> str:
    return str(bound) if isinstance(bound, int) else f"{bound:g}"
