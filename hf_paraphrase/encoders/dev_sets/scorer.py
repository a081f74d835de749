"""The development score of an encoder, and the test sets that a finished choice is reported on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ...data.folder import DataFolder
from ...errors import InputError
from ...vectors.metrics import average_precision, pearson
from ...vectors.similarity import cosine_similarities
from .pair_sets import (
    Encode,
    GradedSet,
    read_graded_folder,
    read_labelled_folder,
    require_both_classes,
    score_with_encoder,
)
from .pair_tables import columns_of
from .sts_files import TEST_KEYS, find_sts_sets
from .translation_retrieval import translation_retrieval

_DEV_PARTS = ("dev", "trial")
_BITEXT_SIDES = ("source", "target")
DevScorer = Callable[[Encode], dict[str, float]]


def dev_sets(data_dir: Path) -> list[GradedSet]:
    """Read the development sets below a folder.

    These are STS 2016, or else the dev parts of other raw STS sets, or else graded pairs (a file, or the split
    `validation`).
    """
    sets = find_sts_sets(data_dir, families=("STS16",)).sets
    if not sets and "sentence1" not in columns_of(data_dir):
        sets = tuple(graded for graded in find_sts_sets(data_dir).sets if graded.name in _DEV_PARTS)
    return list(sets) or [_graded_pairs(data_dir, "validation", "STS 2016")]


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
    if not columns_of(data_dir):
        remedy = f"give STS sets, or pairs with a column score or label: a file, or data/{split}-*.parquet"
        raise InputError(f"there is no set of {others}, and there are no graded pairs", path=data_dir, remedy=remedy)
    return read_graded_folder(data_dir, split)


def dev_scorer(data_dir: Path) -> DevScorer:
    """Read the development sets once and return a function that scores an encoder on them.

    Args:
        data_dir: A folder below which the STS 2016 sets are; a data folder or a CSV, JSON lines or Parquet file of
            pairs with a column `score` or `label` (1 for a paraphrase, 0 for another pair; see :func:`dev_sets`); or
            a bitext with a split `validation`.

    Returns:
        A function that takes `encode` (n sentences to an array (n, dim)). It returns Pearson × 100 per set, for labels
        the average precision × 100, for a bitext the percentage of sentences whose nearest neighbour is their
        translation (see :mod:`.translation_retrieval`); and under `dev_mean` their unweighted mean.
    """
    data_dir = Path(data_dir)
    columns = columns_of(data_dir)
    if columns.issuperset(_BITEXT_SIDES) and "sentence1" not in columns:
        return _retrieval_scorer(data_dir)
    if "label" in columns and "score" not in columns:
        return _label_scorer(data_dir)
    sets = dev_sets(data_dir)

    def score(encode: Encode) -> dict[str, float]:
        scored = score_with_encoder(encode, sets)
        scores = {item.key: 100.0 * pearson(item.similarities, item.graded.scores) for item in scored}
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
        found = translation_retrieval(sources, targets, encode(sources), encode(targets))
        return {"dev_mean": found["mean"], **{name: found[name] for name in ("source_to_target", "target_to_source")}}

    return score
