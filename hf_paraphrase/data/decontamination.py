"""Keeps evaluation sentences out of training data, by fingerprints of normalised sentences.

A fingerprint is the first 16 hexadecimal digits of the SHA-256 of the UTF-8 text of a sentence after NFKC,
lower-casing, turning every run of characters that are not alphanumeric into one space, and stripping. Sentences of
fewer than four words have none: they are so common that they tell nothing. A list of fingerprints can be handed on
where the sentences themselves cannot. Sentences that only contain or resemble evaluation sentences can be found too,
where these are at hand: see `containment.py`.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import InputError, UsageError
from ..settings import Settings, setting
from .containment import DEFAULT_SHARE, SHORTEST_NGRAM, Containment, combined
from .folder import DataFolder
from .sources.tmx import tmx_texts
from .text_files import COMPRESSED, lines_of_bytes, read_blocks

SHORTEST_IN_WORDS = 4
_NOT_ALPHANUMERIC = re.compile(r"[\W_]+")
_HEXADECIMAL = re.compile(rb"[0-9a-f]{16}")
_FINGERPRINTS_AT_A_TIME = 1 << 16
_NOT_SENTENCES = {".md", ".json", ".html", ".pdf", ".pl", ".py", ".sh", ".npy", ".png", ".zip", ".tar", ".tgz"}
_NOT_DATA = re.compile(r"^(\.|_|00-readme|readme|licen[cs]e|copying|provenance|config)", re.IGNORECASE)
_SENTENCE_COLUMNS = ("sentence1", "sentence2")


@dataclass(kw_only=True)
class DecontaminationSettings(Settings):
    """Which evaluation sets shall not be met in training data."""

    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: training rows of which a sentence is in them go (of "
        "bitext the target side)",
        [],
    )
    decontaminate_ngrams: int = setting(
        "words in an n-gram: rows of which a side shares most of its n-grams with an evaluation set, or contains a "
        "sentence of one, go as well; 8 is usual, 0 = whole sentences only",
        0,
        at_least=0,
        only_with="decontaminate",
    )
    decontaminate_share: float = setting(
        "least share of the n-grams of a side that must occur in one evaluation set, above 0 to 1",
        DEFAULT_SHARE,
        above=0,
        at_most=1,
    )

    def check(self) -> None:
        """Refuses n-grams that are too short to tell anything.

        Raises:
            UsageError: For those too.
        """
        super().check()
        size = self.decontaminate_ngrams
        if 0 < size < SHORTEST_NGRAM:
            raise UsageError(
                f"--decontaminate-ngrams {size}: n-grams must have {SHORTEST_NGRAM} words or more",
                remedy="8 is usual; 0 compares whole sentences only",
            )

    def fingerprints(self) -> Fingerprints | None:
        """Reads the evaluation sets; None if there are none.

        Raises:
            InputError: As :func:`load_fingerprints`.
        """
        if not self.decontaminate:
            return None
        return load_fingerprints(self.decontaminate, ngrams=self.decontaminate_ngrams, share=self.decontaminate_share)


def normalise(text: str) -> str:
    """Returns `text` as its fingerprint sees it: NFKC, lower case, words of letters and digits with single spaces."""
    return _NOT_ALPHANUMERIC.sub(" ", unicodedata.normalize("NFKC", text).lower()).strip()


def normalise_all(texts: pa.Array) -> pa.Array:
    """Applies :func:`normalise` to every string; those that are pure ASCII are done in one go."""
    texts = pc.fill_null(texts, "")
    # Lower-casing and character classes of Arrow and Python agree on ASCII only.
    ascii_only = pc.string_is_ascii(texts)
    easy = pc.replace_substring_regex(pc.ascii_lower(texts), r"[^0-9a-z]+", " ")
    result = pc.ascii_trim_whitespace(easy)
    if pc.all(ascii_only, min_count=0).as_py():
        return result
    hard = [normalise(text) for text in texts.filter(pc.invert(ascii_only)).to_pylist()]
    return pc.replace_with_mask(result, pc.invert(ascii_only), pa.array(hard, pa.string()))


def fingerprint_sentence(text: str) -> str | None:
    """Returns the 16 hexadecimal digits that stand for a sentence; None if it has fewer than four words."""
    normal = normalise(text)
    if normal.count(" ") + 1 < SHORTEST_IN_WORDS:
        return None
    return hashlib.sha256(normal.encode()).hexdigest()[:16]


def fingerprint_sentences(texts: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Computes the fingerprints of many sentences.

    Args:
        texts: Strings, (sentences,).

    Returns:
        The fingerprints as numbers (sentences,), uint64, 0 where there is none; and which have one (sentences,), bool.
    """
    return _fingerprint_normal(normalise_all(texts))


