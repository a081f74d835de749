"""References with their lists of translations, drawn from back-translated pairs and cut into three parts.

What a classifier that distinguishes references from translations is trained on (paper 000, section 5.6.1).
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...data.schema import require_columns
from ...errors import InputError
from .seen_references import text_fingerprints

PARTS = ("train", "dev", "test")
NEGATIVES = ("random", "hardest")
"""How the translation that stands for a reference is chosen: see `ReferenceExamples.choose`."""
_SMALLEST = 10


@dataclass
class ReferenceLists:
    """References and, for each, the distinct translations of its n-best list.

    Attributes:
        ids: For each reference the ids under which it occurs; empty where pairs have none.
        fingerprints: For each reference the fingerprint of its text, uint64 (references,).
        translations: For each reference its translations, at least one, in the order of the pairs.
    """

    references: list[str]
    ids: list[list[str]]
    fingerprints: NDArray[np.uint64]
    translations: list[list[str]]

    def __len__(self) -> int:
        return len(self.references)


@dataclass
class DrawnLists:
    """The three parts and what was left out on the way.

    Attributes:
        parts: The lists by the names of :data:`PARTS`; no text is the reference of two of them.
        available: How many distinct references there were to draw from.
        excluded: How many distinct references were left out because they are among the mined pairs.
        without_translation: How many drawn references were left out because none of their translations differs from
            them by more than case and spacing.
        share: The share of the sizes asked for that there was enough for, 1 as a rule.
    """

    parts: dict[str, ReferenceLists] = field(default_factory=dict)
    available: int = 0
    excluded: int = 0
    without_translation: int = 0
    share: float = 1.0


def draw_reference_lists(
    folder: str | os.PathLike[str],
    sizes: Sequence[int],
    *,
    mined: Sequence[str | os.PathLike[str]] = (),
    split: str = "train",
    seed: int = 0,
) -> DrawnLists:
    """Draws references with their translations at random and cuts them into train, dev and test.

    Rows with the same text in `sentence1` (but for case and punctuation) are one reference, so that no text is in two
    parts. A translation that equals its reference but for case and spacing is left out: it would be an example of
    both labels. Where there are fewer references than asked for, all three sizes shrink by the same factor.

    The pairs are read twice; memory grows with the number of references and the lists of those that are drawn.
    """
    folder = Path(folder)
    names = DataFolder(folder).schema(split).names
    require_columns(names, ("sentence1", "sentence2"), str(folder))
    columns = [name for name in ("id", "sentence1", "sentence2") if name in names]
    mined_texts, mined_ids = _mined(mined)
    available: dict[int, None] = {}
    excluded: set[int] = set()
    for batch in DataFolder(folder).batches(split, [name for name in columns if name != "sentence2"]):
        texts = batch.column("sentence1").to_pylist()
        ids = batch.column("id").to_pylist() if "id" in columns else [None] * len(texts)
        for text, identifier, number in zip(texts, ids, text_fingerprints(texts).tolist(), strict=True):
            if number in mined_texts or (identifier is not None and str(identifier) in mined_ids):
                excluded.add(number)
            elif text and not text.isspace():
                available[number] = None
    # The same text may occur under a mined id and under another.
    numbers = np.array([number for number in available if number not in excluded], dtype=np.uint64)
    drawn = DrawnLists(available=len(numbers), excluded=len(excluded))
    if len(numbers) < _SMALLEST:
        raise InputError(
            f"{len(numbers)} references are there to train and test on"
            + (f", {len(excluded)} were left out as mined" if excluded else ""),
            path=folder,
            remedy=f"give back-translated pairs of {_SMALLEST} references or more",
        )
    drawn.share = min(1.0, len(numbers) / sum(sizes))
    counts = [max(1, int(size * drawn.share)) for size in sizes]
    chosen = np.random.default_rng(seed).permutation(numbers)[: sum(counts)].tolist()
    lists = _collect(folder, split, columns, set(chosen))
    start = 0
    for part, count in zip(PARTS, counts, strict=True):
        members = chosen[start : start + count]
        kept = [number for number in members if lists[number].translations]
        drawn.without_translation += len(members) - len(kept)
        drawn.parts[part] = ReferenceLists(
            [lists[number].reference for number in kept],
            [list(lists[number].ids) for number in kept],
            np.array(kept, dtype=np.uint64),
            [list(lists[number].translations.values()) for number in kept],
        )
        if not kept:
            raise InputError(
                f"the {part} part is empty: no translation of its {count} references differs from the reference",
                path=folder,
                remedy="give more pairs, or longer n-best lists",
            )
        start += count
    return drawn


@dataclass
class _List:
    reference: str = ""
    ids: dict[str, None] = field(default_factory=dict)
    translations: dict[str, str] = field(default_factory=dict)


def _collect(folder: Path, split: str, columns: list[str], chosen: set[int]) -> dict[int, _List]:
    lists = {number: _List() for number in chosen}
    for batch in DataFolder(folder).batches(split, columns):
        rows = batch.to_pylist()
        for row, number in zip(rows, text_fingerprints([row["sentence1"] for row in rows]).tolist(), strict=True):
            if number not in chosen:
                continue
            translations, translation = lists[number], row["sentence2"] or ""
            translations.reference = translations.reference or row["sentence1"]
            if row.get("id") is not None:
                translations.ids[str(row["id"])] = None
            plain = _plain(translation)
            if plain and plain not in (_plain(translations.reference), _plain(row["sentence1"])):
                translations.translations.setdefault(plain, translation)
    return lists


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).lower().split())


def _mined(folders: Sequence[str | os.PathLike[str]]) -> tuple[set[int], set[str]]:
    texts: set[int] = set()
    ids: set[str] = set()
    for folder in folders:
        columns = [name for name in ("id", "sentence1") if name in DataFolder(folder).schema().names]
        require_columns(columns, ("sentence1",), str(folder))
        for batch in DataFolder(folder).batches("train", columns):
            texts.update(text_fingerprints(batch.column("sentence1").to_pylist()).tolist())
            if "id" in columns:
                ids.update(str(item) for item in batch.column("id").to_pylist() if item is not None)
    return texts, ids
