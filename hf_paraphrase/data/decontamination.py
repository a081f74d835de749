"""Keeps evaluation sentences out of training data: the sets in their layouts, the rows that match, `fingerprint`."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from ..artefacts.artefact import output_file
from ..artefacts.files import written_whole
from ..errors import InputError, UsageError
from ..messages import log
from ..registry import BUILTIN, MATCHERS
from ..settings import Settings, recipe, setting
from .batch_function import BatchFunction, Progress, Report, no_progress
from .fingerprints import SHORTEST_NGRAM, VERSION, Containment, Fingerprints, as_texts
from .folder import DataFolder, batches_of, open_parquet
from .records import csv_records
from .schema import is_text, usual_pair_columns
from .sources.tmx import tmx_texts
from .text_blocks import COMPRESSED, LineErrors, clean_returns, files_below, read_blocks
from .text_files import PLAIN_OR_COMPRESSED, read_lines

LIST_HEADER = f"# fingerprints of hf_paraphrase, version {VERSION}"
"""The first line of a list of fingerprints; one without it is of version 1."""
_NOT_SENTENCES = {".md", ".html", ".pdf", ".pl", ".py", ".sh", ".npy", ".png", ".zip", ".tar", ".tgz"}
_NOT_DATA = re.compile(r"^(_|00-readme|readme|licen[cs]e|copying|provenance|config)", re.IGNORECASE)


class _NotText(InputError):
    """A file that holds something other than text."""


@dataclass(kw_only=True)
class DecontaminationSettings(Settings):
    """Which evaluation sets must not overlap with training data."""

    GROUP: ClassVar[str] = "decontamination"

    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: training rows of which a sentence is in them go (of "
        "bitext the target side)",
        [],
        path=True,
    )
    decontaminate_ngrams: int = setting(
        "words in an n-gram: rows of which a side shares 70 percent of its n-grams with an evaluation set, or has a "
        "sentence of one in it, go as well; 8 is usual, 0 = whole sentences only",
        0,
        at_least=0,
        only_with="decontaminate",
    )
    decontaminate_similarity: float | None = setting(
        "least cosine of a side to a sentence of an evaluation set with which its row goes as well, however it is "
        "worded; 0.9 is usual",
        None,
        above=0,
        at_most=1,
        only_with="decontaminate",
    )
    decontaminate_encoder: str = setting(
        "sentence encoder of --decontaminate-similarity; multilingual knows several languages",
        BUILTIN,
        path=True,
        only_with="decontaminate_similarity",
    )

    def check(self) -> None:
        """Refuses n-grams that are too short to tell anything."""
        super().check()
        size = self.decontaminate_ngrams
        if 0 < size < SHORTEST_NGRAM:
            raise UsageError(
                f"--decontaminate-ngrams {size}: n-grams must have {SHORTEST_NGRAM} words or more",
                remedy="8 is usual; 0 compares whole sentences only",
            )

    def decontaminator(self, *columns: str) -> Decontaminator | None:
        """Returns what leaves out the rows of which a column is matched; None if there are no evaluation sets."""
        if not self.decontaminate:
            return None
        return Decontaminator(
            tuple(self.decontaminate),
            columns,
            self.decontaminate_ngrams,
            self.decontaminate_similarity,
            self.decontaminate_encoder,
        )


@dataclass(frozen=True)
class Decontaminator(BatchFunction):
    """Leaves out the rows of which a sentence is in an evaluation set.

    Sets, n-grams, similarity and encoder are those of :func:`load_fingerprints`.
    """

    sets: tuple[str, ...]
    columns: tuple[str, ...] = ("sentence1", "sentence2")
    ngrams: int = 0
    similarity: float | None = None
    encoder: str = BUILTIN

    @cached_property
    def fingerprints(self) -> Fingerprints:
        """The sets, read when they are first needed."""
        return load_fingerprints(self.sets, ngrams=self.ngrams, similarity=self.similarity, encoder=self.encoder)

    def reported(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Returns the rows that stay, in order, and as `contamination` the counts of :meth:`Fingerprints.match`."""
        matched, counts = self.matched(table)
        progress(table.num_rows)
        return (table.filter(pa.array(~matched)) if matched.any() else table), {"contamination": counts}

    def matched(self, table: pa.Table, columns: Sequence[str] | None = None) -> tuple[np.ndarray, dict[str, int]]:
        """Finds the rows that an evaluation set matches, as :meth:`Fingerprints.match` does, by these columns."""
        return self.fingerprints.match([table.column(name) for name in columns or self.columns])


