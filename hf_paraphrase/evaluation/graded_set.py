"""A graded set: sentence pairs with human similarity scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..data.parquet import read_table
from ..errors import InputError

Encode = Callable[[list[str]], np.ndarray]
"""Maps n sentences to their embeddings, an array (n, dim)."""

Similarity = Callable[[list[str], list[str]], np.ndarray]
"""Maps n sentence pairs to their n similarities."""


@dataclass(frozen=True, eq=False)
class GradedSet:
    """One graded set in memory.

    Attributes:
        name: The set's name within its family, e.g. `MSRpar`.
        family: The benchmark with its year: `STS12` … `STS16`, `SICK`, `Twitter`, `STS-B`, `graded`.
        sentences1: The first sentence of each pair.
        sentences2: The second sentence of each pair.
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


def read_graded_folder(folder: Path, split: str) -> GradedSet:
    """Reads one split of a data folder with the columns `sentence1`, `sentence2` and `score`.

    Raises:
        InputError: If the folder, the split or a column is missing, or a value is empty or not a number.
    """
    columns = ["sentence1", "sentence2", "score"]
    table = read_table(folder, split, columns)
    for name in columns:
        if table.column(name).null_count:
            raise InputError(f"split `{split}` has missing values in column {name}", path=folder)
    try:
        scores = np.asarray(table.column("score").to_pylist(), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"split `{split}`: column score is not numeric", path=folder) from error
    if not np.isfinite(scores).all():
        row = int(np.flatnonzero(~np.isfinite(scores))[0])
        raise InputError(f"split `{split}`, row {row}: the score is {scores[row]}", path=folder)
    return GradedSet(
        name=f"{folder.resolve().name}/{split}",
        family="graded",
        sentences1=table.column("sentence1").to_pylist(),
        sentences2=table.column("sentence2").to_pylist(),
        scores=scores,
    )
