"""Keeps evaluation sentences out of training data: reads evaluation sets and finds the rows that match them."""

from __future__ import annotations

import gzip
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ..artefacts.artefact import output_file
from ..artefacts.files import atomic_write
from ..artefacts.fsspec_path import FsspecPath, to_path
from ..errors import InputError, UsageError
from ..inputs import OBJECTS, dataset_of
from ..messages import as_given, log
from ..registry import BUILTIN, MATCHERS
from ..settings import Settings, recipe, setting
from ..text.fingerprints import SHORTEST_NGRAM, VERSION, Containment, Fingerprints, Matcher
from .batch_function import BatchFunction, Progress, Report, no_progress
from .folder import DataFolder
from .readers import csv_records
from .rows import Rows, open_rows
from .sources.translation_files import tmx_texts
from .text_blocks import LineErrors, clean_returns, files_below, kind_of_rows, plain_suffix, read_blocks

_HEADER = "# fingerprints of hf_paraphrase, version "
LIST_HEADER = f"{_HEADER}{VERSION}"
"""The first line of a list of fingerprints; one without it is of version 1."""
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_NOT_SENTENCES = {".md", ".html", ".pdf", ".pl", ".py", ".sh", ".npy", ".png", ".zip", ".tar", ".tgz"}
_NOT_DATA = re.compile(
    r"(00-readme|readme|licen[cs]e|copying|provenance|config|state\.json|dataset_(info|dict)\.json)", re.IGNORECASE
)
_DATA = {".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather"}
_TABLES = ("parquet", "arrow")


@dataclass(kw_only=True)
class DecontaminationSettings(Settings):
    """The evaluation sets that must not overlap with training data."""

    GROUP: ClassVar[str] = "decontamination"

    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: remove training rows that contain one of their "
        "sentences",
        [],
        path=True,
        dataset=True,
    )
    decontaminate_ngrams: int | None = setting(
        "n-gram size in words: also remove rows if a text shares 70 percent of its n-grams with an evaluation set, or "
        "contains one of its sentences; 8 is usual",
        None,
        at_least=SHORTEST_NGRAM,
        only_with="decontaminate",
    )
    decontaminate_similarity: float | None = setting(
        "minimum cosine: also remove rows if a text is this similar to a sentence of an evaluation set, whatever its "
        "wording; 0.9 is usual",
        None,
        above=0,
        at_most=1,
        only_with="decontaminate",
    )
    decontaminate_encoder: str = setting(
        "sentence encoder of --decontaminate-similarity; multilingual supports several languages",
        BUILTIN,
        path=True,
        only_with="decontaminate_similarity",
    )

    def decontaminator(self, *columns: str) -> Decontaminator | None:
        """Return the decontaminator of these settings; None without evaluation sets."""
        if not self.decontaminate:
            return None
        how = (self.decontaminate_ngrams, self.decontaminate_similarity, self.decontaminate_encoder)
        return Decontaminator(tuple(self.decontaminate), columns, *how)


