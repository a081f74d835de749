"""The test sets that a finished choice is reported on, apart from those it was made on."""

from __future__ import annotations

from pathlib import Path

from ..data.parquet import split_names
from ..errors import InputError
from .graded_set import GradedSet, read_graded_folder
from .sts import MEAN_GROUPS
from .sts_files import find_sts_sets

TEST_GROUP = "22 sets"
"""The group of :data:`~.sts.MEAN_GROUPS` whose sets count; STS16 is not among them."""


def read_test_sets(data_dir: Path) -> tuple[list[GradedSet], list[str]]:
    """Finds the test sets of paper 000 below a folder, or reads the split `test` of a graded data folder.

    Args:
        data_dir: A folder below which STS sets lie, or a graded data folder (its split `test`, or its only one).

    Returns:
        The sets, and the keys of those of the 22 that are not there (none for a graded data folder).

    Raises:
        InputError: If the folder is neither.
    """
    if not data_dir.is_dir():
        raise InputError("no such folder", path=data_dir, remedy="check --data")
    expected = MEAN_GROUPS[TEST_GROUP]
    found = [graded for graded in find_sts_sets(data_dir).sets if graded.key in expected]
    if found:
        keys = {graded.key for graded in found}
        return found, [key for key in expected if key not in keys]
    if any((data_dir / "data").glob("*.parquet")):
        splits = split_names(data_dir)
        if "test" in splits or len(splits) == 1:
            return [read_graded_folder(data_dir, "test" if "test" in splits else splits[0])], []
    raise InputError(
        "no test set of STS 2012 to 2015, SICK or Twitter below this folder, and no graded split `test`",
        path=data_dir,
        remedy="check --data, or leave it out to tune without a test",
    )
