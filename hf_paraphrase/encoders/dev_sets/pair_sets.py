"""Labelled and scored sentence pairs in memory, read from data folders and from CSV, JSON lines and Parquet files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...data.folder import DataFolder
from ...data.pair_rows import LABEL, SCORE, PairLabels, find_label, find_score
from ...data.schema import PAIRS, class_names_of
from ...data.text_blocks import kind_of_rows
from ...errors import InputError, ModelError
from ...text.normalization import normalize_words
from ...vectors.similarity import checked_vectors, cosine_similarities

Encode = Callable[[list[str]], np.ndarray]
"""Maps n sentences to their embeddings, an array (n, dim)."""

Similarity = Callable[[list[str], list[str]], np.ndarray]
"""Maps n sentence pairs to their n similarities."""


@dataclass(frozen=True, eq=False)
class GradedSet:
    """A set of scored pairs, e.g. `MSRpar` of the family `STS12`; pairs of the user have the family `graded`.

    `scores` are human scores, float64 (n,), on the scale of the set; higher is more similar.
    """

    name: str
    family: str
    sentences1: list[str]
    sentences2: list[str]
    scores: np.ndarray = field(repr=False)

    @property
    def key(self) -> str:
        """The name that is unique over all families, e.g. `STS12 MSRpar`."""
        return f"{self.family} {self.name}"

    def __len__(self) -> int:
        return len(self.scores)


@dataclass(frozen=True, eq=False)
class LabelledSet:
    """A set of labelled pairs, e.g. `opusparcus-fi/test`.

    `labels` are 1 for a paraphrase and 0 for another pair, int64 (n,). `undecided` counts the pairs without a label,
    which were left out.
    """

    name: str
    sentences1: list[str]
    sentences2: list[str]
    labels: np.ndarray = field(repr=False)
    undecided: int = 0

    def __len__(self) -> int:
        return len(self.labels)

    def pair_keys(self) -> list[tuple[str, ...]]:
        """Return keys that are equal for pairs of the same sentences, in any order and typography."""
        return [
            tuple(sorted(map(normalize_sentence, pair))) for pair in zip(self.sentences1, self.sentences2, strict=True)
        ]

    def rows(self, chosen: np.ndarray) -> LabelledSet:
        """Return the pairs where `chosen` (n,), bool, is true."""
        rows = np.flatnonzero(chosen).tolist()
        first, second = ([side[row] for row in rows] for side in (self.sentences1, self.sentences2))
        return replace(self, sentences1=first, sentences2=second, labels=self.labels[chosen])


def list_columns(path: Path) -> set[str]:
    """List the columns of all splits of a data set, or none if it is no data set."""
    try:
        if path.is_file() and kind_of_rows(path) is None:
            return set()
        folder = DataFolder(path)
        return {name for split in folder.splits for name in folder.schema(split).names}
    except (InputError, OSError):
        return set()


def _read_pairs(path: Path, split: str, column: str, *, is_given: bool) -> tuple[str, pa.Table]:
    """Read the sentences of a split of a data set and one more column; return the name of the set and the columns.

    A file is a split of its own. With `is_given` the user named the split, so no other split may replace it.
    """
    folder = DataFolder(path)
    split = choose_split(folder, split, is_given=is_given)
    table = folder.table(split, [*PAIRS.names, column])
    name = path.resolve().name.partition(".")[0] if path.is_file() else f"{path.resolve().name}/{split}"
    if not table.num_rows:
        raise InputError(f"{name} has no rows", path=path, remedy="give data with rows, or another split")
    for side in PAIRS.names:
        if table[side].null_count:
            row = table[side].is_null().index(True).as_py() + 1
            raise InputError(f"row {row} of {name} has no {side}", path=path, remedy="fill it in")
    return name, table


def choose_split(folder: DataFolder, split: str, *, is_given: bool = False) -> str:
    """Return the split, the split `labelled.SPLIT` of `prepare opusparcus`, or an only split for a default name."""
    may_be_replaced = len(folder.splits) == 1 and split in ("validation", "dev", "test") and not is_given
    only = folder.splits if may_be_replaced else ()
    return next((name for name in (split, f"labelled.{split}", *only) if name in folder.splits), split)


def read_graded_folder(path: Path, split: str, *, is_given: bool = False) -> GradedSet:
    """Read pairs with a column of scores from a file, or from a split of a data folder."""
    name, table = _read_pairs(path, split, find_score(list_columns(path)) or SCORE, is_given=is_given)
    first, second, values = (column.to_pylist() for column in table.columns)
    return GradedSet(name, "graded", first, second, check_scores(values, path, name))


def check_scores(values: Sequence[Any], path: Path, name: str) -> np.ndarray:
    """Convert the scores of a named set, which CSV files have as text, to finite numbers, float64 (n,)."""
    scores = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            # Python reads `1_0` as 10.
            scores[row] = np.nan if "_" in str(value) else float(value)
        except (TypeError, ValueError):
            scores[row] = np.nan
        if not np.isfinite(scores[row]):
            problem = "missing" if value is None else f"`{value}`, not a number"
            what = f"{name}: the score of pair {row + 1} is {problem}"
            raise InputError(what, path=path, remedy="fix or remove the pair")
    return scores


def read_labelled_folder(path: Path, split: str, *, is_given: bool = False) -> LabelledSet:
    """Read pairs with a column of labels from a file, or from a split of a data folder.

    Labels mean what :class:`~...data.pair_rows.PairLabels` reads in them. Pairs without a label are undecided and left
    out, as in Opusparcus (Creutz 2018).
    """
    column = find_label(list_columns(path)) or LABEL
    name, table = _read_pairs(path, split, column, is_given=is_given)
    first, second = (table[side].to_pylist() for side in PAIRS.names)
    read = PairLabels(column, class_names_of(table.schema), path=str(path)).read(table[column])
    labels = pc.fill_null(read, -1).to_numpy()
    return LabelledSet(name, first, second, labels, int((labels < 0).sum())).rows(labels >= 0)


def encode_once(encode: Encode, texts: Iterable[str]) -> Callable[[Sequence[str]], np.ndarray]:
    """Encode each distinct text once, and return a function that looks up the vectors (n, dim) of n of the texts."""
    rows = {text: row for row, text in enumerate(dict.fromkeys(texts))}
    vectors = checked_vectors(encode(list(rows)), len(rows))
    return lambda texts: vectors[[rows[text] for text in texts]]


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """A set with the similarities of a scorer, float64 (n,), all finite."""

    graded: GradedSet
    similarities: np.ndarray = field(repr=False)

    @property
    def key(self) -> str:
        """The set's key, e.g. `STS12 MSRpar`."""
        return self.graded.key

    def __len__(self) -> int:
        return len(self.graded)


