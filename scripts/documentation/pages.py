"""Generated pages of the site: the help of each command, the public names of each package, and notebooks."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import json
import re
import shlex
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import hf_paraphrase
from hf_paraphrase.commands.parser import VerbParser
from hf_paraphrase.commands.verbs import JOURNEYS, Verb, all_recipes
from hf_paraphrase.settings import is_written, option_of
from stubs import function_stub

PACKAGES = {
    "encoders": "Sentence encoders",
    "searching": "Search",
    "deduplication": "Deduplication",
    "vectors": "Vectors",
    "data": "Data",
    "tokenization": "Tokenizers",
    "translation": "Translation",
    "filtering": "Measures and filters",
    "classification": "Classification",
    "paraphrasing": "Paraphrasing",
    "mining": "Mining",
    "evaluation": "Evaluation",
    "models": "Models",
    "hub": "Publishing",
    "exporting": "Export",
    "demo": "The demo page",
    "studies": "Studies",
    "training": "Environment",
    "quickstart_pipeline": "Quickstart",
    "registry": "Registries",
    "errors": "Errors",
}
"""The packages and modules whose names are public, each with the title of its page."""
_MORE = {"registry": ["Registry", "import_file"]}
"""Public names of modules without `__all__`."""
DOCS = Path(__file__).resolve().parents[2] / "docs"
_SHELL = re.compile(r"(?:<!-- not run: .*? -->\n)?^```bash\n.*?^```", re.DOTALL | re.MULTILINE)
_CALL = re.compile(r"^hf-paraphrase (?:.*\\\n)*.*$", re.MULTILINE)
_TYPES = {"str": "TEXT", "int": "INTEGER", "float": "NUMBER", "_truth": "true|false"}
_TERMINAL_CODES = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def overview() -> str:
    """Return the Markdown of the list of all commands, with links to their pages."""
    lines = ["# Command line", "", "`hf-paraphrase [--import FILE.py] COMMAND [flags]`; these are all commands.", ""]
    for journey, verbs in JOURNEYS.items():
        lines += [f"## {title_of(journey)}", ""]
        lines += [f"* [`{verb}`]({verb}.md): {row.summary.replace('*', chr(92) + '*')}" for verb, row in verbs.items()]
        lines.append("")
    return "\n".join(lines)


def title_of(journey: str) -> str:
    """Return the name of a journey as a heading."""
    return journey[0].upper() + journey[1:]


def verb_page(verb: str, row: Verb) -> str:
    """Return the Markdown of the page of a command: an example, and the help with the types of the flags."""
    parts = [f"# {verb}\n\n{row.summary[0].upper()}{row.summary[1:]}.\n"]
    for kind in row.kinds or [None]:
        typed = f"{verb} {kind}" if kind else verb
        heading = f"## {typed}\n\n" if kind else ""
        if example := example_of(typed):
            heading += f"```bash\n{example}\n```\n\n"
        settings = row.recipe_of(kind).settings
        parser = VerbParser(settings, typed, shows_all=True)
        fields = {field.name: field for field in dataclasses.fields(settings)}
        for action in parser._actions:
            if action.metavar is None and action.nargs != 0:
                option = option_of(fields[action.dest])
                is_path = option.path or is_written(fields[action.dest])
                action.metavar = "PATH" if is_path else _TYPES[getattr(action.type, "__name__", "str")]
        parts.append(f"{heading}```text\n{parser.format_help()}```\n")
    return "\n".join(parts)


def example_of(typed: str) -> str | None:
    """Return the shortest call of a command on a page, or in the cases of the tests; the tests run both."""
    calls, cases = tested_calls()
    for group in (cases, calls) if typed in {"demo", "push"} else (calls, cases):
        if own := [call for call in group if f"{call} ".startswith(f"hf-paraphrase {typed} ")]:
            return min(own, key=len)
    return None


@cache
def tested_calls() -> tuple[list[str], list[str]]:
    """Return the calls of commands that the tests run: on pages except studies, and in `cases.yaml`."""
    calls = []
    for path in sorted({*DOCS.rglob("*.md")} - {*DOCS.glob("studies/*")}):
        blocks = [block for block in _SHELL.findall(path.read_text("utf-8")) if not block.startswith("<!--")]
        calls += [call for block in blocks for call in _CALL.findall(block)]
    cases = []
    for name, case in yaml.safe_load((DOCS.parent / "scripts/reliability/cases.yaml").read_text("utf-8")).items():
        output = f" --output {name}{case.get('ending', '')}" if case.get("writes", True) else ""
        cases.append(f"hf-paraphrase {shlex.join(re.sub('[{}]', '', case['run'] + output).split())}")
    return calls, cases


def public_names() -> dict[str, dict[str, Any]]:
    """Return the public objects of each package by name; public names of `hf_paraphrase` come first."""
    found: dict[str, dict[str, Any]] = {package: {} for package in PACKAGES}
    for name in hf_paraphrase.__all__:
        if not name.startswith("__"):
            value = getattr(hf_paraphrase, name)
            package = value.__module__.split(".")[1]
            if package not in found:
                raise LookupError(f"{name} is in {package}, which has no page: add it to PACKAGES")
            found[package][name] = value
    for package, names in found.items():
        module = importlib.import_module(f"hf_paraphrase.{package}")
        for name in [*getattr(module, "__all__", []), *_MORE.get(package, [])]:
            names.setdefault(name, getattr(module, name))
        # In the order of use: classes of the package itself, then verbs, then the parts below them.
        first = sorted(names, key=lambda name: (name not in hf_paraphrase.__all__, not isinstance(names[name], type)))
        found[package] = {name: names[name] for name in first}
    return found


def python_pages() -> dict[str, str]:
    """Return the Markdown of each page by its package."""
    verbs = {recipe.settings: typed for typed, recipe in all_recipes().items()}
    return {package: _page(package, names, verbs) for package, names in public_names().items()}


def _page(package: str, names: dict[str, Any], verbs: dict[Any, str]) -> str:
    module = importlib.import_module(f"hf_paraphrase.{package}")
    lines = [f"# {PACKAGES[package]}", "", f"Module `hf_paraphrase.{package}`.", ""]
    lines += [(module.__doc__ or "").strip(), ""]
    for name, value in names.items():
        settings = getattr(value, "settings", None) if callable(value) else None
        if settings in verbs:
            lines += [_function_of_verb(name, value, verbs[settings]), ""]
        else:
            lines += [f"::: hf_paraphrase{'' if name in hf_paraphrase.__all__ else f'.{package}'}.{name}", ""]
            if dataclasses.is_dataclass(value):
                helps = {field.name: option_of(field).help for field in dataclasses.fields(value)}
                lines += [*(f"* `{name}`: {text}" for name, text in helps.items() if text), ""]
    return "\n".join(lines)


def _function_of_verb(name: str, recipe: Any, typed: str) -> str:
    """Format the function of a command: signature, text and result; its parameters are the flags."""
    verb, _, kind = typed.partition(" ")
    page = f"../command_line/{verb}.md{f'#{verb}-{kind}' if kind else ''}"
    text, *sections = re.split(r"^(Args|Returns):\n", inspect.getdoc(recipe) or "", flags=re.MULTILINE)
    lines = [f"## `{name}`", "", "```python", _signature(name, recipe), "```", "", text.strip(), ""]
    if example := example_of(typed):
        words = shlex.split(example.replace("\\\n", " "), comments=True)[1 + len(typed.split()) :]
        given = VerbParser(recipe.settings, typed)._values(words)
        keywords = ", ".join(f"{key}={value!r}" for key, value in given.items())
        lines += ["```python", f"hf_paraphrase.{name}({keywords})", "```", ""]
    flags = f"Its keywords are the flags of [`hf-paraphrase {typed}`]({page})"
    lines += [f"{flags}; an `Input` is a path, a data set or a model.", ""]
    if "Returns" in sections:
        lines += [f"**Returns** {textwrap.dedent(sections[sections.index('Returns') + 1]).strip()}", ""]
    return "\n".join(lines)


def _signature(name: str, recipe: Any) -> str:
    """Return the signature in the stubs, one parameter per line."""
    (function,) = ast.parse(function_stub(name, recipe)).body
    assert isinstance(function, ast.FunctionDef)
    parameters = []
    for argument, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        shown = "" if default is None else f" = {ast.unparse(default)}"
        parameters.append(f"    {ast.unparse(argument)}{shown},")
    result = "" if function.returns is None else f" -> {ast.unparse(function.returns)}"
    types = {"_Path": "Path", "_Input": "Input"}
    text = "\n".join([f"{name}(", "    *,", *parameters, f"){result}"])
    return re.sub(r"\b(_Path|_Input)\b", lambda match: types[match[0]], text)


def notebook_page(path: Path) -> str:
    """Return the Markdown of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(_markdown(cell) for cell in cells) + "\n"


def printed(cell: dict[str, Any]) -> str:
    """Return the text output of a code cell: printed lines, and the value of the last line."""
    shown = []
    for output in cell["outputs"]:
        if output["output_type"] == "stream" and output["name"] == "stdout":
            shown.append(_text(output["text"]))
        elif output["output_type"] in {"execute_result", "display_data"} and "image/png" not in output["data"]:
            shown.append(_text(output["data"].get("text/plain", "")) + "\n")
    return _TERMINAL_CODES.sub("", "".join(shown)).rstrip()


def _markdown(cell: dict[str, Any]) -> str:
    source = _text(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    parts = [f"```python\n{source}\n```"]
    if text := printed(cell):
        parts.append(f'```text {{ .output title="prints" }}\n{text}\n```')
    for output in cell["outputs"]:
        if image := output.get("data", {}).get("image/png"):
            parts.append(f"![A picture that the code above shows](data:image/png;base64,{_text(image).strip()})")
    return "\n\n".join(parts)


def _text(lines: str | list[str]) -> str:
    return lines if isinstance(lines, str) else "".join(lines)
