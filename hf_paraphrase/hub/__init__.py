"""Publishes a folder on the Hub as one commit, by the client huggingface_hub.

`pushed_files` lists and checks the files, and adapts cards and records to the Hub. `publishing` decides whether data
may be redistributed, and sends; it has the recipe of the command `push`.
"""

from __future__ import annotations

from ..registry import lazy_exports

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        "publishing": ["Plan", "Push", "Pushed", "PushSettings", "check_redistribution", "plan_push", "push", "send"],
    },
)
