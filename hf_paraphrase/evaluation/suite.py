"""What a suite is: data that is read once, scorers that are measured on it one by one, and tables of all of them.

A suite of the user is a function from the settings of `evaluate` to a :class:`Benchmark`, and a line:

    from hf_paraphrase.evaluation import Benchmark, Measurement, Scores, Suite
    from hf_paraphrase.registry import SUITES

    def read(settings): ...

    SUITES.register("mine")(Suite(read))
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..artefacts.card_heads import Measurement
from ..artefacts.provenance import fingerprint, versions
from ..data.folder import DataFolder
from ..data.records import read_records, schema_of_file
from ..data.schema import usual_pair_columns
from ..data.text_blocks import kind_of_rows
from ..data.text_files import Field, StrictLines, typed
from ..errors import InputError
from ..messages import INPUT_COPIES, as_given
from ..tables import format_table, number, short_names
from .baselines import Scorer

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

Row = tuple[Sequence[str], Sequence[float | None]]
NOTHING_TRAINED = "nothing was trained on top"
"""What the card says where only vectors were compared."""


@dataclass(frozen=True)
class Scores:
    """What one scorer reached on a benchmark; its `kind` is that of :class:`~.baselines.Scorer`.

    `record` is what was measured, as plain values for JSON, and `measurements` the numbers for the head of the card.
    """

    name: str
    kind: str
    record: Mapping[str, Any] = field(default_factory=dict, repr=False)
    measurements: tuple[Measurement, ...] = field(default=(), repr=False)


def side_by_side(header: Sequence[str], rows: Sequence[Row], names: Sequence[str], measures: str = "") -> str:
    """Formats a Markdown table of scorers beside each other.

    Each row has the cells of the `header`, and the values of all scorers in turn. `measures` are what the columns of
    each scorer are called, separated by commas; a single one has no name.
    """
    first, *others = measures.split(",")
    head = [*header, *(cell for name in short_names(names) for cell in (f"{name} {first}".strip(), *others))]
    return format_table(head, [[*cells, *map(number, values)] for cells, values in rows])


def format_measurements(scores: Sequence[Scores]) -> str:
    """Formats the measurements of several scorers as a Markdown table, one line a measurement."""
    rows = []
    for place, item in enumerate(scores[0].measurements):
        data = " ".join(part for part in (item.dataset, item.config, item.split) if part)
        rows.append(([data, item.name], [each.measurements[place].value for each in scores]))
    return side_by_side(["data", "measure"], rows, [item.name for item in scores])


@dataclass(frozen=True)
class Benchmark:
    """The data of a suite, read, and what is done with it.

    Attributes:
        measure: Measures one scorer.
        inputs: The files and folders that were read.
        protocol: What is measured, in a line.
        facts: What the results file says of the data besides.
        report: Lays out the tables of one or several scorers, ending in a newline.
        name: What was measured on what; in the provenance of a model a later evaluation of that name replaces this
            one. The suite's name by default.
        trained: What the card says was trained on top of the vectors.
    """

    measure: Callable[[Scorer], Scores]
    inputs: Sequence[Path] = ()
    protocol: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    report: Callable[[Sequence[Scores]], str] = format_measurements
    name: str | None = None
    trained: str = NOTHING_TRAINED

    def record(self, settings: EvaluateSettings) -> dict[str, Any]:
        """Builds what the results file and a model's provenance say of the data, as they are now, and settings."""
        given = settings.record()
        if len(settings.data) == 1:
            given["data"] = given["data"][0]
        inputs = [
            {
                "name": as_given(str(path)) if str(path) in INPUT_COPIES else f"{path.parent.name}/{path.name}",
                "sha256": fingerprint(path),
            }
            for path in self.inputs
        ]
        about = {"suite": settings.suite, "protocol": self.protocol, **self.facts}
        return {**about, "inputs": inputs, "settings": given, "versions": versions()}


