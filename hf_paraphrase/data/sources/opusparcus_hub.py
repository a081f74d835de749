"""Opusparcus as Parquet files in the layout of the Hub: columns `lang`, `sent1`, `sent2`, `annot_score`, `gem_id`.

Files are found at any depth; the split is the last of `train`, `validation` and `test` in a file's path, and a
component such as `fr` or `fr.90` names the language and the estimated quality of the training pairs. Where complete
annotated parts are beside shortened ones (`validation.full`, `test.full`), the complete ones are taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError
from ..parquet_files import batches_of, open_shard
from ..text_files import LineErrors

_SYNONYMS = {
    "id": ("gem_id", "id", "pair_id"),
    "sentence1": ("sent1", "sentence1"),
    "sentence2": ("sent2", "sentence2"),
    "score": ("annot_score", "score"),
}
_SPLIT = re.compile(r"(?<![a-z])(train|validation|dev|test)(?P<full>[._]full)?(?![a-z])")
_LANGUAGE = re.compile(r"(de|en|fi|fr|ru|sv)(?:[._-](?P<quality>\d+))?")


def hub_files(folder: Path, lang: str, quality: int | None) -> tuple[dict[str, tuple[Path, ...]], int | None]:
    """Finds the Parquet files of one language.

    Args:
        folder: Where to look.
        lang: The language; a file below a folder of another language is left out.
        quality: The estimated quality of the training pairs; where folders of several qualities exist, only
            those of this one are read, or those of the lowest (which hold all pairs of the others) if None.

    Returns:
        For each split its files in order, and the quality of the training pairs if their folder is one of `quality`.
    """
    shards: dict[tuple[str, bool], list[Path]] = {}
    qualities: dict[Path, int] = {}
    for path in sorted(folder.rglob("*.parquet")):
        inner = path.relative_to(folder)
        languages = [match for part in inner.parts[:-1] if (match := _LANGUAGE.fullmatch(part))]
        # The folder itself may be that of a language.
        if languages and languages[-1][1] != lang:
            continue
        splits = [match for part in inner.parts for match in _SPLIT.finditer(part)]
        if not splits:
            continue
        split = "validation" if splits[-1][1] == "dev" else splits[-1][1]
        shards.setdefault((split, bool(splits[-1]["full"])), []).append(path)
        if languages and languages[-1]["quality"] is not None:
            qualities[path] = int(languages[-1]["quality"])
    files: dict[str, tuple[Path, ...]] = {}
    met: int | None = None
    for split in ("train", "validation", "test"):
        paths = shards.get((split, True)) or shards.get((split, False)) or []
        known_qualities = sorted({qualities[path] for path in paths if path in qualities})
        if known_qualities:
            # The annotated parts are the same in all of them.
            wanted = known_qualities[0]
            if split == "train" and quality in known_qualities:
                wanted = met = quality
            paths = [path for path in paths if qualities.get(path) == wanted]
        if paths:
            files[split] = tuple(paths)
    return files, met


def read_hub_rows(
    files: Sequence[Path],
    split: str,
    lang: str,
    errors: LineErrors,
    left_out: Counter[str],
) -> Iterator[pa.Table]:
    """Streams the rows of one language and split."""
    for path in files:
        with open_shard(path) as file:
            names = _columns(file.schema_arrow.names, split, path)
            has_language = "lang" in file.schema_arrow.names
            wanted = [*names.values(), *(["lang"] if has_language else [])]
            row = 0
            for batch in batches_of(file, path, columns=wanted, batch_size=50_000):
                table = pa.Table.from_batches([batch])
                numbers = np.arange(row, row + table.num_rows) + 1
                row += table.num_rows
                if has_language:
                    own = pc.equal(table.column("lang").cast(pa.string()), lang).fill_null(False)
                    left_out["other_language"] += table.num_rows - int(pc.sum(own).as_py() or 0)
                    table, numbers = table.filter(own), numbers[own.to_numpy()]
                yield _checked(table, names, numbers, path, errors)


def _columns(present: list[str], split: str, path: Path) -> dict[str, str]:
    names = {}
    for name, synonyms in _SYNONYMS.items():
        if name == "score" and split == "train":
            continue
        column = next((synonym for synonym in synonyms if synonym in present), None)
        if column is None:
            raise InputError(
                f"no column {' or '.join(synonyms)}", path=path, remedy=f"the columns are {', '.join(present)}"
            )
        names[name] = column
    return names


def _checked(table: pa.Table, names: dict[str, str], numbers: np.ndarray, path: Path, errors: LineErrors) -> pa.Table:
    columns: dict[str, pa.Array] = {}
    good = np.ones(table.num_rows, dtype=bool)
    for name, column in names.items():
        kind = pa.float64() if name == "score" else pa.string()
        try:
            columns[name] = table.column(column).combine_chunks().cast(kind)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(f"column {column} is not of type {kind}: {error}", path=path) from error
        fits = columns[name].is_valid()
        if name == "score":
            fits = pc.and_(fits, pc.and_(pc.greater_equal(columns[name], 1), pc.less_equal(columns[name], 4)))
            fits = fits.fill_null(False)
        mask = fits.to_numpy(zero_copy_only=False)
        for row in np.flatnonzero(~mask & good):
            value = columns[name][int(row)].as_py()
            errors.handle(f"{column} `{value}` in row {numbers[row]}", path, int(numbers[row]), "fix the file")
        good &= mask
    return pa.table(columns).filter(pa.array(good))
