"""Publishing: a folder comes in, one commit on the Hub comes out; huggingface_hub does the sending.

`pushed_files` lists what is sent, checks it and puts it into the form that it has on the Hub, `licences` decides
whether data may be passed on, and `publishing` sends it. Start reading at `run`, the recipe of the verb `push`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..registry import lazy_exports

if TYPE_CHECKING:
    from .publishing import Plan, Pushed, check_licence, plan_push, push_folder
    from .run import Push, PushSettings, push

__getattr__, __dir__, __all__ = lazy_exports(__name__)
