"""Publishing: what a folder must be before it is sent to the Hub, and the sending.

`push` sends a folder to the Hub after the checks of `plan_push` and `check_licence`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_exports

if TYPE_CHECKING:
    from .publishing import Plan, Pushed, check_licence, plan_push, push

__getattr__, __dir__, __all__ = lazy_exports(__name__)
