"""The columns that data sets have, as Arrow schemas."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from ..errors import InputError

BITEXT = pa.schema(
    [
        ("id", pa.string()),
        ("source", pa.string()),
        ("target", pa.string()),
        ("source_lang", pa.string()),
        ("target_lang", pa.string()),
    ]
)
"""Bitext: `source` is the foreign sentence, `target` the English one."""

PAIRS = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string())])
"""What every paraphrase set has; more columns are allowed and kept."""

BACK_TRANSLATED = pa.schema(
    [
        ("id", pa.string()),
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("source", pa.string()),
        ("source_lang", pa.string()),
        ("rank", pa.int32()),
        ("log_prob", pa.float64()),
        ("num_tokens", pa.int32()),
    ]
)
"""Back-translated pairs: `sentence1` is the reference, `sentence2` the translation, `rank` 0 the best of the beam."""


def require_columns(present: Iterable[str], required: Iterable[str], path: str) -> None:
    """Checks that a data set has the columns that a step needs.

    Raises:
        InputError: Naming the missing columns and those that are there.
    """
    present = list(present)
    missing = [name for name in required if name not in present]
    if missing:
        raise InputError(
            f"missing column{'s' if len(missing) > 1 else ''} {', '.join(missing)}",
            path=path,
            remedy=f"the columns are {', '.join(present) or 'none'}",
        )
