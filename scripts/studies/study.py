"""Trains the cells of a study with several seeds, and judges what is claimed of them.

    WORK=DIR DATA=DIR python scripts/studies/study.py --design scripts/studies/designs/sizes.yaml --output DIR

A design is a YAML file. `train` is a verb with the flags of all models; `models` has for each model its number of
`seeds` and its own flags, `train`, or, for an encoder that is given, its `folder`. `data` has what is trained on:
further flags, or a command that makes a folder of pairs, `filter …`. A cell is `MODEL: DATA`. `tables`
has tables, each with `columns` (`measures.py` says what may be measured), `claims` and further `cells`; a claim is
`[text, cell, above | below | little, cell]`, may have four cells, of which the first two differ by more than the last
two, or `nothing` instead of the second, and last the name of the only column that it is about. `measured` says on
what encoders are measured, and `fewer_seeds` has cells that are run less often. Where a model has a `grid`, its
values fill `$NAME` in `train`, and the first seed chooses them by `choose`, a result on the dev part.

`$NAME` is a variable of the environment, and `$SEED` and `$CONFIGS` those of the run and of scripts/configs. What a
run says of each test row is a file below `--runs`, which designs may share, and is not made again; the first seeds of
all cells come first. All claims of a table are judged together (`evaluation/verdicts.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import yaml

from hf_paraphrase.artefacts.files import written_whole
from hf_paraphrase.commands import main as run_command
from hf_paraphrase.errors import HfParaphraseError, UsageError
from measures import Measures
from study_tables import Cell, Claim, Column, Measured, cells_table, claims_table, draw_intervals, judge

CONFIGS = Path(__file__).resolve().parents[1] / "configs"


def main() -> int:
    """Trains what is not there yet, writes the tables, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--design", type=Path, required=True, help="the YAML file of the study")
    parser.add_argument("--most-seeds", type=int, default=1000, help="no more seeds of any model (default: all)")
    parser.add_argument("--runs", type=Path, help="a folder for the finished runs (default: runs below --output)")
    parser.add_argument("--output", type=Path, required=True, help="a folder for the tables and pictures")
    options = parser.parse_args()
    try:
        study = Study(options.design, options.runs or options.output / "runs", options.most_seeds)
        study.train()
        options.output.mkdir(parents=True, exist_ok=True)
        for name in study.tables:
            text, rows, columns = study.table(name)
            (options.output / f"{name}.md").write_text(text, encoding="utf-8")
            sys.stdout.write(f"{text}\n")
            if rows:
                draw_intervals(options.output / f"{name}.png", rows, columns, "difference, points")
    except HfParaphraseError as error:
        print(f"study: error: {error}", file=sys.stderr)
        return 2
    return 0


def run_verb(*words: str) -> None:
    """Runs a verb of the command line without what it prints; ends the study where it fails."""
    with contextlib.redirect_stdout(io.StringIO()):
        code = run_command(list(words))
    if code:
        sys.exit(code)


