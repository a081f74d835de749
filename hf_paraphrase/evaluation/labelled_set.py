"""A labelled set: sentence pairs that people labelled as paraphrases or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..data.fingerprints import normalise
from ..errors import InputError
from .graded_set import read_pairs, sentence_columns


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """One labelled set in memory.

    Attributes:
        name: The folder and the split, e.g. `opusparcus-fi/test`.
        labels: 1 for a paraphrase, 0 for another pair, int64 (n,).
        undecided: How many pairs were left out because they have no label.
    """

    name: str
    sentences1: list[str]
    sentences2: list[str]
    labels: np.ndarray = field(repr=False)
    undecided: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    def pair_keys(self) -> list[tuple[str, ...]]:
        """Returns what is the same for two pairs of the same sentences, in whichever order and typography."""
        return [tuple(sorted(map(sentence_key, pair))) for pair in zip(self.sentences1, self.sentences2, strict=True)]

    def rows(self, chosen: np.ndarray) -> LabelledSet:
        """Returns the pairs where `chosen` (n,), bool, is true."""
        places = np.flatnonzero(chosen).tolist()
        first, second = ([side[place] for place in places] for side in (self.sentences1, self.sentences2))
        return replace(self, sentences1=first, sentences2=second, labels=self.labels[chosen])


def sentence_key(text: str) -> str:
    """Returns what two sentences that differ in typography only have in common; the text itself if it has no word."""
    return normalise(text) or text.strip()


def read_labelled_folder(path: Path, split: str) -> LabelledSet:
    """Reads pairs with a column `label` from a file, or from a split of a data folder.

    Pairs without a label are undecided and left out, as in Opusparcus (Creutz 2018).
    """
    name, table = read_pairs(path, split, "label")
    first, second = sentence_columns(table, path, split)
    values = table.column("label").to_pylist()
    for row, value in enumerate(values):
        if value not in (None, 0, 1):
            raise InputError(
                f"split `{split}`, row {row}: the label is {str(value)[:50]}",
                path=path,
                remedy="1 is a paraphrase, 0 another pair, and nothing an undecided one",
            )
    labels = np.array([-1 if value is None else int(value) for value in values], dtype=np.int64)
    return LabelledSet(name, first, second, labels, int((labels < 0).sum())).rows(labels >= 0)


def require_both_classes(pairs: LabelledSet, folder: Path) -> None:
    """Checks that a set holds paraphrases and other pairs."""
    if len(set(pairs.labels.tolist())) < 2:
        kind = f"of one class only: all {len(pairs)} labels are {pairs.labels[0]}" if len(pairs) else "empty"
        raise InputError(f"{pairs.name} is {kind}", path=folder, remedy="detection needs paraphrases and other pairs")


def without_pairs_of(pairs: LabelledSet, other: LabelledSet) -> LabelledSet:
    """Returns `pairs` without those that are in `other` too, whatever the order of the two sentences."""
    other_keys = set(other.pair_keys())
    return pairs.rows(np.array([key not in other_keys for key in pairs.pair_keys()], dtype=bool))


def sentence_groups(sentences1: Sequence[str], sentences2: Sequence[str]) -> np.ndarray:
    """Numbers the groups of pairs that share a sentence, directly or through others, in order of appearance (n,)."""
    parent: dict[str, str] = {}

    def root(text: str) -> str:
        while parent.setdefault(text, text) != text:
            parent[text] = text = parent[parent[text]]
        return text

    sides = [[sentence_key(text) for text in texts] for texts in (sentences1, sentences2)]
    for first, second in zip(*sides, strict=True):
        parent[root(second)] = root(first)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(root(first), len(numbers)) for first in sides[0]], dtype=np.int64)


def sentence_folds(sentences1: Sequence[str], sentences2: Sequence[str], count: int) -> np.ndarray:
    """Parts pairs into folds (n,) of like size, no sentence in two; some are empty where there are fewer groups.

    The groups of :func:`sentence_groups`, the largest first, each go to the fold that is smallest so far.
    """
    groups = sentence_groups(sentences1, sentences2)
    sizes = np.bincount(groups, minlength=1)
    fold_of = np.zeros(len(sizes), dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    for group in np.argsort(-sizes, kind="stable"):
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of[groups]
