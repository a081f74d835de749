"""Arrow schemas of data sets, and checks of their columns."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from ..errors import InputError

BITEXT = pa.schema([(name, pa.string()) for name in ("id", "source", "target", "source_lang", "target_lang")])
"""Bitext: `source` is the sentence to back-translate, `target` its translation, the reference of the paraphrases."""

PAIRS = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string())])
"""The columns of every paraphrase set, which may have more."""

BACK_TRANSLATED = pa.schema(
    [(name, pa.string()) for name in ("id", "sentence1", "sentence2", "source", "source_lang")]
    + [("rank", pa.int32()), ("log_prob", pa.float64()), ("num_tokens", pa.int32())]
)
"""Back-translated pairs: `sentence1` is the reference, `sentence2` the translation, `rank` 0 the best of the beam."""

SENTENCES = pa.schema([("id", pa.string()), ("sentence", pa.string())])
"""The columns of sentences to paraphrase, which may have more."""

_PAIR_COLUMNS = (
    ("sentence1", "sentence2"),
    ("anchor", "positive"),
    ("query", "pos"),
    ("query", "positive"),
    ("text1", "text2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("sentence_a", "sentence_b"),
    ("sent1", "sent2"),
    ("reference", "translation"),
    ("original", "paraphrase"),
    ("text_a", "text_b"),
    ("string1", "string2"),
)
_TEXT_COLUMNS = ("sentence1", "sentence2", "source", "target", "source_lang", "target_lang")


def usual_pair_columns(names: Iterable[str]) -> dict[str, str]:
    """Map `sentence1` and `sentence2` to the columns with the usual names of pairs; return {} if there are none."""
    present = {plain_name(name): name for name in names}
    for first, second in _PAIR_COLUMNS:
        if first in present and second in present:
            return {"sentence1": present[first], "sentence2": present[second]}
    return {}


def plain_name(name: str) -> str:
    """Return the name of a column in lower case, with `_` for spaces and hyphens."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def columns_named(given: Iterable[str], present: Iterable[str]) -> list[str]:
    """Split a list of columns at commas, unless the list is itself the name of a column."""
    present = set(present)
    names: list[str] = []
    for entry in given:
        parts = [entry] if entry in present else [part.strip() for part in entry.split(",")]
        names += list(filter(None, parts)) or [entry]
    return names


def describe_columns(names: Iterable[str]) -> str:
    """List the columns for a message, with a hint if they look like values."""
    names = list(names)
    text = f"the columns are {', '.join(names) or 'none'}"
    if any(" " in name.strip() for name in names):
        text += "; if these are values, write a header above them, such as sentence1,sentence2"
    return text


def require_columns(present: Iterable[str], required: Iterable[str], path: str, *, remedy: str | None = None) -> None:
    """Check that a data set has the required columns."""
    present = list(present)
    missing = [name for name in required if name not in present]
    if missing:
        remedy = f"{remedy}; {describe_columns(present)}" if remedy else describe_columns(present)
        if missing == PAIRS.names and "--columns" not in remedy:
            remedy += "; name them: hf-paraphrase prepare pairs --dataset DATA --columns sentence1=…,sentence2=…"
        elif "target" in missing:
            remedy += "; or hf-paraphrase prepare bitext --dataset DATA --source-lang CODE --target-lang CODE"
        problem = f"missing column{'s' if len(missing) > 1 else ''} {', '.join(missing)}"
        raise InputError(problem, path=path, remedy=remedy)


def require_texts(
    schema: pa.Schema, path: str, columns: Iterable[str] = _TEXT_COLUMNS, *, lists: bool = False
) -> None:
    """Check that the given columns, by default sentences and languages, are text, or with `lists` lists of texts."""
    for name in columns:
        if name not in schema.names:
            continue
        kind = schema.field(name).type
        if lists and is_list(kind):
            kind = kind.value_type
        if not is_text(kind) and not pa.types.is_null(kind):
            remedy = "prepare the data again, with texts in that column"
            raise InputError(f"the column {name} is of type {kind}, not text", path=path, remedy=remedy)


