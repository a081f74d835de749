"""The reference of the command line: a page a verb, from the settings dataclass behind it."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any, cast

from hf_paraphrase.commands.verbs import JOURNEYS, VERBS, Verb
from hf_paraphrase.settings import Recipe, constraints_of, flag


def command_pages() -> dict[str, str]:
    """Returns the Markdown of each page of a verb by the verb."""
    return {verb: _page(verb, row) for verb, row in VERBS.items()}


def overview() -> str:
    """Returns the Markdown of a list of all verbs by journey, each with a link to its page beside it."""
    lines = ["# Command line", "", "`hf-paraphrase [--import FILE.py] VERB [flags]`; these are all verbs.", ""]
    for journey, verbs in JOURNEYS.items():
        lines += [f"## {title_of(journey)}", ""]
        lines += [f"* [`{verb}`]({verb}.md): {row.summary.replace('*', chr(92) + '*')}" for verb, row in verbs.items()]
        lines.append("")
    return "\n".join(lines)


def title_of(journey: str) -> str:
    """Returns the name of a journey as a heading."""
    return journey[0].upper() + journey[1:]


def _page(verb: str, row: Verb) -> str:
    first = f"# {verb}\n\n{row.summary[0].upper()}{row.summary[1:]}.\n"
    if row.kinds is None:
        return first + "\n" + _flags(row.recipe_of())
    parts = [f"## {verb} {kind}\n\n{_flags(row.recipe_of(kind))}" for kind in row.kinds]
    return "\n".join([first, *parts])


def _flags(recipe: Recipe[..., Any]) -> str:
    """Formats what a settings dataclass says of itself: its docstring and a row a field."""
    settings = cast(Any, recipe.settings)
    config = "| `--config` | text |  | a YAML file of `flag: value`; flags given beside it win |"
    return f"{_prose(settings.__doc__ or '')}\n\n{settings_table(settings, _names, 'flag')}\n{config}\n"


def settings_table(
    settings: Any,
    names: Callable[[dataclasses.Field[Any]], str] = lambda field: f"`{field.name}`",
    title: str = "setting",
) -> str:
    """Returns a Markdown table of the fields of a settings dataclass, those without a default first."""
    hints = typing.get_type_hints(settings)
    rows = [
        f"| {names(field)} | {_cell(_values(field, hints[field.name]))} | {_default(field)} | {_meaning(field)} |"
        for field in sorted(dataclasses.fields(settings), key=lambda field: not _required(field))
        if is_setting(field)
    ]
    return "\n".join([f"| {title} | takes | default | what it is |", "|---|---|---|---|", *rows])


def _prose(text: str) -> str:
    """Returns the paragraphs of a docstring up to its first section."""
    paragraphs = "\n".join(line.strip() for line in text.strip().splitlines()).split("\n\n")
    sections = ("Attributes:", "Args:", "Raises:")
    kept = [paragraph for paragraph in paragraphs if not paragraph.startswith(sections)]
    return "\n\n".join(kept)


def is_setting(field: dataclasses.Field[Any]) -> bool:
    """Returns whether `setting` declared a field, and not a library that the dataclass inherits from."""
    return "constraints" in field.metadata


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _names(field: dataclasses.Field[Any]) -> str:
    names: Iterable[str] = field.metadata.get("names") or [flag(field.name)]
    return " ".join(f"`{name}`" for name in names)


def _values(field: dataclasses.Field[Any], hint: Any) -> str:
    """Says in a few words what a flag takes: its choices, or its type with the bounds."""
    constraints = constraints_of(field)
    if constraints.choices is not None:
        found = ", ".join(f"`{choice}`" for choice in constraints.choices)
        return f"{found}; several" if typing.get_origin(hint) is list else found
    bounds = [
        f"{words} {bound:g}"
        for words, bound in (
            ("above", constraints.above),
            ("at least", constraints.at_least),
            ("below", constraints.below),
            ("at most", constraints.at_most),
        )
        if bound is not None and abs(bound) < 2**31
    ]
    return " ".join([_type(hint), *([f"({', '.join(bounds)})"] if bounds else [])])


def _type(hint: Any) -> str:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(_type(part) for part in typing.get_args(hint) if part is not type(None))
    if typing.get_origin(hint) is list:
        return f"{_type(typing.get_args(hint)[0])}, several"
    return {str: "text", int: "integer", float: "number", bool: "yes or no"}.get(
        hint, getattr(hint, "__name__", "text")
    )


def _default(field: dataclasses.Field[Any]) -> str:
    if _required(field):
        return "**required**"
    value = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
    if value is None or value in ("", []):
        return ""
    if isinstance(value, list):
        return " ".join(f"`{item}`" for item in value)
    return f"`{json.dumps(value) if isinstance(value, bool) else value}`"


def _meaning(field: dataclasses.Field[Any]) -> str:
    """Returns the help of a flag, with what other flags it needs or excludes."""
    constraints = constraints_of(field)
    parts = [str(field.metadata.get("help", ""))]
    for other, values in constraints.only_with.items():
        wanted = " or ".join(f"`{value}`" for value in values if value is not None)
        parts.append(f"only with `{flag(other)}`{' ' + wanted if wanted else ''}")
    parts += [f"not with `{flag(other)}`" for other in constraints.excludes]
    return _cell("; ".join(part for part in parts if part))


def _cell(text: str) -> str:
    """Returns a text as the cell of a table takes it: in one line, no bar, and what is no code as it is written."""
    parts = " ".join(text.split()).replace("|", "\\|").split("`")
    for number in range(0, len(parts), 2):
        parts[number] = parts[number].replace("<", "&lt;").replace("*", "\\*").replace("_", "\\_")
    return "`".join(parts)
