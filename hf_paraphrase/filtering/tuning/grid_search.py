"""The command `tune`: trains encoders on many selections of pairs, and chooses one on the dev set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import atomic_write_text
from ...artefacts.fsspec_path import to_path
from ...encoders.dev_sets.scorer import read_dev_sets, read_test_sets
from ...encoders.train_settings import EncoderSettings
from ...errors import InputError, UsageError
from ...messages import log
from ...registry import ENCODERS
from ...settings import Settings, recipe, seed_setting, setting
from ..selections import parse_selection
from .runs import (
    RANDOM,
    RUNS,
    Cell,
    ComparedCell,
    Runs,
    SelectionPool,
    TuningRuns,
    choose_by_dev,
    compare_cells,
    format_cells,
    format_filters,
)

_BINS = "length_bins"
GRIDS: dict[str, list[str]] = {
    "length": [
        *(f"0<=length<={bound}" for bound in (10, 15, 20, 30, 100)),
        *(f"10<=length<={bound}" for bound in (20, 30, 100)),
        *(f"15<=length<={bound}" for bound in (25, 30, 100)),
        *("20<=length<=30", "20<=length<=100", "30<=length<=100"),
    ],
    _BINS: ["0<length<=10", "10<length<=20", "20<length<=30", "30<length<=100"],
}
"""The ranges of Wieting et al. 2017 that have a name: table 6, both ends included, and the bins of table 5."""


@dataclass(kw_only=True)
class TuneSettings(Settings):
    """Train one encoder for each range of each filter on each data set, and choose by the dev mean alone.

    Test means never influence the choice. The chosen and a random selection are trained with several seeds, and the
    report has their test means and the confidence interval of the difference over seeds and test pairs. Other cells
    have the seeds of the grid; the last of length_bins is compared with the first (table 5). If a reference has
    ranked translations, the best one is used.
    """

    pairs: list[str] = setting("data folders of pairs, each as NAME=DIR or DIR", path=True, dataset=True)
    output: str = setting("output folder")
    dev_data: str = setting(
        "dev data for all choices: a folder with the STS 2016 sets, or graded data", path=True, dataset=True
    )
    data: str | None = setting(
        "folder with the test sets (STS 2012 to 2015, SICK, Twitter) or a graded data folder; without it there are no "
        "test means",
        None,
        path=True,
        dataset=True,
    )
    filters: list[str] = setting("the filters [default: length, or none with --keep]", [], choices=GRIDS)
    keep: list[str] = setting(
        "further ranges as for filter, in quotes; commas join comparisons that must all hold, e.g. "
        "'overlap_1<=0.7,bleu<0.5'; of ranges over the same columns one is chosen",
        [],
    )
    encoders: list[str] = setting(
        "types of encoders as for train-encoder, trained with its defaults [default: avg]", [], choices=ENCODERS
    )
    initial_vectors: str | None = setting(
        "initial word vectors of all encoders, as for train-encoder", None, path=True
    )
    epochs: float | None = setting(
        "maximum passes over the pairs; the best one is kept [default: as for train-encoder]", None, above=0
    )
    sample: int = setting("pairs to train on; fewer if a filter leaves fewer", 24_000, at_least=1)
    seeds: list[int] = seed_setting(
        "seeds of the sample and the training, for the chosen cells and the random selection [default: 0 1 2]", []
    )
    grid_seeds: int = setting("number of seeds with which every cell of the grid is trained", 1, at_least=1)
    bootstrap: int = setting("bootstrap replicates", 1000, at_least=1)
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("continue an incomplete grid; its finished runs are kept", False)

    def check(self) -> None:
        """Check that the settings are valid, and fill in the defaults."""
        super().check()
        self.filters = self.filters or ([] if self.keep else ["length"])
        self.encoders = list(dict.fromkeys(self.encoders)) or ["avg"]
        self.seeds = self.seeds or [0, 1, 2]
        if len(set(self.seeds)) < len(self.seeds):
            raise UsageError("--seeds names a seed twice", remedy="give different seeds")
        if self.grid_seeds > len(self.seeds):
            what = f"--grid-seeds is {self.grid_seeds}, but there are {len(self.seeds)} seeds"
            raise UsageError(what, remedy="give more --seeds")
        _ = self.data_sets, list_ranges(self.filters, self.keep), self.encoder_settings

    @property
    def data_sets(self) -> dict[str, Path]:
        """The folder of each data set by its name."""
        folders: dict[str, Path] = {}
        for word in self.pairs:
            name, equals, folder = word.partition("=")
            path = Path(folder if equals else word)
            name = name if equals else path.resolve().name
            if not name or name in folders or (equals and not folder):
                raise UsageError(f"--pairs `{word}` needs a folder and a unique name", remedy="give NAME=DIR")
            folders[name] = path
        return folders

    @property
    def encoder_settings(self) -> dict[str, EncoderSettings]:
        """The settings of each type of encoder."""
        given = {name: getattr(self, name) for name in ("initial_vectors", "epochs")}
        given = {name: value for name, value in given.items() if value is not None}
        settings = {name: EncoderSettings(model_type=name, pairs="-", output="-", **given) for name in self.encoders}
        for encoder_settings in settings.values():
            encoder_settings.check()
        return settings


def list_ranges(filters: Sequence[str], keep: Sequence[str] = ()) -> list[tuple[str, str]]:
    """List the ranges of some grids with the names of their filters, the random selection first.

    The ranges of `keep` over the same columns form one grid, named after the columns (`bleu`, `bleu+overlap_1`), or
    extend the grid of that name in :data:`GRIDS`; commas join comparisons that must all hold.
    """
    ranges = [(RANDOM, ""), *((name, text) for name in filters for text in GRIDS[name])]
    for text in keep:
        parts = [parse_selection(part) for part in text.split(",") if part.strip()]
        if not parts:
            raise UsageError(f"--keep: there is no comparison in `{text}`", remedy="write for example overlap_1<=0.7")
        columns = "+".join(sorted({part.text if part.function else part.columns[0] for part in parts}))
        ranges.append((f"{RANDOM} (column)" if columns == RANDOM else columns, text.strip()))
    # A range that the user adds to a grid may be in it.
    return list(dict.fromkeys(ranges))


@recipe(TuneSettings)
def tune(settings: TuneSettings) -> str:
    """Train encoders on many selections of pairs, and choose on the dev set (Wieting et al. 2017, section 5.4).

    Returns the table of the filters; `provenance.json` of the output has all runs.
    """
    inputs = [*map(str, settings.data_sets.values()), settings.dev_data, settings.data, settings.initial_vectors]
    with Artefact(settings.output, command="tune", settings=settings, inputs=filter(None, inputs)) as artefact:
        if artefact.finished:
            return (artefact.target / "table.md").read_text(encoding="utf-8")
        read_dev_sets(Path(settings.dev_data))
        tests, missing = ([], []) if settings.data is None else read_test_sets(Path(settings.data))
        pools = {name: SelectionPool(folder, settings.sample) for name, folder in settings.data_sets.items()}
        cells = [
            Cell(data_set, encoder, name, label)
            for data_set in pools
            for encoder in settings.encoders
            for name, label in list_ranges(settings.filters, settings.keep)
        ]
        if not any(pools[cell.data].select(cell.keep, settings.seeds[0])[1] for cell in cells if cell.keep):
            folder, remedy = next(iter(pools.values())).folder, "check the columns, e.g. with hf-paraphrase score"
            raise InputError("the grid selects nothing: no pair is in any of its ranges", path=folder, remedy=remedy)
        artefact.checkpoint(RUNS).mkdir(parents=True, exist_ok=True)
        encoders = settings.encoder_settings
        runs = TuningRuns(artefact.staging / RUNS, pools, encoders, Path(settings.dev_data), tests)
        grid = _train(runs, cells, settings.seeds[: settings.grid_seeds], "tune")
        chosen = choose_by_dev(grid)
        more = [cell for cell in grid if cell.filter == RANDOM or cell in chosen.values()]
        final = _train(runs, more, settings.seeds, "more seeds")
        scores = {graded.key: graded.scores for graded in tests}

        def compare(made: Runs, cell: Cell, baseline: Cell) -> ComparedCell:
            return compare_cells(cell, made[cell], made[baseline], scores, replicates=settings.bootstrap)

        compared = {key: compare(final, cell, cell.random) for key, cell in chosen.items()}
        every = [compare(grid, cell, cell.random) for cell in grid]
        ends = [compare(grid, last, first) for first, last in _find_end_bins(grid)]
        tables = {
            "filters_table": format_filters(compared, list(pools), settings.encoders, bool(tests)),
            "cells_table": format_cells(compared.values(), bool(tests)),
            "grid_table": format_cells(every, bool(tests)),
            "ends_table": format_cells(ends, bool(tests), "first bin") if ends else "",
        }
        atomic_write_text(artefact.staging / "table.md", "\n".join(text for text in tables.values() if text))
        results = {
            "chosen": [cell.record() for cell in compared.values()],
            "tested": [cell.record() for cell in every],
            "last_minus_first_bin": [cell.record() for cell in ends],
            "grid": [
                {**vars(cell), "runs": [run.record() for run in made]} for cell, made in {**grid, **final}.items()
            ],
            "test_sets_missing": missing,
        }
        values = {
            "data": {name: path.resolve().name for name, path in settings.data_sets.items()},
            "encoders": {name: f"{own.epochs:g} epochs" for name, own in encoders.items()},
            "num_tests": len(tests),
            "missing": missing,
            "dev_name": to_path(settings.dev_data).resolve().name,
            **{name: getattr(settings, name) for name in ("seeds", "grid_seeds", "sample", "bootstrap")},
            **tables,
        }
        artefact.finish(results=results, card=Card("tuning", values, report=True))
    for encoder in encoders:
        _log_best(settings, [chosen for chosen in compared.values() if chosen.cell.encoder == encoder], pools)
    return tables["filters_table"]


def _train(runs: TuningRuns, cells: Sequence[Cell], seeds: Sequence[int], what: str) -> Runs:
    """Train the runs of some cells; a cell that selects no pairs has none."""
    made: Runs = {}
    with tqdm(desc=what, total=len(cells) * len(seeds), unit=" runs") as bar:
        for cell in cells:
            cell_runs = []
            for seed in seeds:
                if (run := runs.run(cell, seed)) is not None:
                    cell_runs.append(run)
                    bar.set_postfix_str(f"{cell.data} {cell.encoder} {cell.range or cell.filter}: dev {run.dev:.1f}")
                bar.update()
            if cell_runs:
                made[cell] = cell_runs
            else:
                log(f"{cell.data}: {cell.range} selects no pair; left out")
    return made


def _find_end_bins(grid: Runs) -> list[tuple[Cell, Cell]]:
    """Return the first and the last bin of length of each data set and encoder that has two or more."""
    bins: dict[tuple[str, str], list[Cell]] = {}
    for cell in (cell for cell in grid if cell.filter == _BINS):
        bins.setdefault((cell.data, cell.encoder), []).append(cell)
    return [(cells[0], cells[-1]) for cells in bins.values() if len(cells) > 1]


def _log_best(settings: TuneSettings, cells: Sequence[ComparedCell], pools: Mapping[str, SelectionPool]) -> None:
    best = max(cells, key=lambda compared: compared.dev)
    if len(cells) > 1 and len({compared.dev for compared in cells}) == 1:
        log(f"{best.cell.encoder}: all selections score {best.dev:.1f}, so the dev set chooses none", warning=True)
    cell, pool = best.cell, pools[best.cell.data]
    log(f"{cell.encoder}: best on dev is {cell.range or RANDOM} of {cell.data} ({best.dev:.1f}); make its pairs with")
    keep = "".join(f" --keep '{part}'" for part in (*pool.usable, *cell.keep))
    one = "" if pool.one_per_reference is None else f" --one-per-reference {pool.one_per_reference}"
    log(
        f"  hf-paraphrase filter --pairs {pool.folder}{keep}{one} --sample {settings.sample} "
        f"--seed {settings.seeds[0]} --output DIR"
    )
