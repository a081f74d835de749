"""Evaluation sets, or lists of their fingerprints, read in the layouts in which they come."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa

from ..errors import InputError
from .containment import DEFAULT_SHARE, Containment
from .fingerprints import Fingerprints, as_texts, fingerprint_normalised, normalise_all
from .folder import DataFolder
from .sources.tmx import tmx_texts
from .text_files import COMPRESSED, lines_of_bytes, read_blocks

_HEXADECIMAL = re.compile(rb"[0-9a-f]{16}")
_FINGERPRINTS_AT_A_TIME = 1 << 16
_NOT_SENTENCES = {".md", ".json", ".html", ".pdf", ".pl", ".py", ".sh", ".npy", ".png", ".zip", ".tar", ".tgz"}
_NOT_DATA = re.compile(r"^(\.|_|00-readme|readme|licen[cs]e|copying|provenance|config)", re.IGNORECASE)
_SENTENCE_COLUMNS = ("sentence1", "sentence2")


def load_fingerprints(paths: Iterable[str | Path], *, ngrams: int = 0, share: float = DEFAULT_SHARE) -> Fingerprints:
    """Reads evaluation sets, or lists of fingerprints, in the layouts in which they come.

    Args:
        paths: Any of: a list of fingerprints (a text file, compressed or not, of 16 hexadecimal digits a line); a
            text file of sentences, of which every tab-separated field counts (STS, the STS benchmark, SICK, PIT-2015
            and line-aligned corpora all fit; a .csv without tabs is read with commas and quotes); a translation
            memory (.tmx), of which all languages count; a prepared data folder with `sentence1` and `sentence2`, with
            `target` or with `text`; or a folder of such files and data folders, searched throughout, in which cards,
            licences and other files that are not text are left out.
        ngrams: Words in an n-gram, to compare rows by n-grams as well; 0 to compare whole sentences only. A list of
            fingerprints is compared by whole sentences whatever this is.
        share: The least share of the n-grams of a training sentence that must occur in a set.

    Returns:
        One set per file, named by its path from the folder that was given on.
    """
    containment = Containment(ngrams, share) if ngrams else None
    sets: dict[str, np.ndarray] = {}
    sentences: dict[str, list[pa.Array]] = {}
    for path in map(Path, paths):
        fingerprints_by_set: dict[str, np.ndarray] = {}
        for name, content in _read_path(path):
            if isinstance(content, np.ndarray):
                fingerprints_by_set[name] = content
                continue
            normal = normalise_all(content)
            numbers, mask = fingerprint_normalised(normal)
            fingerprints_by_set[name] = numbers[mask]
            if containment is not None:
                sentences.setdefault(name, []).append(normal)
        if not any(len(values) for values in fingerprints_by_set.values()):
            raise InputError(
                "nothing to check against: no fingerprint and no sentence of four words",
                path=path,
                remedy="give a file of sentences, a list of fingerprints, or a folder of these",
            )
        for name, values in fingerprints_by_set.items():
            if len(values):
                sets[name] = np.concatenate([sets[name], values]) if name in sets else values
    if containment is not None:
        for name, parts in sentences.items():
            containment.add(name, pa.concat_arrays(parts))
    return Fingerprints(sets, containment)


def _read_path(path: Path) -> Iterator[tuple[str, np.ndarray | pa.Array]]:
    """Returns for each set its name, and its fingerprints as numbers or its sentences as strings."""
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check --decontaminate")
    if not path.is_dir():
        yield path.name, _read_file(path)
        return
    root = path.resolve()
    if _is_data_folder(root):
        yield root.name, _read_data_folder(path)
        return
    for item in sorted(root.rglob("*")):
        inner = item.relative_to(root)
        if any(_NOT_DATA.match(part) for part in inner.parts):
            continue
        name = (Path(root.name) / inner).as_posix()
        if item.is_dir():
            if _is_data_folder(item):
                yield name, _read_data_folder(item)
        elif item.is_file() and _suffix(item) not in _NOT_SENTENCES and not _looks_binary(item):
            yield name, _read_file(item)


def _is_data_folder(folder: Path) -> bool:
    return any((folder / "data").glob("*.parquet"))


def _read_data_folder(path: Path) -> pa.Array:
    parts = [pa.array([], pa.string())]
    folder = DataFolder(path)
    for split in folder.splits:
        present = folder.schema(split).names
        columns = [name for name in _SENTENCE_COLUMNS if name in present]
        columns = columns or [name for name in ("target", "text") if name in present][:1]
        if not columns:
            raise InputError(
                f"the split `{split}` has neither sentence1 and sentence2 nor target or text",
                path=path,
                remedy=f"its columns are {', '.join(present)}",
            )
        for batch in folder.batches(split, columns):
            parts += [as_texts(batch.column(name)) for name in columns]
    return pa.concat_arrays(parts)


def _read_file(path: Path) -> np.ndarray | pa.Array:
    if _suffix(path) == ".tmx":
        return pa.array([text for texts in tmx_texts(path) for text in texts], pa.string())
    if (listed := _read_fingerprints(path)) is not None:
        return listed
    raw = b"".join(read_blocks(path))
    if b"\0" in raw:
        raise InputError("this is not a text file", path=path, remedy="give text, or a prepared data folder")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        # A set in an old encoding shall still be checked against; its ASCII sentences come out right.
        text = raw.decode("latin-1")
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    return pa.array(list(_sentences(lines, _suffix(path))), pa.string())


def _read_fingerprints(path: Path) -> np.ndarray | None:
    """Reads a list of fingerprints (fingerprints,), each once; None for a file that is something else."""
    # Memory is that of the different ones: a packed list may repeat one without end.
    parts, waiting = [np.empty(0, np.uint64)], 0
    stream = lines_of_bytes(path)
    while block := list(islice(stream, _FINGERPRINTS_AT_A_TIME)):
        lines = [line for line in (line.removesuffix(b"\r") for line in block) if line]
        if not all(map(_HEXADECIMAL.fullmatch, lines)):
            return None
        parts.append(np.array([int(line, 16) for line in lines], np.uint64))
        waiting += len(lines)
        # As many as there are, so that sorting takes no longer in all than once at the end.
        if waiting > max(len(parts[0]), _FINGERPRINTS_AT_A_TIME):
            parts, waiting = [np.unique(np.concatenate(parts))], 0
    fingerprints = np.unique(np.concatenate(parts))
    return fingerprints if len(fingerprints) else None


def _sentences(lines: list[str], suffix: str) -> Iterator[str]:
    if suffix in {".json", ".jsonl"}:
        yield from _json_strings(lines)
    elif suffix == ".csv" and not any("\t" in line for line in lines):
        csv.field_size_limit(1 << 30)
        # With their ends, or the words before and after one inside of quotes would become one; a lone carriage return
        # is text, which the reader of the standard library refuses.
        for row in csv.reader(line.replace("\r", " ") + "\n" for line in lines):
            yield from row
    else:
        for line in lines:
            yield from line.split("\t")


def _json_strings(lines: list[str]) -> Iterator[str]:
    """Finds every string value, in a file that is one JSON value or one value a line."""
    try:
        values = [json.loads("\n".join(lines))]
    except (ValueError, RecursionError):
        values = []
        for line in lines:
            try:
                values.append(json.loads(line))
            except (ValueError, RecursionError):
                continue
    while values:
        value = values.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            values.extend(value.values())
        elif isinstance(value, list):
            values.extend(value)


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes else ""


def _looks_binary(path: Path) -> bool:
    return b"\0" in next(read_blocks(path), b"")[: 1 << 16]
