"""The development score of an encoder, translation retrieval, and the test sets of a finished encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...data.folder import DataFolder
from ...data.pair_rows import find_label, find_score
from ...errors import InputError
from ...text.normalization import normalize_words_all
from ...vectors.exact_search import find_nearest
from ...vectors.similarity import average_precision, cosine_similarities, is_constant, pearson
from .pair_sets import (
    Encode,
    GradedSet,
    list_columns,
    read_graded_folder,
    read_labelled_folder,
    require_both_classes,
    score_with_encoder,
)
from .sts_files import TEST_KEYS, find_sts_sets

_DEV_PARTS = ("dev", "trial")
_BITEXT_SIDES = ("source", "target")
_NUM_NEIGHBORS = 4
"""The number of neighbours in the margin score (Artetxe and Schwenk 2019)."""
DevScorer = Callable[[Encode], dict[str, float]]


def read_dev_sets(data_dir: Path) -> list[GradedSet]:
    """Read the development sets below a folder.

    These are STS 2016, or else the dev parts of other raw STS sets, or else graded pairs (a file, or the split
    `validation`).
    """
    sets = find_sts_sets(data_dir, families=("STS16",)).sets
    if not sets and "sentence1" not in list_columns(data_dir):
        sets = tuple(graded for graded in find_sts_sets(data_dir).sets if graded.name in _DEV_PARTS)
    sets = sets or (_graded_pairs(data_dir, "validation", "STS 2016"),)
    if all(is_constant(graded.scores) for graded in sets):
        problem = f"all scores are {sets[0].scores[0]:g}, so no encoder correlates with them"
        raise InputError(problem, path=data_dir, remedy="give dev data with different scores")
    return list(sets)


def read_test_sets(data_dir: Path) -> tuple[list[GradedSet], list[str]]:
    """Read the test sets of Wieting et al. (2017) below a folder, or else the split `test` of graded pairs.

    Returns:
        The sets, and the keys of the 22 sets that are missing (none for graded pairs).
    """
    test_sets = [graded for graded in find_sts_sets(data_dir).sets if graded.key in TEST_KEYS]
    if test_sets:
        keys = {graded.key for graded in test_sets}
        return test_sets, [key for key in TEST_KEYS if key not in keys]
    return [_graded_pairs(data_dir, "test", "STS 2012 to 2015, SICK or Twitter")], []


def _graded_pairs(data_dir: Path, split: str, others: str) -> GradedSet:
    if not list_columns(data_dir):
        remedy = f"give STS sets, or pairs with a column score or label: a file, or data/{split}-*.parquet"
        raise InputError(f"there is no set of {others}, and there are no graded pairs", path=data_dir, remedy=remedy)
    return read_graded_folder(data_dir, split)


def dev_scorer(data_dir: Path) -> DevScorer:
    """Read the development sets once and return a function that scores an encoder on them.

    Args:
        data_dir: A folder with the STS 2016 sets at any depth; a data folder or a CSV, JSON lines or Parquet file of
            pairs with scores or labels, in a column `score`, `label` or another usual name; or a bitext with a split
            `validation`.

    Returns:
        A function that takes `encode` (n sentences to an array (n, dim)). It returns Pearson × 100 per set of scores,
        the average precision × 100 for labels, or the percentage of sentences whose nearest neighbour is their
        translation (see :func:`measure_translation_retrieval`) for a bitext; and `dev_mean`, the unweighted mean.
    """
    data_dir = Path(data_dir)
    columns = list_columns(data_dir)
    if columns.issuperset(_BITEXT_SIDES) and "sentence1" not in columns:
        return _retrieval_scorer(data_dir)
    if find_label(columns) and not find_score(columns):
        return _label_scorer(data_dir)
    sets = read_dev_sets(data_dir)

    def score(encode: Encode) -> dict[str, float]:
        scored = score_with_encoder(encode, sets)
        scores = {each.key: 100.0 * pearson(each.similarities, each.graded.scores) for each in scored}
        return {"dev_mean": sum(scores.values()) / len(scores), **scores}

    return score


def _label_scorer(data_dir: Path) -> DevScorer:
    pairs = read_labelled_folder(data_dir, "validation")
    require_both_classes(pairs, data_dir)

    def score(encode: Encode) -> dict[str, float]:
        cosines = cosine_similarities(encode(pairs.sentences1), encode(pairs.sentences2))
        precision = 100 * average_precision(cosines, pairs.labels)
        return {"dev_mean": precision, "average_precision": precision}

    return score


def _retrieval_scorer(data_dir: Path) -> DevScorer:
    opened = DataFolder(data_dir)
    table = opened.table("validation", _BITEXT_SIDES) if "validation" in opened.splits else None
    if table is None or not table.num_rows:
        problem = "the bitext has no rows in a split `validation` to tune on"
        raise InputError(problem, path=data_dir, remedy="prepare it with --validation-size")
    sources, targets = ([text or "" for text in table[name].to_pylist()] for name in _BITEXT_SIDES)

    def score(encode: Encode) -> dict[str, float]:
        measures = measure_translation_retrieval(sources, targets, encode(sources), encode(targets))
        directions = ("source_to_target", "target_to_source")
        return {"dev_mean": measures["mean"], **{name: measures[name] for name in directions}}

    return score


def measure_translation_retrieval(
    sources: Sequence[str],
    targets: Sequence[str],
    source_vectors: NDArray[np.float32],
    target_vectors: NDArray[np.float32],
) -> dict[str, float]:
    """Search the translation of every sentence, in both directions, by vectors (pairs, dim).

    The nearest sentence is right if some pair contains it as a translation, ignoring case and punctuation. Of several
    equally near sentences all must be translations. A zero vector, of a sentence without known words, is never right
    and never among the neighbours. The margin score of x and y is

        cos(x, y) / mean of the cosines of x and of y with their 4 nearest neighbours

    as in equation 1 of Artetxe and Schwenk 2019; LASER calls its errors xsim.

    Returns:
        The percentages of sentences whose nearest sentence is a translation: `source_to_target`, `target_to_source`
        and their `mean`; `margin_error`, the percentage whose sentence of the best margin score is no translation, as
        the mean of both directions; and the number of `pairs`.
    """
    if not len(sources):
        raise ValueError("there are no pairs")
    keys = []
    for texts in (sources, targets):
        words = normalize_words_all(pa.array(texts)).to_pylist()
        names = [name or text for name, text in zip(words, texts, strict=True)]
        keys.append(np.unique(np.array(names, dtype=object), return_inverse=True)[1].astype(np.int64))
    width = int(keys[1].max()) + 1
    pair_keys = np.unique(keys[0] * width + keys[1])
    vectors = source_vectors, target_vectors
    neighbors = [find_nearest(vectors[side], vectors[1 - side], _NUM_NEIGHBORS, skip_zero=True) for side in (0, 1)]
    scales = [cosines.mean(axis=1) for _, cosines in neighbors]
    by_cosine: list[float] = []
    with_margin: list[float] = []
    for side, (rows, cosines) in enumerate(neighbors):
        left, right = (keys[0] * width, keys[1]) if side == 0 else (keys[1], keys[0] * width)
        is_translation = np.isin(left[:, None] + right[rows], pair_keys)
        margins = cosines / np.maximum((scales[side][:, None] + scales[1 - side][rows]) / 2, 1e-9)
        for scores, percentages in ((cosines, by_cosine), (margins, with_margin)):
            scores = np.where(rows >= 0, scores, -np.inf)
            is_best = (rows >= 0) & (scores >= scores.max(1, keepdims=True) - 1e-9)
            percentages.append(100.0 * float((is_best.any(1) & (is_translation | ~is_best).all(1)).mean()))
    forth, back = by_cosine
    return {
        "source_to_target": forth,
        "target_to_source": back,
        "mean": (forth + back) / 2,
        "margin_error": 100.0 - sum(with_margin) / 2,
        "pairs": len(sources),
    }