@dataclass(kw_only=True)
class FingerprintSettings(Settings):
    """Writes the fingerprints of all sentences of evaluation sets, for --decontaminate where the sets cannot be had.

    A fingerprint is the first 16 hexadecimal digits of the SHA-256 of the words of a sentence: letters, marks and
    digits after NFKC and case folding, with single spaces between; sentences below four words have none.
    """

    output: str = setting("the list to write, .txt or .txt.gz; the version, then one fingerprint a line, sorted")
    data: list[str] = setting(
        "evaluation files or folders in any layout that --decontaminate reads, or prepared data folders",
        [],
        path=True,
    )
    text: list[str] = setting(f"text files of one sentence a line (UTF-8; {PLAIN_OR_COMPRESSED})", [], path=True)
    overwrite: bool = setting("replace an existing file", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if not self.output.endswith((".txt", ".txt.gz")):
            raise UsageError(
                "fingerprint: --output must end in .txt or .txt.gz", path=self.output, remedy="name a list"
            )
        if not self.data and not self.text:
            raise UsageError("fingerprint: no set is given", remedy="--data FOLDER or --text FILE")


@recipe(FingerprintSettings)
def fingerprint(settings: FingerprintSettings) -> Fingerprints:
    """Writes a list of fingerprints of evaluation sets, and returns those of each set."""
    with output_file(settings.output, overwrite=settings.overwrite) as output:
        read = load_fingerprints(settings.data)
        for path in map(Path, settings.text):
            number = read.add(str(path), pa.concat_arrays(list(read_lines(path, LineErrors()))))
            if not number:
                raise InputError("no line has four words or more", path=path, remedy="give one sentence a line")
            log(f"{path}: {number:,} sentences of four words or more")
        if read.version_1:
            raise InputError(
                "a list of version 1, which cannot become one of version 2",
                path=min(read.version_1),
                remedy="give the evaluation set itself",
            )
        every = np.unique(np.concatenate(list(read.sets.values())))
        lines = [LIST_HEADER, *(f"{number:016x}" for number in every.tolist())]
        data = "".join(f"{line}\n" for line in lines).encode()
        with written_whole(output) as temporary:
            # Without a time the same list is the same file.
            temporary.write_bytes(gzip.compress(data, mtime=0) if output.suffix == ".gz" else data)
    log(f"{len(every):,} fingerprints in {settings.output}; --decontaminate takes the file in place of the sets")
    return read


def load_fingerprints(
    paths: Iterable[str | Path], *, ngrams: int = 0, similarity: float | None = None, encoder: str = BUILTIN
) -> Fingerprints:
    """Reads evaluation sets, or lists of fingerprints, and logs for each file how many sentences it has.

    Args:
        paths: Any of: a list of fingerprints (text of 16 hexadecimal digits a line); a text file of sentences, of
            which every tab-separated field counts; CSV, JSON, JSON lines, a translation memory (.tmx), Parquet; or a
            folder of all these, searched throughout, in which what is not read is logged. Each file or data folder is
            a set.
        ngrams: Words in an n-gram, to compare rows by n-grams as well; 0 to compare whole sentences only.
        similarity: The least cosine, to compare rows by the vectors of the encoder as well.
        encoder: The encoder.
    """
    read = Fingerprints(
        {},
        words=Containment(ngrams) if ngrams else None,
        whole=None if similarity is None else MATCHERS["similarity"](similarity, encoder),
    )
    for path in map(Path, paths):
        total = 0
        for name, content in _read_path(path):
            if isinstance(content, pa.Array):
                number, what = read.add(name, content), "sentences of four words or more"
            else:
                numbers, version = content
                read.add_numbers(name, numbers, version)
                number, what = len(numbers), f"fingerprints of version {version}, which match the same words only,"
            if number:
                log(f"{name}: {number:,} {what} to keep out")
            total += number
        if not total:
            raise InputError(
                "nothing to check against: no fingerprint and no sentence of four words",
                path=path,
                remedy="give a file of sentences, a list of fingerprints, or a folder of these",
            )
    return read


def _read_path(path: Path) -> Iterator[tuple[str, pa.Array | tuple[np.ndarray, int]]]:
    """Returns for each set its name, and its sentences as strings or its fingerprints with their version."""
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check --decontaminate")
    if not path.is_dir():
        yield path.name, _read_file(path)
        return
    root = path.resolve()
    unread: list[str] = []
    checked: set[Path] = set()
    for item in files_below(root):
        inner = item.relative_to(root)
        is_shard = item.suffix == ".parquet" and item.parent.name == "data"
        name = (root.name / (inner.parent.parent if is_shard else inner)).as_posix()
        if is_shard and item.parent not in checked:
            checked.add(item.parent)
            folder = DataFolder(item.parent.parent)
            for split in folder.splits:
                folder.shards(split)  # all of them are there
        if any(_NOT_DATA.match(part) for part in inner.parts) or _suffix(item) in _NOT_SENTENCES:
            unread.append(name)
            continue
        try:
            yield name, _read_file(item)
        except _NotText:
            unread.append(name)
    if unread:
        log(f"not read, for they are no sentences: {', '.join(unread)}")


def _texts_in(batches: Iterable[pa.RecordBatch]) -> pa.Array:
    texts = [as_texts(column) for batch in batches for column in batch.columns]
    return pa.concat_arrays([pa.array([], pa.string()), *texts])


def _sentence_columns(schema: pa.Schema, path: Path) -> list[str]:
    """Chooses the two sides of pairs, the target side of bitext, or else everything that is text."""
    if pair := usual_pair_columns(schema.names):
        return list(pair.values())
    for name in ("target", "text"):
        if name in schema.names:
            return [name]
    texts = [field.name for field in schema if is_text(field.type)]
    if not texts:
        raise InputError("no column holds text", path=path, remedy=f"its columns are {', '.join(schema.names)}")
    return texts


def _read_file(path: Path) -> pa.Array | tuple[np.ndarray, int]:
    if _suffix(path) == ".tmx":
        return pa.array([text for texts in tmx_texts(path) for text in texts], pa.string())
    if _suffix(path) == ".parquet":
        with open_parquet(path) as file:
            return _texts_in(batches_of(file, path, columns=_sentence_columns(file.schema_arrow, path)))
    raw = b"".join(read_blocks(path))
    if (listed := _listed(raw)) is not None:
        return listed
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        text = raw.decode("utf-16", "replace")
    elif b"\0" in raw:
        raise _NotText("this is not a text file", path=path, remedy="give text, or a prepared data folder")
    else:
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            # A set in an old encoding shall still be checked against; its ASCII sentences come out right.
            text = raw.decode("latin-1")
    return pa.array(list(_sentences(clean_returns(text).split("\n"), path)), pa.string())


def _listed(raw: bytes) -> tuple[np.ndarray, int] | None:
    """Reads a list of fingerprints (fingerprints,) with its version; None for a file that is something else."""
    header = LIST_HEADER.encode()
    version = VERSION if raw.startswith(header) else 1
    body = raw.removeprefix(header).strip() + b"\n"
    if not re.fullmatch(rb"(?:[0-9a-f]{16}\s+)+", body):
        return None
    return np.unique(np.array([int(line, 16) for line in body.split()], np.uint64)), version


def _sentences(lines: list[str], path: Path) -> Iterator[str]:
    suffix = _suffix(path)
    if suffix in {".json", ".jsonl"}:
        yield from _json_strings(lines)
        return
    if suffix == ".csv":
        malformed: list[int] = []
        errors = LineErrors("skip", lambda path, line, reason: malformed.append(line))
        for _, fields in csv_records(iter(enumerate(lines, start=1)), path, errors):
            yield from fields
        yield from (part for line in malformed for part in re.split("[,;]", lines[line - 1]))
        # The STS benchmark has tabs under this name, and quotes that mean nothing.
        lines = [line for line in lines if "\t" in line]
    for line in lines:
        yield from line.split("\t")


def _json_strings(lines: list[str]) -> Iterator[str]:
    """Finds every string value, in a file that is one JSON value or one value a line."""
    values: list[Any] = []
    try:
        values.append(json.loads("\n".join(lines)))
    except (ValueError, RecursionError):
        for line in lines:
            with suppress(ValueError, RecursionError):
                values.append(json.loads(line))
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            values.extend(value.values())
        elif isinstance(value, list):
            values.extend(value)


def _suffix(path: Path) -> str:
    return (path.with_suffix("") if path.suffix.lower() in COMPRESSED else path).suffix.lower()