def is_list(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a list type."""
    return pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Replace dictionaries, string variants, maps and most extensions by types that `datasets` and Parquet have.

    Raises:
        InputError: There is no such type.
    """
    if pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        return plain_type(kind.value_type)
    if is_text(kind):
        return pa.string()
    if is_list(kind) or pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        return pa.list_(plain_type(kind.value_type), getattr(kind, "list_size", -1))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(plain_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        return pa.list_(pa.struct([("key", plain_type(kind.key_type)), ("value", plain_type(kind.item_type))]))
    if isinstance(kind, pa.BaseExtensionType) and not kind.extension_name.startswith(("datasets", "arrow.json")):
        return plain_type(kind.storage_type)
    if pa.types.is_union(kind) or pa.types.is_interval(kind):
        raise InputError(f"a column is of type {kind}, which Parquet does not have", remedy="convert or remove it")
    return pa.binary() if pa.types.is_binary_view(kind) else kind


def is_text(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a string type, dictionary-encoded or not."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(value) or pa.types.is_large_string(value) or pa.types.is_string_view(value)


def is_number(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is numeric or boolean, dictionary-encoded or not."""
    value = kind.value_type if pa.types.is_dictionary(kind) else kind
    kinds = pa.types
    return any(is_kind(value) for is_kind in (kinds.is_integer, kinds.is_floating, kinds.is_decimal, kinds.is_boolean))


def with_column(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """Add a column to a table or a batch, or replace it."""
    position = table.schema.get_field_index(name)
    return table.append_column(name, values) if position < 0 else table.set_column(position, name, values)


def with_binary_labels(table: pa.Table, name: str, values: pa.Array) -> pa.Table:
    """Add or replace a column of labels, 1 for a paraphrase, and drop the class names of a replaced column."""
    table = with_column(table, name, values)
    names = {column: names for column, names in class_names_of(table.schema).items() if column != name}
    return table.replace_schema_metadata(class_metadata(names, table.schema))


def class_names_of(schema: pa.Schema) -> dict[str, list[str]]:
    """Read the names of classes, also of lists of them, from the metadata that `datasets` gives an Arrow schema."""
    try:
        features = json.loads((schema.metadata or {})[b"huggingface"])["info"]["features"]
    except (KeyError, TypeError, ValueError):
        return {}
    class_names: dict[str, list[str]] = {}
    for name in schema.names:
        feature = features.get(name)
        item = feature.get("feature", feature) if isinstance(feature, dict) else None
        if isinstance(item, dict) and item.get("_type") == "ClassLabel":
            class_names[name] = list(item["names"])
    return class_names


def with_class_names(table: pa.Table) -> pa.Table:
    """Replace class numbers by the names of the classes, and other numbers, such as -1, by null."""
    for name, names in class_names_of(table.schema).items():
        column = table.column(name)
        if not is_text(column.type):
            kind = pa.list_(pa.string()) if is_list(column.type) else pa.string()
            named = [_name_of_class(value, names) for value in column.to_pylist()]
            table = with_column(table, name, pa.array(named, kind))
    return table


def _name_of_class(value: Any, names: Sequence[str]) -> Any:
    if isinstance(value, list):
        return [_name_of_class(item, names) for item in value]
    return names[int(value)] if value in range(len(names)) else None


def class_metadata(class_names: Mapping[str, Sequence[str]], schema: pa.Schema) -> dict[str, str] | None:
    """Write the names of the classes of columns as `datasets` does, so that they stay with them in an output."""
    features: dict[str, Any] = {}
    for name, names in class_names.items():
        features[name] = {"names": list(names), "_type": "ClassLabel"}
        if is_list(schema.field(name).type):
            features[name] = {"feature": features[name], "_type": "List"}
    return {"huggingface": json.dumps({"info": {"features": features}})} if features else None
