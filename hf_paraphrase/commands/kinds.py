"""The help of a verb whose first word names a kind, with flags of its own: `prepare SOURCE`, `analyze KIND`."""

from __future__ import annotations

from typing import Any

from ..registry import Registry


def list_of_kinds(verb: str, kinds: Registry[Any], word: str = "<kind>") -> str:
    """Lays out the `--help` of a verb: all kinds, a line each, none of which is imported for it.

    Args:
        verb: The verb.
        kinds: What its first word may be.
        word: How that word is shown.
    """
    width = max(map(len, kinds))
    lines = [f"  {kind:{width}}  {kinds.summary(kind)}" for kind in kinds]
    usage = f"usage: hf-paraphrase {verb} {word} [flags]"
    return "\n".join([usage, "", *lines, "", f"hf-paraphrase {verb} <kind> --help", ""])
