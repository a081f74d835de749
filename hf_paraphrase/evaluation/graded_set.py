"""Graded sets: sentence pairs with human scores, and the similarities that a scorer gives them.

The sentences are encoded, or compared, once; the protocols differ only in what they do with the numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.folder import DataFolder
from ..data.records import column_names, read_records
from ..data.schema import usual_pair_columns
from ..data.text_files import Field, StrictLines, typed
from ..errors import InputError, ModelError
from .baselines import Encode, Scorer, Similarity, encode_once
from .correlation import cosine_similarities
from .suite import records_kind

_USUAL_SPLITS = ("validation", "dev", "test")


@dataclass(frozen=True, eq=False)
class GradedSet:
    """One graded set in memory.

    Attributes:
        name: The set's name within its family, e.g. `MSRpar`.
        family: The benchmark with its year: `STS12` … `STS16`, `SICK`, `Twitter`, `STS-B`, `graded`.
        scores: The human score of each pair, float64 (n,), on whatever scale the set has; higher is more similar.
    """

    name: str
    family: str
    sentences1: list[str]
    sentences2: list[str]
    scores: np.ndarray = field(repr=False)

    def __post_init__(self) -> None:
        """Checks that the three columns are equally long."""
        lengths = {len(self.sentences1), len(self.sentences2), len(self.scores)}
        if len(lengths) != 1:
            raise ValueError(f"the columns of {self.key} have different lengths: {sorted(lengths)}")

    @property
    def key(self) -> str:
        """The name that is unique over all families, e.g. `STS12 MSRpar`."""
        return f"{self.family} {self.name}"

    def __len__(self) -> int:
        return len(self.scores)


def read_pairs(path: Path, split: str, column: str) -> tuple[str, pa.Table]:
    """Reads `sentence1`, `sentence2` and `score` or `label` of a CSV, JSON lines or Parquet file, or of a data folder.

    Of a folder a split is read, or the only one that there is.

    Returns:
        The name of the folder and split, or of the file, and a table of the three columns.
    """
    columns = ["sentence1", "sentence2", column]
    name = path.resolve().name.partition(".")[0] if path.is_file() else path.resolve().name
    kind = records_kind(path) if path.is_file() else "parquet"
    if kind in ("csv", "jsonl"):
        sides = usual_pair_columns(column_names(path, kind))
        names = {side: sides.get(side, side) for side in columns}
        number = Field(column, pa.float64() if column == "score" else pa.int64(), may_be_null=True)
        blocks = read_records(path, kind, names, StrictLines())
        tables = [table for _, table in typed(blocks, [*map(Field, columns[:2]), number], path, StrictLines())]
        if not tables:
            raise InputError("the file contains no pairs", path=path)
        return name, pa.concat_tables(tables)
    folder = DataFolder(path)
    split = chosen_split(folder, split)
    return name if path.is_file() else f"{name}/{split}", folder.table(split, columns)


def chosen_split(folder: DataFolder, split: str) -> str:
    """Returns the split of a name, the one of labelled pairs that `prepare opusparcus` makes, or the only one.

    The only one stands in for a split with a usual name; another name was somebody's choice.
    """
    only = folder.splits if len(folder.splits) == 1 and split in _USUAL_SPLITS else ()
    names = (split, f"labelled.{split}", *only)
    return next((name for name in names if name in folder.splits), split)


def read_graded_folder(path: Path, split: str) -> GradedSet:
    """Reads pairs with a column `score` from a file, or from a split of a data folder."""
    name, table = read_pairs(path, split, "score")
    first, second = sentence_columns(table, path, split)
    if table.column("score").null_count:
        raise InputError(f"split `{split}` has missing values in column score", path=path)
    return GradedSet(name, "graded", first, second, finite_scores(table.column("score").to_pylist(), path, split))


def sentence_columns(table: pa.Table, folder: Path, split: str) -> tuple[list[str], list[str]]:
    """Returns the sentences of both sides of a split, none of which may be missing."""
    for name in ("sentence1", "sentence2"):
        if table.column(name).null_count:
            raise InputError(f"split `{split}` has missing values in column {name}", path=folder)
    return table.column("sentence1").to_pylist(), table.column("sentence2").to_pylist()


def finite_scores(values: Sequence[Any], path: Path, split: str) -> np.ndarray:
    """Turns the scores of a split into float64 (n,), all finite."""
    try:
        scores = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"split `{split}`: column score is not numeric", path=path) from error
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InputError(f"split `{split}`, row {row}: the score is {scores[row]}", path=path)
    return scores


@dataclass(frozen=True, eq=False)
class ScoredSet:
    """The similarities of one scorer on one set, float64 (n,), all finite."""

    graded: GradedSet
    similarities: np.ndarray = field(repr=False)

    @property
    def key(self) -> str:
        """The set's key, e.g. `STS12 MSRpar`."""
        return self.graded.key

    def __len__(self) -> int:
        return len(self.graded)


def score(scorer: Scorer, sets: Sequence[GradedSet]) -> tuple[ScoredSet, ...]:
    """Computes the similarities of a model or a baseline; see the two functions that follow."""
    if scorer.similarity is None:
        return score_with_encoder(scorer.encode, sets)
    return score_with_similarity(scorer.similarity, sets)


def score_with_encoder(encode: Encode, sets: Sequence[GradedSet]) -> tuple[ScoredSet, ...]:
    """Computes the cosines of the embeddings of every pair; each distinct sentence of all sets is encoded once."""
    _check(sets)
    vectors = encode_once(encode, (text for graded in sets for text in (*graded.sentences1, *graded.sentences2)))
    return score_with_similarity(lambda first, second: cosine_similarities(vectors(first), vectors(second)), sets)


def score_with_similarity(similarity: Similarity, sets: Sequence[GradedSet]) -> tuple[ScoredSet, ...]:
    """Computes the similarity of every pair with any function from n sentence pairs to n numbers.

    A similarity that is not a number (the cosine with a zero vector, where a function leaves it undefined) counts as
    0, as in SentEval (Conneau and Kiela 2018).
    """
    _check(sets)
    scored = []
    for graded in sets:
        similarities = np.asarray(similarity(graded.sentences1, graded.sentences2), dtype=np.float64)
        if similarities.shape != (len(graded),):
            raise ModelError(f"similarities of shape {similarities.shape} for the {len(graded)} pairs of {graded.key}")
        if np.isinf(similarities).any():
            raise ModelError(f"an infinite similarity in {graded.key}")
        scored.append(ScoredSet(graded, np.where(np.isnan(similarities), 0.0, similarities)))
    return tuple(scored)


def _check(sets: Sequence[GradedSet]) -> None:
    if not sets or not all(map(len, sets)):
        empty = "".join(f": {graded.key}" for graded in sets if not len(graded))
        raise InputError(f"there is no scored pair to evaluate{empty}")
