"""The training data of a reference classifier, references and translations, and the list of references it has seen.

The training data follow Wieting et al. (2017), section 5.6.1. The folder of a classifier has `references.tsv`:
the part (train, dev or test) and a fingerprint of each reference, so that the texts need not be published.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..data.folder import DataFolder
from ..errors import InputError, ModelError
from ..messages import log
from ..text.hashing import are_among
from ..text.normalization import normalize_words_all

PARTS = ("train", "dev", "test")
SIDES = ("sentence1", "sentence2")
LABELS = {0: "translation", 1: "reference"}
BODIES: dict[str, dict[str, Any]] = {
    "avg": {"model_type": "avg", "initializer_range": 0.1},
    "lstm": {"model_type": "recurrent", "cell": "lstm", "peepholes": False, "pooling": "last"},
}
"""The encoders of the two bodies. The paper does not describe its LSTM; this one has a single layer."""
FILE_NAME = "references.tsv"
_HEADER = "part\tfingerprint\n"
_SMALLEST = 10


@dataclass
class Reference:
    """A reference, and the distinct translations of its n-best list in their order."""

    text: str = ""
    translations: list[str] = field(default_factory=list)


def list_texts(references: Sequence[Reference]) -> list[str]:
    """List the references, then their translations, list by list."""
    translations = chain.from_iterable(reference.translations for reference in references)
    return [*(reference.text for reference in references), *translations]


def draw_references(
    folder: str | os.PathLike[str], sizes: Sequence[int], *, seed: int = 0
) -> dict[str, list[Reference]]:
    """Draw references with their translations at random and divide them into the :data:`PARTS`.

    Rows whose `sentence1` is equal, ignoring case and punctuation, are one reference, so that no text is in two parts.
    A translation that equals its reference, ignoring case and spacing, is left out: it would be an example of both
    labels. With fewer references than requested, all three sizes shrink by the same factor.
    """
    pairs = DataFolder(folder)
    pairs.require(*SIDES)
    parts = [np.empty(0, np.uint64)]
    available: dict[int, None] = {}
    for batch in pairs.batches(columns=SIDES[:1]):
        texts = batch.column(SIDES[0]).to_pylist()
        parts.append(hash_references(texts))
        keyed = zip(parts[-1].tolist(), texts, strict=True)
        available.update(dict.fromkeys(key for key, text in keyed if (text or "").strip()))
    if len(available) < _SMALLEST:
        remedy = f"give back-translated pairs of {_SMALLEST} references or more"
        raise InputError(
            f"there are only {len(available)} references to train and test on", path=folder, remedy=remedy
        )
    factor = min(1.0, len(available) / sum(sizes))
    counts = [max(1, int(size * factor)) for size in sizes]
    drawn = np.random.default_rng(seed).permutation(np.array(list(available), dtype=np.uint64))[: sum(counts)]
    references = _collect(pairs, np.concatenate(parts), drawn)
    drawn_parts: dict[str, list[Reference]] = {}
    for part, (begin, end) in zip(PARTS, pairwise(np.cumsum([0, *counts]).tolist()), strict=True):
        members = references[begin:end]
        drawn_parts[part] = [reference for reference in members if reference.translations]
        if not drawn_parts[part]:
            problem = f"the {part} part is empty: no translation of its {len(members)} references differs from them"
            raise InputError(problem, path=folder, remedy="give more pairs, or longer n-best lists")
    counted = ", ".join(f"{len(members):,} {part}" for part, members in drawn_parts.items())
    log(f"{len(available):,} distinct references; drawn: {counted}")
    return drawn_parts


def _collect(pairs: DataFolder, keys: NDArray[np.uint64], drawn: NDArray[np.uint64]) -> list[Reference]:
    """Read the rows of the drawn references, by the fingerprint of each row's reference."""
    references = {key: Reference() for key in drawn.tolist()}
    seen: dict[int, set[str]] = {key: {""} for key in references}
    chosen = np.isin(keys, drawn)
    rows = (row for batch in pairs.batches(columns=SIDES, rows=chosen) for row in batch.to_pylist())
    for key, row in zip(keys[chosen].tolist(), rows, strict=True):
        reference, translation = references[key], row["sentence2"] or ""
        reference.text = reference.text or row["sentence1"]
        seen[key].add(_normalize(row["sentence1"]))
        if (plain := _normalize(translation)) not in seen[key]:
            seen[key].add(plain)
            reference.translations.append(translation)
    return list(references.values())


def _normalize(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def hash_references(texts: Sequence[str | None]) -> NDArray[np.uint64]:
    """Hash texts (texts,); texts with the same words have the same hash, a missing text counts as empty."""
    filled = [text or "" for text in texts]
    normal = normalize_words_all(pa.array(filled, pa.string()), split_unspaced=False).to_pylist()
    # A text without any word, such as a row of dots, is compared as it is.
    digests = [
        hashlib.sha256((words or text).encode()).digest()[:8] for words, text in zip(normal, filled, strict=True)
    ]
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def write_seen(folder: str | os.PathLike[str], parts: Mapping[str, Sequence[str]]) -> None:
    """Write the part and the fingerprint of each seen reference, grouped by part."""
    lines = [f"{part}\t{key:016x}\n" for part, texts in parts.items() for key in hash_references(texts)]
    (Path(folder) / FILE_NAME).write_text(_HEADER + "".join(lines), encoding="utf-8", newline="\n")


def read_seen(folder: str | os.PathLike[str]) -> NDArray[np.uint64]:
    """Read the distinct fingerprints of all references that a classifier has seen, ascending."""
    path = Path(folder) / FILE_NAME
    try:
        lines = path.read_bytes().decode("utf-8").removesuffix("\n").split("\n")[1:]
        # A list of version 0.1 has a column of ids in between.
        return np.unique(np.array([int(line.split("\t")[-1], 16) for line in lines], dtype=np.uint64))
    except (OSError, IndexError, ValueError, OverflowError) as error:
        problem = f"the classifier has no readable list of the references it has seen: {error}"
        raise ModelError(problem, path=path, remedy="copy the whole folder again") from error


def is_seen(texts: Sequence[str | None], seen: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Return which texts are seen references (texts,), bool."""
    return are_among(hash_references(texts), seen)
