"""Public names that are imported at first use, so that importing a package stays cheap."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any


def lazy_attributes(
    package: str, module_of: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Makes the `__getattr__` and `__dir__` of a package whose names live in its modules (PEP 562).

    Args:
        package: The package's `__name__`.
        module_of: For every public name the relative name of the module that defines it.
    """

    def get_attribute(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(importlib.import_module(module_of[name], package), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_attributes() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return get_attribute, list_attributes
