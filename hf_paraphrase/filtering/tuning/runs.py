"""The training runs of `tune`, and the pairs that they are made on; each is made once, recorded, and reused."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
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
from ...text.hashing import hash128
from ...vectors.similarity import pearson
from ..filter_pipeline import FilterPipeline, check_any_left, choose_rows
from ..pair_batch import SIDES
from .results import Cell, TuningRun

if TYPE_CHECKING:
    from ...encoders.encoder_vocabulary import EncoderVocabulary

RUNS = "runs"
"""The folder of the records, one JSON file per run."""


class SelectionPool:
    """Choose the rows that `filter` keeps among the trainable ones, once for each range and seed.

    A row with an empty side, or with a label of another pair, is in no selection, so that a sample is of the size that
    was asked for wherever enough rows are left.

    Attributes:
        usable: Selections with which `filter` leaves the other rows out too.
        sentences: Both sides of all rows.
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
        """Select the labels that mean a paraphrase, however the data spells or numbers them."""
        if (label := find_label(self._pairs.schema().names)) is None:
            return []
        values = self._pairs.table(columns=[label])[label].unique().drop_null()
        names = {label: self._pairs.class_names(label)}
        meanings = PairLabels(label, names, path=str(self.folder)).read(values)
        positive = values.filter(pc.equal(meanings, 1)).to_pylist() or [1]
        texts = [value if isinstance(value, str) else f"{float(value):g}" for value in positive]
        return [f"{label} in {','.join(map(repr, texts))}"]

    def select(self, keep: Sequence[str], seed: int) -> tuple[NDArray[np.int64], int]:
        """Take the steps of `filter`: the selections, one translation a reference, the sample.

        Returns:
            The rows that are kept, ascending; and how many there were to draw from.
        """
        if (keep, seed) not in self._selected:
            every = [*self.usable, *keep]
            steps = FilterPipeline(keep=every, one_per_reference=self.one_per_reference, sample=self.sample, seed=seed)
            choice = choose_rows(self._pairs, "train", steps)
            # The last step is the sample.
            self._selected[keep, seed] = np.flatnonzero(choice.kept), list(choice.funnel.values())[-2]
        return self._selected[keep, seed]


class TuningRuns:
    """Make training runs that share vocabularies and dev sets; runs that `folder` has a record of are not repeated.

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
        with tempfile.TemporaryDirectory() as scratch:
            arguments = settings.trainer_arguments(
                EncoderTrainingArguments,
                output_dir=scratch,
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
            "tests": {item.key: 100.0 * pearson(item.similarities, item.graded.scores) for item in scored},
            "similarities": {item.key: item.similarities.round(6).tolist() for item in scored},
        }

    def _sentences(self) -> Iterator[str]:
        for pool in self.pools.values():
            for side in pool.sentences.columns:
                yield from (text or "" for text in side.to_pylist())
