"""The recipe of the verb `tune`: encoders are trained on many selections of pairs, and the dev set chooses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import write_text_whole
from ...artefacts.remote_paths import to_path
from ...encoders.train_settings import EncoderSettings
from ...errors import InputError
from ...evaluation.dev import dev_sets, read_test_sets
from ...messages import log
from ...settings import recipe
from .results import (
    Cell,
    ComparedCell,
    Runs,
    TuningRun,
    cells_table,
    choose_by_dev,
    compare_cells,
    filters_table,
    ranges_table,
)
from .runs import RUNS, SelectionPool, TuningRuns
from .settings import RANDOM, FilterRange, TuneSettings, encoder_settings, files_of, run_settings

_BINS = "length_bins"
_SHOWN = ("seed", "available", "pairs", "dev", "epoch")


@dataclass(frozen=True)
class Tuned:
    """The results of a grid of training runs; where nothing was left to do, only their folder and table.

    Attributes:
        grid: The runs of every cell, with the seeds of the grid.
        chosen: For each (encoder, filter, data set) what the dev set chose, beside the random selection.
    """

    folder: Path
    table: str
    grid: Runs
    chosen: Mapping[tuple[str, str, str], ComparedCell]

    def __str__(self) -> str:
        return self.table


@recipe(TuneSettings)
def tune(settings: TuneSettings) -> Tuned:
    """Trains encoders on many selections of pairs, and chooses among them on the dev set (paper 000, section 5.4)."""
    given = {name: getattr(settings, name) for name in ("initial_vectors", "epochs")}
    given = {name: value for name, value in given.items() if value is not None}
    encoders = dict(encoder_settings(name, **given) for name in settings.encoders)
    data = [settings.dev_data, *([settings.data] if settings.data else [])]
    files = sorted({*settings.files, *(path for encoder in encoders.values() for path in files_of(encoder))})
    with Artefact(
        settings.output,
        command="tune",
        settings=settings,
        inputs=[*map(str, settings.data_sets.values()), *data, *files],
        overwrite=settings.overwrite,
        resume=settings.resume,
    ) as artefact:
        if artefact.finished:
            output = artefact.target
            return Tuned(output, (output / "table.md").read_text(encoding="utf-8"), {}, {})
        dev_sets(Path(settings.dev_data))
        tests, missing = ([], []) if settings.data is None else read_test_sets(Path(settings.data))
        pools = {name: SelectionPool(folder, settings.sample) for name, folder in settings.data_sets.items()}
        _check_selections(settings, pools)
        artefact.checkpoint(RUNS).mkdir(parents=True, exist_ok=True)
        runs = TuningRuns(artefact.staging / RUNS, pools, encoders, Path(settings.dev_data), tests)
        points = {
            Cell(data_set, encoder, point.filter, point.label): point
            for data_set in pools
            for encoder in encoders
            for point in settings.points
        }
        grid = _train(runs, points, settings.seeds[: settings.grid_seeds], "tune")
        chosen = choose_by_dev(grid)
        more = {cell: points[cell] for cell in grid if cell.filter == RANDOM or cell in chosen.values()}
        final = _train(runs, more, settings.seeds, "more seeds")
        scores = {graded.key: graded.scores for graded in tests}

        def compare(made: Runs, cell: Cell, baseline: Cell) -> ComparedCell:
            return compare_cells(cell, made[cell], made[baseline], scores, replicates=settings.bootstrap)

        compared = {key: compare(final, cell, cell.random) for key, cell in chosen.items()}
        tested_all = [compare(grid, cell, cell.random) for cell in grid] if settings.test_all and tests else []
        ends = [compare(grid, last, first) for first, last in _ends_of_bins(grid)] if tested_all else []
        tables = {
            "filters_table": filters_table(compared, list(pools), list(encoders), bool(tests)),
            "cells_table": cells_table(compared.values(), bool(tests)),
            "ranges_table": cells_table(tested_all, True) if tested_all else ranges_table(grid, chosen.values()),
            "ends_table": cells_table(ends, True, "first bin") if ends else "",
        }
        write_text_whole(artefact.staging / "table.md", "\n".join(text for text in tables.values() if text))
        results = {
            "chosen": [item.record() for item in compared.values()],
            "tested": [item.record() for item in tested_all],
            "last_minus_first_bin": [item.record() for item in ends],
            "encoders": {name: run_settings(item) for name, item in encoders.items()},
            "grid": [
                {**vars(cell), "runs": [{name: getattr(run, name) for name in _SHOWN} for run in made]}
                for cell, made in {**grid, **final}.items()
            ],
            "test_sets_missing": missing,
        }
        artefact.finish(results=results, card=_card(settings, encoders, len(tests), missing, tables))
    for encoder in encoders:
        _log_best(settings, [item for item in compared.values() if item.cell.encoder == encoder], pools)
    return Tuned(Path(settings.output), tables["filters_table"], grid, compared)


def _check_selections(settings: TuneSettings, pools: Mapping[str, SelectionPool]) -> None:
    """Logs which ranges select nothing or too little; refuses a grid of which only the random selection is left."""
    left = 0
    for name, pool in pools.items():
        sizes = {point: pool.select(point, settings.seeds[0])[1] for point in settings.points}
        if nothing := [point.label for point, size in sizes.items() if not size]:
            log(f"{name}: nothing is selected by {', '.join(nothing)}; left out")
        if few := [size for size in sizes.values() if 0 < size < settings.sample]:
            log(
                f"{name}: {len(few)} of {len(sizes)} selections have fewer pairs than --sample ({min(few):,} at least)"
            )
        left += sum(size > 0 for point, size in sizes.items() if point.selections)
    if not left:
        raise InputError(
            "the grid selects nothing: no pair is in any of its ranges",
            path=next(iter(pools.values())).folder,
            remedy="look at the columns' values, e.g. with hf-paraphrase score",
        )


def _train(runs: TuningRuns, points: Mapping[Cell, FilterRange], seeds: Sequence[int], what: str) -> Runs:
    """Makes the runs of some cells; a cell of which the filter selects nothing has none."""
    made: dict[Cell, list[TuningRun]] = {}
    with tqdm(desc=what, total=len(points) * len(seeds), unit=" runs") as bar:
        for cell, point in points.items():
            for seed in seeds:
                run = runs.run(cell.data, cell.encoder, point, seed)
                bar.update()
                if run is not None:
                    made.setdefault(cell, []).append(run)
                    bar.set_postfix_str(f"{cell.data} {cell.encoder} {cell.range or cell.filter}: dev {run.dev:.1f}")
    return made


def _ends_of_bins(grid: Runs) -> list[tuple[Cell, Cell]]:
    """Returns the first and the last bin of length of each data set and encoder that has two or more."""
    bins: dict[tuple[str, str], list[Cell]] = {}
    for cell in grid:
        if cell.filter == _BINS:
            bins.setdefault((cell.data, cell.encoder), []).append(cell)
    return [(cells[0], cells[-1]) for cells in bins.values() if len(cells) > 1]


def _card(
    settings: TuneSettings,
    encoders: Mapping[str, EncoderSettings],
    num_tests: int,
    missing: Sequence[str],
    tables: Mapping[str, str],
) -> Card:
    values = {
        "data": {name: path.resolve().name for name, path in settings.data_sets.items()},
        "encoders": {name: f"{item.model_type}, {item.epochs:g} epochs" for name, item in encoders.items()},
        "num_tests": num_tests,
        "missing": list(missing),
        "dev_name": to_path(settings.dev_data).resolve().name,
        **{name: getattr(settings, name) for name in ("seeds", "grid_seeds", "sample", "bootstrap")},
        **tables,
    }
    return Card("tuning", values, report=True)


def _log_best(settings: TuneSettings, items: Iterable[ComparedCell], pools: Mapping[str, SelectionPool]) -> None:
    best = max(items, key=lambda item: item.dev)
    cell, pool = best.cell, pools[best.cell.data]
    what = f"{cell.filter} {cell.range}".strip()
    log(f"{cell.encoder}: best on dev is {what} of {cell.data} ({best.dev:.1f}); make its pairs with")
    ranges = [part.strip() for part in cell.range.split(",") if part.strip()]
    keep = "".join(f" --keep '{part}'" for part in [*pool.usable, *ranges])
    one = "" if pool.one_per_reference is None else f" --one-per-reference {pool.one_per_reference}"
    log(
        f"  hf-paraphrase filter --pairs {pool.folder}{keep}{one} --sample {settings.sample} "
        f"--seed {settings.seeds[0]} --output DIR"
    )
