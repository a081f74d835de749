"""The Turku Paraphrase Corpus (Kanerva et al. 2021) as a `datasets` builder.

    builder = TurkuBuilder(data_dir="Turku-paraphrase-corpus/data-fi")
    builder.download_and_prepare()
    pairs = builder.as_dataset(split="validation")

The default configuration is the corpus itself (`train.json`, `dev.json`, `test.json`), `opus_parsebank` the pairs
drawn from OPUS and the Parsebank (`opus-pb-*.json`), `sample` the annotated sample of these (TSV), and `rewrites` the
pairs as the annotators rewrote them so that they mean the same. Under datasets 3 this file runs as a loading script,
see :mod:`hf_paraphrase.data.sources.builder`. `prepare turku` makes a data folder of the same rows.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.source import LineErrorSettings, Part, Source
from hf_paraphrase.data.sources.source_files import find_files
from hf_paraphrase.data.text_files import LineErrors, read_blocks
from hf_paraphrase.data.typed_fields import FLOAT, Field, parse_column, read_typed_fields
from hf_paraphrase.errors import InputError
from hf_paraphrase.settings import setting

SCHEMA = pa.schema(
    [
        ("sentence1", pa.string()),
        ("sentence2", pa.string()),
        ("score", pa.float64()),
        ("grade", pa.string()),
        ("source", pa.string()),
        ("lexical_similarity", pa.float64()),
        ("fold", pa.int64()),
        ("document", pa.string()),
    ]
)
"""`score` is the grade without its flags, 1 to 4; what a file does not tell is null."""

REWRITES = pa.schema(
    [("sentence1", pa.string()), ("sentence2", pa.string()), ("fold", pa.int64()), ("document", pa.string())]
)

_GRADE = r"[1-4][<>is]*"
_NO_GRADE = "x"
_CORPUS = {"train": "train.json", "validation": "dev.json", "test": "test.json"}
_OPUS_PARSEBANK = {"validation": "opus-pb-dev.json", "test": "opus-pb-test.json"}
_SAMPLE = "opus-parsebank-sample-annotated.tsv"
_BATCH = 10_000
LONGEST_LIST_BYTES = 1 << 30
"""A compressed file of a few megabytes can become any number of them."""
_SPACE = re.compile(r"[ \t\r\n]*")
_REMEDY = "fix the file, or fetch it again"


@dataclass(kw_only=True)
class TurkuSource(Source, LineErrorSettings):
    """Makes a data folder of the Turku Paraphrase Corpus (Kanerva et al. 2021): Finnish, or the Swedish test set."""

    SUMMARY: ClassVar[str] = "Turku Paraphrase Corpus, Finnish: pairs graded 1 to 4"
    TITLE: ClassVar[str] = "Turku Paraphrase Corpus"
    DESCRIPTION: ClassVar[str] = "Turku Paraphrase Corpus: paraphrase pairs graded by people."
    CITATION: ClassVar[str] = (
        "Jenna Kanerva, Filip Ginter, Li-Hsin Chang, Iiro Rastas, Valtteri Skantsi, Jemina Kilpeläinen, Hanna-Mari "
        "Kupari, Jenna Saarni, Maija Sevón and Otto Tarkka. 2021. Finnish Paraphrase Corpus. In Proceedings of "
        "NoDaLiDa 2021."
    )
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
        names = {
            **{("default", split): name for split, name in _CORPUS.items()},
            **{("opus_parsebank", split): name for split, name in _OPUS_PARSEBANK.items()},
            ("sample", "train"): _SAMPLE,
        }
        keys = {f"{configuration}/{split}": name for (configuration, split), name in names.items()}
        paths = find_files(self.data_dir, keys)
        parts = []
        for key, path in paths.items():
            configuration, split = key.split("/")
            read = partial(_read_tsv if configuration == "sample" else _read_json, path)
            parts.append(Part(split, SCHEMA, (read,), (path,), configuration=configuration))
        if self.rewrites:
            for key, path in paths.items():
                configuration, split = key.split("/")
                if configuration == "default":
                    read = partial(_read_rewrites, path)
                    parts.append(Part(split, REWRITES, (read,), (path,), configuration="rewrites", may_be_empty=True))
        return parts

    def missing(self) -> list[str]:
        """Names the files of the corpus itself that are not there."""
        present = {path.name.removesuffix(".gz") for part in self.parts() for path in part.files}
        return [name for name in _CORPUS.values() if name not in present]

    @classmethod
    def choose(cls, config_name: str | None, settings: dict[str, Any]) -> tuple[str, str]:
        """The configuration `rewrites` reads the rewritten pairs without a second flag."""
        if config_name == "rewrites":
            settings["rewrites"] = True
        return super().choose(config_name, settings)


class TurkuBuilder(SourceBuilder, source=TurkuSource):
    """Builds graded pairs of the Turku Paraphrase Corpus."""


def _read_tsv(path: Path, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
    fields = [
        Field("grade", pattern=f"{_GRADE}|{_NO_GRADE}", example="2, 4, 4>i"),
        Field("source"),
        Field("lexical_similarity", pa.float64()),
        Field("sentence1"),
        Field("sentence2"),
    ]
    for _, table in read_typed_fields(path, fields, errors, header_lines=1, remedy=_REMEDY):
        yield _graded(table, left_out)


def _read_json(path: Path, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
    rows: list[dict[str, Any]] = []
    for line, item in read_json_items(path, errors):
        row = {
            "sentence1": item.get("txt1"),
            "sentence2": item.get("txt2"),
            "grade": item.get("label"),
            "source": item.get("source"),
            "document": item.get("goeswith"),
            "lexical_similarity": item.get("lex-similarity"),
            "fold": item.get("fold"),
        }
        problem = _problem(row)
        if problem is not None:
            errors.handle(problem, path, line, _REMEDY)
            continue
        rows.append(row)
        if len(rows) == _BATCH:
            yield _graded(_table(rows), left_out)
            rows = []
    yield _graded(_table(rows), left_out)


def _read_rewrites(path: Path, errors: LineErrors, left_out: Counter[str]) -> Iterator[pa.Table]:
    rows: list[dict[str, Any]] = []
    for line, item in read_json_items(path, errors):
        rewrites = item.get("rewrites") or []
        pairs = [tuple(pair) for pair in rewrites if isinstance(pair, (list, tuple))]
        if len(pairs) < len(rewrites) or any(
            len(pair) != 2 or not all(isinstance(text, str) for text in pair) for pair in pairs
        ):
            errors.handle("rewrites are not pairs of texts", path, line, _REMEDY)
            continue
        fold, document = item.get("fold"), item.get("goeswith")
        if not isinstance(fold, (int, type(None))) or not isinstance(document, (str, type(None))):
            errors.handle("fold is not a number, or goeswith not a text", path, line, _REMEDY)
            continue
        rows += [
            {"sentence1": first, "sentence2": second, "fold": fold, "document": document} for first, second in pairs
        ]
        if len(rows) >= _BATCH:
            yield pa.Table.from_pylist(rows, schema=REWRITES)
            rows = []
    yield pa.Table.from_pylist(rows, schema=REWRITES)


def _problem(row: dict[str, Any]) -> str | None:
    """Returns what is wrong with an item; None if nothing is."""
    for name, raw in (("sentence1", "txt1"), ("sentence2", "txt2"), ("grade", "label")):
        if not isinstance(row[name], str):
            return f"no text {raw}"
    for name in ("source", "document"):
        if not isinstance(row[name], (str, type(None))):
            return f"{name} is not a text"
    _, fits = parse_column(pa.array([row["grade"]]), Field("label", pattern=f"{_GRADE}|{_NO_GRADE}"))
    if not fits.all():
        return f"label `{row['grade']}` is not a grade such as 2, 4 or 4>i"
    similarity = row["lexical_similarity"]
    if similarity is not None:
        if not pc.match_substring_regex(pa.scalar(str(similarity)), FLOAT).as_py():
            return f"lex-similarity `{similarity}` is not a number"
        row["lexical_similarity"] = float(similarity)
    if not isinstance(row["fold"], (int, type(None))) or isinstance(row["fold"], bool):
        return f"fold `{row['fold']}` is not a whole number"
    return None


def _table(rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=pa.schema([entry for entry in SCHEMA if entry.name != "score"]))


def _graded(table: pa.Table, left_out: Counter[str]) -> pa.Table:
    """Adds the score; pairs that the annotators gave no grade go."""
    graded = pc.not_equal(table.column("grade"), _NO_GRADE)
    left_out["no_grade"] += table.num_rows - int(pc.sum(graded).as_py() or 0)
    table = table.filter(graded)
    return table.append_column("score", pc.utf8_slice_codeunits(table.column("grade"), 0, 1).cast(pa.float64()))


def read_json_items(path: Path, errors: LineErrors) -> Iterator[tuple[int, dict[str, Any]]]:
    """Streams the objects of a JSON list; the text is held in memory, the objects are not.

    Yields:
        The line on which the item begins, from 1, and the item.
    """
    try:
        text = b"".join(_bounded(path)).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise InputError("not UTF-8", path=path, line=line, remedy="convert it to UTF-8") from error
    decoder = json.JSONDecoder()
    position, line = _skip(text, 0), 1
    if position == len(text):
        raise InputError("the file is empty", path=path, remedy="give a JSON list")
    if text[position] != "[":
        raise InputError("not a JSON list", path=path, line=1, remedy="expected `[` at the beginning")
    line += text.count("\n", 0, position)
    separator = "["
    while True:
        start = _skip(text, position + 1)
        line += text.count("\n", position, start)
        if text[start : start + 1] == "]" and separator == "[":
            position = start
            break
        try:
            item, end = decoder.raw_decode(text, start)
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"not JSON: {_reason(error)}", path=path, line=_line(error, line)) from error
        if not isinstance(item, dict):
            errors.handle("an item that is not an object", path, line, "fix the item")
        elif not _encodable(item):
            errors.handle("a lone surrogate, which is not a valid character", path, line, "fix the item")
        else:
            yield line, item
        position = _skip(text, end)
        line += text.count("\n", start, position)
        separator = text[position : position + 1]
        if separator == "]":
            break
        if separator != ",":
            raise InputError(
                "not JSON: `,` or `]` expected after an item", path=path, line=line, remedy="fix the list"
            )
    if _skip(text, position + 1) != len(text):
        raise InputError("something follows the JSON list", path=path, line=line, remedy="remove it")


def _bounded(path: Path) -> Iterator[bytes]:
    size = 0
    for block in read_blocks(path):
        size += len(block)
        if size > LONGEST_LIST_BYTES:
            raise InputError(
                f"a JSON list of more than {LONGEST_LIST_BYTES >> 20} MiB",
                path=path,
                remedy="it is held in memory: split it",
            )
        yield block


def _skip(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _reason(error: json.JSONDecodeError | RecursionError) -> str:
    return error.msg if isinstance(error, json.JSONDecodeError) else "lists are nested too deeply"


def _line(error: json.JSONDecodeError | RecursionError, line: int) -> int:
    return error.lineno if isinstance(error, json.JSONDecodeError) else line


def _encodable(value: Any) -> bool:
    """Returns whether all texts in a JSON value can be written as UTF-8; an escape such as backslash ud800 cannot."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