def score_with_encoder(encode: Encode, sets: Sequence[GradedSet]) -> tuple[ScoredSet, ...]:
    """Compute the cosines of the embeddings of every pair; each distinct sentence of all sets is encoded once."""
    vectors = encode_once(encode, (text for graded in sets for text in (*graded.sentences1, *graded.sentences2)))
    return score_with_similarity(lambda first, second: cosine_similarities(vectors(first), vectors(second)), sets)


def score_with_similarity(similarity: Similarity, sets: Sequence[GradedSet]) -> tuple[ScoredSet, ...]:
    """Compute the similarity of every pair; NaN counts as 0, as in SentEval (Conneau and Kiela 2018)."""
    scored = []
    for graded in sets:
        similarities = np.asarray(similarity(graded.sentences1, graded.sentences2), dtype=np.float64)
        if similarities.shape != (len(graded),):
            raise ModelError(f"similarities of shape {similarities.shape} for the {len(graded)} pairs of {graded.key}")
        if np.isinf(similarities).any():
            raise ModelError(f"an infinite similarity in {graded.key}")
        scored.append(ScoredSet(graded, np.where(np.isnan(similarities), 0.0, similarities)))
    return tuple(scored)


def normalize_sentence(text: str) -> str:
    """Normalize a sentence so that differences of typography vanish; a text without a word stays as it is."""
    return normalize_words(text) or text.strip()


def require_both_classes(pairs: LabelledSet, folder: Path) -> None:
    """Check that a set holds paraphrases and other pairs."""
    if len(set(pairs.labels.tolist())) < 2:
        problem = f"{pairs.name} has pairs of one class only, {len(pairs)}"
        if not len(pairs):
            problem = f"no pair of {pairs.name} has a label"
        raise InputError(problem, path=folder, remedy="detection needs paraphrases and other pairs")


def number_components(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Assign each edge (edges,), between the nodes `first` and `second`, the number of its connected component."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    size = max(first.max(initial=-1), second.max(initial=-1)) + 1
    links = coo_array((np.ones(len(first), bool), (first, second)), shape=(size, size))
    return np.asarray(connected_components(links, directed=False)[1], np.int64)[first]


def group_sentences(sentences1: Sequence[str], sentences2: Sequence[str]) -> np.ndarray:
    """Assign numbers to groups of pairs that share a sentence, directly or indirectly, in order of appearance (n,)."""
    ids: dict[str, int] = {}
    first, second = (
        np.array([ids.setdefault(normalize_sentence(text), len(ids)) for text in side], np.int64)
        for side in (sentences1, sentences2)
    )
    _, begins, group = np.unique(number_components(first, second), return_index=True, return_inverse=True)
    return np.asarray(begins.argsort().argsort()[group])


def split_into_folds(sentences1: Sequence[str], sentences2: Sequence[str], count: int) -> np.ndarray:
    """Divide pairs into folds (n,) of similar size, so that no sentence is in two folds.

    Each of the :func:`group_sentences`, the largest first, goes to the fold that is smallest so far.
    """
    groups = group_sentences(sentences1, sentences2)
    sizes = np.bincount(groups, minlength=1)
    fold_of = np.zeros(len(sizes), dtype=np.int64)
    filled = np.zeros(count, dtype=np.int64)
    for group in np.argsort(-sizes, kind="stable"):
        fold_of[group] = filled.argmin()
        filled[fold_of[group]] += sizes[group]
    return fold_of[groups]