@dataclass(frozen=True)
class Decontaminator(BatchFunction):
    """Removes rows that share a sentence with an evaluation set; see :func:`load_fingerprints`."""

    sets: tuple[str, ...]
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    ngrams: int | None = None
    similarity: float | None = None
    encoder: str = BUILTIN

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """The sets, which are read at the first use."""
        return load_fingerprints(self.sets, ngrams=self.ngrams, similarity=self.similarity, encoder=self.encoder)

    def process(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Return the rows without a match, in order, and the counts of :meth:`Fingerprints.match`."""
        matched, counts = self.fingerprints.match([table.column(name) for name in self.columns])
        progress(table.num_rows)
        return (table.filter(pa.array(~matched)) if matched.any() else table), {"contamination": counts}


@dataclass(kw_only=True)
class FingerprintSettings(Settings):
    """Write the fingerprints of all sentences of evaluation sets, for --decontaminate if the sets are not available.

    A fingerprint is the first 16 hexadecimal digits of the SHA-256 of the words of a sentence: letters, marks and
    digits after NFKC and case folding, with single spaces between; sentences of fewer than four words have none.
    """

    output: str = setting("output list, .txt or .txt.gz: the version, then one fingerprint per line, sorted")
    data: list[str] = setting(
        "evaluation files or folders in any layout that --decontaminate reads, or prepared data folders",
        path=True,
        dataset=True,
    )
    overwrite: bool = setting("replace an existing file", False)

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if not self.output.endswith((".txt", ".txt.gz")):
            problem = "fingerprint: --output must end in .txt or .txt.gz"
            raise UsageError(problem, path=self.output, remedy="name a list")


@recipe(FingerprintSettings)
def fingerprint(settings: FingerprintSettings) -> Fingerprints:
    """Write the fingerprints of evaluation sets to a list, and return the sets."""
    with output_file(settings.output, overwrite=settings.overwrite) as output:
        read = load_fingerprints(settings.data)
        if old := {name: version for name, version in read.versions.items() if version < VERSION}:
            problem = f"a list of version {old[min(old)]} cannot be converted to version {VERSION}"
            raise InputError(problem, path=min(old), remedy="give the evaluation set itself")
        every = np.unique(np.concatenate(list(read.sets.values())))
        data = "\n".join([LIST_HEADER, *(f"{number:016x}" for number in every.tolist()), ""]).encode()
        with atomic_write(output) as temporary:
            # Without a time stamp equal lists are equal files.
            temporary.write_bytes(gzip.compress(data, mtime=0) if output.suffix == ".gz" else data)
    log(f"{len(every):,} fingerprints saved to {settings.output}. Use the file with --decontaminate")
    return read


def load_fingerprints(
    paths: Iterable[str | Path], *, ngrams: int | None = None, similarity: float | None = None, encoder: str = BUILTIN
) -> Fingerprints:
    """Read evaluation sets or lists of fingerprints, and log the number of sentences of each file.

    A path is a list of fingerprints (16 hexadecimal digits per line); a text file, in which each tab-separated field
    is a sentence; CSV, JSON, JSON lines, TMX, Parquet or Arrow; a folder of these; or a dataset on the Hub. All texts
    in all columns and splits count, in lists and objects too. Rows are also compared by n-grams of words, and by the
    vectors of the encoder with a cosine of at least `similarity`, if these are given.
    """
    matchers: list[Matcher] = [Containment(ngrams)] if ngrams else []
    if similarity is not None:
        matchers.append(MATCHERS["similarity"](similarity, encoder))
    read = Fingerprints({}, matchers)
    for given in paths:
        path, name = to_path(given), os.fspath(given)
        if name in OBJECTS or dataset_of(name) is not None or (isinstance(path, FsspecPath) and path.is_dir()):
            splits = [open_rows(name, split, roles=()) for split in DataFolder(name).splits]
            count = _add(read, as_given(name), chain.from_iterable(map(_texts_of, splits)))
        elif not path.exists():
            raise InputError("no such file or folder", path=path, remedy="check the name of the evaluation set")
        elif not path.is_dir() and not _is_text(path):
            raise InputError("this is not a text file", path=path, remedy="give text, or a prepared data folder")
        else:
            files = _files_in(path.resolve()) if path.is_dir() else [(path.name, path)]
            count = sum(_add_file(read, name, file) for name, file in files)
        if not count:
            problem = "nothing to check against: no fingerprint and no sentence of four words"
            remedy = "give a file of sentences, a list of fingerprints, or a folder of these"
            raise InputError(problem, path=path, remedy=remedy)
    return read


def _files_in(root: Path) -> Iterator[tuple[str, Path]]:
    """List the files with sentences in a folder, each with the name of its set; log the files that are skipped."""
    unread: list[str] = []
    for path in files_below(root):
        inner = path.relative_to(root)
        is_shard = path.suffix == ".parquet" and path.parent.name == "data"
        name = (root.name / (inner.parent.parent if is_shard else inner)).as_posix()
        is_hidden = any(part.startswith("_") for part in inner.parts)
        is_about = _NOT_DATA.match(path.name) and plain_suffix(path) not in _DATA
        if is_hidden or is_about or plain_suffix(path) in _NOT_SENTENCES or not _is_text(path):
            unread.append(name)
            continue
        if is_shard:
            folder = DataFolder(path.parent.parent)
            for split in folder.splits:
                folder.rows(split)  # refuses a split without all of its shards
        yield name, path
    if unread:
        log(f"not read, because they contain no sentences: {', '.join(unread)}")


def _is_text(path: Path) -> bool:
    head = next(read_blocks(path), b"")
    return kind_of_rows(path) in _TABLES or head.startswith(_UTF_16) or b"\0" not in head


def _add_file(read: Fingerprints, name: str, path: Path) -> int:
    """Add the sentences or the fingerprints of a file to a set; log and return their number."""
    if kind_of_rows(path) in _TABLES:
        return _add(read, name, _texts_of(open_rows(path, roles=())))
    raw = b"".join(read_blocks(path))
    header = re.match(rf"{_HEADER}(\d+)\s".encode(), raw)
    version, body = (int(header[1]), raw[header.end() :]) if header else (1, raw)
    if version > VERSION:
        problem = f"a list of fingerprints of version {version}; this version of hf_paraphrase reads up to {VERSION}"
        raise InputError(problem, path=path, remedy="update hf_paraphrase")
    if re.fullmatch(rb"(?:[0-9a-f]{16}\s+)+", body.strip() + b"\n"):
        numbers = np.unique(np.array([int(line, 16) for line in body.split()], np.uint64))
        read.add_fingerprints(name, numbers, version)
        kind = f"fingerprints of version {version}, which match the same words only,"
        log(f"{name}: {len(numbers):,} {kind} to keep out")
        return len(numbers)
    if header:
        raise InputError("a damaged list of fingerprints", path=path, remedy="copy it again, or make it again")
    return _add(read, name, _sentences_of(path, raw))


def _add(read: Fingerprints, name: str, texts: Iterable[str]) -> int:
    """Add sentences to a set, and the lines of texts with several; log and return their number."""
    lines = chain.from_iterable(dict.fromkeys([text, *text.split("\n")]) for text in texts)
    if count := read.add(name, pa.array(lines, pa.string())):
        log(f"{name}: {count:,} sentences of four words or more to keep out")
    return count


def _texts_of(rows: Rows) -> Iterator[str]:
    """Read all texts in rows, in lists and objects too."""
    return chain.from_iterable(_find_strings(batch.to_pylist()) for batch in rows.batches())


def _sentences_of(path: Path, raw: bytes) -> Iterable[str]:
    """Return the fields of a text file with the content `raw`, in the format that the name of `path` tells."""
    suffix = plain_suffix(path)
    if suffix == ".tmx":
        return tmx_texts(path)
    try:
        text = raw.decode("utf-16" if raw.startswith(_UTF_16) else "utf-8-sig")
    except UnicodeDecodeError:
        # The ASCII sentences of a set in an old encoding come out right.
        text = raw.decode("latin-1")
    lines = clean_returns(text).split("\n")
    fields: list[str] = []
    if kind_of_rows(path) == "jsonl":
        return _json_strings(lines)
    if suffix == ".csv":
        errors = LineErrors("skip")
        for _, record in csv_records(iter(enumerate(lines, start=1)), path, errors):
            fields += record
        for _, line_number, _ in errors.skipped:
            fields += re.split("[,;]", lines[line_number - 1])
        # The STS benchmark has tabs under this name, and quotes that mean nothing.
        lines = [line for line in lines if "\t" in line]
    return chain(fields, *(line.split("\t") for line in lines))


def _json_strings(lines: list[str]) -> Iterator[str]:
    """Yield every string in a JSON file, which has one value in all or one value per line."""
    values: list[Any] = []
    try:
        values.append(json.loads("\n".join(lines)))
    except (ValueError, RecursionError):
        for line in lines:
            with suppress(ValueError, RecursionError):
                values.append(json.loads(line))
    return _find_strings(values)


def _find_strings(values: list[Any]) -> Iterator[str]:
    """Find every string in nested lists and objects."""
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list | tuple):
            values.extend(value.values() if isinstance(value, dict) else value)
