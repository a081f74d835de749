"""The recipe of the verb `tune`: encoders are trained on many selections of pairs, and the dev set chooses."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import write_text_whole
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder
from ...encoders.train_settings import EncoderSettings
from ...errors import InputError
from ...evaluation.dev import dev_sets, read_test_sets
from ...evaluation.figures import check_plots
from ...messages import log
from ...settings import recipe
from .choice import Cell, ChosenCell, TuningRun, choose_by_dev, compare_cells, mean_test
from .grids import RANDOM, RECOLLECTED, FilterRange
from .report import bins_table, cells_table, filters_table, plot_grid, ranges_table, runs_csv
from .runs import NOTES, TuningRuns, noted_runs
from .selection_pool import SelectionPool
from .settings import TuneSettings
from .tuned_encoders import encoder_files, encoder_settings, run_settings

Runs = dict[Cell, list[TuningRun]]
"""The runs of every cell, one a seed."""
_BINS = "length_bins"


@dataclass(frozen=True)
class Tuned:
    """The results of a grid of training runs.

    Attributes:
        folder: The folder of the tables, the plot and the card.
        grid: The runs of every cell, with the seeds of the grid; empty where nothing was left to do.
        chosen: For each (encoder, filter, data set) what the dev set chose, beside the random selection; likewise.
    """

    folder: Path
    table: str
    grid: Mapping[Cell, Sequence[TuningRun]]
    chosen: Mapping[tuple[str, str, str], ChosenCell]


@recipe(TuneSettings)
def tune(settings: TuneSettings) -> Tuned:
    """Trains encoders on many selections of pairs, and chooses among them on the dev set (paper 000, section 5.4).

    Returns:
        The table of the filters, the runs and what was chosen.
    """
    check_plots()
    pairs, points = settings.data_sets, settings.points
    given = {name: getattr(settings, name) for name in ("initial_vectors", "epochs")}
    given = {name: value for name, value in given.items() if value is not None}
    encoders = dict(encoder_settings(name, **given) for name in settings.encoders)
    with Artefact(
        settings.output,
        command="tune",
        settings=settings,
        inputs=_inputs(settings, encoders),
        overwrite=settings.overwrite,
        resume=settings.resume,
        free=["runs_from"],
    ) as artefact:
        if artefact.finished:
            output = artefact.target
            return Tuned(output, (output / "table.md").read_text(encoding="utf-8"), {}, {})
        dev_sets(Path(settings.dev_data))
        tests, missing = ([], []) if settings.data is None else read_test_sets(Path(settings.data))
        pools = {name: _pool(settings, folder) for name, folder in pairs.items()}
        _check_selections(settings, pools)
        others = dict(noted_runs(Path(folder)) for folder in settings.runs_from)
        artefact.checkpoint(NOTES)
        runs = TuningRuns(
            artefact.staging, pairs, pools, encoders, Path(settings.dev_data), tests, settings.sample, others
        )
        if runs.known:
            log(f"{runs.known} finished runs found")
        grid = _train_grid(runs, list(pairs), list(encoders), points, settings.seeds[: settings.grid_seeds])
        chosen = choose_by_dev(grid)
        final = _train_more(runs, grid, chosen, points, settings.seeds)
        scores = {graded.key: graded.scores for graded in tests}
        compared = {
            key: compare_cells(
                cell,
                final[cell],
                final[Cell(cell.data, cell.encoder, RANDOM, "")],
                scores,
                replicates=settings.bootstrap,
            )
            for key, cell in chosen.items()
        }
        table = filters_table(compared, list(pairs), list(encoders), bool(tests))
        tuned = Tuned(Path(settings.output), table, grid, compared)
        bins, ends = _compared_bins(grid, scores, settings.bootstrap) if settings.test_all and tests else ({}, {})
        shutil.rmtree(artefact.staging / "trainer", ignore_errors=True)
        _finish(settings, artefact, tuned, encoders, final, bins, ends, missing, len(tests), runs)
    if settings.runs_from:
        log(f"{runs.taken} of {runs.known} runs were taken over from {', '.join(settings.runs_from)}")
    _say_best(settings, tuned, list(encoders), pools)
    return tuned


def _inputs(settings: TuneSettings, encoders: Mapping[str, EncoderSettings]) -> list[str]:
    data = [settings.dev_data, *([settings.data] if settings.data else [])]
    return [*map(str, settings.data_sets.values()), *data, *encoder_files(settings.encoders, encoders.values())]


def _pool(settings: TuneSettings, folder: Path) -> SelectionPool:
    way = settings.one_per_reference
    pairs = DataFolder(folder)
    columns = pairs.schema().names
    if way == "auto":
        way = "best" if "rank" in columns else "none"
    if "classifier_seen" in columns:
        seen = sum(
            sum(value == 1 for value in batch.column("classifier_seen").to_pylist())
            for batch in pairs.batches(columns=["classifier_seen"])
        )
        if seen:
            log(f"{folder}: {seen:,} rows are of references that a classifier has seen; `filter` leaves them out")
    selections = [selection for point in settings.points for selection in point.selections]
    pool = SelectionPool(folder, selections, None if way == "none" else way)
    if pool.unusable:
        log(f"{folder}: {pool.unusable:,} of {pool.num_rows:,} rows have an empty side or a label other than 1")
    return pool


def _check_selections(settings: TuneSettings, pools: Mapping[str, SelectionPool]) -> None:
    """Logs which ranges select nothing or too little; refuses a grid of which only the random selection is left."""
    left, points = 0, settings.points
    for name, pool in pools.items():
        _check_share(settings, pool)
        counts = {point: len(pool.select(point.selections, settings.sample, settings.seeds[0])[0]) for point in points}
        nothing = [point.label for point, count in counts.items() if not count]
        few = [point for point, count in counts.items() if 0 < count < settings.sample]
        if nothing:
            log(f"{name}: nothing is selected by {', '.join(nothing)}; left out")
        if few:
            log(
                f"{name}: {len(few)} of {len(points)} selections have fewer than {settings.sample:,} pairs and are "
                f"trained on what there is ({min(counts[point] for point in few):,} at least)"
            )
        left += sum(count > 0 for point, count in counts.items() if point.selections)
    if not left:
        raise InputError(
            "the grid selects nothing: no pair is in any of its ranges",
            path=next(iter(pools.values())).folder,
            remedy="look at the columns' values, e.g. with hf-paraphrase score",
        )


def _check_share(settings: TuneSettings, pool: SelectionPool) -> None:
    """Refuses a pool that is too small for draws that differ."""
    _, available = pool.select((), settings.sample, settings.seeds[0])
    if settings.largest_share is None or settings.sample <= settings.largest_share * available:
        return
    needed = math.ceil(settings.sample / settings.largest_share)
    raise InputError(
        f"{available:,} pairs to draw {settings.sample:,} from: two draws would share more than "
        f"{settings.largest_share:g} of their pairs",
        path=pool.folder,
        remedy=f"give {needed:,} pairs, or a --sample of {int(settings.largest_share * available):,} at most",
    )


def _train_grid(
    runs: TuningRuns, data: Sequence[str], encoders: Sequence[str], points: Sequence[FilterRange], seeds: Sequence[int]
) -> Runs:
    grid: Runs = {}
    total = len(data) * len(encoders) * len(points) * len(seeds)
    with tqdm(desc="tune", total=total, unit=" cells") as bar:
        for name in data:
            for encoder in encoders:
                for point in points:
                    for seed in seeds:
                        run = runs.run(name, encoder, point, seed)
                        bar.update()
                        if run is None:
                            continue
                        cell = Cell(name, encoder, point.filter, point.label)
                        grid.setdefault(cell, []).append(run)
                        bar.set_postfix_str(f"{name} {encoder} {point.label or point.filter}: dev {run.dev:.1f}")
    return grid


def _train_more(
    runs: TuningRuns,
    grid: Runs,
    chosen: dict[tuple[str, str, str], Cell],
    points: Sequence[FilterRange],
    seeds: Sequence[int],
) -> Runs:
    """Trains what was chosen, and the random selection, with the seeds that the grid did without."""
    by_name = {(point.filter, point.label): point for point in points}
    wanted = [cell for cell in grid if cell.filter == RANDOM or cell in chosen.values()]
    final: Runs = {}
    with tqdm(desc="more seeds", total=len(wanted) * len(seeds), unit=" runs") as bar:
        for cell in wanted:
            for seed in seeds:
                run = runs.run(cell.data, cell.encoder, by_name[cell.filter, cell.range], seed)
                bar.update()
                if run is not None:
                    final.setdefault(cell, []).append(run)
    return final


def _difference_record(item: ChosenCell) -> dict[str, float | None] | None:
    return None if item.difference is None else item.difference.interval().record()


def _compared_bins(
    grid: Runs, scores: dict[str, Any], replicates: int
) -> tuple[dict[Cell, ChosenCell], dict[tuple[str, str], ChosenCell]]:
    """Compares every bin of table 5 with the random selection and the last with the first, over the grid's seeds."""
    bins: dict[tuple[str, str], list[Cell]] = {}
    for cell in grid:
        if cell.filter == _BINS:
            bins.setdefault((cell.data, cell.encoder), []).append(cell)
    compared = {
        cell: compare_cells(
            cell, grid[cell], grid[Cell(cell.data, cell.encoder, RANDOM, "")], scores, replicates=replicates
        )
        for cell in grid
        if cell.filter in (RANDOM, _BINS) and bins
    }
    ends = {
        key: compare_cells(cells[-1], grid[cells[-1]], grid[cells[0]], scores, replicates=replicates)
        for key, cells in bins.items()
        if len(cells) > 1
    }
    return compared, ends


