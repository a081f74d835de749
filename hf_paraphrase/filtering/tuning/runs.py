"""The training runs of `tune`, the choice by dev scores alone, and tables. Each run is recorded and reused."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ...artefacts.files import atomic_write_text
from ...data.folder import DataFolder
from ...data.pair_rows import PairLabels, find_label
from ...encoders.dev_sets.pair_sets import GradedSet, score_with_encoder
from ...encoders.dev_sets.scorer import dev_scorer
from ...encoders.train_settings import EncoderSettings
from ...inputs import temporary_folder
from ...tables import format_table, number
from ...text.hashing import hash128
from ...training.verdicts import EQUIVALENCE, Difference, bootstrap_means, difference, mean_difference, spread
from ...vectors.similarity import pearson
from ..filter_pipeline import FilterPipeline, check_any_left, choose_rows
from ..measures import SIDES
from ..selections import quote_column

if TYPE_CHECKING:
    from ...encoders.encoder_vocabulary import EncoderVocabulary

RUNS = "runs"
"""The folder of the records, one JSON file per run."""
RANDOM = "random"
"""The baseline of all filters: pairs drawn at random."""
_JUDGED = ["minus {} [95 %]", "helps", f"within ± {EQUIVALENCE:g}"]


@dataclass(frozen=True)
class Cell:
    """One cell of a grid: an encoder trained on a range of a filter of a data set."""

    data: str
    encoder: str
    filter: str
    range: str

    @property
    def keep(self) -> tuple[str, ...]:
        """The comparisons of its range; all must hold."""
        return tuple(part.strip() for part in self.range.split(",") if part.strip())

    @property
    def random(self) -> Cell:
        """The random selection of the same data, for the same encoder."""
        return Cell(self.data, self.encoder, RANDOM, "")


@dataclass(frozen=True)
class TuningRun:
    """One trained encoder: the numbers of pairs used and available, the best dev mean, and the tests at that epoch.

    Means are Pearson × 100; `similarities` has the cosines of each test set (pairs,).
    """

    seed: int
    available: int
    pairs: int
    dev: float
    epoch: float = 0.0
    tests: Mapping[str, float] = field(default_factory=dict)
    similarities: Mapping[str, Sequence[float]] = field(default_factory=dict, repr=False)

    def record(self) -> dict[str, float]:
        """Return the record of the run for `provenance.json`."""
        return {name: getattr(self, name) for name in ("seed", "available", "pairs", "dev", "epoch")}

    @property
    def test(self) -> float | None:
        """The unweighted mean over the test sets."""
        return mean(self.tests.values()) if self.tests else None


@dataclass(frozen=True)
class ComparedCell:
    """A cell and a baseline of the same data, usually the random selection.

    Attributes:
        baseline: The runs of the baseline, one per seed.
        difference: Test mean minus the test mean of the baseline; None without test sets.
    """

    cell: Cell
    runs: Sequence[TuningRun]
    baseline: Sequence[TuningRun]
    difference: Difference | None = None

    @property
    def dev(self) -> float:
        """The mean dev score over the seeds."""
        return mean(run.dev for run in self.runs)

    @property
    def test(self) -> float | None:
        """The mean test score over the seeds."""
        return compute_mean_test(self.runs)

    def record(self) -> dict[str, Any]:
        """Return the record of the cell for `provenance.json`."""
        return {
            **vars(self.cell),
            "dev": self.dev,
            "test": self.test,
            "test_baseline": compute_mean_test(self.baseline),
            "difference": None if self.difference is None else self.difference.interval().record(),
            "pairs": [run.pairs for run in self.runs],
            "epochs": [run.epoch for run in self.runs],
        }


class SelectionPool:
    """Choose the rows that `filter` keeps among the trainable ones, once for each range and seed.

    Rows with an empty sentence, or labelled as no paraphrase, are removed before sampling, so that samples have the
    requested size if enough rows are left.

    Attributes:
        usable: The selections that remove these rows.
        sentences: Both sentences of all rows.
    """

    def __init__(self, folder: Path, sample: int) -> None:
        self.folder, self.sample = folder, sample
        self._pairs = DataFolder(folder)
        self._selected: dict[tuple[Sequence[str], int], tuple[NDArray[np.int64], int]] = {}
        columns = self._pairs.schema().names
        self.one_per_reference = "best" if "rank" in columns else None
        self.usable = ["length_reference>0", "length>0", *self._label_selection()]
        check_any_left(choose_rows(self._pairs, "train", FilterPipeline(keep=self.usable)), "train", self._pairs)
        self.sentences: pa.Table = self._pairs.table(columns=list(SIDES))

    def _label_selection(self) -> list[str]:
        """Return the selection of rows labelled as paraphrases, in the spelling or the class numbers of the data."""
        if (label := find_label(self._pairs.schema().names)) is None:
            return []
        values = self._pairs.table(columns=[label])[label].unique().drop_null()
        names = {label: self._pairs.class_names(label)}
        meanings = PairLabels(label, names, path=str(self.folder)).read(values)
        positive = values.filter(pc.equal(meanings, 1)).to_pylist() or [1]
        texts = [value if isinstance(value, str) else f"{float(value):g}" for value in positive]
        return [f"{quote_column(label)} in {','.join(map(repr, texts))}"]

    def select(self, keep: Sequence[str], seed: int) -> tuple[NDArray[np.int64], int]:
        """Apply the steps of `filter`: the selections, one translation per reference, the sample.

        Returns:
            The kept rows, ascending, and the number of rows to draw from.
        """
        if (keep, seed) not in self._selected:
            every = [*self.usable, *keep]
            steps = FilterPipeline(keep=every, one_per_reference=self.one_per_reference, sample=self.sample, seed=seed)
            choice = choose_rows(self._pairs, "train", steps)
            # The last step is the sample.
            self._selected[keep, seed] = np.flatnonzero(choice.kept), list(choice.funnel.values())[-2]
        return self._selected[keep, seed]


class TuningRuns:
    """Make training runs that share vocabularies and dev sets; runs recorded in `folder` are not repeated.

    Two filters that select the same pairs share a run.
    """

    def __init__(
        self,
        folder: Path,
        pools: Mapping[str, SelectionPool],
        encoders: Mapping[str, EncoderSettings],
        dev_data: Path,
        tests: Sequence[GradedSet],
    ) -> None:
        self.folder, self.pools, self.encoders, self.tests = folder, pools, encoders, tests
        self._score = dev_scorer(dev_data)
        self._vocabularies: dict[str, EncoderVocabulary] = {}

    def run(self, cell: Cell, seed: int) -> TuningRun | None:
        """Train and score one encoder, or read its record; return None if the filter selects no pair."""
        rows, available = self.pools[cell.data].select(cell.keep, seed)
        if not len(rows):
            return None
        selected = json.dumps([cell.data, cell.encoder, rows.tolist(), seed])
        path = self.folder / f"{hash128(selected)}.json"
        if path.is_file():
            record = json.loads(path.read_text(encoding="utf-8"))
        else:
            record = self._train(cell, rows, seed)
            atomic_write_text(path, json.dumps(record))
        return TuningRun(seed=seed, available=available, **record)

    def _train(self, cell: Cell, rows: NDArray[np.int64], seed: int) -> dict[str, Any]:
        """Train as `train-encoder` does, and score the best epoch."""
        from ...encoders import EncoderTrainer, EncoderTrainingArguments
        from ...encoders.encoded_pairs import encode_pairs
        from ...encoders.encoder_vocabulary import make_untrained_model, make_vocabulary
        from ...encoders.sentence_encoder import SentenceEncoder
        from ...encoders.train import make_trainer_arguments
        from ...encoders.trainer import DEV_SCORE

        settings = self.encoders[cell.encoder]
        if cell.encoder not in self._vocabularies:
            self._vocabularies[cell.encoder] = make_vocabulary(settings, self._sentences)
        vocabulary = self._vocabularies[cell.encoder]
        selected = self.pools[cell.data].sentences.take(pa.array(rows))
        pairs = encode_pairs(selected.to_pylist(), vocabulary.tokenizer)
        model, _ = make_untrained_model(settings, vocabulary, pairs.counts, seed=seed)
        with temporary_folder() as scratch:
            arguments = settings.trainer_arguments(
                EncoderTrainingArguments,
                output_dir=str(scratch),
                seed=seed,
                report_to=settings.report_to,
                disable_tqdm=True,
                save_only_model=True,
                **make_trainer_arguments(settings),
            )
            evaluator = lambda encoder: self._score(encoder.encode)  # noqa: E731
            trainer = EncoderTrainer(model, arguments, pairs, vocabulary.tokenizer, evaluator=evaluator)
            trainer.train()
        kept = trainer.best_scores()
        assert kept is not None
        encode = SentenceEncoder(model.eval(), vocabulary.tokenizer).encode
        scored = score_with_encoder(encode, self.tests) if self.tests else ()
        return {
            "pairs": len(pairs),
            "dev": kept[DEV_SCORE],
            "epoch": kept["epoch"],
            "tests": {one.key: 100.0 * pearson(one.similarities, one.graded.scores) for one in scored},
            "similarities": {one.key: one.similarities.round(6).tolist() for one in scored},
        }

    def _sentences(self) -> Iterator[str]:
        for pool in self.pools.values():
            for side in pool.sentences.columns:
                yield from (text or "" for text in side.to_pylist())


Runs = dict[Cell, list[TuningRun]]
"""The runs of every cell, one per seed."""


def compute_mean_test(runs: Iterable[TuningRun]) -> float | None:
    """Compute the mean test score of runs; None without test sets."""
    scores = [run.test for run in runs if run.test is not None]
    return mean(scores) if scores else None


def choose_by_dev(grid: Runs) -> dict[tuple[str, str, str], Cell]:
    """Choose for every (encoder, filter, data set) the cell with the highest dev mean, the first of equal ones."""
    cells: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in grid:
        cells.setdefault((cell.encoder, cell.filter, cell.data), []).append(cell)
    return {key: max(group, key=lambda cell: mean(run.dev for run in grid[cell])) for key, group in cells.items()}


def compare_cells(
    cell: Cell,
    runs: Sequence[TuningRun],
    baseline: Sequence[TuningRun],
    scores: Mapping[str, NDArray[np.float64]],
    *,
    replicates: int = 1000,
) -> ComparedCell:
    """Compare a cell with another of the same data over seeds and the sentence pairs of the test sets.

    Runs with the same seed are paired: they start from the same weights, and share as many training pairs as their
    selections allow. `scores` are the human scores (pairs,) of each test set.
    """
    if not scores:
        return ComparedCell(cell, runs, baseline)
    means = bootstrap_means(
        [np.array([run.similarities[name] for run in (*runs, *baseline)]) for name in scores],
        list(scores.values()),
        replicates=replicates,
    )
    first, second = ({run.seed: run.test or 0.0 for run in side} for side in (runs, baseline))
    test_difference = difference(first, second, paired=True, pairs=(means[:, : len(runs)], means[:, len(runs) :]))
    return ComparedCell(cell, runs, baseline, test_difference)


def format_filters(
    compared: Mapping[tuple[str, str, str], ComparedCell], data: Sequence[str], encoders: Sequence[str], tested: bool
) -> str:
    """Format tables 6, 7 and 12: one row per filter, with the means of the chosen cells over the data sets.

    If a filter selects nothing from a data set, its row states that its means and its difference from the random
    selection are over the other data sets. The 95 % intervals hold jointly for the whole table.
    `compared` is by encoder, filter and data set.
    """
    filters = list(dict.fromkeys(name for _, name, _ in compared))
    header = ["filter"]
    for encoder in encoders:
        header += [f"{encoder}: dev"]
        header += [f"{encoder}: test", *(name.format(RANDOM) for name in _JUDGED)] if tested else []
    rows = []
    comparisons = len({(encoder, name) for encoder, name, _ in compared if name != RANDOM})
    for name in filters:
        covered = [data_set for data_set in data if (encoders[0], name, data_set) in compared]
        row = [name if len(covered) == len(data) else f"{name} ({len(covered)} of {len(data)} data sets)"]
        for encoder in encoders:
            cells = [compared[encoder, name, data_set] for data_set in covered]
            row.append(number(mean(cell.dev for cell in cells)))
            if tested:
                row.append(number(mean(cell.test for cell in cells if cell.test is not None)))
                differences = [cell.difference for cell in cells if cell.difference is not None and name != RANDOM]
                row += _judge(mean_difference(differences) if differences else None, comparisons)
        rows.append(row)
    return format_table(header, rows)


def format_cells(cells: Collection[ComparedCell], tested: bool, against: str = RANDOM) -> str:
    """Format cells that are compared with the baseline `against`: a row for each filter, data set and encoder."""
    header = ["filter", "data", "encoder", "range", "pairs", "epoch", "dev"]
    header += ["test", *(name.format(against) for name in _JUDGED)] if tested else []
    comparisons = sum(compared.cell.filter != RANDOM for compared in cells)
    rows = []
    for compared in cells:
        cell, runs = compared.cell, compared.runs
        row = [cell.filter, cell.data, cell.encoder, cell.range or "–", f"{mean(run.pairs for run in runs):,.0f}"]
        row += [" ".join(f"{run.epoch:g}" for run in runs), spread([run.dev for run in runs])]
        if tested:
            row.append(spread([run.test for run in runs if run.test is not None]))
            row += _judge(None if cell.filter == RANDOM else compared.difference, comparisons)
        rows.append(row)
    return format_table(header, rows)


def _judge(gain: Difference | None, comparisons: int) -> list[str]:
    """Format a gain with its interval and its two verdicts."""
    if gain is None:
        return [""] * len(_JUDGED)
    interval = gain.interval(comparisons)
    return [interval.text(), interval.verdict("above"), interval.verdict("equivalent")]
