"""Load a source of raw files, or anything that `datasets` opens, in one call."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from ...errors import UsageError
from ...registry import SOURCES

if TYPE_CHECKING:
    from datasets import Dataset, DatasetDict, IterableDataset, IterableDatasetDict


def load_dataset(
    path: str,
    name: str | None = None,
    *,
    split: str | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    streaming: bool = False,
    num_proc: int | None = None,
    keep_in_memory: bool | None = None,
    **settings: Any,
) -> Dataset | DatasetDict | IterableDataset | IterableDatasetDict:
    """Load a source of raw files as `datasets.load_dataset` loads a data set.

    Args:
        path: The name of a source, as in `prepare SOURCE`; anything else goes to `datasets.load_dataset`.
        name: The configuration, such as `labelled` of `opusparcus`; the first one for None.
        split: The split to return; all of them for None. Slices such as `train[:10%]` work.
        cache_dir: Where the rows are cached.
        streaming: Read the raw files while the rows are iterated over, without a cache.
        num_proc: The number of processes that read. A source reads in threads of one process.
        keep_in_memory: Copy the rows into memory.
        **settings: The flags of `prepare SOURCE`, such as `data_dir` and `lang`, or further arguments of `datasets`.

    Returns:
        What `datasets.load_dataset` returns with the same `split` and `streaming`.

    Raises:
        InputError: If the raw files are missing or malformed.

    Example:
        >>> load_dataset("opusparcus", lang="fr", data_dir="opusparcus_v1", split="train", streaming=True)
    """
    import datasets

    options: dict[str, Any] = {"split": split, "keep_in_memory": keep_in_memory}
    folder = None if cache_dir is None else os.fspath(cache_dir)
    if path not in SOURCES:
        options |= {"streaming": streaming, "num_proc": num_proc, "cache_dir": folder}
        return datasets.load_dataset(path, name, **options, **settings)
    if not isinstance(SOURCES[path], type):
        raise UsageError(f"`{path}` makes several data sets", remedy=f"use hf-paraphrase prepare {path}")
    from .builder import SourceBuilder

    builder = SourceBuilder(path, name, folder, **settings)
    if streaming:
        return builder.as_streaming_dataset(split)
    builder.download_and_prepare()
    return builder.as_dataset(split, in_memory=bool(keep_in_memory))
