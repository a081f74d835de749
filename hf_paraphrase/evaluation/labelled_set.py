"""A labelled set: sentence pairs that people labelled as paraphrases or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.fingerprints import normalise
from ..data.folder import DataFolder
from ..errors import InputError
from .graded_set import finite_scores, sentence_columns


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

    @property
    def positives(self) -> int:
        """The number of paraphrases."""
        return int(self.labels.sum())

    def pair_keys(self) -> list[tuple[str, ...]]:
        """Returns what is the same for two pairs of the same sentences, in whichever order and typography."""
        return [tuple(sorted(map(sentence_key, pair))) for pair in zip(self.sentences1, self.sentences2, strict=True)]

    def rows(self, chosen: np.ndarray) -> LabelledSet:
        """Returns the pairs at the places `chosen` (int), or where it is true (bool)."""
        places = np.arange(len(self))[chosen].tolist()
        return replace(
            self,
            sentences1=[self.sentences1[place] for place in places],
            sentences2=[self.sentences2[place] for place in places],
            labels=self.labels[chosen],
        )


def sentence_key(text: str) -> str:
    """Returns what two sentences that differ in typography only have in common; the text itself if it has no word."""
    return normalise(text) or text.strip()


def read_labelled_folder(folder: Path, split: str, positive_above: float | None = None) -> LabelledSet:
    """Reads one split of a data folder with `sentence1`, `sentence2`, and `label` or `score`.

    Where the folder has no split of this name, the configuration `labelled` that `prepare opusparcus` makes is looked
    for. With `positive_above` the pairs with a `score` above it are the paraphrases, those below it the others. Pairs
    without a label, or with a score of exactly that, are undecided and left out, as in Opusparcus (Creutz 2018).
    """
    opened = DataFolder(folder)
    if split not in opened.splits and f"labelled.{split}" in opened.splits:
        split = f"labelled.{split}"
    column = "label" if positive_above is None else "score"
    names = opened.schema(split).names
    if column not in names:
        from_scores = column == "label" and "score" in names
        raise InputError(
            f"split `{split}` has no column {column}",
            path=folder,
            remedy="give --positive-above to make labels of the column score"
            if from_scores
            else f"the columns are {', '.join(names)}",
        )
    table = opened.table(split, ["sentence1", "sentence2", column])
    first, second = sentence_columns(table, folder, split)
    values = table.column(column).to_pylist()
    if positive_above is None:
        labels = _labels(folder, split, values)
    else:
        scores = finite_scores([positive_above if value is None else value for value in values], folder, split)
        labels = np.where(scores == positive_above, -1, scores > positive_above).astype(np.int64)
    name = f"{folder.resolve().name}/{split}"
    undecided = int((labels < 0).sum())
    return LabelledSet(name, first, second, labels, undecided).rows(labels >= 0)


def require_both_classes(pairs: LabelledSet, folder: Path) -> None:
    """Checks that a set holds paraphrases and other pairs."""
    if not 0 < pairs.positives < len(pairs):
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


def _labels(folder: Path, split: str, values: Sequence[Any]) -> np.ndarray:
    """Returns the labels; -1 where there is none."""
    for row, value in enumerate(values):
        if value is not None and (isinstance(value, (str, bytes)) or value not in (0, 1)):
            raise InputError(
                f"split `{split}`, row {row}: the label is {str(value)[:50]}",
                path=folder,
                remedy="1 is a paraphrase, 0 another pair, and nothing an undecided one",
            )
    return np.array([-1 if value is None else int(value) for value in values], dtype=np.int64)
