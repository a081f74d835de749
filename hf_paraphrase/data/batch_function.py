"""Jobs over rows: functions from an Arrow table to an Arrow table that can be sent to other processes."""

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
"""The report of a batch, as JSON values that :func:`add_report` joins."""


def no_progress(rows: int) -> None:
    """Ignore progress."""


class BatchFunction(ABC):
    """A job over rows, which commands, `datasets.Dataset.map` (batched) and Ray Data apply to batches.

    A subclass is a frozen dataclass. Another process gets its fields and imports the same files of the user; models
    are cached properties, opened once per process. A path becomes a string, and a single string a tuple.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            # Annotations that are not evaluated are strings.
            if str(field.type) == "tuple[str, ...]":
                given = getattr(self, field.name)
                values = given if isinstance(given, tuple | list) else [given]
                names = [os.fspath(value) if isinstance(value, os.PathLike) else value for value in values]
                check_type(field.name, names, list[str])
                object.__setattr__(self, field.name, tuple(names))

    def __call__(self, table: pa.Table) -> pa.Table:
        """Apply the job to rows: a table, or a dictionary of columns."""
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
    """Add the report of a batch to the total: sum numbers, join lists, and merge mappings by key."""
    for name, value in report.items():
        if isinstance(value, Mapping):
            add_report(total.setdefault(name, {}), value)
        elif isinstance(value, list):
            total.setdefault(name, []).extend(value)
        else:
            total[name] = total.get(name, 0) + value
