"""Trains encoders on several sources and numbers of pairs, and judges what a table of a paper claims of them.

A design is a YAML file. `encoders`: by name a `file` of `train-encoder --config`, the number of `seeds`, and further
settings; with other `initial_vectors` than those given here, an encoder knows the words of these all the same, if it
has no `word_list` of its own. Variables of the environment are put in for `$NAME`.
`columns`: by name the sets of which a column is the mean, by family (`STS12`) or key (`STS12 OnWN`); the family
`length` has the pairs of STS 2012 and 2013 by the mean number of words of their two sides. `cells`: trained and shown,
each `ENCODER SOURCE NUMBER`, where a number may be `all`. `claims`: each of a text, a cell, `above`, `below` or
`little`, and another cell; cells of claims need not be listed. `examples` may name two cells: which pairs of the set
`examples_of` each of them judges better than the other.

    python scripts/studies/pairs_study.py --design scripts/studies/designs/sizes.yaml --pairs back=DIR people=DIR \
        --initial-vectors FILE --dev-data STS16 --data STS [--graded NAME=DIR] --runs DIR --output DIR [--picture]

Runs are those of `tune`: the pairs of a cell are drawn by its seed, the same first ones for every number, and the
epoch is chosen on the dev data. What is finished is noted below `--runs`, which several designs may share. All claims
of a design are judged together (`evaluation/verdicts.py`); runs with equal seeds are paired where they have the same
draws or the same initial weights.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from hf_paraphrase.errors import HfParaphraseError, UsageError
from hf_paraphrase.evaluation.bootstrap import bootstrap_means
from hf_paraphrase.evaluation.graded_set import GradedSet, read_graded_folder
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.evaluation.verdicts import Interval, difference, spread
from hf_paraphrase.filtering.tuning.choice import TuningRun
from hf_paraphrase.filtering.tuning.grids import RANDOM, FilterRange
from hf_paraphrase.filtering.tuning.runs import TuningRuns
from hf_paraphrase.filtering.tuning.selection_pool import SelectionPool
from hf_paraphrase.filtering.tuning.tuned_encoders import encoder_settings
from hf_paraphrase.tables import format_table
from interval_picture import draw_intervals

CONFIGS = Path(__file__).resolve().parents[1] / "configs"
LENGTHS = (0, 8, 12, 20, 1000)
REPLICATES = 1000
EXAMPLES = 6
_LENGTH_FAMILIES = ("STS12", "STS13")
_CLAIMS = ("above", "below", "little")


@dataclass(frozen=True)
class PairsCell:
    """An encoder, the name of a source of pairs, and how many of them (None: all)."""

    encoder: str
    source: str
    number: int | None

    @classmethod
    def read(cls, text: str) -> PairsCell:
        """Reads `ENCODER SOURCE NUMBER`; an encoder's name may have spaces."""
        *encoder, source, number = text.split() if len(text.split()) > 2 else ("", "", "")
        if not encoder or not (number == "all" or number.isdecimal()):
            raise UsageError(f"`{text}` is not a cell", remedy="write ENCODER SOURCE NUMBER, e.g. gran back 24000")
        return cls(" ".join(encoder), source, None if number == "all" else int(number))


@dataclass(frozen=True)
class Claim:
    """What a table claims: that the first cell is above or below the second, or that there is little between them."""

    text: str
    first: PairsCell
    relation: str
    second: PairsCell


