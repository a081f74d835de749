"""What the parts of a tokenizer of the `tokenizers` library say about it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tokenizers import Tokenizer


def settings_of_part(part: Any) -> Any:
    """Reads the settings of a part of a tokenizer, which are its state; None where there is no such part."""
    return None if part is None else json.loads(part.__getstate__())


def adds_no_tokens(tokenizer: Tokenizer) -> bool:
    """Tells whether the tokens of a single text stay as they are, without special ones before, behind or between."""
    processor = settings_of_part(tokenizer.post_processor)
    return processor is None or (
        processor.get("type") == "TemplateProcessing"
        and processor.get("single") == [{"Sequence": {"id": "A", "type_id": 0}}]
    )


def cuts_out_added_tokens(tokenizer: Tokenizer) -> bool:
    """Tells whether the added tokens are cut out of the raw text wherever they stand, and touch nothing beside them.

    So it is with tokens that hold no white space, are looked for in the text as it is, and strip none around them.
    """
    for token in tokenizer.get_added_tokens_decoder().values():
        changes = token.single_word or token.lstrip or token.rstrip or token.normalized
        if changes or not token.content or any(character.isspace() for character in token.content):
            return False
    return True
