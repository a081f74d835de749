"""Run a study: make its data, train its models with several seeds, and test its claims.

    python scripts/studies/study.py DATA WORK sizes rates

The design of the study `sizes` is designs/sizes.yaml. It runs in the folder WORK, where `data` is a link to DATA. Its
tables and pictures are written to WORK/sizes, or to its `output`. Studies that make different outputs of one name,
such as `filters` and `translation`, need separate WORK folders. A design has

* `steps`: the outputs to make first: `OUTPUT: COMMAND FLAGS`, `OUTPUT: SCRIPT.py ARGUMENTS`, both without `--output`,
  or `OUTPUT: "! SHELL"`, which makes `$OUT`. An output is made again if its command, its inputs or the code has
  changed (`study_keys.py`; `--any-code` accepts outputs of other code). If its name contains `$SEED`, it is made once
  per seed. If its name contains a variable of `each`, it is made once per value of this variable, or only for the
  value in the environment; a value may set further variables. The steps of the designs in `before` come first.
* `variables`, and `results`: `NAME: OUTPUT FIELD`, a field of the results of a step.
* `train`: a command with the flags of all models. `models`: for each model its number of `seeds`, and its own flags
  (`train`) or, for an existing model, its `folder`. The values of a model's `grid` fill `$NAME` in `train`; the first
  seed chooses them by `choose`, a result on the dev set.
* `data`: the training data, as further flags, or as a command that makes a folder of pairs (`filter FLAGS`).
  `fewer_seeds` lists cells (`MODEL: DATA`) with a smaller number of seeds.
* `measured`: the evaluation data. `tables`: each with `columns` (see `measures.py`), `claims` and further `cells`. A
  claim is `[text, cell, above | below | equivalent, cell]`. The second cell may be `nothing`, which compares the first
  with 0. With four cells, the claim is about the difference of the first two minus the difference of the last two. The
  name of a column at the end restricts the claim to this column.

`$NAME` is one of these variables or an environment variable, which takes precedence. `$CONFIGS` is scripts/configs,
and `$HELD_OUT` lists the usual evaluation sets. The predictions of each run on the test rows are stored in `runs` of
the design (default: `runs` in its output). The claims of a table are tested together (`training/verdicts.py`).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import product
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import yaml

from hf_paraphrase.artefacts.files import atomic_write
from hf_paraphrase.errors import HfParaphraseError, UsageError
from measures import Measures, run_verb
from study_keys import StudyKeys, digest_of
from study_tables import Cell, Claim, Column, Measured, cells_table, claims_table, draw_intervals, judge

HERE = Path(__file__).resolve().parent
KEY = "key"
HELD_OUT = "data/sts data/sick data/stsbenchmark data/pit2015 data/held_out.sha256-16.txt.gz"


def main() -> int:
    """Run studies and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of the corpora; each design says which it needs")
    parser.add_argument("work", type=Path, help="a folder for all outputs")
    parser.add_argument("studies", nargs="+", metavar="STUDY", help="a file of designs/ without its ending")
    parser.add_argument("--most-seeds", type=int, default=1000, help="limit the seeds of each model (default: all)")
    parser.add_argument("--any-code", action="store_true", help="reuse outputs that other versions of the code made")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if not (options.work / "data").exists():
        (options.work / "data").symlink_to(options.data.resolve())
    try:
        with contextlib.chdir(options.work):
            for name in options.studies:
                Study(name, options.most_seeds, any_code=options.any_code).run_all()
    except HfParaphraseError as error:
        print(f"study: error: {error}", file=sys.stderr)
        return 2
    return 0


def designs_of(name: str) -> dict[str, dict[str, Any]]:
    """Read a design and the designs in its `before`, by name; the earliest come first."""
    design = design_of(name)
    earlier: dict[str, dict[str, Any]] = {}
    for other in design.get("before", []):
        earlier |= designs_of(other)
    return {**earlier, name: design}


