"""The features of PPDB rules, `name=value name=value …`, as columns of numbers.

Which features there are differs between releases, and a column's type only shows when all values are seen. So names
and values are checked while a file is read, and the columns are made when the rows are given out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...errors import UsageError
from ..schema import columns_named
from ..text_files import LineErrors
from ..typed_fields import FLOAT

ABSENT = ("NA", "nan", "NaN", "null", "None", "")
"""Values that stand for a missing number."""

_RESERVED = {"sentence1", "sentence2", "lhs", "alignment", "entailment", "label", "features"}


class FeatureColumns:
    """What is known about the features of a file after reading."""

    def __init__(self, wanted: tuple[str, ...] = ()) -> None:
        self.wanted = wanted
        self.numeric: dict[str, bool] = {}
        self._entailment = False

    def add(self, name: str, numeric: bool) -> None:
        """Notes a feature, and whether all its values so far are numbers."""
        self.numeric[name] = self.numeric.get(name, True) and numeric

    def meet_entailment(self, present: bool) -> None:
        """Notes whether lines have the field of the entailment relation."""
        self._entailment |= present

    def absent(self, files: Sequence[Path]) -> set[str]:
        """Names the fixed columns that no line has."""
        return set() if self._entailment else {"entailment"}

    def schema(self, path: Path) -> pa.Schema:
        """Returns the columns of the features to keep; the name in the file is in the metadata of each."""
        columns = column_names(self.numeric)
        by_name = {**{column: name for name, column in columns.items()}, **{name: name for name in columns}}
        wanted = columns_named(self.wanted, by_name)
        unknown = [name for name in wanted if name not in by_name]
        if unknown:
            raise UsageError(
                f"--columns: no feature {', '.join(unknown)}",
                path=path,
                remedy=f"the features are {', '.join(columns) or 'none'}",
            )
        names = dict.fromkeys(by_name[name] for name in wanted) if wanted else columns
        return pa.schema(
            [
                pa.field(
                    columns[name], pa.float64() if self.numeric[name] else pa.string(), metadata={"feature": name}
                )
                for name in names
            ]
        )


def column_names(features: Sequence[str] | dict[str, bool]) -> dict[str, str]:
    """Names a column for each feature: letters, digits and `_` only, so that `filter --keep` can use it.

    `PPDB2.0Score` becomes `PPDB2_0Score`, `p(e|f,LHS)` becomes `p_e_f_LHS`, and `-logp(LHS|e1)` `minus_logp_LHS_e1`.
    """
    columns: dict[str, str] = {}
    for name in features:
        plain = re.sub(r"[^0-9A-Za-z]+", "_", re.sub("^-", "minus_", name)).strip("_") or "feature"
        if plain[0].isdigit():
            plain = f"feature_{plain}"
        column, number = plain, 2
        while column in _RESERVED or column in columns.values():
            column, number = f"{plain}_{number}", number + 1
        columns[name] = column
    return columns


def check_features(
    texts: pa.Array, feature_columns: FeatureColumns, lines: np.ndarray, path: Path, errors: LineErrors
) -> np.ndarray:
    """Checks the features of many rules and notes their names and types.

    Args:
        texts: Strings `name=value name=value …` (rows,).
        feature_columns: Called with every feature.
        lines: Line numbers (rows,).
        path: The file, for messages.
        errors: What to do about a row that is malformed: an item without `=`, a name that occurs twice.

    Returns:
        Which rows are well formed (rows,), bool.
    """
    rows, names, values, well_formed = _items(texts)
    good = np.ones(len(texts), dtype=bool)
    for item in np.flatnonzero(~well_formed):
        if good[rows[item]]:
            found_text = names[int(item)].as_py() if len(names) > item else ""
            errors.handle(f"`{found_text}` is not a feature", path, int(lines[rows[item]]), "expected name=value")
        good[rows[item]] = False
    encoded = names.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    width = max(len(encoded.dictionary), 1)
    keys, counts = np.unique(rows * width + codes, return_counts=True)
    for key in keys[counts > 1]:
        row = int(key // width)
        if good[row]:
            name = encoded.dictionary[int(key % width)].as_py()
            errors.handle(f"feature `{name}` occurs twice", path, int(lines[row]), "fix the line")
        good[row] = False
    usable = good[rows]
    numeric = pc.or_(pc.match_substring_regex(values, FLOAT), pc.is_in(values, pa.array(ABSENT)))
    other = ~numeric.to_numpy(zero_copy_only=False) & usable
    not_numeric = set(np.unique(codes[other]).tolist())
    for code in np.unique(codes[usable]).tolist():
        feature_columns.add(encoded.dictionary[code].as_py(), code not in not_numeric)
    return good


def split_features(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Replaces the column `features` by one for each feature."""
    rows, names, values, _ = _items(table.column("features").combine_chunks())
    encoded = names.dictionary_encode()
    codes = encoded.indices.to_numpy(zero_copy_only=False)
    code_of = {name: code for code, name in enumerate(encoded.dictionary.to_pylist())}
    table = table.drop_columns(["features"])
    for entry in schema:
        place = np.full(table.num_rows, -1, dtype=np.int64)
        items = np.flatnonzero(codes == code_of.get(entry.metadata[b"feature"].decode(), -1))
        place[rows[items]] = items
        column = values.take(pa.array(place, mask=place < 0))
        if entry.type == pa.float64():
            absent = pc.is_in(column, pa.array(ABSENT))
            column = pc.if_else(absent, pa.scalar(None, pa.string()), column).cast(pa.float64())
            # A number too great for a float is as good as missing.
            column = pc.if_else(pc.is_finite(column), column, pa.scalar(None, pa.float64()))
        table = table.append_column(entry.remove_metadata(), column)
    return table


def _items(texts: pa.Array) -> tuple[np.ndarray, pa.Array, pa.Array, np.ndarray]:
    """Splits feature texts into items: row (items,), name, value (split at the last `=`), and whether it has both."""
    items = pc.ascii_split_whitespace(pc.ascii_trim_whitespace(texts))
    counts = pc.list_value_length(items).to_numpy(zero_copy_only=False)
    rows = np.repeat(np.arange(len(texts)), counts)
    flat = items.flatten()
    present = pc.not_equal(flat, "").to_numpy(zero_copy_only=False)
    rows, flat = rows[present], flat.filter(pa.array(present))
    pieces = pc.extract_regex(flat, r"^(?P<name>[^\n]+)=(?P<value>[^=\n]*)$")
    whole = pieces.is_valid().to_numpy(zero_copy_only=False)
    names = pc.if_else(pieces.is_valid(), pc.struct_field(pieces, "name"), flat)
    values = pc.fill_null(pc.struct_field(pieces, "value"), "")
    return rows, names, values, whole
