"""`tune`: trains encoders on many selections of pairs and chooses the best on the dev set."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, check_unfinished, output_folder, write_text_whole
from ..artefacts.provenance import write_provenance
from ..data.parquet import iterate_batches, read_schema
from ..errors import InputError, UsageError
from ..evaluation.dev import dev_sets
from ..evaluation.figures import check_plots
from ..evaluation.reported_sets import read_test_sets
from ..filtering.best_rows import WAYS
from ..filtering.tuning.selection_pool import SelectionPool
from ..filtering.tuning.tuning_choice import Cell, ChosenCell, TuningRun, choose_by_dev, compare_with_random, mean_test
from ..filtering.tuning.tuning_grids import GRIDS, RANDOM, RECOLLECTED, FilterRange, filter_ranges
from ..filtering.tuning.tuning_plot import plot_grid
from ..filtering.tuning.tuning_tables import bins_table, cells_table, filters_table, ranges_table, runs_csv
from ..messages import say
from ..settings import setting, settings_of
from .arguments import parse
from .tune_runs import NOTES, SIMILARITIES, TuningRuns, encoder_files, encoder_settings, run_settings

Grid = dict[Cell, list[TuningRun]]
_BINS = "length_bins"


@dataclass
class Arguments:
    """Trains one encoder for each range of each filter on each data set, and chooses by the dev mean alone.

    Test means are reported for what was chosen and for the random selection, over several seeds, with the interval of
    a paired bootstrap over the sentence pairs of the test sets. The ranges are those of paper 000.
    """

    pairs: list[str] = setting("data folders of pairs, each as NAME=DIR or DIR", [])
    output: str = setting("the folder to make", "")
    dev_data: str = setting("folder with the STS 2016 sets, or a graded data folder, on which all is chosen", "")
    data: str | None = setting(
        "folder with the test sets (STS 2012 to 2015, SICK, Twitter) or a graded data folder; without it there are no "
        "test means",
        None,
    )
    filters: list[str] = setting(f"which filters, separated by commas or spaces: {', '.join(GRIDS)}", [])
    keep: list[str] = setting(
        "further ranges as for filter, in quotes; commas join comparisons that must all hold, e.g. "
        "'overlap_1<=0.7,bleu<0.5'; among those over the same columns one is chosen",
        [],
    )
    encoders: list[str] = setting(
        "model types, or YAML files of train-encoder as FILE or NAME=FILE [default: avg]", []
    )
    initial_vectors: str | None = setting("word vectors that all encoders start from, as for train-encoder", None)
    epochs: float | None = setting(
        "passes over the pairs at most; the best of them is chosen [default: as train-encoder]", None
    )
    sample: int = setting("pairs to train on; a filter that leaves fewer is trained on those", 24_000)
    one_per_reference: str = setting(
        "keep one translation of each reference: best, random, diverse, or none [default: best where there are ranks]",
        "auto",
    )
    seeds: list[int] = setting(
        "seeds of the sample and the training, for the chosen cells and the random selection [default: 0 1 2]", []
    )
    grid_seeds: int = setting("how many of the seeds every cell of the grid is trained with", 1)
    bootstrap: int = setting("bootstrap replicates", 1000)
    test_all: bool = setting(
        "also report the test means of all cells, and those of length_bins with their difference from random (table "
        "5); they choose nothing",
        False,
    )
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("continue an unfinished grid; its finished runs are kept, whatever else has changed", False)


def main(argv: Sequence[str]) -> None:
    """Runs `tune`.

    Raises:
        UsageError: For arguments that do not fit.
        InputError: For unreadable data, or a grid that selects nothing.
        OutputError: If the output is in the way.
    """
    arguments = parse(Arguments, "tune", argv)
    pairs = _check(arguments)
    target = check_output(arguments.output, overwrite=arguments.overwrite)
    check_unfinished(target, overwrite=arguments.overwrite, resume=arguments.resume)
    check_plots()
    words = [] if arguments.initial_vectors is None else ["--initial-vectors", arguments.initial_vectors]
    words += [] if arguments.epochs is None else ["--epochs", str(arguments.epochs)]
    encoders = dict(encoder_settings(name, words) for name in arguments.encoders)
    points = filter_ranges(arguments.filters, arguments.keep)
    dev_sets(Path(arguments.dev_data))
    tests, missing = ([], []) if arguments.data is None else read_test_sets(Path(arguments.data))
    pools = {name: _pool(arguments, folder, points) for name, folder in pairs.items()}
    _check_selections(arguments, pools, points)
    with output_folder(arguments.output, overwrite=arguments.overwrite, resume=arguments.resume) as staging:
        runs = TuningRuns(staging, pairs, pools, encoders, Path(arguments.dev_data), tests, sample=arguments.sample)
        if runs.known:
            say(f"{runs.known} finished runs found")
        first = arguments.seeds[: arguments.grid_seeds]
        grid = _train_grid(runs, list(pairs), list(encoders), points, first)
        chosen = choose_by_dev(grid)
        final = _train_more(runs, grid, chosen, points, arguments.seeds)
        scores = {graded.key: graded.scores for graded in tests}
        compared = {
            key: compare_with_random(
                cell,
                final[cell],
                final[Cell(cell.data, cell.encoder, RANDOM, "")],
                scores,
                replicates=arguments.bootstrap,
            )
            for key, cell in chosen.items()
        }
        bins = _compared_bins(grid, scores, arguments.bootstrap) if arguments.test_all and tests else {}
        _write(arguments, staging, pairs, encoders, grid, final, compared, bins, missing, len(tests), runs)
        shutil.rmtree(staging / SIMILARITIES)
        shutil.rmtree(staging / "trainer", ignore_errors=True)
    sys.stdout.write(filters_table(compared, list(pairs), list(encoders), bool(tests)))
    for line in _best_lines(compared, list(encoders), pools, arguments):
        say(line)


def _check(arguments: Arguments) -> dict[str, Path]:
    """Checks the arguments, puts defaults in their places, and returns the folder of each data set by its name."""
    for name in ("pairs", "output", "dev_data"):
        if not getattr(arguments, name):
            raise UsageError(f"tune: --{name.replace('_', '-')} is missing")
    arguments.filters = [part for word in arguments.filters for part in word.replace(",", " ").split()]
    if not arguments.filters and not arguments.keep:
        arguments.filters = ["length"]
    arguments.encoders = arguments.encoders or ["avg"]
    arguments.seeds = list(dict.fromkeys(arguments.seeds)) or [0, 1, 2]
    for name in ("sample", "grid_seeds", "bootstrap"):
        if getattr(arguments, name) < 1:
            raise UsageError(
                f"tune: --{name.replace('_', '-')} is {getattr(arguments, name)}", remedy="give 1 or more"
            )
    if arguments.grid_seeds > len(arguments.seeds):
        raise UsageError(
            f"tune: --grid-seeds is {arguments.grid_seeds}, but there are {len(arguments.seeds)} seeds",
            remedy="give more --seeds",
        )
    if min(arguments.seeds) < 0:
        raise UsageError(f"tune: the seed {min(arguments.seeds)} is negative", remedy="give 0 or more")
    if arguments.one_per_reference not in ("auto", "none", *WAYS):
        raise UsageError(
            f"tune: --one-per-reference `{arguments.one_per_reference}` is unknown",
            remedy=f"one of {', '.join(WAYS)}, none",
        )
    pairs: dict[str, Path] = {}
    for word in arguments.pairs:
        name, equals, folder = word.partition("=")
        path = Path(folder if equals else word)
        name = name if equals else path.resolve().name
        if name in pairs:
            raise UsageError(f"tune: two data sets are called {name}", remedy="give them names: NAME=DIR")
        pairs[name] = path
    return pairs


def _pool(arguments: Arguments, folder: Path, points: Sequence[FilterRange]) -> SelectionPool:
    way = arguments.one_per_reference
    schema = read_schema(folder)
    if way == "auto":
        way = "best" if "rank" in schema.names else "none"
    if "classifier_seen" in schema.names:
        seen = sum(
            sum(value == 1 for value in batch.column("classifier_seen").to_pylist())
            for batch in iterate_batches(folder, columns=["classifier_seen"])
        )
        if seen:
            say(f"{folder}: {seen:,} rows are of references that a classifier has seen; `filter` leaves them out")
    selections = [selection for point in points for selection in point.selections]
    pool = SelectionPool(folder, selections, None if way == "none" else way)
    if pool.unusable:
        say(f"{folder}: {pool.unusable:,} of {pool.num_rows:,} rows have an empty side or a label other than 1")
    return pool


def _check_selections(arguments: Arguments, pools: dict[str, SelectionPool], points: Sequence[FilterRange]) -> None:
    """Says which ranges select nothing or too little; refuses a grid of which only the random selection is left."""
    left = 0
    for name, pool in pools.items():
        counts = {
            point: len(pool.select(point.selections, arguments.sample, arguments.seeds[0])[0]) for point in points
        }
        nothing = [point.label for point, count in counts.items() if not count]
        few = [point for point, count in counts.items() if 0 < count < arguments.sample]
        if nothing:
            say(f"{name}: nothing is selected by {', '.join(nothing)}; left out")
        if few:
            say(
                f"{name}: {len(few)} of {len(points)} selections have fewer than {arguments.sample:,} pairs and are "
                f"trained on what there is ({min(counts[point] for point in few):,} at least)"
            )
        left += sum(count > 0 for point, count in counts.items() if point.selections)
    if not left:
        raise InputError(
            "the grid selects nothing: no pair is in any of its ranges",
            path=next(iter(pools.values())).folder,
            remedy="look at the columns' values, e.g. with hf-paraphrase score",
        )


def _train_grid(
    runs: TuningRuns, data: Sequence[str], encoders: Sequence[str], points: Sequence[FilterRange], seeds: Sequence[int]
) -> Grid:
    grid: Grid = {}
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
    grid: Grid,
    chosen: dict[tuple[str, str, str], Cell],
    points: Sequence[FilterRange],
    seeds: Sequence[int],
) -> Grid:
    """Trains what was chosen, and the random selection, with the seeds that the grid did without."""
    by_name = {(point.filter, point.label): point for point in points}
    wanted = [cell for cell in grid if cell.filter == RANDOM or cell in chosen.values()]
    final: Grid = {}
    with tqdm(desc="more seeds", total=len(wanted) * len(seeds), unit=" runs") as bar:
        for cell in wanted:
            for seed in seeds:
                run = runs.run(cell.data, cell.encoder, by_name[cell.filter, cell.range], seed)
                bar.update()
                if run is not None:
                    final.setdefault(cell, []).append(run)
    return final


def _compared_bins(grid: Grid, scores: dict[str, Any], replicates: int) -> dict[Cell, ChosenCell]:
    """Compares every bin of table 5, chosen or not, with the random selection, both with the seeds of the grid."""
    if not any(cell.filter == _BINS for cell in grid):
        return {}
    return {
        cell: compare_with_random(
            cell, runs, grid[Cell(cell.data, cell.encoder, RANDOM, "")], scores, replicates=replicates
        )
        for cell, runs in grid.items()
        if cell.filter in (RANDOM, _BINS)
    }


def _write(
    arguments: Arguments,
    staging: Path,
    pairs: dict[str, Path],
    encoders: dict[str, Any],
    grid: Grid,
    final: Grid,
    compared: dict[tuple[str, str, str], ChosenCell],
    compared_bins: dict[Cell, ChosenCell],
    missing: Sequence[str],
    num_tests: int,
    runs: TuningRuns,
) -> None:
    chosen = [item.cell for item in compared.values()]
    shown = {cell for cell in grid if arguments.test_all or cell in chosen or cell.filter == RANDOM}
    write_text_whole(staging / "table.csv", runs_csv({**grid, **final}, shown, chosen))
    filters = filters_table(compared, list(pairs), list(encoders), num_tests > 0)
    cells = cells_table(compared, num_tests > 0)
    ranges = ranges_table(grid, compared, arguments.test_all and num_tests > 0)
    bins = bins_table(compared_bins) if compared_bins else ""
    write_text_whole(staging / "table.md", "\n".join([filters, cells, ranges, *([bins] if bins else [])]))
    plot_grid(grid, chosen, staging / "tuning.png")
    settings = {name: value for name, value in settings_of(arguments).items() if name not in {"overwrite", "resume"}}
    inputs: list[str | Path] = [*pairs.values(), arguments.dev_data, *([arguments.data] if arguments.data else [])]
    inputs += encoder_files(arguments.encoders, encoders.values())
    results = {
        "chosen": [
            {
                **vars(item.cell),
                "dev": item.dev,
                "test": item.test,
                "test_random": mean_test(item.baseline),
                "difference": None if item.difference is None else vars(item.difference),
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
                "difference": None if item.difference is None else vars(item.difference),
                "pairs": [run.pairs for run in item.runs],
            }
            for cell, item in compared_bins.items()
        ],
        "encoders": {name: run_settings(item) for name, item in encoders.items()},
        "runs_trained": runs.trained,
        "cells": len(grid),
        "test_sets_missing": list(missing),
    }
    write_provenance(staging, command="tune", settings=settings, inputs=inputs, results=results)
    used = {cell.filter for cell in grid}
    write_card(
        staging,
        "dataset_cards",
        "tuning",
        {
            "name": Path(arguments.output).name,
            "data": {name: path.resolve().name for name, path in pairs.items()},
            "encoders": {name: f"{item.model_type}, {item.epochs:g} epochs" for name, item in encoders.items()},
            "filters_table": filters,
            "cells_table": cells,
            "ranges_table": ranges,
            "bins_table": bins,
            "fewer_data": " data sets) " in filters,
            "recollected": sorted(used & set(arguments.filters) & RECOLLECTED),
            "num_tests": num_tests,
            "missing": list(missing),
            "seeds": arguments.seeds,
            "grid_seeds": arguments.grid_seeds,
            "sample": arguments.sample,
            "bootstrap": arguments.bootstrap,
            "dev_name": Path(arguments.dev_data).resolve().name,
            "test_all": arguments.test_all,
            "notes": NOTES,
        },
    )


def _best_lines(
    compared: dict[tuple[str, str, str], ChosenCell],
    encoders: Sequence[str],
    pools: dict[str, SelectionPool],
    arguments: Arguments,
) -> list[str]:
    lines = []
    for encoder in encoders:
        items = [item for (name, _, _), item in compared.items() if name == encoder]
        best = max(items, key=lambda item: item.dev)
        what = f"{best.cell.filter} {best.cell.range}".strip()
        lines.append(f"{encoder}: best on dev is {what} of {best.cell.data} ({best.dev:.1f}); make its pairs with")
        pool = pools[best.cell.data]
        parts = [part.strip() for part in best.cell.range.split(",") if part.strip()]
        keep = "".join(f" --keep '{part}'" for part in [*pool.usable_texts, *parts])
        one = "" if pool.one_per_reference is None else f" --one-per-reference {pool.one_per_reference}"
        lines.append(
            f"  hf-paraphrase filter --pairs {pool.folder}{keep}{one} --sample {arguments.sample} "
            f"--seed {arguments.seeds[0]} --output DIR"
        )
    return lines