class Study:
    """The cells of a design and their runs."""

    def __init__(self, design: Path, runs: Path, most_seeds: int = 1000) -> None:
        content = yaml.safe_load(design.read_text(encoding="utf-8"))
        self.common: str = content.get("train", "")
        self.models: dict[str, Any] = content["models"]
        self.data = {str(name): str(value) for name, value in content["data"].items()}
        self.tables: dict[str, Any] = content["tables"]
        self.claims = {
            name: [Claim.read(row, list(table["columns"])) for row in table.get("claims", [])]
            for name, table in self.tables.items()
        }
        self.choose: list[str] = content.get("choose", [])
        self.most_seeds, self.runs = most_seeds, runs
        self._fewer: dict[str, int] = content.get("fewer_seeds", {})
        self._chosen: dict[tuple[str, str], dict[str, str]] = {}
        for cell in self.all_cells():
            if cell.model not in self.models or cell.data not in self.data:
                raise UsageError(f"{cell}: unknown model or data", remedy="add it to the design")
        columns = [column for table in self.tables.values() for column in table["columns"].values()]
        self.measures = Measures(filled(content.get("measured", {})), columns)

    def cells(self, table: str) -> list[Cell]:
        """Lists the cells of a table."""
        further = map(Cell.read, self.tables[table].get("cells", []))
        return list(dict.fromkeys([*(cell for claim in self.claims[table] for cell in claim.cells), *further]))

    def all_cells(self) -> list[Cell]:
        """Lists the cells of all tables."""
        return list(dict.fromkeys(cell for name in self.tables for cell in self.cells(name)))

    def seeds(self, cell: Cell) -> range:
        """Lists the seeds of a cell."""
        return range(min(self._fewer.get(str(cell), self.models[cell.model].get("seeds", 1)), self.most_seeds))

    def train(self) -> None:
        """Makes all runs that are not there yet."""
        for seed in range(max(len(self.seeds(cell)) for cell in self.all_cells())):
            for cell in self.all_cells():
                if seed in self.seeds(cell):
                    self.run(cell, seed, self.chosen(cell))

    def chosen(self, cell: Cell) -> dict[str, str]:
        """Returns the values of a model's grid that are best on the dev part with the first seed."""
        grid = self.models[cell.model].get("grid")
        if not grid:
            return {}
        key = cell.model, cell.data.split()[0]
        if key not in self._chosen:
            tried = [dict(zip(grid, map(str, values), strict=True)) for values in product(*grid.values())]
            scores = [self._dev_score(self.run(Cell(*key), 0, values)) for values in tried]
            self._chosen[key] = tried[int(np.argmax(scores))]
            print(f"{': '.join(key)}: {self._chosen[key]}", file=sys.stderr)
        return self._chosen[key]

    def _dev_score(self, run: Mapping[str, Any]) -> float:
        results = json.loads(str(run["results"]))
        return next(value for name in self.choose if (value := number_in(results, name)) is not None)

    def run(self, cell: Cell, seed: int, values: Mapping[str, str]) -> dict[str, Any]:
        """Returns what a run says of the test rows; it is trained if it is not there."""
        name = " ".join([str(cell).replace(": ", " "), *values.values(), "seed", str(seed)])
        path = self.runs / f"{name.replace(' ', '_')}.npz"
        if not path.exists():
            self.runs.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.runs) as folder:
                said = self._trained(cell, Path(folder), {"SEED": str(seed), **values})
            with written_whole(path) as part, part.open("wb") as stream:
                np.savez(stream, **said)
            print(f"{cell}, seed {seed} {' '.join(values.values())}", file=sys.stderr, flush=True)
        return dict(np.load(path))

    def _trained(self, cell: Cell, folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
        model = self.models[cell.model]
        if "folder" in model:
            return self.measures.said(Path(filled(model["folder"])), {}, cell.data, folder)
        words = shlex.split(filled(self.data[cell.data], variables))
        if words and not words[0].startswith("-"):
            pairs = str(folder / "pairs")
            run_verb(*words, "--seed", variables["SEED"], "--output", pairs)
            words = ["--pairs", pairs]
        train = shlex.split(filled(f"{self.common} {model['train']}", variables))
        output = folder / "model"
        run_verb(*train, *words, "--seed", variables["SEED"], "--output", str(output))
        results = json.loads((output / "provenance.json").read_text(encoding="utf-8"))["results"]
        return self.measures.said(output, results, cell.data, folder)

    def table(self, name: str) -> tuple[str, list[tuple[str, Any]], list[str]]:
        """Makes the texts of a table, and the intervals of its claims for a picture."""
        columns = {title: self._column(column, self.cells(name)) for title, column in self._columns(name)}
        judged = judge(self.claims[name], columns)
        text = cells_table(columns)
        if judged:
            text += "\n" + claims_table(judged, list(columns))
        return text, [(claim.text, found) for claim, found in judged.items() if found], list(columns)

    def _columns(self, name: str) -> Iterator[tuple[str, Any]]:
        yield from self.tables[name]["columns"].items()

    def _column(self, column: Any, cells: list[Cell]) -> Column:
        found = {}
        for cell in cells:
            runs = [self.run(cell, seed, self.chosen(cell)) for seed in self.seeds(cell)]
            values, drawn = self.measures.measure(column, cell.data, runs)
            found[cell] = Measured(dict(enumerate(map(float, values))), drawn, "folder" not in self.models[cell.model])
        return found


def number_in(results: Any, name: str) -> float | None:
    """Finds a number in nested results by its path, `test.accuracy`; None where there is none."""
    for part in name.split("."):
        results = results.get(part) if isinstance(results, dict) else None
    return None if results is None else float(results)


def filled(value: Any, variables: Mapping[str, str] | None = None) -> Any:
    """Fills in variables in all strings of a value."""
    if isinstance(value, dict):
        return {name: filled(item, variables) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, variables) for item in value]
    if not isinstance(value, str):
        return value
    known = {**os.environ, "CONFIGS": str(CONFIGS), **(variables or {})}
    try:
        return Template(value).substitute(known)
    except KeyError as error:
        raise UsageError(
            f"the design needs the variable {error.args[0]}", remedy="set it in the environment"
        ) from None


if __name__ == "__main__":
    sys.exit(main())
