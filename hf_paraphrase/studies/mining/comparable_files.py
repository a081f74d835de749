"""The files of a comparable corpus in the layout of BUCC 2017: two sides with numbered sentences, and the gold."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...artefacts.folders import write_text_whole

DIGITS = 9


def identifiers(language: str, count: int) -> list[str]:
    """Numbers sentences as the shared task does: a language code, a dash and nine digits, from 1."""
    return [f"{language}-{number:0{DIGITS}d}" for number in range(1, count + 1)]


def write_side(path: Path, names: Sequence[str], sentences: Sequence[str]) -> None:
    """Writes one side, `id TAB sentence` a line.

    Raises:
        OutputError: If the file cannot be written.
    """
    write_text_whole(path, "".join(f"{name}\t{text}\n" for name, text in zip(names, sentences, strict=True)))


def write_gold(path: Path, source_names: Sequence[str], target_names: Sequence[str], pairs: NDArray[np.int64]) -> None:
    """Writes pairs of positions (pairs, 2) as `source id TAB target id` a line.

    Raises:
        OutputError: If the file cannot be written.
    """
    write_text_whole(path, "".join(f"{source_names[one]}\t{target_names[two]}\n" for one, two in pairs.tolist()))
