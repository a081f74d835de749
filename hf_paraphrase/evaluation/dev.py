"""The sets by which training chooses its epoch and its settings, and those that a finished choice is reported on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..data.folder import DataFolder
from ..errors import InputError, no_folder
from .baselines import Encode
from .correlation import average_precision, cosine_similarities
from .graded_set import GradedSet, read_graded_folder
from .labelled_set import read_labelled_folder, require_both_classes
from .sts import MEAN_GROUPS, evaluate_sts
from .sts_files import find_sts_sets
from .translation_retrieval import translation_retrieval

TEST_GROUP = "22 sets"
"""The group of :data:`~.sts.MEAN_GROUPS` whose sets count; STS16 is not among them."""
_BITEXT_SIDES = ("source", "target")
_DIRECTIONS = ("source_to_target", "target_to_source")
DevScorer = Callable[[Encode], dict[str, float]]


def dev_sets(data_dir: Path) -> list[GradedSet]:
    """Finds the development sets: the STS 2016 sets below `data_dir`, or one split of a graded data folder.

    Of a graded data folder (Parquet with `sentence1`, `sentence2`, `score`) the split `validation` is taken, or the
    only split there is; never `test` where there is a choice.
    """
    data_dir = Path(data_dir)
    if not data_dir.is_dir():
        raise no_folder(data_dir, "give a folder with STS 2016 or a graded data folder")
    sts = find_sts_sets(data_dir, families=("STS16",))
    if sts.sets:
        return list(sts.sets)
    if not _is_data_folder(data_dir):
        raise InputError(
            "no STS 2016 set below this folder, and it is not a graded data folder",
            path=data_dir,
            remedy="it needs STS16-en-test/STS.input.*.txt or data/validation-*.parquet with a column score or label",
        )
    split = _split_or_only(data_dir, "validation")
    if split is None:
        splits = ", ".join(DataFolder(data_dir).splits)
        raise InputError(f"no split `validation` among {splits}", path=data_dir, remedy="add one to tune on")
    return [read_graded_folder(data_dir, split)]


def read_test_sets(data_dir: Path) -> tuple[list[GradedSet], list[str]]:
    """Finds the test sets of paper 000 below a folder, or reads the split `test` (or the only one) of a graded one.

    Returns:
        The sets, and the keys of those of the 22 that are not there (none for a graded data folder).
    """
    if not data_dir.is_dir():
        raise no_folder(data_dir, "check --data")
    expected = MEAN_GROUPS[TEST_GROUP]
    test_sets = [graded for graded in find_sts_sets(data_dir).sets if graded.key in expected]
    if test_sets:
        keys = {graded.key for graded in test_sets}
        return test_sets, [key for key in expected if key not in keys]
    split = _split_or_only(data_dir, "test") if _is_data_folder(data_dir) else None
    if split is None:
        raise InputError(
            "no test set of STS 2012 to 2015, SICK or Twitter below this folder, and no graded split `test`",
            path=data_dir,
            remedy="check --data, or leave it out to tune without a test",
        )
    return [read_graded_folder(data_dir, split)], []


def _split_or_only(data_dir: Path, name: str) -> str | None:
    splits = DataFolder(data_dir).splits
    return name if name in splits else splits[0] if len(splits) == 1 else None


def dev_scorer(data_dir: Path) -> DevScorer:
    """Reads the development sets once and returns a function that scores an encoder on them.

    Args:
        data_dir: A folder below which the STS 2016 sets are, a graded data folder (see :func:`dev_sets`), one with a
            column `label` (1 for a paraphrase, 0 for another pair), or a bitext with a split `validation`.

    Returns:
        A function that takes `encode` (n sentences to an array (n, dim)) and gives Pearson × 100 per set, for labels
        the average precision × 100, for a bitext how many sentences find their translation (see
        :mod:`.translation_retrieval`), in per cent; and under `dev_mean` their unweighted mean.
    """
    data_dir = Path(data_dir)
    if is_bitext(data_dir):
        return _retrieval_scorer(data_dir)
    if (labelled := _labelled_split(data_dir)) is not None:
        return _label_scorer(data_dir, labelled)
    sets = dev_sets(data_dir)

    def score(encode: Encode) -> dict[str, float]:
        results = evaluate_sts(encode, sets)["sets"]
        scores = {graded.key: result["pearson"] for graded, result in zip(sets, results, strict=True)}
        return {"dev_mean": sum(scores.values()) / len(scores), **scores}

    return score


def is_bitext(data_dir: Path) -> bool:
    """Returns whether a folder is a bitext and not a graded set."""
    if not _is_data_folder(data_dir):
        return False
    opened = DataFolder(data_dir)
    names = opened.schema(opened.splits[0]).names
    return set(names) >= set(_BITEXT_SIDES) and "sentence1" not in names


def _is_data_folder(data_dir: Path) -> bool:
    return any((data_dir / "data").glob("*.parquet"))


def _labelled_split(data_dir: Path) -> str | None:
    """Returns which split of a data folder has labels and no scores; None if there is none to tune on."""
    if not _is_data_folder(data_dir):
        return None
    opened = DataFolder(data_dir)
    for split in ("validation", "labelled.validation", *(opened.splits if len(opened.splits) == 1 else ())):
        if split in opened.splits:
            names = opened.schema(split).names
            return split if "label" in names and "score" not in names else None
    return None


def _label_scorer(data_dir: Path, split: str) -> DevScorer:
    pairs = read_labelled_folder(data_dir, split)
    require_both_classes(pairs, data_dir)

    def score(encode: Encode) -> dict[str, float]:
        cosines = cosine_similarities(encode(pairs.sentences1), encode(pairs.sentences2))
        precision = 100 * average_precision(cosines, pairs.labels)
        return {"dev_mean": precision, "average_precision": precision}

    return score


def _retrieval_scorer(data_dir: Path) -> DevScorer:
    opened = DataFolder(data_dir)
    if "validation" not in opened.splits or not opened.count("validation"):
        raise InputError(
            "the bitext has no rows in a split `validation` to tune on",
            path=data_dir,
            remedy="prepare it with --validation-size",
        )
    table = opened.table("validation", _BITEXT_SIDES)
    sources, targets = ([text or "" for text in table[name].to_pylist()] for name in _BITEXT_SIDES)

    def score(encode: Encode) -> dict[str, float]:
        scores = vars(translation_retrieval(sources, targets, encode(sources), encode(targets)))
        return {"dev_mean": scores["mean"], **{name: scores[name] for name in _DIRECTIONS}}

    return score