def main() -> int:
    """Trains what is not noted yet, writes the tables, and returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--design", type=Path, required=True, help="the YAML file of the table")
    parser.add_argument("--pairs", nargs="+", required=True, help="NAME=DIR of each source of pairs")
    parser.add_argument("--initial-vectors", required=True, help="word vectors to start from")
    parser.add_argument("--dev-data", type=Path, required=True, help="the folder of the STS 2016 sets")
    parser.add_argument("--data", type=Path, required=True, help="the folder of all STS sets")
    parser.add_argument("--graded", nargs="*", default=[], help="NAME=DIR of further graded data folders, split test")
    parser.add_argument("--most-seeds", type=int, default=1000, help="no more seeds of any encoder (default: all)")
    parser.add_argument("--runs", type=Path, required=True, help="the folder of the finished runs")
    parser.add_argument("--output", type=Path, required=True, help="a folder for table.md and claims.md")
    parser.add_argument("--picture", action="store_true", help="also draw the claims, claims.png")
    options = parser.parse_args()
    try:
        texts, intervals = study(options)
    except HfParaphraseError as error:
        sys.stderr.write(f"pairs_study: error: {error}\n")
        return 2
    options.output.mkdir(parents=True, exist_ok=True)
    if options.picture and intervals:
        rows = [(claim.text, list(found.values())) for claim, found in intervals.items()]
        draw_intervals(options.output / "claims.png", rows, list(next(iter(intervals.values()))), "difference, points")
    for name, text in texts.items():
        (options.output / f"{name}.md").write_text(text, encoding="utf-8")
        sys.stdout.write(text + "\n")
    return 0


def study(options: argparse.Namespace) -> tuple[dict[str, str], dict[Claim, dict[str, Interval]]]:
    """Trains what is not noted yet.

    Returns:
        The texts of the table, the claims and the examples, and the intervals of each claim by column.
    """
    design = yaml.safe_load(os.path.expandvars(options.design.read_text(encoding="utf-8")))
    claims = read_claims(design.get("claims", []))
    cells = [PairsCell.read(text) for text in [*design.get("cells", []), *design.get("examples", [])]]
    cells = list(dict.fromkeys([*cells, *(cell for claim in claims for cell in (claim.first, claim.second))]))
    sets = [*find_sts_sets(options.data).sets]
    sets += by_length(sets)
    for name, folder in _named(options.graded).items():
        graded = read_graded_folder(folder, "test")
        sets.append(GradedSet(name, "graded", graded.sentences1, graded.sentences2, graded.scores))
    columns = read_columns(design["columns"], sets)
    runs = train(options, design["encoders"], cells, sets)
    intervals = judge(claims, runs, columns, sets)
    texts = {"table": mean_table(runs, columns, sets), "claims": claims_table(intervals, list(columns))}
    if "examples" in design:
        first, second = (runs[PairsCell.read(text)] for text in design["examples"])
        texts["examples"] = examples(first, second, next(item for item in sets if item.key == design["examples_of"]))
    return texts, intervals


def _named(words: Sequence[str]) -> dict[str, Path]:
    return {name: Path(folder) for name, _, folder in (word.partition("=") for word in words)}


def read_claims(rows: Sequence[Sequence[str]]) -> list[Claim]:
    """Reads the claims of a design."""
    claims = []
    for row in rows:
        if len(row) != 4 or row[2] not in _CLAIMS:
            raise UsageError(f"`{row}` is not a claim", remedy=f"give a text, a cell, one of {_CLAIMS}, and a cell")
        claims.append(Claim(row[0], PairsCell.read(row[1]), row[2], PairsCell.read(row[3])))
    return claims


def by_length(sets: Sequence[GradedSet]) -> list[GradedSet]:
    """Puts the pairs of the sets of 2012 and 2013 together by the mean number of words of their two sides."""
    found = [item for item in sets if item.family in _LENGTH_FAMILIES]
    first = [text for item in found for text in item.sentences1]
    second = [text for item in found for text in item.sentences2]
    if not first:
        return []
    scores = np.concatenate([item.scores for item in found])
    lengths = np.array([(len(one.split()) + len(other.split())) / 2 for one, other in zip(first, second, strict=True)])
    bins = []
    for low, high in pairwise(LENGTHS):
        rows = np.flatnonzero((low < lengths) & (lengths <= high))
        # Of fewer pairs there is no correlation worth a column.
        if len(rows) > 2:
            name = f"{low + 1} to {high}" if high < LENGTHS[-1] else f"over {low}"
            sides = [[side[row] for row in rows] for side in (first, second)]
            bins.append(GradedSet(name, "length", sides[0], sides[1], scores[rows]))
    return bins


def read_columns(columns: Mapping[str, Sequence[str]], sets: Sequence[GradedSet]) -> dict[str, list[int]]:
    """Finds the sets of each column."""
    found: dict[str, list[int]] = {}
    for name, wanted in columns.items():
        found[name] = [place for place, item in enumerate(sets) if {item.key, item.family} & set(wanted)]
        if not found[name]:
            raise UsageError(f"the column {name}: there is no set {', '.join(wanted)}", remedy="look at --data")
    return found


def train(
    options: argparse.Namespace,
    encoders: Mapping[str, Mapping[str, Any]],
    cells: Sequence[PairsCell],
    sets: Sequence[GradedSet],
) -> dict[PairsCell, list[TuningRun]]:
    """Trains every cell with the seeds of its encoder; the first seeds of all cells come first."""
    folders = _named(options.pairs)
    settings = {}
    for name, given in encoders.items():
        more = {key: value for key, value in given.items() if key not in ("file", "seeds")}
        named = f"{name}={CONFIGS / given['file']}"
        start = {"word_list" if "initial_vectors" in more else "initial_vectors": options.initial_vectors}
        settings[name] = encoder_settings(named, **{**start, **more})[1]
    work = {}
    for cell in cells:
        source = cell.source
        if source not in folders or cell.encoder not in settings:
            raise UsageError(f"{cell}: unknown source or encoder", remedy=f"of {', '.join([*folders, *settings])}")
        if source not in work:
            # A source by itself: then what was made without the others is found again with them.
            pool = SelectionPool(folders[source], (), None)
            work[source] = TuningRuns(
                options.runs / source, {source: pool}, settings, options.dev_data, sets, sample=pool.num_rows
            )
        pool = work[source].pools[source]
        if pool.num_rows - pool.unusable < (cell.number or 1):
            raise UsageError(f"{cell}: there are {pool.num_rows - pool.unusable:,} pairs", remedy="ask for fewer")
    found: dict[PairsCell, list[TuningRun]] = {cell: [] for cell in cells}
    seeds = {name: min(int(given["seeds"]), options.most_seeds) for name, given in encoders.items()}
    for seed in range(max(seeds.values())):
        for cell in cells:
            if seed < seeds[cell.encoder]:
                runs = work[cell.source]
                runs.sample = cell.number or runs.pools[cell.source].num_rows
                run = runs.run(cell.source, cell.encoder, FilterRange(RANDOM, ""), seed)
                assert run is not None
                found[cell].append(run)
                sys.stderr.write(f"{cell.encoder}, {run.pairs:,} pairs of {cell.source}, seed {seed}: {run.dev:.1f}\n")
    return found


def mean_table(
    runs: Mapping[PairsCell, Sequence[TuningRun]], columns: Mapping[str, Sequence[int]], sets: Sequence[GradedSet]
) -> str:
    """Formats a row a cell: Pearson's r × 100, mean and standard deviation over the seeds."""
    rows = []
    for cell, found in runs.items():
        scores = [spread([_score(run, places, sets) for run in found]) for places in columns.values()]
        rows.append([cell.encoder, cell.source, f"{found[0].pairs:,}", str(len(found)), *scores])
    return format_table(["encoder", "source", "pairs", "seeds", *columns], rows)


