"""What the parts of a tokenizer of the `tokenizers` library say about it."""

from __future__ import annotations

import json
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def settings_of_part(part: Any) -> Any:
    """Reads the settings of a part of a tokenizer, which are its state; None where there is no such part."""
    return None if part is None else json.loads(part.__getstate__())


def tokens_around(tokenizer: Tokenizer) -> tuple[list[int], list[int]] | None:
    """Lists the ids of the special tokens that are put before and behind a single text.

    Returns:
        Those before, and those behind; None if something else is done to a text, or may be.
    """
    return _around(settings_of_part(tokenizer.post_processor))


def _around(processor: Any) -> tuple[list[int], list[int]] | None:
    kind = None if processor is None else processor.get("type")
    if kind in (None, "ByteLevel"):
        return [], []
    if kind in ("BertProcessing", "RobertaProcessing"):
        return [processor["cls"][1]], [processor["sep"][1]]
    if kind == "Sequence":
        pairs = [around for part in processor["processors"] if (around := _around(part)) != ([], [])]
        return ([], []) if not pairs else pairs[0] if len(pairs) == 1 else None
    if kind != "TemplateProcessing":
        return None
    places = [place for place, part in enumerate(processor["single"]) if "Sequence" in part]
    if len(places) != 1 or processor["single"][places[0]]["Sequence"]["id"] != "A":
        return None
    ids = [
        processor["special_tokens"][part["SpecialToken"]["id"]]["ids"] if "SpecialToken" in part else []
        for part in processor["single"]
    ]
    return list(chain(*ids[: places[0]])), list(chain(*ids[places[0] :]))
