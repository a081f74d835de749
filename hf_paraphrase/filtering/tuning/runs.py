"""The training runs of `tune`: each is made once, recorded, and reused."""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from ...artefacts.artefact import incomplete_runs
from ...artefacts.files import written_whole
from ...artefacts.provenance import fingerprint
from ...encoders.kinds import encoder_kind, option_names
from ...encoders.train_settings import EncoderSettings, VocabularySettings
from ...errors import InputError, OutputError
from ...evaluation.dev import dev_scorer
from ...evaluation.graded_set import GradedSet, score_with_encoder
from ...evaluation.sts import evaluate_scored
from .choice import TuningRun
from .grids import FilterRange
from .selection_pool import SelectionPool
from .tuned_encoders import files_of, run_settings

if TYPE_CHECKING:
    from ...encoders.encoder_vocabulary import EncoderVocabulary

RECORDS = "runs.jsonl"
SIMILARITIES = "similarities"
Records = dict[str, dict[str, Any]]
"""What is recorded of every run, by its key."""
Similarities = Sequence[NDArray[np.float64]]
"""For each test set the cosines of its pairs (pairs,)."""
_OF_THE_VOCABULARY = ("model_type", "hidden_size", "skip_unknown", *option_names(VocabularySettings))


class TuningRuns:
    """Makes training runs; what they share is made once, and what was done before is not done again.

    A run is known by the content of the pairs, its rows, the encoder's settings, the seed and the content of the dev
    and test data: two filters that select the same pairs share a run. Where the vocabulary comes from the pairs it
    comes from those of all data sets, and a run is known by the content of all of them.

    Args:
        folder: The folder of the records.
        others: The records of other grids, by their folders, whose runs are taken over.
        fingerprints: Fingerprints of pairs, dev data and files of the encoders by their paths, as far as known.
    """

    def __init__(
        self,
        folder: Path,
        pools: Mapping[str, SelectionPool],
        encoders: Mapping[str, EncoderSettings],
        dev_data: Path,
        tests: Sequence[GradedSet],
        sample: int,
        *,
        others: Mapping[Path, Records] | None = None,
        fingerprints: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.pools, self.encoders = folder, pools, encoders
        self.tests, self.sample, self._others = tests, sample, others or {}
        self.trained = self.taken = 0
        files = {str(Path(path)) for settings in encoders.values() for path in files_of(settings) if path}
        inputs = {*files, str(dev_data), *(str(pool.folder) for pool in pools.values())}
        known = {str(Path(path)): content for path, content in (fingerprints or {}).items()}
        self._contents = {path: known.get(path) or fingerprint(path) for path in sorted(inputs)}
        self._evaluation = [
            self._contents[str(dev_data)],
            _digest([[*graded.sentences1, *graded.sentences2] for graded in tests]),
        ]
        self._files = {path: self._contents[path] for path in sorted(files)}
        self._score = dev_scorer(dev_data)
        self._vocabularies: dict[str, EncoderVocabulary] = {}
        try:
            (folder / SIMILARITIES).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make the folder: {error.strerror}", path=folder / SIMILARITIES) from error
        self._records = _read_records(folder / RECORDS)

    @property
    def known(self) -> int:
        """How many runs are recorded."""
        return len(self._records)

    def run(self, data: str, encoder: str, point: FilterRange, seed: int) -> TuningRun | None:
        """Trains and scores one encoder, or finds what was recorded of it; None if the filter selects nothing."""
        rows, available = self.pools[data].select(point.selections, self.sample, seed)
        if not len(rows):
            return None
        key = self._key(data, self.encoders[encoder], rows, seed)
        if key not in self._records and not self._take_over(key):
            record, similarities = self._train(data, self.encoders[encoder], rows, seed)
            self._write({"key": key, **record}, similarities)
            self.trained += 1
        record = self._records[key]
        similarities = self._read_similarities(self.folder, key)
        return TuningRun(
            seed=seed,
            available=available,
            curve=tuple(record["curve"]),
            similarities=dict(zip((graded.key for graded in self.tests), similarities, strict=True)) or None,
            **{name: record[name] for name in ("pairs", "dev", "epoch", "untrained", "tests", "seconds")},
        )

    def _key(self, data: str, settings: EncoderSettings, rows: NDArray[np.int64], seed: int) -> str:
        contents = [self._contents[str(self.pools[data].folder)]]
        if settings.tokenizer is None or encoder_kind(settings.model_type).trigrams:
            contents += [self._contents[str(pool.folder)] for pool in self.pools.values()]
        chosen = hashlib.sha256(rows.tobytes()).hexdigest()
        return _digest([contents, chosen, run_settings(settings), seed, self._evaluation, self._files])

    def _train(
        self, data: str, settings: EncoderSettings, rows: NDArray[np.int64], seed: int
    ) -> tuple[dict[str, Any], Similarities]:
        """Trains as `train-encoder` does, without checkpoints: the weights of the best epoch stay in memory."""
        from ...encoders import EncoderTrainer, EncoderTrainingArguments
        from ...encoders.dev_scores import DEV_SCORE
        from ...encoders.encoded_pairs import encode_pairs
        from ...encoders.sentence_encoder import SentenceEncoder
        from ...encoders.train import trainer_settings
        from ...encoders.untrained import untrained_model

        started = time.monotonic()
        vocabulary = self._vocabulary(settings)
        pairs = encode_pairs(self.pools[data].pairs(rows), vocabulary.tokenizer)
        model, _ = untrained_model(settings, vocabulary, pairs.counts, seed=seed)
        arguments = settings.trainer_arguments(
            EncoderTrainingArguments,
            output_dir=str(self.folder / "trainer"),
            seed=seed,
            report_to=settings.report_to,
            disable_tqdm=True,
            save_strategy="no",
            **trainer_settings(settings),
        )
        best: dict[str, Any] = {"score": -np.inf, "weights": None}

        def evaluate(encoder: SentenceEncoder) -> dict[str, float]:
            scores = self._score(encoder.encode)
            if trainer.state.global_step > 0 and scores[DEV_SCORE] > best["score"]:
                weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
                best.update(score=scores[DEV_SCORE], weights=weights)
            return scores

        trainer = EncoderTrainer(model, arguments, pairs, vocabulary.tokenizer, evaluator=evaluate)
        trainer.train()
        if best["weights"] is not None:
            model.load_state_dict(best["weights"])
        untrained, *scores = trainer.scores()
        kept = max(scores, key=lambda entry: entry[DEV_SCORE])
        encode = SentenceEncoder(model.eval(), vocabulary.tokenizer).encode
        scored = score_with_encoder(encode, self.tests) if self.tests else ()
        record = {
            "data": data,
            "pairs": len(pairs),
            "dev": kept[DEV_SCORE],
            "epoch": kept["epoch"],
            "untrained": untrained[DEV_SCORE],
            "curve": [entry[DEV_SCORE] for entry in scores],
            "tests": {
                item.key: found["pearson"] for item, found in zip(scored, evaluate_scored(scored)["sets"], strict=True)
            },
            "seconds": round(time.monotonic() - started, 2),
        }
        return record, [item.similarities for item in scored]

    def _vocabulary(self, settings: EncoderSettings) -> EncoderVocabulary:
        from ...encoders.untrained import new_vocabulary

        key = _digest({name: getattr(settings, name) for name in _OF_THE_VOCABULARY})
        if key not in self._vocabularies:
            self._vocabularies[key] = new_vocabulary(settings, self._sentences)
        return self._vocabularies[key]

    def _sentences(self) -> Iterator[str]:
        for pool in self.pools.values():
            for side in pool.sentences.columns:
                yield from (text or "" for text in side.to_pylist())

    def _take_over(self, key: str) -> bool:
        """Records a run as another grid has it; returns whether one has."""
        for folder, records in self._others.items():
            # A copy of a grid may lack the similarities.
            if key in records and (not self.tests or _similarities(folder, key).is_file()):
                self._write(records[key], self._read_similarities(folder, key))
                self.taken += 1
                return True
        return False

    def _read_similarities(self, folder: Path, key: str) -> Similarities:
        if not self.tests:
            return []
        path = _similarities(folder, key)
        try:
            with np.load(path) as arrays:
                return [arrays[f"arr_{index}"] for index in range(len(self.tests))]
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise InputError(
                "the similarities of a run are damaged", path=path, remedy="copy the folder again, or train it again"
            ) from error

    def _write(self, record: dict[str, Any], similarities: Similarities) -> None:
        try:
            if self.tests:
                path = _similarities(self.folder, record["key"])
                with written_whole(path) as temporary, temporary.open("wb") as file:
                    # By position they are named arr_0, arr_1 and so on.
                    np.savez(file, *similarities)
            path = self.folder / RECORDS
            with path.open("ab") as file:
                # What a kill or a full disk has left of a line goes.
                file.truncate(path.read_bytes().rfind(b"\n") + 1)
                file.write(f"{json.dumps(record)}\n".encode())
        except OSError as error:
            raise OutputError(f"cannot record a finished run: {error.strerror or error}", path=self.folder) from error
        self._records[record["key"]] = record

    def remove_work(self) -> None:
        """Removes what the trainer wrote."""
        shutil.rmtree(self.folder / "trainer", ignore_errors=True)


def recorded_runs(folder: Path) -> tuple[Path, Records]:
    """Reads the records of another grid.

    Returns:
        The folder that holds them, which is a hidden one beside `folder` while the grid is incomplete; and the
        records.
    """
    for path in (folder, *(run / "output" for run in incomplete_runs(folder.absolute()))):
        if records := _read_records(path / RECORDS):
            return path, records
    raise InputError("no runs of tune are recorded here", path=folder, remedy="give the output of tune")


def _read_records(path: Path) -> Records:
    records: Records = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []:
        with suppress(ValueError, TypeError, KeyError):
            # The line that was being written when a run was killed is incomplete.
            record = json.loads(line)
            records[record["key"]] = record
    return records


def _similarities(folder: Path, key: str) -> Path:
    return folder / SIMILARITIES / f"{key}.npz"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]