def _finish(
    settings: TuneSettings,
    artefact: Artefact,
    tuned: Tuned,
    encoders: Mapping[str, EncoderSettings],
    final: Runs,
    compared_bins: Mapping[Cell, ChosenCell],
    ends: Mapping[tuple[str, str], ChosenCell],
    missing: Sequence[str],
    num_tests: int,
    runs: TuningRuns,
) -> None:
    staging, pairs, grid, compared = artefact.staging, settings.data_sets, tuned.grid, tuned.chosen
    chosen = [item.cell for item in compared.values()]
    shown = {cell for cell in grid if settings.test_all or cell in chosen or cell.filter == RANDOM}
    write_text_whole(staging / "table.csv", runs_csv({**grid, **final}, shown, chosen))
    cells = cells_table(compared, num_tests > 0)
    ranges = ranges_table(grid, compared, settings.test_all and num_tests > 0)
    bins = bins_table(compared_bins, ends) if compared_bins else ""
    write_text_whole(staging / "table.md", "\n".join([tuned.table, cells, ranges, *([bins] if bins else [])]))
    plot_grid(grid, chosen, staging / "tuning.png")
    results = {
        "chosen": [
            {
                **vars(item.cell),
                "dev": item.dev,
                "test": item.test,
                "test_random": mean_test(item.baseline),
                "difference": _difference_record(item),
                "epochs": [run.epoch for run in item.runs],
                "pairs": [run.pairs for run in item.runs],
            }
            for item in compared.values()
        ],
        "length_bins": [
            {
                **vars(cell),
                "dev": item.dev,
                "test": item.test,
                "difference": _difference_record(item),
                "pairs": [run.pairs for run in item.runs],
            }
            for cell, item in compared_bins.items()
        ],
        "last_minus_first_bin": [
            {"data": data, "encoder": encoder, "difference": _difference_record(item)}
            for (data, encoder), item in ends.items()
        ],
        "encoders": {name: run_settings(item) for name, item in encoders.items()},
        "runs": runs.known,
        "cells": len(grid),
        "test_sets_missing": list(missing),
    }
    used = {cell.filter for cell in grid}
    card = Card(
        "tuning",
        {
            "name": Path(settings.output).name,
            "data": {name: path.resolve().name for name, path in pairs.items()},
            "encoders": {name: f"{item.model_type}, {item.epochs:g} epochs" for name, item in encoders.items()},
            "filters_table": tuned.table,
            "cells_table": cells,
            "ranges_table": ranges,
            "bins_table": bins,
            "fewer_data": " data sets) " in tuned.table,
            "recollected": sorted(used & set(settings.filters) & RECOLLECTED),
            "num_tests": num_tests,
            "missing": list(missing),
            "seeds": settings.seeds,
            "grid_seeds": settings.grid_seeds,
            "sample": settings.sample,
            "bootstrap": settings.bootstrap,
            "dev_name": to_path(settings.dev_data).resolve().name,
            "test_all": settings.test_all,
            "notes": NOTES,
        },
        report=True,
    )
    artefact.finish(results=results, card=card)


def _say_best(
    settings: TuneSettings, tuned: Tuned, encoders: Sequence[str], pools: Mapping[str, SelectionPool]
) -> None:
    for encoder in encoders:
        items = [item for (name, _, _), item in tuned.chosen.items() if name == encoder]
        best = max(items, key=lambda item: item.dev)
        what = f"{best.cell.filter} {best.cell.range}".strip()
        log(f"{encoder}: best on dev is {what} of {best.cell.data} ({best.dev:.1f}); make its pairs with")
        pool = pools[best.cell.data]
        parts = [part.strip() for part in best.cell.range.split(",") if part.strip()]
        keep = "".join(f" --keep '{part}'" for part in [*pool.usable_texts, *parts])
        one = "" if pool.one_per_reference is None else f" --one-per-reference {pool.one_per_reference}"
        log(
            f"  hf-paraphrase filter --pairs {pool.folder}{keep}{one} --sample {settings.sample} "
            f"--seed {settings.seeds[0]} --output DIR"
        )
