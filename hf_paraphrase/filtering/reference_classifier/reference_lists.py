"""References with their lists of translations, drawn from back-translated pairs and cut into three parts.

What a classifier that distinguishes references from translations is trained on (paper 000, section 5.6.1).
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...data.folder import DataFolder
from ...data.schema import require_columns
from ...errors import InputError
from .seen_references import text_fingerprints

PARTS = ("train", "dev", "test")
_SMALLEST = 10


@dataclass
class Reference:
    """A reference and the distinct translations of its n-best list, in the order of the pairs.

    Attributes:
        fingerprint: That of its text.
        ids: The ids under which it occurs; none where pairs have none.
    """

    fingerprint: int
    text: str = ""
    ids: list[str] = field(default_factory=list)
    translations: list[str] = field(default_factory=list)


@dataclass
class DrawnLists:
    """The three parts and what was left out on the way.

    Attributes:
        parts: The references by the names of :data:`PARTS`; no text is in two of them, and each has a translation.
        available: How many distinct references there were to draw from.
        excluded: How many distinct references were left out because they are among the mined pairs.
        without_translation: How many drawn references were left out because none of their translations differs from
            them by more than case and spacing.
        share: The share of the sizes asked for that there was enough for, 1 as a rule.
    """

    parts: dict[str, list[Reference]]
    available: int
    excluded: int
    without_translation: int
    share: float


def draw_reference_lists(
    folder: str | os.PathLike[str],
    sizes: Sequence[int],
    *,
    mined: Sequence[str | os.PathLike[str]] = (),
    seed: int = 0,
) -> DrawnLists:
    """Draws references with their translations at random and cuts them into train, dev and test.

    Rows with the same text in `sentence1` (but for case and punctuation) are one reference, so that no text is in two
    parts. A translation that equals its reference but for case and spacing is left out: it would be an example of
    both labels. Where there are fewer references than asked for, all three sizes shrink by the same factor.
    """
    pairs = DataFolder(folder)
    columns = pairs.schema().names
    require_columns(columns, ("sentence1", "sentence2"), str(folder))
    available, excluded = _available(pairs, columns, mined)
    if len(available) < _SMALLEST:
        raise InputError(
            f"{len(available)} references are there to train and test on"
            + (f", {excluded} were left out as mined" if excluded else ""),
            path=Path(folder),
            remedy=f"give back-translated pairs of {_SMALLEST} references or more",
        )
    share = min(1.0, len(available) / sum(sizes))
    counts = [max(1, int(size * share)) for size in sizes]
    drawn = np.random.default_rng(seed).permutation(available)[: sum(counts)].tolist()
    references = _collect(pairs, [name for name in ("id", "sentence1", "sentence2") if name in columns], drawn)
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
    return DrawnLists(parts, len(available), excluded, len(drawn) - sum(map(len, parts.values())), share)


def _available(
    pairs: DataFolder, columns: Collection[str], mined: Sequence[str | os.PathLike[str]]
) -> tuple[np.ndarray, int]:
    """Returns the fingerprints of the references that are not mined, in their order, and how many are."""
    mined_texts: set[int] = set()
    mined_ids: set[str] = set()
    for folder in mined:
        require_columns(DataFolder(folder).schema().names, ("sentence1",), str(folder))
        for number, identifier, _ in _references(DataFolder(folder)):
            mined_texts.add(number)
            mined_ids.update([identifier] if identifier is not None else [])
    available: dict[int, None] = {}
    excluded: set[int] = set()
    for number, identifier, text in _references(pairs):
        if number in mined_texts or identifier in mined_ids:
            excluded.add(number)
        elif text and not text.isspace():
            available[number] = None
    # The same text may occur under a mined id and under another.
    return np.array([number for number in available if number not in excluded], dtype=np.uint64), len(excluded)


def _references(pairs: DataFolder) -> Iterator[tuple[int, str | None, str | None]]:
    """Yields fingerprint, id and text of the reference of each row."""
    columns = [name for name in ("id", "sentence1") if name in pairs.schema().names]
    for batch in pairs.batches(columns=columns):
        rows = batch.to_pylist()
        for row, number in zip(rows, text_fingerprints([row["sentence1"] for row in rows]).tolist(), strict=True):
            yield number, None if row.get("id") is None else str(row["id"]), row["sentence1"]


def _collect(pairs: DataFolder, columns: Sequence[str], drawn: Collection[int]) -> dict[int, Reference]:
    references = {number: Reference(number) for number in drawn}
    seen: dict[int, set[str]] = {number: set() for number in drawn}
    for batch in pairs.batches(columns=columns):
        rows = batch.to_pylist()
        for row, number in zip(rows, text_fingerprints([row["sentence1"] for row in rows]).tolist(), strict=True):
            if number not in references:
                continue
            reference, translation = references[number], row["sentence2"] or ""
            reference.text = reference.text or row["sentence1"]
            if row.get("id") is not None and str(row["id"]) not in reference.ids:
                reference.ids.append(str(row["id"]))
            plain = _plain(translation)
            if plain not in {"", _plain(reference.text), _plain(row["sentence1"]), *seen[number]}:
                seen[number].add(plain)
                reference.translations.append(translation)
    return references


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())
