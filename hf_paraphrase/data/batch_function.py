"""A job over rows: a callable from an Arrow table to an Arrow table that travels to other processes."""

from __future__ import annotations

import dataclasses
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..registry import import_file, imported_files
from ..settings import check_type

if TYPE_CHECKING:
    import pyarrow as pa

Progress = Callable[[int], object]
"""Called with the number of rows done since the last call."""
Report = dict[str, Any]
"""What there is to say of a batch besides its rows, as JSON values that :func:`add_report` joins."""


def no_progress(rows: int) -> None:
    """Ignore progress."""


class BatchFunction(ABC):
    """A job over rows, as the verbs, `datasets.Dataset.map` (batched) and Ray Data apply it to batches.

    A subclass is a frozen dataclass. Its fields are all that it takes along to another process, with the files of the
    user that this one has imported; models are cached properties, opened once per process. As in
    the settings of the verbs a path object is taken for its name, and one string for a tuple of it.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            # The type is a text where annotations are not evaluated.
            if str(field.type) == "tuple[str, ...]":
                given = getattr(self, field.name)
                values = given if isinstance(given, tuple | list) else [given]
                names = [os.fspath(value) if isinstance(value, os.PathLike) else value for value in values]
                check_type(field.name, names, list[str])
                object.__setattr__(self, field.name, tuple(names))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Apply the job to rows; a dictionary of columns gives another one."""
        if isinstance(table, Mapping):
            import pyarrow as pa

            return self.process(pa.Table.from_pydict(dict(table)))[0].to_pydict()
        return self.process(table)[0]

    @abstractmethod
    def process(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Apply the job to rows, and return the new rows and a report."""

    def __reduce__(self) -> tuple[Any, ...]:
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return _made_again, (type(self), {name: getattr(self, name) for name in names}, imported_files())


def _made_again(kind: type[BatchFunction], fields: Mapping[str, Any], files: list[str]) -> BatchFunction:
    for path in files:
        if path not in imported_files():
            import_file(path)
    return kind(**fields)


def add_report(total: Report, report: Mapping[str, Any]) -> None:
    """Add the report of a batch to the total: numbers are summed, lists are joined, mappings are merged by key."""
    for name, value in report.items():
        if isinstance(value, Mapping):
            add_report(total.setdefault(name, {}), value)
        elif isinstance(value, list):
            total.setdefault(name, []).extend(value)
        else:
            total[name] = total.get(name, 0) + value
