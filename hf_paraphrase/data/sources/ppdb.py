"""The Paraphrase Database, 1.0 and 2.0, every pack and size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UsageError
from ...settings import setting
from ..schema import PAIRS
from ..text_files import PLAIN_OR_COMPRESSED, LineErrors, count_fields, read_lines
from .source import Part, Source, TrainingSettings

_SEPARATOR = " ||| "
_SCHEMA = pa.schema([*PAIRS, *((name, pa.string()) for name in ("lhs", "features", "alignment", "entailment"))])


@dataclass(kw_only=True)
class PpdbSource(Source, TrainingSettings):
    """Make a data folder of PPDB 1.0 or 2.0, any pack and size."""

    SUMMARY: ClassVar[str] = "PPDB 1.0 and 2.0, the paraphrase database"
    TITLE: ClassVar[str] = "PPDB: The Paraphrase Database"
    LICENSE: ClassVar[str] = "cc-by-3.0"
    URL: ClassVar[str] = "http://paraphrase.org/"
    TEMPLATE: ClassVar[str] = "ppdb"

    file: list[str] = setting(f"one or more files, {PLAIN_OR_COMPRESSED}, read in their order", path=True)
    lang: str = setting("language code of the phrases", "en", names=["--lang", "--language"])

    def parts(self) -> list[Part]:
        """Return the one part, `train`."""
        if not self.file:
            raise UsageError("no --file", remedy="name one or more files of PPDB")
        files = tuple(map(Path, self.file))
        return [Part("train", _SCHEMA, files, partial(_read, files), training=True)]


def _read(files: Sequence[Path], errors: LineErrors) -> Iterator[pa.Table]:
    """Read `[LHS] ||| phrase ||| paraphrase ||| features ||| alignment`, and in 2.0 ` ||| entailment`."""
    for path in files:
        first_line = 1
        for lines in read_lines(path, errors):
            counts = count_fields(lines, _SEPARATOR)
            good = (counts == 5) | (counts == 6)
            for row in np.flatnonzero(~good & (counts > 0)):
                problem = f"{counts[row]} fields where 5 or 6 separated by `{_SEPARATOR.strip()}` are expected"
                errors.handle(problem, path, first_line + int(row), "fix the line, or download the file again")
            first_line += len(lines)
            fields = pc.split_pattern(lines.filter(pa.array(good)), _SEPARATOR)
            lhs, first, second, features, alignment = (pc.list_element(fields, index) for index in range(5))
            entailment = pc.list_element(pc.list_slice(fields, 5, 6, return_fixed_size_list=True), 0)
            sides = (pc.utf8_trim_whitespace(side) for side in (first, second))
            yield pa.table([*sides, lhs, features, alignment, entailment], schema=_SCHEMA)