def design_of(name: str) -> dict[str, Any]:
    """Read a design."""
    path = HERE / "designs" / f"{name}.yaml"
    if not path.is_file():
        names = ", ".join(sorted(path.stem for path in path.parent.glob("*.yaml")))
        raise UsageError(f"no study is called {name}", remedy=f"one of {names}")
    return dict(yaml.safe_load(path.read_text(encoding="utf-8")))


class Study:
    """The steps, cells and runs of a design, in the current folder."""

    def __init__(self, name: str, most_seeds: int = 1000, *, any_code: bool = False) -> None:
        designs = designs_of(name)
        self.keys = StudyKeys(any_code)
        content = self.content = designs[name]
        self.steps: dict[str, str] = {}
        self.variables: dict[str, str] = {"HELD_OUT": HELD_OUT, "CONFIGS": str(HERE.parent / "configs")}
        self.each: dict[str, dict[str, dict[str, str]]] = {}
        for design in designs.values():
            self.steps |= design.get("steps", {})
            self.variables |= design.get("variables", {})
            for variable, values in design.get("each", {}).items():
                known = self.each.setdefault(variable, {})
                known |= {value: known.get(value, {}) | more for value, more in values.items()}
        self.results: dict[str, str] = content.get("results", {})
        self.common: str = content.get("train", "")
        self.models: dict[str, Any] = content.get("models", {})
        self.data = {str(key): str(value) for key, value in content.get("data", {}).items()}
        self.tables: dict[str, Any] = content.get("tables", {})
        self.claims = {
            key: [Claim.read(row, list(table["columns"])) for row in table.get("claims", [])]
            for key, table in self.tables.items()
        }
        self._chosen: dict[tuple[str, str], dict[str, str]] = {}
        seeds = [model.get("seeds", 1) for model in self.models.values()]
        self.most_seeds, self._seeds = most_seeds, min(max(seeds, default=1), most_seeds)
        self.check_variables()
        self.output = Path(self.filled(content.get("output", name)))
        self.runs = Path(self.filled(content["runs"])) if "runs" in content else self.output / "runs"
        for cell in self.all_cells():
            if cell.model not in self.models or cell.data not in self.data:
                raise UsageError(f"{cell}: unknown model or data", remedy="add it to the design")

    @cached_property
    def measures(self) -> Measures:
        """The evaluation data; steps make some of it."""
        columns = [column for table in self.tables.values() for column in table["columns"].values()]
        return Measures(self.filled(self.content.get("measured", {})), columns)

    def run_all(self) -> None:
        """Make the missing outputs, train the missing models and write the tables."""
        for output, words in self.step_commands():
            make(output, words, self.keys)
        if not self.tables:
            return
        self.train()
        self.output.mkdir(parents=True, exist_ok=True)
        for name, table in self.tables.items():
            columns = {title: self._column(column, self.cells(name)) for title, column in table["columns"].items()}
            judged, text = judge(self.claims[name], columns), cells_table(columns)
            if judged:
                text += f"\n{claims_table(judged, list(columns))}"
            (self.output / f"{name}.md").write_text(text, encoding="utf-8")
            sys.stdout.write(f"{text}\n")
            if rows := [(claim.text, intervals) for claim, intervals in judged.items() if intervals]:
                draw_intervals(self.output / f"{name}.png", rows, list(columns), "difference, points")

    def check_variables(self) -> None:
        """Raise an error before the first step if the design needs a variable that is not set."""
        made = {"SEED", *self.results, *self.each}
        made |= {name for values in self.each.values() for more in values.values() for name in more}
        made |= {name for model in self.models.values() for name in model.get("grid", {})}
        commands = [command for command in self.steps.values() if not command.startswith("!")]
        rest = [self.content.get(part) for part in ("train", "models", "data", "measured", "output", "runs")]
        self.filled([*self.steps, *commands, *rest], {**dict.fromkeys(made, ""), **os.environ})

    def step_commands(self) -> Iterator[tuple[Path, str]]:
        """Yield the outputs of the steps and their commands; results of earlier steps are filled in."""
        for output, command in self.steps.items():
            for variables in self._variants(output):
                yield Path(self.filled(output, variables)), self._filled_command(command, variables)

    def _filled_command(self, command: str, variables: dict[str, str]) -> str:
        """Replace the variables of the design in a command; a shell has variables of its own, which stay."""
        if not command.startswith("!"):
            return str(self.filled(command, variables))
        known = {name: self.filled(f"${name}", variables) for name in self.variables if f"${name}" in command}
        return Template(command).safe_substitute({**known, **variables})

    def _variants(self, output: str) -> list[dict[str, str]]:
        """List the variables of each output of a step."""
        variants = [{"SEED": str(seed)} for seed in range(self._seeds if "$SEED" in output else 1)]
        for name, values in self.each.items():
            if f"${name}" in output:
                wanted = [os.environ[name]] if name in os.environ else list(values)
                variants = [{**variant, name: value, **values[value]} for variant in variants for value in wanted]
        return variants

    def cells(self, table: str) -> list[Cell]:
        """List the cells of a table."""
        further = map(Cell.read, self.tables[table].get("cells", []))
        return list(dict.fromkeys([*(cell for claim in self.claims[table] for cell in claim.cells), *further]))

    def all_cells(self) -> list[Cell]:
        """List the cells of all tables."""
        return list(dict.fromkeys(cell for name in self.tables for cell in self.cells(name)))

    def seeds(self, cell: Cell) -> range:
        """List the seeds of a cell."""
        usual = self.models[cell.model].get("seeds", 1)
        return range(min(self.content.get("fewer_seeds", {}).get(str(cell), usual), self.most_seeds))

    def train(self) -> None:
        """Make the missing runs; columns that cannot be measured raise an error before the first run."""
        assert self.measures is not None
        for seed in range(max(len(self.seeds(cell)) for cell in self.all_cells())):
            for cell in self.all_cells():
                if seed in self.seeds(cell):
                    self.run(cell, seed, self.chosen(cell))

    def chosen(self, cell: Cell) -> dict[str, str]:
        """Return the grid values of a model with the best dev score for the first seed."""
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
        choose = self.content.get("choose", [])
        for path in choose:
            part, _, name = path.rpartition(".")
            if name in (found := results.get(part, {}) if part else results):
                return float(found[name])
        raise UsageError(f"the training has none of {choose}", remedy="change `choose` in the design")

    def run(self, cell: Cell, seed: int, values: Mapping[str, str]) -> dict[str, Any]:
        """Return the predictions of a run on the test rows; train it first if it is missing."""
        variables = {"SEED": str(seed), **values}
        key = self.keys.make(
            cell=str(cell),
            seed=str(seed),
            model=self.filled([self.common, self.models[cell.model]], variables),
            data=self.filled(self.data[cell.data], variables),
            measured=self.filled(self.content.get("measured", {})),
            columns=[table["columns"] for table in self.tables.values()],
        )
        name = " ".join([str(cell).replace(": ", " "), *values.values(), "seed", str(seed)])
        path = self.runs / f"{name.replace(' ', '_')}.{digest_of(key)}.npz"
        if self.keys.differences(key, read_key(path)):
            self.runs.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=self.runs) as folder:
                predictions = self._trained(cell, Path(folder), variables)
            with atomic_write(path) as part, part.open("wb") as stream:
                np.savez(stream, **{**predictions, KEY: np.array(json.dumps(key))})
            print(f"{cell}, seed {seed} {' '.join(values.values())}", file=sys.stderr, flush=True)
        with np.load(path) as stored:
            return {name: stored[name] for name in stored.files if name != KEY}

    def _trained(self, cell: Cell, folder: Path, variables: Mapping[str, str]) -> dict[str, Any]:
        model = self.models[cell.model]
        if "folder" in model:
            return self.measures.predict_test_rows(
                Path(self.filled(model["folder"], variables)), {}, cell.data, folder
            )
        words = shlex.split(self.filled(self.data[cell.data], variables))
        if words and not words[0].startswith("-"):
            pairs = str(folder / "pairs")
            run_verb(*words, "--seed", variables["SEED"], "--output", pairs)
            words = ["--pairs", pairs]
        train = shlex.split(self.filled(f"{self.common} {model['train']}", variables))
        output = folder / "model"
        run_verb(*train, *words, "--seed", variables["SEED"], "--output", str(output))
        results = json.loads((output / "provenance.json").read_text(encoding="utf-8"))["results"]
        return self.measures.predict_test_rows(output, results, cell.data, folder)

    def _column(self, column: Any, cells: list[Cell]) -> Column:
        found = {}
        for cell in cells:
            runs = [self.run(cell, seed, self.chosen(cell)) for seed in self.seeds(cell)]
            values, drawn = self.measures.measure(column, cell, runs)
            given = self.models[cell.model].get("folder", "$SEED")
            found[cell] = Measured(dict(enumerate(map(float, values))), drawn, "$SEED" in given)
        return found

    def filled(self, value: Any, variables: Mapping[str, str] | None = None) -> Any:
        """Replace the variables in all strings of a value; a variable may contain others."""
        known = {**self.variables, **os.environ, **(variables or {})}
        known = {name: json.dumps(str(text))[1:-1] for name, text in known.items()}
        text = json.dumps(value)
        while "$" in text:
            for name, place in self.results.items():
                output, field = place.split()
                if f"${name}" in text and name not in known:
                    known[name] = str(json.loads(Path(output, "provenance.json").read_text())["results"][field])
            try:
                text = Template(text).substitute(known)
            except KeyError as missing:
                needed = f"the design needs the variable {missing.args[0]}"
                raise UsageError(needed, remedy="set it in the environment") from missing
        return json.loads(text)


