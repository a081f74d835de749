"""Opens the raw files of a bitext, whatever their format, as one stream of blocks of numbered rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..text_files import LineErrors, read_aligned, read_fields
from .bitext_options import BitextOptions
from .gettext_catalogue import read_catalogues
from .tmx import read_tmx

Blocks = Iterator[tuple[np.ndarray, dict[str, pa.Array]]]
"""The numbers of the rows (rows,), int64, from 1, and the string arrays `source` and `target` of the same length."""


def open_training(options: BitextOptions, errors: LineErrors) -> Blocks:
    """Streams the rows of the training files.

    Args:
        options: What to read.
        errors: What to do about malformed records.

    Raises:
        InputError: For files that are missing or malformed.
    """
    if options.tsv is not None:
        return read_fields(Path(options.tsv), options.field_names(), errors)
    if options.tmx is not None:
        return read_tmx(Path(options.tmx), options.source_lang, options.target_lang, errors)
    if options.gettext is not None or options.gettext_package is not None:
        lang, english = options.gettext_languages()
        return read_catalogues(
            options.catalogues(),
            lang,
            english,
            errors,
            plurals=options.gettext_plurals,
            drop_placeholders=options.gettext_drop_placeholders,
        )
    return open_aligned(options.source_file or "", options.target_file or "", errors)


def open_aligned(source: str, target: str, errors: LineErrors) -> Blocks:
    """Streams the lines of two aligned files that can be read in both.

    Raises:
        InputError: As :func:`~hf_paraphrase.data.text_files.read_aligned`.
    """
    for line, (source_lines, target_lines) in read_aligned([Path(source), Path(target)], errors):
        lines = np.arange(line, line + len(source_lines))
        readable = pc.and_(source_lines.is_valid(), target_lines.is_valid())
        yield (
            lines[readable.to_numpy(zero_copy_only=False)],
            {"source": source_lines.filter(readable), "target": target_lines.filter(readable)},
        )
