"""The training runs of `tune`, and the pairs that they are made on; each is made once, recorded, and reused."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...artefacts.files import write_text_whole
from ...data.folder import DataFolder
from ...encoders.kinds import option_names
from ...encoders.train_settings import EncoderSettings, VocabularySettings
from ...evaluation.dev import dev_scorer
from ...evaluation.pair_sets import GradedSet, score_with_encoder
from ...evaluation.sts import evaluate_scored
from ..filter_steps import FilterSteps
from ..pair_batch import SIDES
from ..row_choice import check_any_left, choose_rows
from .results import TuningRun
from .settings import FilterRange

if TYPE_CHECKING:
    from ...encoders.encoder_vocabulary import EncoderVocabulary

RUNS = "runs"
"""The folder of the records, one JSON file a run."""
_OF_THE_VOCABULARY = ("model_type", "hidden_size", "skip_unknown", *option_names(VocabularySettings))
_DECIMALS = 6


class SelectionPool:
    """Chooses the rows that `filter` keeps, among those that can be trained on, once for each range and seed.

    A row with an empty side, or with a label other than 1, is in no selection, so that a sample is of the size that
    was asked for wherever enough rows are left.

    Attributes:
        usable: Selections with which `filter` leaves those out too, as text; none where there are none.
        sentences: Both sides of all rows.
    """

    def __init__(self, folder: Path, sample: int) -> None:
        self.folder, self.sample = folder, sample
        self._pairs = DataFolder(folder)
        self._selected: dict[tuple[str, int], tuple[NDArray[np.int64], int]] = {}
        columns = self._pairs.schema().names
        self.one_per_reference = "best" if "rank" in columns else None
        usable = ["length_reference>0", "length>0", *(["label==1"] if "label" in columns else [])]
        choice = choose_rows(self._pairs, "train", FilterSteps(keep=usable))
        check_any_left(choice, "train", self._pairs)
        self.usable = [step for (_, before), (step, left) in pairwise(choice.funnel.items()) if left < before]
        self.sentences: pa.Table = self._pairs.table(columns=list(SIDES))

    def pairs(self, rows: NDArray[np.int64]) -> list[dict[str, str]]:
        """Returns some rows."""
        pairs: list[dict[str, str]] = self.sentences.take(pa.array(rows)).to_pylist()
        return pairs

    def select(self, point: FilterRange, seed: int) -> tuple[NDArray[np.int64], int]:
        """Takes the steps of `filter`: the selections, one translation a reference, the sample.

        Returns:
            The rows that are kept, ascending; and how many there were to draw from.
        """
        if (point.label, seed) not in self._selected:
            keep = [*self.usable, *(selection.text for selection in point.selections)]
            steps = FilterSteps(keep=keep, one_per_reference=self.one_per_reference, sample=self.sample, seed=seed)
            choice = choose_rows(self._pairs, "train", steps)
            # The last step is the sample.
            self._selected[point.label, seed] = np.flatnonzero(choice.kept), list(choice.funnel.values())[-2]
        return self._selected[point.label, seed]


class TuningRuns:
    """Makes training runs; what they share is made once, and a run that is recorded in `folder` is not made again.

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

    def run(self, data: str, encoder: str, point: FilterRange, seed: int) -> TuningRun | None:
        """Trains and scores one encoder, or finds what was recorded of it; None if the filter selects nothing."""
        rows, available = self.pools[data].select(point, seed)
        if not len(rows):
            return None
        path = self.folder / f"{_digest([data, encoder, rows.tolist(), seed])}.json"
        if path.is_file():
            record = json.loads(path.read_text(encoding="utf-8"))
        else:
            record = self._train(data, self.encoders[encoder], rows, seed)
            write_text_whole(path, json.dumps(record))
        return TuningRun(seed=seed, available=available, **record)

    def _train(self, data: str, settings: EncoderSettings, rows: NDArray[np.int64], seed: int) -> dict[str, Any]:
        """Trains as `train-encoder` does, without checkpoints: the weights of the best epoch stay in memory."""
        from ...encoders import EncoderTrainer, EncoderTrainingArguments
        from ...encoders.dev_scores import DEV_SCORE
        from ...encoders.encoded_pairs import encode_pairs
        from ...encoders.encoder_vocabulary import untrained_model
        from ...encoders.sentence_encoder import SentenceEncoder
        from ...encoders.train import trainer_settings

        vocabulary = self._vocabulary(settings)
        pairs = encode_pairs(self.pools[data].pairs(rows), vocabulary.tokenizer)
        model, _ = untrained_model(settings, vocabulary, pairs.counts, seed=seed)
        best: dict[str, Any] = {"score": -np.inf, "weights": None}

        def evaluate(encoder: SentenceEncoder) -> dict[str, float]:
            scores = self._score(encoder.encode)
            if trainer.state.global_step > 0 and scores[DEV_SCORE] > best["score"]:
                weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
                best.update(score=scores[DEV_SCORE], weights=weights)
            return scores

        with tempfile.TemporaryDirectory() as scratch:
            arguments = settings.trainer_arguments(
                EncoderTrainingArguments,
                output_dir=scratch,
                seed=seed,
                report_to=settings.report_to,
                disable_tqdm=True,
                save_strategy="no",
                **trainer_settings(settings),
            )
            trainer = EncoderTrainer(model, arguments, pairs, vocabulary.tokenizer, evaluator=evaluate)
            trainer.train()
        if best["weights"] is not None:
            model.load_state_dict(best["weights"])
        _, *scores = trainer.scores()
        kept = max(scores, key=lambda entry: entry[DEV_SCORE])
        encode = SentenceEncoder(model.eval(), vocabulary.tokenizer).encode
        scored = score_with_encoder(encode, self.tests) if self.tests else ()
        return {
            "pairs": len(pairs),
            "dev": kept[DEV_SCORE],
            "epoch": kept["epoch"],
            "tests": {
                item.key: found["pearson"] for item, found in zip(scored, evaluate_scored(scored)["sets"], strict=True)
            },
            "similarities": {item.key: item.similarities.round(_DECIMALS).tolist() for item in scored},
        }

    def _vocabulary(self, settings: EncoderSettings) -> EncoderVocabulary:
        from ...encoders.encoder_vocabulary import new_vocabulary

        key = _digest({name: getattr(settings, name) for name in _OF_THE_VOCABULARY})
        if key not in self._vocabularies:
            self._vocabularies[key] = new_vocabulary(settings, self._sentences)
        return self._vocabularies[key]

    def _sentences(self) -> Iterator[str]:
        for pool in self.pools.values():
            for side in pool.sentences.columns:
                yield from (text or "" for text in side.to_pylist())


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]
