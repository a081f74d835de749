"""What makes an output folder a normal citizen of the Hub: whole folders, provenance and cards.

`push` sends a folder to the Hub after the checks of `plan_push` and `check_licence`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..lazy import lazy_attributes

if TYPE_CHECKING:
    from .publishing import Plan as Plan
    from .publishing import Pushed as Pushed
    from .publishing import check_licence as check_licence
    from .publishing import plan_push as plan_push
    from .publishing import push as push

_MODULE_OF = {
    "Plan": ".publishing",
    "Pushed": ".publishing",
    "check_licence": ".publishing",
    "plan_push": ".publishing",
    "push": ".publishing",
}

__all__ = [*_MODULE_OF]


__getattr__, __dir__ = lazy_attributes(__name__, _MODULE_OF)
