"""Publishing: what a folder must be before it is sent to the Hub, and the sending.

A folder comes in; out goes one commit. `push` is the recipe; what travels is listed (`travelling_files`) and must be a
whole artefact (`folder_kinds`) whose licence allows it (`licences`); cards and records are changed for their readers
there (`published_card`, `published_record`), and `publishing` sends what the branch lacks (`remote_files`). No message
ever holds the token (`tokens`, `hub_errors`). Start reading at `publishing`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .publishing import Plan, Pushed, check_licence, plan_push, push_folder
    from .run import Push, PushSettings, push

__getattr__, __dir__, __all__ = lazy_exports(__name__)
