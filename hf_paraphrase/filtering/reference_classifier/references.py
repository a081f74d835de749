"""The references of a classifier: drawn with translations to learn from, and listed so that others can avoid them.

What a classifier that distinguishes references from translations is trained on is in paper 000, section 5.6.1. Its
folder holds `references.tsv`: for every reference of its training, dev and test part the part and a fingerprint of its
text, so that the text itself need not be handed on.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.fingerprints import is_among, normalise_all
from ...data.folder import DataFolder
from ...data.schema import require_columns
from ...errors import InputError, ModelError
from ...messages import log

PARTS = ("train", "dev", "test")
FILE_NAME = "references.tsv"
_HEADER = "part\tfingerprint\n"
_SMALLEST = 10


@dataclass
class Reference:
    """A reference, and the distinct translations of its n-best list in their order."""

    fingerprint: int
    text: str = ""
    translations: list[str] = field(default_factory=list)


def draw_references(
    folder: str | os.PathLike[str], sizes: Sequence[int], *, seed: int = 0
) -> dict[str, list[Reference]]:
    """Draws references with their translations at random and cuts them into the :data:`PARTS`.

    Rows with the same text in `sentence1` (but for case and punctuation) are one reference, so that no text is in two
    parts. A translation that equals its reference but for case and spacing is left out: it would be an example of
    both labels. Where there are fewer references than asked for, all three sizes shrink by the same factor.
    """
    pairs = DataFolder(folder)
    require_columns(pairs.schema().names, ("sentence1", "sentence2"), str(folder))
    available = list({number: None for number, row in _rows(pairs, ["sentence1"]) if (row["sentence1"] or "").strip()})
    if len(available) < _SMALLEST:
        raise InputError(
            f"{len(available)} references are there to train and test on",
            path=Path(folder),
            remedy=f"give back-translated pairs of {_SMALLEST} references or more",
        )
    share = min(1.0, len(available) / sum(sizes))
    counts = [max(1, int(size * share)) for size in sizes]
    permuted = np.random.default_rng(seed).permutation(np.array(available, dtype=np.uint64))
    drawn = permuted[: sum(counts)].tolist()
    references = _collect(pairs, drawn)
    parts: dict[str, list[Reference]] = {}
    for part, begin, count in zip(PARTS, np.cumsum([0, *counts]), counts, strict=False):
        members = [references[number] for number in drawn[begin : begin + count]]
        parts[part] = [reference for reference in members if reference.translations]
        if not parts[part]:
            raise InputError(
                f"the {part} part is empty: no translation of its {count} references differs from the reference",
                path=Path(folder),
                remedy="give more pairs, or longer n-best lists",
            )
    counted = ", ".join(f"{len(references):,} {part}" for part, references in parts.items())
    log(f"{len(available):,} distinct references; drawn: {counted}")
    return parts


def _rows(pairs: DataFolder, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yields the fingerprint of each row's reference, and the row."""
    for batch in pairs.batches(columns=columns):
        rows = batch.to_pylist()
        yield from zip(text_fingerprints([row["sentence1"] for row in rows]).tolist(), rows, strict=True)


def _collect(pairs: DataFolder, drawn: Collection[int]) -> dict[int, Reference]:
    references = {number: Reference(number) for number in drawn}
    seen: dict[int, set[str]] = {number: set() for number in drawn}
    for number, row in _rows(pairs, ["sentence1", "sentence2"]):
        if number not in references:
            continue
        reference, translation = references[number], row["sentence2"] or ""
        reference.text = reference.text or row["sentence1"]
        plain = _plain(translation)
        if plain not in {"", _plain(reference.text), _plain(row["sentence1"]), *seen[number]}:
            seen[number].add(plain)
            reference.translations.append(translation)
    return references


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def text_fingerprints(texts: Sequence[str | None]) -> NDArray[np.uint64]:
    """Computes a number for each text (texts,), equal for texts with the same words; a missing one counts as empty."""
    given = [text or "" for text in texts]
    normal = normalise_all(pa.array(given, pa.string())).to_pylist()
    # A text without any word, such as a row of dots, stands for itself.
    digests = [
        hashlib.sha256((short or text).encode()).digest()[:8] for short, text in zip(normal, given, strict=True)
    ]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def write_seen(folder: str | os.PathLike[str], rows: Iterable[tuple[str, int]]) -> None:
    """Writes the list of seen references: for each the part and the fingerprint."""
    lines = "".join(f"{part}\t{fingerprint:016x}\n" for part, fingerprint in rows)
    (Path(folder) / FILE_NAME).write_text(_HEADER + lines, encoding="utf-8", newline="\n")


def read_seen(folder: str | os.PathLike[str]) -> NDArray[np.uint64]:
    """Reads the fingerprints of all references that a classifier has seen, ascending, each once."""
    path = Path(folder) / FILE_NAME
    try:
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")[1:]
        # A list of version 0.1 has a column of ids in between.
        return np.unique(np.array([int(line.split("\t")[-1], 16) for line in lines], dtype=np.uint64))
    except (OSError, IndexError, ValueError, OverflowError) as error:
        raise ModelError(
            f"the classifier has no readable list of the references it has seen: {error}",
            path=path,
            remedy="copy the whole folder again",
        ) from error


def is_seen(texts: Sequence[str | None], seen: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Returns which texts are among those seen (texts,)."""
    return is_among(text_fingerprints(texts), seen)
