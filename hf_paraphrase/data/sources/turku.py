"""The Turku Paraphrase Corpus (Kanerva et al. 2021).

The default configuration is the corpus itself (`train.json`, `dev.json`, `test.json`), `opus_parsebank` the pairs
drawn from OPUS and the Parsebank (`opus-pb-*.json`), `sample` the annotated sample of these (TSV), and `rewrites` the
pairs as the annotators rewrote them so that they mean the same. The files are lists of JSON that are read whole; items
are counted from 1 where others count lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from ...errors import InputError
from ...settings import setting
from ..text_blocks import COMPRESSED, LineErrors, read_blocks
from ..typed_fields import Field, parse_column, read_typed_fields
from .rows import fitted
from .source import LineErrorSettings, Part, Source, find_files

_KINDS = {"score": pa.float64(), "lexical_similarity": pa.float64(), "fold": pa.int64()}


def _schema(*names: str) -> pa.Schema:
    return pa.schema([(name, _KINDS.get(name, pa.string())) for name in names])


SCHEMA = _schema("sentence1", "sentence2", "score", "grade", "source", "lexical_similarity", "fold", "document")
"""`score` is the grade without its flags, 1 to 4; what a file does not tell is null."""
REWRITES = _schema("sentence1", "sentence2", "fold", "document")

_GRADE = Field("label", pattern=r"[1-4][<>is]*|x", example="2, 4, 4>i")
_NO_GRADE = "x"
_CORPUS = {"train": "train.json", "validation": "dev.json", "test": "test.json"}
_FILES = {
    **{f"default/{split}": name for split, name in _CORPUS.items()},
    "opus_parsebank/validation": "opus-pb-dev.json",
    "opus_parsebank/test": "opus-pb-test.json",
    "sample/train": "opus-parsebank-sample-annotated.tsv",
}
_REMEDY = "fix the file, or fetch it again"


@dataclass(kw_only=True)
class TurkuSource(Source, LineErrorSettings):
    """Makes a data folder of the Turku Paraphrase Corpus (Kanerva et al. 2021): Finnish, or the Swedish test set."""

    SUMMARY: ClassVar[str] = "Turku Paraphrase Corpus, Finnish: pairs graded 1 to 4"
    TITLE: ClassVar[str] = "Turku Paraphrase Corpus"
    DESCRIPTION: ClassVar[str] = "Turku Paraphrase Corpus: paraphrase pairs graded by people."
    LICENSE: ClassVar[str] = "cc-by-sa-4.0"
    URL: ClassVar[str] = "https://github.com/TurkuNLP/Turku-paraphrase-corpus"
    TEMPLATE: ClassVar[str] = "turku"
    CONFIGURATIONS: ClassVar[tuple[str, ...]] = ("default", "opus_parsebank", "sample", "rewrites")

    data_dir: str = setting(
        "the folder below which train.json, dev.json, test.json, opus-pb-dev.json and "
        "opus-parsebank-sample-annotated.tsv are, or some of them, plain or compressed",
        path=True,
    )
    lang: str = setting("the language", "fi", choices=["fi", "sv"], names=["--lang", "--language"])
    rewrites: bool = setting(
        "also make the configuration `rewrites` of the pairs as the annotators rewrote them", False
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """The codes of the languages."""
        return (self.lang,)

    def parts(self) -> list[Part]:
        """Lists the splits that are there."""
        parts, rewrites = [], []
        for key, path in find_files(self.data_dir, _FILES).items():
            configuration, split = key.split("/")
            read = partial(_read_tsv if configuration == "sample" else _read_json, path)
            parts.append(Part(split, SCHEMA, [path], read, configuration))
            if configuration == "default" and self.rewrites:
                read = partial(_read_rewrites, path)
                rewrites.append(Part(split, REWRITES, [path], read, "rewrites", may_be_empty=True))
        return parts + rewrites

    def missing(self) -> list[str]:
        """Names the files of the corpus itself that are not there."""
        present = {
            path.stem if path.suffix in COMPRESSED else path.name for part in self.parts() for path in part.files
        }
        return [name for name in _CORPUS.values() if name not in present]

    @classmethod
    def choose(cls, config_name: str | None, settings: dict[str, Any]) -> tuple[str, str]:
        """The configuration `rewrites` reads the rewritten pairs without a second flag."""
        if config_name == "rewrites":
            settings["rewrites"] = True
        return super().choose(config_name, settings)


def _read_tsv(path: Path, errors: LineErrors) -> Iterator[pa.Table]:
    fields = [
        Field("grade", pattern=_GRADE.pattern, example=_GRADE.example),
        Field("source"),
        Field("lexical_similarity", pa.float64()),
        Field("sentence1"),
        Field("sentence2"),
    ]
    for _, table in read_typed_fields(path, fields, errors, header_lines=1, remedy=_REMEDY):
        yield _graded(table, errors)


def _read_json(path: Path, errors: LineErrors) -> Iterator[pa.Table]:
    rows = []
    for number, item in _items(path, errors):
        row = {
            "sentence1": item.get("txt1"),
            "sentence2": item.get("txt2"),
            "grade": item.get("label"),
            "source": item.get("source"),
            "document": item.get("goeswith"),
            "lexical_similarity": item.get("lex-similarity"),
            "fold": item.get("fold"),
        }
        if (problem := _problem(row)) is None:
            rows.append(row)
        else:
            errors.handle(f"item {number}: {problem}", path, number, _REMEDY)
    yield _graded(pa.Table.from_pylist(rows, schema=SCHEMA), errors)


def _read_rewrites(path: Path, errors: LineErrors) -> Iterator[pa.Table]:
    rows = []
    for number, item in _items(path, errors):
        rewrites = item.get("rewrites") or []
        row = {"fold": item.get("fold"), "document": item.get("goeswith")}
        pairs = rewrites if isinstance(rewrites, list) else [rewrites]
        whole = all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(text, str) for text in pair) for pair in pairs
        )
        problem = _problem(row) if whole else "rewrites are not pairs of texts"
        if problem is None:
            rows += [{"sentence1": first, "sentence2": second, **row} for first, second in pairs]
        else:
            errors.handle(f"item {number}: {problem}", path, number, _REMEDY)
    yield pa.Table.from_pylist(rows, schema=REWRITES)


def _problem(row: dict[str, Any]) -> str | None:
    """Returns what is wrong with an item; None if nothing is."""
    for name, raw in (("sentence1", "txt1"), ("sentence2", "txt2"), ("grade", "label")):
        if name in row and not isinstance(row[name], str):
            return f"no text {raw}"
    for name in ("source", "document"):
        if not isinstance(row.get(name), (str, type(None))):
            return f"{name} is not a text"
    if "grade" in row and not parse_column(pa.array([row["grade"]]), _GRADE)[1].all():
        return f"label `{row['grade']}` is not a grade such as 2, 4 or 4>i"
    similarity = row.get("lexical_similarity")
    if similarity is not None:
        number, fits = parse_column(pa.array([str(similarity)]), Field("lex-similarity", pa.float64()))
        if not fits.all():
            return f"lex-similarity `{similarity}` is not a number"
        row["lexical_similarity"] = number[0].as_py()
    if not isinstance(row["fold"], (int, type(None))) or isinstance(row["fold"], bool):
        return f"fold `{row['fold']}` is not a whole number"
    return None


def _graded(table: pa.Table, errors: LineErrors) -> pa.Table:
    """Adds the score; pairs that the annotators gave no grade go."""
    graded = pc.not_equal(table.column("grade"), _NO_GRADE)
    errors.left_out["no_grade"] += table.num_rows - int(pc.sum(graded).as_py() or 0)
    table = fitted(table, SCHEMA).filter(graded)
    score = pc.utf8_slice_codeunits(table.column("grade"), 0, 1).cast(pa.float64())
    return table.set_column(SCHEMA.get_field_index("score"), "score", score)


def _items(path: Path, errors: LineErrors) -> Iterator[tuple[int, dict[str, Any]]]:
    """Reads the objects of a JSON list with their numbers."""
    try:
        items = json.loads(b"".join(read_blocks(path)).decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError("not UTF-8", path=path, line=line, remedy="convert it to UTF-8") from error
    except (ValueError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise InputError(f"not JSON: {error}", path=path, line=line, remedy=_REMEDY) from error
    if not isinstance(items, list):
        raise InputError("not a JSON list", path=path, line=1, remedy="expected `[` at the beginning")
    for number, item in enumerate(items, start=1):
        if not isinstance(item, dict):
            errors.handle(f"item {number} is not an object", path, number, "fix the item")
            continue
        try:
            json.dumps(item, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            errors.handle(f"item {number}: a lone surrogate, which is not a valid character", path, number, _REMEDY)
        else:
            yield number, item
