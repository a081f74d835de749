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
