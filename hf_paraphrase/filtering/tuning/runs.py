"""The training runs of `tune`, and the pairs that they are made on; each is made once, recorded, and reused."""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...artefacts.artefact import incomplete_runs
from ...artefacts.files import write_text_whole
from ...data.folder import DataFolder
from ...encoders.kinds import option_names
from ...encoders.train_settings import EncoderSettings, VocabularySettings
from ...errors import InputError
from ...evaluation.dev import dev_scorer
from ...evaluation.graded_set import GradedSet, score_with_encoder
from ...evaluation.sts import evaluate_scored
from ..filter_steps import FilterSteps
from ..pair_batch import SIDES
from ..row_choice import NothingLeftError, choose_rows
from .results import TuningRun
from .settings import FilterRange, files_of, run_settings

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
        unusable: How many rows they leave out.
    """

    def __init__(self, folder: Path, one_per_reference: str | None, sample: int) -> None:
        self.folder, self.one_per_reference, self.sample = folder, one_per_reference, sample
        self._pairs = DataFolder(folder)
        self._selected: dict[tuple[str, int], tuple[NDArray[np.int64], int]] = {}
        has_labels = "label" in self._pairs.schema().names
        usable = ["length_reference>0", "length>0", *(["label==1"] if has_labels else [])]
        funnel = choose_rows(self._pairs, "train", FilterSteps(keep=usable)).funnel
        self.usable = [step for (_, before), (step, left) in pairwise(funnel.items()) if left < before]
        self.num_rows = funnel["read"]
        self.unusable = self.num_rows - min(funnel.values())

    @cached_property
    def sentences(self) -> pa.Table:
        """Both sides of all rows."""
        return self._pairs.table(columns=list(SIDES))

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
            self._selected[point.label, seed] = self._select(point, seed)
        return self._selected[point.label, seed]

    def _select(self, point: FilterRange, seed: int) -> tuple[NDArray[np.int64], int]:
        keep = [*self.usable, *(selection.text for selection in point.selections)]
        steps = FilterSteps(keep=keep, one_per_reference=self.one_per_reference, sample=self.sample, seed=seed)
        try:
            choice = choose_rows(self._pairs, "train", steps)
        except NothingLeftError:
            return np.empty(0, dtype=np.int64), 0
        # The last step is the sample.
        return np.flatnonzero(choice.kept), list(choice.funnel.values())[-2]


class TuningRuns:
    """Makes training runs; what they share is made once, and what was done before is not done again.

    A run is known by the content of all pairs, from which the vocabulary comes, its rows, the encoder's settings, the
    seed and the content of the dev and test data: two filters that select the same pairs share a run.

    `folder` is that of the records, `fingerprints` are of all inputs by their paths, `data` is the dev data and the
    test data if there are any, and `others` are folders of records of other grids, whose runs are taken over.
    """

    def __init__(
        self,
        folder: Path,
        fingerprints: Mapping[str, str],
        pools: Mapping[str, SelectionPool],
        encoders: Mapping[str, EncoderSettings],
        data: Sequence[str],
        tests: Sequence[GradedSet],
        *,
        others: Sequence[Path] = (),
    ) -> None:
        self.folder, self.pools, self.encoders = folder, pools, encoders
        self.tests, self._others = tests, others
        self.taken = 0
        self._fingerprints = {str(Path(path)): found for path, found in fingerprints.items()}
        self._data = [*(str(pool.folder) for pool in pools.values()), *data]
        self._score = dev_scorer(Path(data[0]))
        self._vocabularies: dict[str, EncoderVocabulary] = {}

    @property
    def known(self) -> int:
        """How many runs are recorded."""
        return len(list(self.folder.glob("*.json")))

    def run(self, data: str, encoder: str, point: FilterRange, seed: int) -> TuningRun | None:
        """Trains and scores one encoder, or finds what was recorded of it; None if the filter selects nothing."""
        rows, available = self.pools[data].select(point, seed)
        if not len(rows):
            return None
        settings = self.encoders[encoder]
        path = self.folder / f"{self._key(data, settings, rows, seed)}.json"
        if (record := _read_record(path)) is None:
            records = (_read_record(folder / path.name) for folder in self._others)
            record = next((item for item in records if item is not None), None)
            if record is not None:
                self.taken += 1
            else:
                record = self._train(data, settings, rows, seed)
            write_text_whole(path, json.dumps(record))
        return TuningRun(seed=seed, available=available, **record)

    def _key(self, data: str, settings: EncoderSettings, rows: NDArray[np.int64], seed: int) -> str:
        contents = [self._fingerprints[str(Path(path))] for path in (*self._data, *files_of(settings))]
        pairs = self._fingerprints[str(self.pools[data].folder)]
        return _digest([contents, pairs, hashlib.sha256(rows.tobytes()).hexdigest(), run_settings(settings), seed])

    def _train(self, data: str, settings: EncoderSettings, rows: NDArray[np.int64], seed: int) -> dict[str, Any]:
        """Trains as `train-encoder` does, without checkpoints: the weights of the best epoch stay in memory."""
        from ...encoders import EncoderTrainer, EncoderTrainingArguments
        from ...encoders.dev_scores import DEV_SCORE
        from ...encoders.encoded_pairs import encode_pairs
        from ...encoders.encoder_vocabulary import untrained_model
        from ...encoders.sentence_encoder import SentenceEncoder
        from ...encoders.train import trainer_settings

        started = time.monotonic()
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
        untrained, *scores = trainer.scores()
        kept = max(scores, key=lambda entry: entry[DEV_SCORE])
        encode = SentenceEncoder(model.eval(), vocabulary.tokenizer).encode
        scored = score_with_encoder(encode, self.tests) if self.tests else ()
        return {
            "pairs": len(pairs),
            "dev": kept[DEV_SCORE],
            "epoch": kept["epoch"],
            "untrained": untrained[DEV_SCORE],
            "curve": [entry[DEV_SCORE] for entry in scores],
            "tests": {
                item.key: found["pearson"] for item, found in zip(scored, evaluate_scored(scored)["sets"], strict=True)
            },
            "similarities": {item.key: item.similarities.round(_DECIMALS).tolist() for item in scored},
            "seconds": round(time.monotonic() - started, 2),
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


def recorded_runs(folder: Path) -> Path:
    """Finds the records of another grid; they are in a hidden folder beside it while it is incomplete."""
    for output in (folder, *(work / "output" for work in incomplete_runs(folder.absolute()))):
        if any((output / RUNS).glob("*.json")):
            return output / RUNS
    raise InputError("no runs of tune are recorded here", path=folder, remedy="give the output of tune")


def _read_record(path: Path) -> dict[str, Any] | None:
    try:
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(
            f"the record of a run is damaged: {error}", path=path, remedy="remove it, and the run is trained again"
        ) from error
    return record


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]
