"""The Turku Paraphrase Corpus (Kanerva et al. 2021).

The default configuration is the corpus itself, `opus_parsebank` the pairs drawn from OPUS and the Parsebank, `sample`
the annotated sample of these (TSV), and `rewrites` the pairs as the annotators rewrote them so that they mean the
same. The files are lists of JSON that are read whole; items are counted from 1 where others count lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ...settings import setting
from ..records import json_objects, read_objects
from ..text_blocks import LineErrors
from ..text_files import Field, read_tables, typed
from .rows import fitted
from .source import LineErrorSettings, Part, Source, find_files, folder_setting

_FIELDS = {
    "sentence1": Field("sentence1", pattern="(?s).*", example="text"),
    "sentence2": Field("sentence2", pattern="(?s).*", example="text"),
    "grade": Field("grade", pattern=r"[1-4][<>is]*|x", example="2, 4, 4>i"),
    "source": Field("source"),
    "lexical_similarity": Field("lexical_similarity", pa.float64(), may_be_null=True),
    "fold": Field("fold", pa.int64(), may_be_null=True),
    "document": Field("document"),
}
_ITEM = {
    "sentence1": "txt1", "sentence2": "txt2", "grade": "label", "source": "source",
    "lexical_similarity": "lex-similarity", "fold": "fold", "document": "goeswith",
}  # fmt: skip
"""What the columns are called in the files."""
_SCHEMA = [(name, field.kind) for name, field in _FIELDS.items()]
SCHEMA = pa.schema([*_SCHEMA[:2], ("score", pa.float64()), *_SCHEMA[2:]])
"""`score` is the grade without its flags, 1 to 4; what a file does not tell is null."""
REWRITES = pa.schema([*_SCHEMA[:2], *_SCHEMA[5:]])
_FILES = {
    "default/train": "train.json",
    "default/validation": "dev.json",
    "default/test": "test.json",
    "opus_parsebank/validation": "opus-pb-dev.json",
    "opus_parsebank/test": "opus-pb-test.json",
    "sample/train": "opus-parsebank-sample-annotated.tsv",
}
_REMEDY = "fix the file, or download it again"


@dataclass(kw_only=True)
class TurkuSource(Source, LineErrorSettings):
    """Make a data folder of the Turku Paraphrase Corpus (Kanerva et al. 2021): Finnish, or the Swedish test set."""

    SUMMARY: ClassVar[str] = "Turku Paraphrase Corpus, Finnish: pairs graded 1 to 4"
    TITLE: ClassVar[str] = "Turku Paraphrase Corpus"
    LICENSE: ClassVar[str] = "cc-by-sa-4.0"
    URL: ClassVar[str] = "https://github.com/TurkuNLP/Turku-paraphrase-corpus"
    TEMPLATE: ClassVar[str] = "turku"

    data_dir: str = folder_setting(
        "train.json, dev.json, test.json, opus-pb-dev.json and opus-parsebank-sample-annotated.tsv, or some of them, "
        "plain or compressed"
    )
    lang: str = setting("the language", "fi", choices=["fi", "sv"], names=["--lang", "--language"])
    rewrites: bool = setting(
        "also make the configuration `rewrites` of the pairs as the annotators rewrote them", False
    )

    def parts(self) -> list[Part]:
        """List the splits whose files exist."""
        parts, rewrites = [], []
        for key, path in find_files(self.data_dir, _FILES).items():
            configuration, split = key.split("/")
            parts.append(Part(split, SCHEMA, [path], partial(_read, path, configuration), configuration))
            if configuration == "default" and self.rewrites:
                read = partial(_read_rewrites, path)
                rewrites.append(Part(split, REWRITES, [path], read, "rewrites", may_be_empty=True))
        return parts + rewrites


def _read(path: Path, configuration: str, errors: LineErrors) -> Iterator[pa.Table]:
    """Read pairs with the score of their grade; those that the annotators gave none go."""
    if configuration == "sample":
        fields = [_FIELDS[name] for name in ("grade", "source", "lexical_similarity", "sentence1", "sentence2")]
        tables = read_tables(path, fields, errors, header_lines=1, remedy=_REMEDY)
    else:
        tables = _tables(json_objects(path, errors), path, list(_FIELDS), errors)
    for table in tables:
        graded = table.filter(pc.not_equal(table.column("grade"), "x"))
        errors.left_out["no_grade"] += table.num_rows - graded.num_rows
        score = pc.utf8_slice_codeunits(graded.column("grade"), 0, 1).cast(pa.float64())
        yield fitted(graded.append_column("score", score), SCHEMA)


def _read_rewrites(path: Path, errors: LineErrors) -> Iterator[pa.Table]:
    def pairs() -> Iterator[tuple[int, Mapping[str, Any]]]:
        for position, entry in json_objects(path, errors):
            rewrites = entry.get("rewrites") or []
            if isinstance(rewrites, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in rewrites):
                yield from ((position, {**entry, "txt1": first, "txt2": second}) for first, second in rewrites)
            else:
                errors.handle(f"item {position}: rewrites are not pairs of texts", path, position, _REMEDY)

    return _tables(pairs(), path, REWRITES.names, errors)


def _tables(
    items: Iterator[tuple[int, Mapping[str, Any]]], path: Path, columns: list[str], errors: LineErrors
) -> Iterator[pa.Table]:
    names = {name: _ITEM[name] for name in columns}
    blocks = read_objects(items, path, names, errors)
    return (table for _, table in typed(blocks, [_FIELDS[name] for name in columns], path, errors, _REMEDY))