def judge(
    claims: Sequence[Claim],
    runs: Mapping[PairsCell, Sequence[TuningRun]],
    columns: Mapping[str, Sequence[int]],
    sets: Sequence[GradedSet],
) -> dict[Claim, dict[str, Interval]]:
    """Computes the difference that each claim is about in each column, its interval for all of the table."""
    comparisons = len(claims) * len(columns)
    intervals: dict[Claim, dict[str, Interval]] = {}
    for claim in claims:
        sides = [runs[claim.first], runs[claim.second]]
        paired = claim.first.source == claim.second.source or claim.first.encoder == claim.second.encoder
        found = intervals[claim] = {}
        for name, places in columns.items():
            drawn = _drawn([*sides[0], *sides[1]], places, sets)
            scores = [{run.seed: _score(run, places, sets) for run in side} for side in sides]
            parts = (drawn[:, : len(sides[0])], drawn[:, len(sides[0]) :])
            found[name] = difference(scores[0], scores[1], paired=paired, pairs=parts).interval(comparisons)
    return intervals


def claims_table(intervals: Mapping[Claim, Mapping[str, Interval]], columns: Sequence[str]) -> str:
    """Formats a row a claim: the difference in each column with its interval, and the verdict."""
    rows = []
    for claim, found in intervals.items():
        cells = [f"{item.text()}: {item.verdict(claim.relation)}" for item in found.values()]  # type: ignore[arg-type]
        rows.append([claim.text, *cells])
    return format_table(["claim", *columns], rows)


def _similarities(run: TuningRun, graded: GradedSet) -> NDArray[np.float64]:
    assert run.similarities is not None
    return run.similarities[graded.key]


def _score(run: TuningRun, places: Sequence[int], sets: Sequence[GradedSet]) -> float:
    values = [np.corrcoef(_similarities(run, sets[place]), sets[place].scores)[0, 1] for place in places]
    return float(100 * np.mean(values))


def _drawn(runs: Sequence[TuningRun], places: Sequence[int], sets: Sequence[GradedSet]) -> NDArray[np.float64]:
    values = [np.stack([_similarities(run, sets[place]) for run in runs]) for place in places]
    return bootstrap_means(values, [sets[place].scores for place in places], replicates=REPLICATES)


def examples(first: Sequence[TuningRun], second: Sequence[TuningRun], graded: GradedSet) -> str:
    """Formats the pairs of a set that one side places far better than the other among all pairs of the set.

    What counts is how far a pair's place by the cosine (its mean over the seeds) is from its place by people's scores.
    """
    places = [_places(np.mean([_similarities(run, graded) for run in side], axis=0)) for side in (first, second)]
    gold = _places(graded.scores)
    gain = np.abs(places[1] - gold) - np.abs(places[0] - gold)
    order = np.argsort(-gain, kind="stable")
    rows = []
    for who, chosen in (("first", order[:EXAMPLES]), ("second", order[::-1][:EXAMPLES])):
        for row in chosen:
            numbers = [f"{graded.scores[row]:g}", *(f"{100 * place[row]:.0f}" for place in (gold, *places))]
            rows.append([who, graded.sentences1[row], graded.sentences2[row], *numbers])
    return format_table(["better", "one side", "other side", "score", "its place, %", "first, %", "second, %"], rows)


def _places(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Computes the share of values below each, ties in the middle (n,)."""
    ascending = np.sort(values)
    below, above = (np.searchsorted(ascending, values, side=side) for side in ("left", "right"))
    return np.asarray((below + above) / (2 * len(values)))


if __name__ == "__main__":
    sys.exit(main())
