"""Objects among the inputs of a verb's function: a `Dataset` or an encoder in the place of a folder.

Inputs are hashed, recorded and read more than once, so every recipe writes objects to temporary folders first.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from .messages import STREAM_COPIES


def as_folders(value: Any, field: str, stack: ExitStack) -> Any:
    """Replaces a `Dataset`, a `DatasetDict`, dictionaries of rows or an encoder by a folder that the stack removes.

    Other values stay as they are; a list of objects becomes one of folders.
    """
    if isinstance(value, list | tuple) and value and not isinstance(value[0], Mapping | str | os.PathLike):
        return [as_folders(item, f"{field}{number}", stack) for number, item in enumerate(value)]
    is_rows = isinstance(value, list) and bool(value) and isinstance(value[0], Mapping)
    is_splits = isinstance(value, Mapping) and all(hasattr(item, "to_parquet") for item in value.values())
    if not (is_rows or is_splits or hasattr(value, "to_parquet") or hasattr(value, "save_pretrained")):
        return value
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hf_paraphrase_"))) / field
    if hasattr(value, "save_pretrained"):
        value.save_pretrained(folder)
    else:
        if is_rows:
            from datasets import Dataset

            value = Dataset.from_list([dict(row) for row in value])
        (folder / "data").mkdir(parents=True)
        for split, rows in (value if isinstance(value, Mapping) else {"train": value}).items():
            rows.to_parquet(str(folder / "data" / f"{split}-00000-of-00001.parquet"))
    STREAM_COPIES[str(folder)] = f"{type(value).__name__} ({field})"
    return str(folder)
