"""What is known of a module from its source, so that importing a package, or listing what it has, stays cheap."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from collections.abc import Callable
from functools import lru_cache
from importlib.machinery import ModuleSpec
from typing import Any


def lazy_exports(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Makes the `__getattr__`, `__dir__` and `__all__` of a package from what it imports for type checkers only.

    The imports under `if TYPE_CHECKING:` in the package's `__init__.py` are the table of its public names, for type
    checkers and at run time alike (PEP 562).

    Args:
        package: The package's `__name__`, while it is being imported.

    Raises:
        ImportError: If the package's source is not at hand.
    """
    source = _source_of(sys.modules[package].__spec__)
    if source is None:
        raise ImportError(f"the source of {package} is needed to know its public names", name=package)
    modules = _imported_for_types(source)

    def get_attribute(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(modules[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_attributes() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get_attribute, list_attributes, list(modules)


def definition(module: str, name: str) -> ast.ClassDef | ast.FunctionDef | None:
    """Finds the class or function that a module defines under a name, without importing the module.

    Args:
        module: Its full name.
        name: That of the class or function.

    Returns:
        Its definition; None where there is none at the top of the module, or the source is not at hand.
    """
    source = _source_of(importlib.util.find_spec(module))
    for item in () if source is None else _statements(source):
        if isinstance(item, ast.ClassDef | ast.FunctionDef) and item.name == name:
            return item
    return None


def assigned(found: ast.ClassDef | ast.FunctionDef) -> dict[str, ast.expr]:
    """Returns what is assigned to each name in the body of a definition itself."""
    values: dict[str, ast.expr] = {}
    for item in found.body:
        if isinstance(item, ast.Assign):
            values |= {ast.unparse(target): item.value for target in item.targets}
        elif isinstance(item, ast.AnnAssign) and item.value is not None:
            values[ast.unparse(item.target)] = item.value
    return values


def _source_of(spec: ModuleSpec | None) -> str | None:
    read = None if spec is None else getattr(spec.loader, "get_source", None)
    return None if spec is None or read is None else read(spec.name)


@lru_cache(maxsize=64)
def _statements(source: str) -> tuple[ast.stmt, ...]:
    """Parses a source; several objects of one module are asked for several times."""
    return tuple(ast.parse(source).body)


def _imported_for_types(source: str) -> dict[str, str]:
    """Finds for every name imported under `if TYPE_CHECKING:` the relative name of its module."""
    blocks = (
        item
        for item in ast.parse(source).body
        if isinstance(item, ast.If) and isinstance(item.test, ast.Name) and item.test.id == "TYPE_CHECKING"
    )
    imports = (item for block in blocks for item in block.body if isinstance(item, ast.ImportFrom))
    return {alias.name: "." * item.level + (item.module or "") for item in imports for alias in item.names}
