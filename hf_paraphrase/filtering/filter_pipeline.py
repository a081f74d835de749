"""The steps of a filter, and two passes over the pairs: the first chooses rows, the second copies them.

Memory holds one number per row, and a few more per remaining row for the steps that compare rows. The pairs stream
through as record batches, unless `--noise` or `--negatives` changes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from ..data.batch_function import BatchFunction, Progress, Report, add_report, no_progress
from ..data.decontamination import DecontaminationSettings, Decontaminator
from ..data.folder import DataFolder
from ..errors import InputError
from ..registry import SELECTIONS
from ..settings import seed_setting, setting
from ..tables import format_table
from ..text.words import count_words
from .measures import SIDES, find_sides, read_numeric
from .measuring import add_columns, list_columns_to_read, list_measurable_columns
from .selections import Selection, apply_selection, check_selections, find_selection, parse_selection

_ROW = "__row__"
_ON_DEMAND = list_measurable_columns((*SIDES, "source", "log_prob", "num_tokens"))


@dataclass(kw_only=True)
class FilterPipeline(DecontaminationSettings):
    """The steps of a filter."""

    drop_identical: bool = setting(
        "remove pairs whose sentences differ only in case, white space and invisible characters", False
    )
    keep: list[str] = setting(
        "comparisons of a column with numbers or text, in quotes, e.g. 'overlap_1<=0.7' '5<=length<=30' "
        "'language=en' 'domain in news,law', or "
        f"names of selections ({', '.join(SELECTIONS)}); all must hold; {', '.join(_ON_DEMAND)} are computed "
        "if they are not columns yet; score adds columns that need a model, such as perplexity",
        [],
    )
    one_per_reference: str | None = setting(
        "keep one translation of each reference (id): best = the lowest rank of the remaining ones",
        None,
        choices=["best"],
    )
    first: int | None = setting(
        "keep the first N of the remaining pairs: the best of a ranked list such as Opusparcus", None, at_least=1
    )
    max_tokens: int | None = setting(
        "keep the first of the remaining pairs, until their texts have N tokens (words between white space), to match "
        "the size of another training set (Sjöblom et al. 2018, section 4.3)",
        None,
        at_least=1,
    )
    sample: int | None = setting("number of the remaining pairs to draw; all if there are fewer", None, at_least=1)
    seed: int = seed_setting("random seed, also of the noise")

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        _ = self.selections

    @property
    def selections(self) -> tuple[Selection, ...]:
        """The predicates of `keep`, each once."""
        return tuple(dict.fromkeys(map(parse_selection, self.keep)))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the steps read, including the columns of named selections."""
        wanted = [column for selection in self.selections for column in selection.columns]
        wanted += ["rank"] if self.one_per_reference is not None else []
        return tuple(dict.fromkeys(wanted))