def read_key(path: Path) -> dict[str, Any] | None:
    """Read the key of a run; None if there is no run, or none with a key."""
    if not path.exists():
        return None
    with np.load(path) as stored:
        return dict(json.loads(str(stored[KEY]))) if KEY in stored.files else None


def make(output: Path, command: str, keys: StudyKeys) -> None:
    """Make an output, unless the same command made it from the same inputs with the same code."""
    is_shell = command.startswith("!")
    key = keys.make(output, command=Template(command).safe_substitute(os.environ) if is_shell else command)
    record = Path(".keys") / f"{str(output).replace('/', '%')}.json"
    if output.exists():
        older = json.loads(record.read_text(encoding="utf-8")) if record.exists() else None
        if older is None and not keys.any_code:
            remedy = "move it away, or accept it with --any-code"
            raise UsageError(f"{output} has no record of how it was made", remedy=remedy)
        if older is None or not (changes := keys.differences(key, older)):
            print(f"there already: {output}", file=sys.stderr)
            return
        print(f"made again: {output} ({', '.join(changes)})", file=sys.stderr)
    keys.forget(output)
    record.unlink(missing_ok=True)
    remove(output)
    output.parent.mkdir(parents=True, exist_ok=True)
    if is_shell:
        part = output.with_name(f"{output.name}.part")
        remove(part)
        shell = ["bash", "-euo", "pipefail", "-c", command[1:]]
        done = subprocess.run(shell, env={**os.environ, "OUT": str(part), "HERE": str(HERE)}, check=False)  # noqa: S603
        if done.returncode:
            sys.exit(done.returncode)
        part.rename(output)
    else:
        words = [*shlex.split(command), "--output", str(output)]
        if not words[0].endswith(".py"):
            run_verb(*words)
        elif code := subprocess.run([sys.executable, str(HERE / words[0]), *words[1:]], check=False).returncode:  # noqa: S603
            sys.exit(code)
    record.parent.mkdir(exist_ok=True)
    with atomic_write(record) as part:
        part.write_text(json.dumps(key, indent=1), encoding="utf-8")


def remove(output: Path) -> None:
    """Remove a file or a folder if it exists."""
    if output.is_dir() and not output.is_symlink():
        shutil.rmtree(output)
    else:
        output.unlink(missing_ok=True)


if __name__ == "__main__":
    sys.exit(main())
