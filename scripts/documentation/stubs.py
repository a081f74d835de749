"""Write the `__init__.pyi` of each package, which gives type checkers and editors its public names and signatures.

The public names are imported at first use, and the parameters of commands come from settings dataclasses; neither can
be read from the source. `python scripts/documentation/stubs.py` writes the stubs, `--check` fails where one is stale.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import importlib
import inspect
import pkgutil
import subprocess
import sys
from importlib.util import resolve_name
from pathlib import Path
from typing import Any

import hf_paraphrase
from hf_paraphrase.registry import EXPORTS
from hf_paraphrase.settings import Recipe, default_of, is_written, option_of, plain_type, types_of_fields

ROOT = "hf_paraphrase"
_HEADER = "# Written by scripts/documentation/stubs.py; run it after a change of public names or settings.\n"
_MODULES = "import os\nfrom collections.abc import Mapping, Sequence\nfrom typing import Any, Protocol, TypeAlias\n"
_TYPES = '''
class _Table(Protocol):
    """A `Dataset`, a `DatasetDict` or a data frame."""

    @property
    def to_parquet(self) -> Any: ...

class _Model(Protocol):
    """An encoder, a model of transformers or of sentence-transformers."""

    @property
    def save_pretrained(self) -> Any: ...

_Path: TypeAlias = str | os.PathLike[str]
_Input: TypeAlias = _Path | _Table | _Model | Mapping[str, _Table] | Sequence[Mapping[str, Any]]
'''


def packages() -> list[str]:
    """List the packages that import their public names at first use."""
    for module in pkgutil.walk_packages(hf_paraphrase.__path__, f"{ROOT}."):
        if module.ispkg:
            importlib.import_module(module.name)
    return sorted(EXPORTS)


def stub_path(package: str) -> Path:
    """Return the stub file of a package."""
    return Path(importlib.import_module(package).__file__ or "").with_suffix(".pyi")


def stub(package: str) -> str:
    """Return the text of the stub of a package, formatted."""
    imports, functions = set[str](), list[str]()
    for name, module in EXPORTS[package].items():
        value = getattr(importlib.import_module(package), name)
        if not isinstance(getattr(value, "settings", None), type):
            imports.add(f"from {module} import {name}")
        elif package != ROOT and name in EXPORTS[ROOT]:
            imports.add(f"from {ROOT} import {name}")
        else:
            functions.append(function_stub(name, value))
            imports |= _imports_of_return_type(value)
    names = sorted(["__version__", *EXPORTS[package]] if package == ROOT else EXPORTS[package])
    lines = [_HEADER, *([_MODULES] if functions else []), *sorted(imports), *([_TYPES] if functions else [])]
    lines += [f"__all__ = {names!r}", "\n__version__: str\n" if package == ROOT else "", *functions]
    return _formatted("\n".join(lines) + "\n")


def function_stub(name: str, recipe: Recipe[..., Any]) -> str:
    """Return the signature of a command's function, as it may be called."""
    hints = types_of_fields(recipe.settings)
    parameters = []
    # Parameters without a default are listed first, as in the help.
    fields = dataclasses.fields(recipe.settings)
    for field in sorted(fields, key=lambda field: default_of(field) is not dataclasses.MISSING):
        default = default_of(field)
        shown = "" if default is dataclasses.MISSING else f" = {default!r}" if _is_plain(default) else " = ..."
        parameters.append(f"{field.name}: {_parameter_type(field, hints[field.name])}{shown}")
    result = inspect.signature(recipe).return_annotation
    summary = (inspect.getdoc(recipe) or "").partition("\n")[0]
    return f'def {name}(*, {", ".join(parameters)}) -> {result}:\n    """{summary}"""\n'


def _is_plain(default: Any) -> bool:
    return default is None or isinstance(default, bool | int | float | str)


def _parameter_type(field: dataclasses.Field[Any], hint: Any) -> str:
    values, is_list = plain_type(hint)
    text = "_Path" if is_written(field) else "_Input" if option_of(field).path else values.__name__
    text = f"{text} | Sequence[{text}]" if is_list else text
    return f"{text} | None" if type(None) in getattr(hint, "__args__", ()) else text


def _imports_of_return_type(recipe: Any) -> set[str]:
    """Return the imports that the return type of a function needs, found in its module."""
    module = inspect.unwrap(recipe).__module__
    tree = ast.parse(Path(inspect.getsourcefile(inspect.unwrap(recipe)) or "").read_text(encoding="utf-8"))
    annotation = ast.parse(str(inspect.signature(recipe).return_annotation))
    needed = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)} - {*vars(builtins), "Any"}
    origins = dict.fromkeys(needed, module)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = resolve_name("." * node.level + (node.module or ""), module.rpartition(".")[0])
            origins |= {alias.name: base for alias in node.names if alias.name in needed}
    return {f"from {origin.replace(f'{ROOT}.', '.')} import {name}" for name, origin in origins.items()}


def _formatted(text: str) -> str:
    for words in (["check", "--select=I", "--fix", "--quiet"], ["format"]):
        command = [sys.executable, "-m", "ruff", *words, "--stdin-filename=hf_paraphrase/__init__.pyi", "-"]
        text = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout  # noqa: S603
    return text


def main() -> int:
    """Write all stubs, or list stale stubs."""
    stale = 0
    for package in packages():
        path, text = stub_path(package), stub(package)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            stale += 1
            print(f"stale: {path}")
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    return 0 if "--check" not in sys.argv else min(stale, 1)


if __name__ == "__main__":
    raise SystemExit(main())
