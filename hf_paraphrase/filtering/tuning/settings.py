"""The settings of the verb `tune`: the ranges that it tries, and the encoders that it trains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...encoders.train import train_encoder
from ...encoders.train_settings import EncoderSettings
from ...errors import UsageError, choice_of
from ...settings import Settings, seed_setting, setting, values_from_file
from ..selections import Selection, parse_selection

RANDOM = "random"
"""The filter that selects nothing away: pairs drawn at random, what all others are compared with."""


GRIDS: dict[str, list[str]] = {
    "length": [
        *(f"0<=length<={bound}" for bound in (10, 15, 20, 30, 100)),
        *(f"10<=length<={bound}" for bound in (20, 30, 100)),
        *(f"15<=length<={bound}" for bound in (25, 30, 100)),
        *("20<=length<=30", "20<=length<=100", "30<=length<=100"),
    ],
    "length_bins": ["0<length<=10", "10<length<=20", "20<length<=30", "30<length<=100"],
}
"""The ranges of paper 000 that have a name: table 6, both ends included, and the bins of table 5."""


@dataclass(frozen=True)
class FilterRange:
    """One point of a grid: the filter's name, the range as text, and the predicates, all of which must hold."""

    filter: str
    label: str
    selections: tuple[Selection, ...] = ()


def filter_ranges(filters: Sequence[str], keep: Sequence[str] = ()) -> list[FilterRange]:
    """Lists the points of some grids, the random selection first.

    Those of `keep` over the same columns are one grid, named after them (`bleu`, `bleu+overlap_1`), and join that of
    :data:`GRIDS` if there is one; commas join comparisons that must all hold.
    """
    unknown = [name for name in filters if name not in GRIDS]
    if unknown:
        raise UsageError(f"--filters: unknown {', '.join(unknown)}", remedy=choice_of(unknown[0], GRIDS))
    points = [FilterRange(RANDOM, "")]
    points += [FilterRange(name, text, (parse_selection(text),)) for name in filters for text in GRIDS[name]]
    for text in keep:
        parts = tuple(parse_selection(part) for part in text.split(",") if part.strip())
        if not parts:
            raise UsageError(f"--keep: there is no comparison in `{text}`", remedy="write for example overlap_1<=0.7")
        columns = "+".join(sorted({part.text if part.function else part.columns[0] for part in parts}))
        points.append(FilterRange(f"{RANDOM} (column)" if columns == RANDOM else columns, text.strip(), parts))
    # A range that the user adds to a grid may be in it.
    return list({(point.filter, point.label): point for point in points}.values())


@dataclass(kw_only=True)
class TuneSettings(Settings):
    """Trains one encoder for each range of each filter on each data set, and chooses by the dev mean alone.

    Test means are reported for what was chosen and for the random selection, over several seeds, with the interval of
    their difference over seeds and sentence pairs of the test sets. Of references with ranked translations the best
    one is used.
    """

    pairs: list[str] = setting("data folders of pairs, each as NAME=DIR or DIR", path=True, dataset=True)
    output: str = setting("the folder to make")
    dev_data: str = setting(
        "folder with the STS 2016 sets, or a graded data folder, on which all is chosen", path=True, dataset=True
    )
    data: str | None = setting(
        "folder with the test sets (STS 2012 to 2015, SICK, Twitter) or a graded data folder; without it there are no "
        "test means",
        None,
        path=True,
        dataset=True,
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
    seeds: list[int] = seed_setting(
        "seeds of the sample and the training, for the chosen cells and the random selection [default: 0 1 2]", []
    )
    grid_seeds: int = setting("how many of the seeds every cell of the grid is trained with", 1, at_least=1)
    bootstrap: int = setting("bootstrap replicates", 1000, at_least=1)
    test_all: bool = setting(
        "also report the test means of all cells with their difference from random, and the last minus the first of "
        "length_bins (table 5); they choose nothing",
        False,
    )
    overwrite: bool = setting("replace an existing output folder", False)
    resume: bool = setting("continue an incomplete grid; its finished runs are kept", False)

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
    def files(self) -> list[str]:
        """The YAML files of the encoders."""
        given = [word for word in self.encoders if "=" in word or word.endswith((".yaml", ".yml"))]
        return [word.partition("=")[2] or word for word in given]

    @property
    def points(self) -> list[FilterRange]:
        """The points of the grid, the random selection first."""
        return filter_ranges(self.filters, self.keep)


_NOT_OF_A_RUN = {"pairs", "output", "dev_data", "seed", "max_pairs", "report_to"}


def encoder_settings(name: str, **given: Any) -> tuple[str, EncoderSettings]:
    """Reads the settings of an encoder as `train-encoder` does.

    `name` is a model type, or a YAML file of settings, optionally as NAME=FILE; what is `given` wins over the file.
    Returns the encoder's name in tables, too.
    """
    label, equals, path = name.partition("=")
    if not equals and name.endswith((".yaml", ".yml")):
        label, path = Path(name).stem, name
    kind: Any = train_encoder.settings
    values = values_from_file(kind, Path(path)) if path else {"model_type": name}
    settings: EncoderSettings = kind(**{**values, "pairs": "-", "output": "-", **given})
    settings.check()
    if settings.initial_model is not None:
        remedy = "tune without it, then train with it"
        raise UsageError(f"the encoder {label} has --initial-model", remedy=remedy)
    if settings.loss != "margin":
        raise UsageError(f"the encoder {label} has --loss {settings.loss}", remedy="tune with the margin loss")
    if not settings.epochs:
        raise UsageError(f"the encoder {label} is trained for no epoch", remedy="give --epochs above 0")
    return label, settings


def run_settings(settings: EncoderSettings) -> dict[str, Any]:
    """Returns the settings of an encoder that hold for each of its runs."""
    return {name: value for name, value in settings.record().items() if name not in _NOT_OF_A_RUN}


def files_of(settings: EncoderSettings) -> list[str]:
    """Lists the files and folders that an encoder is made from."""
    files = (settings.initial_vectors, settings.tokenizer, settings.word_list)
    return [path for path in files if path is not None]