@dataclass(frozen=True)
class PairFilter(BatchFunction):
    """Keep the pairs that pass the steps for single pairs, and add the columns that these steps compute.

    The steps are, in this order, `drop_identical`, the selections `keep`, and a `decontaminator`.
    """

    keep: tuple[str, ...] = ()
    drop_identical: bool = False
    decontaminator: Decontaminator | None = None

    def process(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Return the pairs that pass, and the number of pairs left after each step."""
        report: Report = {"funnel": {}, "contamination": {}}
        left = table
        for step, left in self.passing(table, report):
            report["funnel"][step] = left.num_rows
        progress(table.num_rows)
        return left, report

    def passing(self, table: pa.Table, report: Report) -> Iterator[tuple[str, pa.Table]]:
        """Yield the name of each step and the pairs that pass it; add the counts of decontamination."""
        first = [find_selection("different", "not identical")] if self.drop_identical else []
        selections = list(dict.fromkeys([*first, *map(parse_selection, self.keep)]))
        table = add_columns(table, [column for selection in selections for column in selection.columns])
        yield "read", table
        for selection in selections:
            table = table.filter(pa.array(apply_selection(selection, table)))
            yield selection.text, table
        if self.decontaminator is not None:
            table, matched = self.decontaminator.process(table)
            report |= matched
            yield "decontaminated", table


@dataclass
class RowSelection:
    """The rows of a split that a filter keeps."""

    passed: np.ndarray
    """How many steps of the funnel each row passed, uint16 (rows,)."""
    funnel: dict[str, int] = field(default_factory=dict)
    """For each step, in their order, the number of pairs left after it."""
    contamination: dict[str, int] = field(default_factory=dict)
    """For each evaluation set that matched any row, how many it matched."""

    @property
    def kept(self) -> np.ndarray:
        """Which rows passed every step: bool (rows,)."""
        return np.asarray(self.passed == len(self.funnel))

    def add(self, step: str, rows: np.ndarray) -> None:
        """Record that some rows passed a step."""
        self.passed[rows] += 1
        self.funnel[step] = self.funnel.get(step, 0) + len(rows)


def format_funnel(funnel: Mapping[str, int]) -> str:
    """Format a funnel as a Markdown table: pairs left, pairs removed by the step, and the percentage left."""
    rows = []
    previous = first = next(iter(funnel.values()), 0)
    for step, count in funnel.items():
        removed = f"{previous - count:,}" if count < previous else ""
        rows.append([step, f"{count:,}", removed, f"{count / first if first else 0.0:.1%}"])
        previous = count
    return format_table(["step", "pairs", "removed", "left"], rows)


def check_any_left(selected: RowSelection, split: str, folder: DataFolder) -> None:
    """Raise an error if a filter leaves no row."""
    counts = selected.funnel or {"read": 0}
    step = next((name for name, count in counts.items() if count == 0), None)
    if step is not None:
        reason, remedy = f"nothing is left after `{step}`", "loosen that step; nothing was written"
        if step == "read":
            reason, remedy = "there are no pairs", "give a folder or a --split that has some"
        raise InputError(f"split `{split}`: {reason}", path=folder.path, remedy=remedy)


def choose_rows(
    folder: DataFolder, split: str, steps: FilterPipeline, progress: Progress = no_progress
) -> RowSelection:
    """Apply the steps of a filter, and return the rows that are left."""
    schema = folder.schema(split)
    sides = find_sides(schema.names)
    folder.require(*sides, *(["rank"] if steps.one_per_reference is not None else []), split=split)
    check_selections(steps.selections, schema)
    keeps = PairFilter(tuple(steps.keep), steps.drop_identical, steps.decontaminator(*sides))
    selected = RowSelection(np.zeros(folder.count(split), dtype=np.uint16))
    parts: list[dict[str, np.ndarray]] = []
    start = 0
    wanted = {*sides, "id", *list_columns_to_read(steps.columns, schema.names)}
    for record_batch in folder.batches(split, [name for name in schema.names if name in wanted]):
        rows = pa.array(np.arange(start, start + record_batch.num_rows))
        start += record_batch.num_rows
        table = pa.Table.from_batches([record_batch]).append_column(_ROW, rows)
        report: Report = {}
        for step, left in keeps.passing(table, report):
            selected.add(step, left.column(_ROW).to_numpy())
            table = left
        add_report(selected.contamination, report.get("contamination", {}))
        parts.append(_collect_columns(table, steps))
        progress(record_batch.num_rows)
    if parts:
        _compare_rows({name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, steps, selected)
    return selected


def _collect_columns(table: pa.Table, steps: FilterPipeline) -> dict[str, np.ndarray]:
    """Return row numbers, and the references, ranks and tokens that the steps across rows need."""
    columns = {_ROW: table.column(_ROW).to_numpy()}
    if steps.one_per_reference is not None:
        texts = table.column(find_sides(table.schema.names)[0]).to_pylist()
        ids = table.column("id").to_pylist() if "id" in table.schema.names else [None] * len(texts)
        # Hashes of 64 bits: the strings of a large corpus would not stay within memory.
        columns["reference"] = np.array([hash(pair) for pair in zip(ids, texts, strict=True)], dtype=np.int64)
        columns["rank"] = read_numeric(table, "rank")
    if steps.max_tokens is not None:
        columns["tokens"] = count_pair_tokens(table)
    return columns


def _compare_rows(columns: dict[str, np.ndarray], steps: FilterPipeline, selected: RowSelection) -> None:
    """Apply the steps across rows: one per reference, --first, --max-tokens and the sample."""

    def take(step: str, positions: np.ndarray | slice) -> None:
        nonlocal columns
        columns = {name: values[positions] for name, values in columns.items()}
        selected.add(step, columns[_ROW])

    if steps.one_per_reference is not None:
        best = choose_lowest(columns["reference"], columns["rank"])
        take(f"one per reference ({steps.one_per_reference})", best)
    if steps.first is not None:
        take(f"first {steps.first}", slice(steps.first))
    if steps.max_tokens is not None:
        # The pair that reaches the number counts (Sjöblom, Creutz and Aulamo 2018, sections 3.2 and 4.3).
        reached = int(np.searchsorted(np.cumsum(columns["tokens"]), steps.max_tokens)) + 1
        take(f"first {steps.max_tokens} tokens", slice(reached))
    if steps.sample is not None:
        rows = columns[_ROW]
        drawn = draw_shared(rows, steps.sample, len(selected.passed), steps.seed)
        take(f"sample {steps.sample}", np.searchsorted(rows, drawn))


def choose_lowest(references: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Choose for each reference the row of the lowest value, ascending; NaN counts as highest."""
    order = np.argsort(values, kind="stable")
    _, first = np.unique(references[order], return_index=True)
    return np.sort(order[first])


def draw_shared(rows: np.ndarray, size: int, total: int, seed: int) -> np.ndarray:
    """Draw `size` of some rows of a folder of `total` rows, ascending; all if there are fewer.

    The seed defines one random order of all rows of the folder, and the first of `rows` in this order are drawn. So
    the samples of two filters with the same seed differ only where the filters differ.
    """
    if size >= len(rows):
        return np.sort(rows)
    ranks = np.random.default_rng([seed, 1]).random(total)[rows]
    return np.sort(rows[np.argpartition(ranks, size)[:size]])


def count_pair_tokens(table: pa.Table) -> np.ndarray:
    """Count the whitespace-separated words of both sentences of each pair: (rows,), int64."""
    sides = find_sides(table.schema.names)
    first, second = (table.column(name).cast(pa.string()).combine_chunks() for name in sides)
    return count_words(first) + count_words(second)


def kept_batches(folder: DataFolder, split: str, kept: np.ndarray, steps: FilterPipeline) -> Iterator[pa.Table]:
    """Stream the rows that :func:`choose_rows` keeps, in their order, with the columns computed for the steps."""
    for batch in folder.batches(split, rows=kept):
        if batch.num_rows:
            yield add_columns(pa.Table.from_batches([batch]), steps.columns)