def _fingerprint_normal(normal: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    long_enough = pc.greater_equal(pc.count_substring(normal, " "), SHORTEST_IN_WORDS - 1)
    mask = long_enough.to_numpy(zero_copy_only=False)
    sha256 = hashlib.sha256
    digests = b"".join([sha256(text.encode()).digest()[:8] for text in normal.filter(long_enough).to_pylist()])
    numbers = np.zeros(len(normal), dtype=np.uint64)
    numbers[mask] = np.frombuffer(digests, dtype=">u8")
    return numbers, mask


class Fingerprints:
    """The fingerprints of several named sets of sentences.

    Args:
        sets: For each set its fingerprints as uint64 numbers, in any order.
        containment: The n-grams of those sets whose sentences are known; rows are then compared by them as well.
    """

    def __init__(self, sets: Mapping[str, np.ndarray], containment: Containment | None = None) -> None:
        self.containment = containment
        self.sets = {name: np.unique(np.asarray(values, dtype=np.uint64)) for name, values in sets.items()}
        self._all = np.unique(np.concatenate([*self.sets.values(), np.empty(0, np.uint64)]))

    def __len__(self) -> int:
        return len(self._all)

    @property
    def names(self) -> list[str]:
        """The names under which rows that are met are counted."""
        if self.containment is None:
            return list(self.sets)
        by_ngrams = self.containment.sets
        labels = self.containment.label
        return [label for name in self.sets for label in (name, labels(name)) if label == name or name in by_ngrams]

    @property
    def sizes(self) -> dict[str, int]:
        """The number of different fingerprints in each set."""
        return {name: len(values) for name, values in self.sets.items()}

    def match(
        self, columns: Sequence[pa.Array | pa.ChunkedArray | Sequence[str]]
    ) -> tuple[np.ndarray, dict[str, int]]:
        """Finds the rows of which any column holds a sentence of the sets.

        Args:
            columns: One or more columns of strings, all of length rows.

        Returns:
            Which rows are met (rows,), bool; and for each set that met any, the number of rows it met. A row that is
            in several sets counts in each, so the counts may add up to more than the rows that are met. Rows that a
            set met by n-grams and not exactly are counted as `name (8-grams)`.
        """
        normal = [normalise_all(_as_array(column)) for column in columns]
        found = [_fingerprint_normal(texts) for texts in normal]
        hits = [mask & np.isin(numbers, self._all) for numbers, mask in found]
        met = np.logical_or.reduce(hits)
        counts = {}
        exact: dict[str, np.ndarray] = {}
        for name, values in self.sets.items() if met.any() else ():
            in_set = (hit & np.isin(numbers, values) for hit, (numbers, _) in zip(hits, found, strict=True))
            exact[name] = np.logical_or.reduce(list(in_set))
            if rows := int(exact[name].sum()):
                counts[name] = rows
        if self.containment is not None:
            for name, by_ngrams in combined([self.containment.match(texts) for texts in normal]).items():
                only = by_ngrams & ~exact[name] if name in exact else by_ngrams
                if rows := int(only.sum()):
                    counts[self.containment.label(name)] = rows
                met = met | by_ngrams
        return met, counts

    def contains(self, texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> np.ndarray:
        """Tells which sentences occur in any of the sets: (sentences,), bool."""
        return self.match([texts])[0]

    def counts_by_source(self, texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> dict[str, int]:
        """Counts for each set how many of the sentences occur in it; a sentence in two sets counts in both."""
        numbers, mask = fingerprint_sentences(_as_array(texts))
        return {name: int((mask & np.isin(numbers, values)).sum()) for name, values in self.sets.items()}


def drop_contaminated(
    table: pa.Table, columns: Sequence[str], fingerprints: Fingerprints
) -> tuple[pa.Table, dict[str, int]]:
    """Leaves out the rows of which any of the named columns holds a sentence of the sets.

    Args:
        table: The rows.
        columns: The string columns to check.
        fingerprints: The sets.

    Returns:
        The rows that stay, in order, and the counts of :meth:`Fingerprints.match`.
    """
    met, counts = fingerprints.match([table.column(name) for name in columns])
    return (table.filter(pa.array(~met)) if met.any() else table), counts


def load_fingerprints(paths: Iterable[str | Path], *, ngrams: int = 0, share: float = DEFAULT_SHARE) -> Fingerprints:
    """Reads evaluation sets, or lists of fingerprints, in the layouts in which they come.

    Args:
        paths: Any of: a list of fingerprints (a text file, compressed or not, of 16 hexadecimal digits a line); a
            text file of sentences, of which every tab-separated field counts (STS, the STS benchmark, SICK, PIT-2015
            and line-aligned corpora all fit; a .csv without tabs is read with commas and quotes); a translation
            memory (.tmx), of which all languages count; a prepared data folder with `sentence1` and `sentence2`, with
            `target` or with `text`; or a folder of such files, searched throughout, in which cards, licences and files
            that are not text are left out.
        ngrams: Words in an n-gram, to compare rows by n-grams as well; 0 to compare whole sentences only. A list of
            fingerprints is compared by whole sentences whatever this is.
        share: The least share of the n-grams of a training sentence that must occur in a set.

    Returns:
        One set per file, named by its path from the folder that was given on.

    Raises:
        InputError: If a path does not exist, or nothing in it has a sentence of four words.
        UsageError: If `ngrams` or `share` is out of range.
    """
    containment = Containment(ngrams, share) if ngrams else None
    sets: dict[str, np.ndarray] = {}
    sentences: dict[str, list[pa.Array]] = {}
    for path in map(Path, paths):
        found: dict[str, np.ndarray] = {}
        for name, content in _read_path(path):
            if isinstance(content, np.ndarray):
                found[name] = content
                continue
            normal = normalise_all(content)
            numbers, mask = _fingerprint_normal(normal)
            found[name] = numbers[mask]
            if containment is not None:
                sentences.setdefault(name, []).append(normal)
        if not any(len(values) for values in found.values()):
            raise InputError(
                "nothing to check against: no fingerprint and no sentence of four words",
                path=path,
                remedy="give a file of sentences, a list of fingerprints, or a folder of these",
            )
        for name, values in found.items():
            if len(values):
                sets[name] = np.concatenate([sets[name], values]) if name in sets else values
    if containment is not None:
        for name, parts in sentences.items():
            containment.add(name, pa.concat_arrays(parts))
    return Fingerprints(sets, containment)


def _as_array(texts: pa.Array | pa.ChunkedArray | Sequence[str]) -> pa.Array:
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    if isinstance(texts, pa.Array):
        return texts if texts.type == pa.string() else texts.cast(pa.string())
    return pa.array(list(texts), pa.string())


def _read_path(path: Path) -> Iterator[tuple[str, np.ndarray | pa.Array]]:
    """Gives for each set its name, and its fingerprints as numbers or its sentences as strings."""
    if not path.exists():
        raise InputError("no such file or folder", path=path, remedy="check --decontaminate")
    if not path.is_dir():
        yield path.name, _read_file(path)
        return
    if any((path / "data").glob("*.parquet")):
        yield path.resolve().name, _read_data_folder(path)
        return
    root = path.resolve()
    for file in sorted(root.rglob("*")):
        inner = file.relative_to(root)
        if not file.is_file() or any(_NOT_DATA.match(part) for part in inner.parts):
            continue
        if _suffix(file) in _NOT_SENTENCES or _looks_binary(file):
            continue
        yield (Path(root.name) / inner).as_posix(), _read_file(file)


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
            parts += [_as_array(batch.column(name)) for name in columns]
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
    """Reads a list of fingerprints (fingerprints,), each once; None for a file that is something else.

    Memory is that of the different ones: a packed list may repeat one without end.
    """
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
    found = np.unique(np.concatenate(parts))
    return found if len(found) else None


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
