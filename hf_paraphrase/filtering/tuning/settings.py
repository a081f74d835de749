"""The settings of the verb `tune`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ...errors import UsageError
from ...settings import Settings, seed_setting, setting
from ..best_rows import WAYS
from .grids import GRIDS, FilterRange, filter_ranges


@dataclass(kw_only=True)
class TuneSettings(Settings):
    """Trains one encoder for each range of each filter on each data set, and chooses by the dev mean alone.

    Test means are reported for what was chosen and for the random selection, over several seeds, with the interval of
    their difference over seeds and sentence pairs of the test sets. The ranges are those of paper 000.
    """

    pairs: list[str] = setting("data folders of pairs, each as NAME=DIR or DIR", path=True)
    output: str = setting("the folder to make")
    dev_data: str = setting(
        "folder with the STS 2016 sets, or a graded data folder, on which all is chosen", path=True
    )
    data: str | None = setting(
        "folder with the test sets (STS 2012 to 2015, SICK, Twitter) or a graded data folder; without it there are no "
        "test means",
        None,
        path=True,
    )
    filters: list[str] = setting(
        f"which filters, separated by commas or spaces: {', '.join(GRIDS)} [default: length, or none with --keep]", []
    )
    keep: list[str] = setting(
        "further ranges as for filter, in quotes; commas join comparisons that must all hold, e.g. "
        "'overlap_1<=0.7,bleu<0.5'; among those over the same columns one is chosen",
        [],
    )
    encoders: list[str] = setting(
        "model types, or YAML files of train-encoder as FILE or NAME=FILE [default: avg]",
        [],
        path=True,
    )
    initial_vectors: str | None = setting(
        "word vectors that all encoders start from, as for train-encoder", None, path=True
    )
    epochs: float | None = setting(
        "passes over the pairs at most; the best of them is chosen [default: as train-encoder]", None, at_least=0
    )
    sample: int = setting("pairs to train on; a filter that leaves fewer is trained on those", 24_000, at_least=1)
    largest_share: float | None = setting(
        "refuse data of which the sample is more than this share, which is how much two draws have in common, e.g. "
        "0.2 [default: any share]",
        None,
        at_least=1e-6,
        at_most=1,
    )
    one_per_reference: str = setting(
        "keep one translation of each reference: best, random, diverse, or none [default: best where there are ranks]",
        "auto",
        choices=("auto", *WAYS, "none"),
    )
    seeds: list[int] = seed_setting(
        "seeds of the sample and the training, for the chosen cells and the random selection [default: 0 1 2]", []
    )
    grid_seeds: int = setting("how many of the seeds every cell of the grid is trained with", 1, at_least=1)
    bootstrap: int = setting("bootstrap replicates", 1000, at_least=1)
    test_all: bool = setting(
        "also report the test means of all cells, and those of length_bins with their difference from random (table "
        "5); they choose nothing",
        False,
    )
    runs_from: list[str] = setting(
        "outputs of tune, finished or not, whose runs are taken over where they are the same: what a grid with more "
        "ranges or seeds shares with them is not trained again, and several machines can each make a part of one",
        [],
        path=True,
    )
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("continue an incomplete grid; its finished runs are kept, whatever else has changed", False)

    def check(self) -> None:
        """Refuses what does not fit, and puts defaults in their places."""
        super().check()
        self.filters = [part for word in self.filters for part in word.replace(",", " ").split()]
        if not self.filters and not self.keep:
            self.filters = ["length"]
        self.encoders = self.encoders or ["avg"]
        self.seeds = list(dict.fromkeys(self.seeds)) or [0, 1, 2]
        if self.grid_seeds > len(self.seeds):
            raise UsageError(
                f"--grid-seeds is {self.grid_seeds}, but there are {len(self.seeds)} seeds", remedy="give more --seeds"
            )
        _ = self.data_sets, self.points

    @property
    def data_sets(self) -> dict[str, Path]:
        """The folder of each data set by its name."""
        folders: dict[str, Path] = {}
        for word in self.pairs:
            name, equals, folder = word.partition("=")
            path = Path(folder if equals else word)
            name = name if equals else path.resolve().name
            if not name or (equals and not folder):
                raise UsageError(f"--pairs `{word}` lacks a name or a folder", remedy="give NAME=DIR, or DIR")
            if name in folders:
                raise UsageError(f"two data sets are called {name}", remedy="give them names: NAME=DIR")
            folders[name] = path
        return folders

    @property
    def points(self) -> list[FilterRange]:
        """The points of the grid, the random selection first."""
        return filter_ranges(self.filters, self.keep)
