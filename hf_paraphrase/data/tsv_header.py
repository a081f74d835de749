"""The first line of a tab-separated file, which in many files names the fields: found by itself, or as one says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..messages import log
from ..settings import Settings, setting
from .text_files import LineErrors, read_fields, read_lines

_NUMBERED = ("sentence", "sent", "text", "string", "question")
_ROLES = "premise hypothesis reference translation paraphrase original source target src tgt trg mt ref"
_VALUES = "score similarity relatedness relatedness_score rating grade label labels gold_label quality is_duplicate"
_OTHERS = "id idx index pair_id pairid guid lang language source_lang target_lang src_lang tgt_lang split"
USUAL_NAMES = frozenset(
    [*_NUMBERED, *_ROLES.split(), *_VALUES.split(), *_OTHERS.split()]
    + [f"{name}{mark}" for name in _NUMBERED for mark in ("1", "2", "_1", "_2", "_a", "_b", "a", "b", "1_id", "2_id")]
)
"""What columns of pairs are called in data sets, in lower case, with `_` for spaces and hyphens."""


@dataclass(kw_only=True)
class HeaderSettings(Settings):
    """What the first line of a file given as `--tsv` is."""

    header: str = setting(
        "whether the first line of --tsv names the fields and is not a row: yes, no, or auto: it does if each of its "
        "fields is the usual name of a column, such as sentence1, source, score, or a name in --columns",
        "auto",
        choices=["auto", "yes", "no"],
        only_with="tsv",
    )


def read_tsv(
    path: Path, columns: Sequence[str], errors: LineErrors, *, header: str, names: Iterable[str] = ()
) -> Iterator[tuple[np.ndarray, dict[str, pa.Array]]]:
    """Streams the named fields of a tab-separated file, without its header, if it has one, and says so.

    A header is counted as left out by the rule `header`.

    Yields:
        As :func:`~.text_files.read_fields`.
    """
    header_names = header_of(path, [*columns, *names]) if header == "auto" else None
    if header_names is not None:
        log(
            f"{path}: the first line, `{' | '.join(header_names)}`, "
            "names the fields and is left out (--header no keeps it)"
        )
    lines = int(header == "yes" or header_names is not None)
    errors.left_out["header"] += lines
    yield from read_fields(path, columns, errors, header_lines=lines)


def header_of(path: Path, names: Iterable[str] = ()) -> list[str] | None:
    """Returns the names in the first line of a tab-separated file, if it is nothing but names of columns.

    That is asked narrowly, for a row that is lost is worse than a header that is kept: there are two fields at least,
    all different, and each is one of :data:`USUAL_NAMES` or of the names given, but for the case of its letters.

    Returns:
        The names as they stand there; None for a line that has anything else.
    """
    known_names = USUAL_NAMES.union(map(_plain, names))
    line = next((block[0].as_py() for block in read_lines(path, LineErrors("skip")) if len(block)), None)
    fields = [] if line is None else [field.strip().strip('"') for field in line.split("\t")]
    plain = list(map(_plain, fields))
    is_header = len(fields) > 1 and len(set(plain)) == len(plain) and known_names.issuperset(plain)
    return fields if is_header else None


def _plain(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")