@dataclass(frozen=True, repr=False)
class Suite:
    """A row of the registry of suites.

    Attributes:
        read: Checks the settings that are its own, and reads the data.
        recognise: Tells whether a file or folder is for this suite; the first of the registry that does has it. By
            default the suite must be named.
        several: Whether files and folders are read together; otherwise `read` is called for each of them.
        settings: Those of the settings of `evaluate` that are not for every suite and that this one has a use for.
        heading: The heading of the section of a card that `--update-card` writes.
    """

    read: Callable[[EvaluateSettings], Benchmark]
    recognise: Callable[[Path], bool] = lambda path: False
    several: bool = False
    settings: tuple[str, ...] = ()
    heading: str = "Evaluation"

    def __repr__(self) -> str:
        """Names it by its function, so that a file that is imported again registers the same suite."""
        return f"Suite({self.read.__module__}.{self.read.__qualname__})"


def named_folders(settings: EvaluateSettings) -> dict[str, Path]:
    """Returns the files and folders of data by names that are as long as it takes to distinguish them."""
    paths = [Path(path) for path in settings.data]
    resolved = [path.resolve() for path in paths]
    whole = [str(path if path.is_dir() else path.with_name(path.name.partition(".")[0])) for path in resolved]
    return dict(zip(short_names(whole), paths, strict=True))


def has_columns(*wanted: str, without: str = "") -> Callable[[Path], bool]:
    """Makes a recogniser of files and data folders by the names of their columns."""
    return lambda path: {*wanted} <= (present := columns_of(path)) and without not in present


def columns_of(path: Path) -> set[str]:
    """Lists the columns of a CSV, JSON lines or Parquet file or of a data folder, the sides of pairs by our names."""
    try:
        files = [path] if path.is_file() else []
        if path.is_dir() and not any(path.rglob("*.parquet")):
            files = sorted(file for file in path.iterdir() if file.suffix != ".json" and kind_of_rows(file))
        kind = kind_of_rows(files[0]) if files else None
        if kind in ("csv", "jsonl"):
            names = schema_of_file(files[0], kind).names
            return {*names, *usual_pair_columns(names)}
        folder = DataFolder(path)
        return {name for split in folder.splits for name in folder.schema(split).names}
    except (InputError, OSError):
        return set()


def read_columns(path: Path, split: str, fields: Sequence[Field]) -> tuple[str, pa.Table]:
    """Reads columns of a CSV, JSON lines or Parquet file, or of a split of a data folder.

    Returns:
        The name of the folder and the split, or of the file, and the columns.
    """
    name, kind = path.resolve().name, kind_of_rows(path) if path.is_file() else None
    columns = [column.name for column in fields]
    if kind in ("csv", "jsonl"):
        sides = usual_pair_columns(schema_of_file(path, kind).names)
        blocks = read_records(path, kind, {column: sides.get(column, column) for column in columns}, StrictLines())
        tables = [table for _, table in typed(blocks, fields, path, StrictLines())]
        table = pa.concat_tables(tables) if tables else pa.table({})
    else:
        folder = DataFolder(path)
        split = chosen_split(folder, split)
        table = folder.table(split, columns)
    name = name.partition(".")[0] if path.is_file() else f"{name}/{split}"
    if not table.num_rows:
        raise InputError(f"{name} has no rows", path=path, remedy="give data with rows, or another split")
    for column in fields:
        if column.kind == pa.string() and not column.may_be_null and table.column(column.name).null_count:
            row = table.column(column.name).is_null().index(True).as_py() + 1
            raise InputError(f"row {row} of {name} has no {column.name}", path=path, remedy="fill it in")
    return name, table


def chosen_split(folder: DataFolder, split: str) -> str:
    """Returns the split of a name, the one of labelled pairs that `prepare opusparcus` makes, or the only one.

    The only one stands in for a split with a usual name; another name was somebody's choice.
    """
    only = folder.splits if len(folder.splits) == 1 and split in ("validation", "dev", "test") else ()
    return next((name for name in (split, f"labelled.{split}", *only) if name in folder.splits), split)
