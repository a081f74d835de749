"""How many training pairs of Opusparcus, best first, have which estimated quality."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from ...errors import InputError, UsageError
from ..text_files import LineErrors
from ..typed_fields import Field, read_typed_fields

PUBLISHED = {
    "de": {90: 1_000_000, 80: 4_000_000, 70: 6_000_000, 60: 12_000_000},
    "en": {97: 1_000_000, 80: 5_000_000, 70: 20_000_000, 60: 34_000_000},
    "fi": {83: 1_000_000, 80: 2_500_000, 70: 3_500_000, 60: 9_000_000},
    "fr": {95: 1_000_000, 80: 5_000_000, 70: 13_000_000, 60: 22_000_000},
    "ru": {85: 1_000_000, 80: 2_000_000, 70: 5_000_000, 60: 15_000_000},
    "sv": {85: 1_000_000, 80: 1_200_000, 70: 1_800_000, 60: 5_000_000},
}
"""For each language and estimated percentage of good pairs, the number of pairs from the beginning of the file:
Sjöblom, Creutz and Aulamo (2018), Table 3, in which the figures are rounded. Figures for other percentages come from a
table of the user's, e.g. read off the curves in Creutz (2018)."""


def pairs_at_quality(lang: str, quality: int, table: Path | None = None) -> int:
    """Returns the number of pairs to take for an estimated percentage of good ones.

    Args:
        lang: The language.
        quality: The percentage.
        table: A file of `lang`, `quality`, number of pairs (tab-separated, no header) instead of :data:`PUBLISHED`.

    Raises:
        UsageError: If there is no figure for this language and quality.
        InputError: If the table is malformed.
    """
    figures = PUBLISHED if table is None else read_quality_table(table)
    found = figures.get(lang, {})
    if quality not in found:
        known = ", ".join(str(percent) for percent in sorted(found, reverse=True)) or "none"
        raise UsageError(
            f"no number of pairs is known for --quality {quality} in {lang}; known are {known}",
            path=table,
            remedy="take one of these, or --first N, or give the figures with --quality-table",
        )
    return found[quality]


def read_quality_table(path: Path) -> dict[str, dict[int, int]]:
    """Reads a table of `lang`, `quality` (per cent), number of pairs.

    Raises:
        InputError: For a malformed line, or a quality given twice.
    """
    figures: dict[str, dict[int, int]] = {}
    fields = [
        Field("lang", pattern="[a-z]{2}", example="fr"),
        Field("quality", pa.int64(), low=1, high=100),
        Field("pairs", pa.int64(), low=1),
    ]
    for lines, rows in read_typed_fields(path, fields, LineErrors()):
        for line, row in zip(lines.tolist(), rows.to_pylist(), strict=True):
            of_language = figures.setdefault(row["lang"], {})
            if row["quality"] in of_language:
                raise InputError(f"{row['lang']} {row['quality']} is there twice", path=path, line=line)
            of_language[row["quality"]] = row["pairs"]
    return figures
