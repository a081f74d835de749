"""The training runs of `tune`: each is made once, noted, and found again."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from ...artefacts.artefact import incomplete_runs
from ...artefacts.files import written_whole
from ...artefacts.provenance import fingerprint
from ...data.folder import DataFolder
from ...encoders.kinds import encoder_kind
from ...encoders.train import trainer_settings
from ...encoders.train_settings import EncoderSettings
from ...encoders.untrained import new_vocabulary, untrained_model
from ...errors import HfParaphraseError, InputError, OutputError
from ...evaluation.dev import dev_scorer
from ...evaluation.graded_set import GradedSet, score_with_encoder
from ...evaluation.sts import evaluate_scored
from .choice import TuningRun
from .grids import FilterRange
from .selection_pool import SelectionPool
from .tuned_encoders import files_of, run_settings

if TYPE_CHECKING:
    from ...encoders.encoder_vocabulary import EncoderVocabulary
    from .short_training import PairPool

NOTES = "runs.jsonl"
SIMILARITIES = "similarities"
Notes = dict[str, dict[str, Any]]
"""What is noted of every run, by its key."""
_OF_THE_VOCABULARY = (
    "model_type",
    "tokenizer",
    "word_list",
    "initial_vectors",
    "vocabulary_size",
    "min_frequency",
    "lower_case",
    "split_contractions",
    "treebank_words",
    "hidden_size",
    "skip_unknown",
)


class TuningRuns:
    """Makes training runs; what they share is made once, and what was done before is not done again.

    A run is known by the content of the pairs, the numbers of its rows, the encoder's settings, the seed and the
    content of the dev and test data: two filters that select the same pairs share a run. Where the vocabulary is made
    from the pairs it is made from those of all data sets, so a run is known by the content of all of them.
    """

    def __init__(
        self,
        folder: Path,
        pairs: dict[str, Path],
        pools: dict[str, SelectionPool],
        encoders: dict[str, EncoderSettings],
        dev_data: Path,
        tests: Sequence[GradedSet],
        sample: int,
        others: Mapping[Path, Notes] | None = None,
    ) -> None:
        self.folder, self.pairs, self.pools, self.encoders = folder, pairs, pools, encoders
        self.tests, self.sample, self._others = tests, sample, others or {}
        self.trained = self.taken = 0
        self._pending: list[np.ndarray] = []
        self._score = dev_scorer(dev_data)
        self._inputs = [fingerprint(dev_data), _digest([[*item.sentences1, *item.sentences2] for item in tests])]
        self._contents = {name: fingerprint(path) for name, path in pairs.items()}
        files: dict[str, str] = {}
        for settings in encoders.values():
            for path in files_of(settings):
                if path is not None and path not in files:
                    files[path] = fingerprint(path)
        self._files = files
        self._vocabularies: dict[str, EncoderVocabulary] = {}
        self._pair_pools: dict[tuple[str, str], PairPool] = {}
        try:
            (folder / SIMILARITIES).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"cannot make the folder: {error.strerror}", path=folder / SIMILARITIES) from error
        self._notes = _read_notes(folder / NOTES)

    @property
    def known(self) -> int:
        """How many runs are noted."""
        return len(self._notes)

    def run(self, data: str, encoder: str, point: FilterRange, seed: int) -> TuningRun | None:
        """Trains and scores one encoder, or finds what was noted about it.

        Returns:
            The run; None if the filter selects nothing.
        """
        rows, available = self.pools[data].select(point.selections, self.sample, seed)
        if not len(rows):
            return None
        settings = self.encoders[encoder]
        chosen = hashlib.sha256(rows.tobytes()).hexdigest()
        known_by = [self._contents[data], chosen, run_settings(settings), seed, self._inputs, self._files]
        vocabulary_of = self._vocabulary_contents(settings)
        # That of a lone data set is in the key already; runs noted before this was known stay known.
        key = _digest(known_by + ([vocabulary_of] if len(vocabulary_of) > 1 else []))
        if key not in self._notes and not self._take_over(key):
            self._note({"key": key, **self._train(data, settings, rows, seed)})
            self.trained += 1
        note = self._notes[key]
        similarities = self._read_similarities(self.folder, key)
        return TuningRun(
            seed=seed,
            pairs=note["pairs"],
            available=available,
            dev=note["dev"],
            epoch=note["epoch"],
            untrained=note["untrained"],
            curve=tuple(note["curve"]),
            tests=note["tests"],
            similarities={graded.key: found for graded, found in zip(self.tests, similarities, strict=True)} or None,
            seconds=note["seconds"],
        )

    def _train(self, data: str, settings: EncoderSettings, rows: np.ndarray, seed: int) -> dict[str, Any]:
        from ...encoders.dev_scores import DEV_SCORE
        from ...encoders.sentence_encoder import SentenceEncoder
        from ...encoders.trainer import EncoderTrainingArguments
        from .short_training import TuningTrainer

        vocabulary = self._vocabulary(settings)
        pairs = self._pool(data, settings, vocabulary).subset(rows)
        if not len(pairs):
            raise HfParaphraseError("no selected pair can be trained on: a side is empty", path=self.pairs[data])
        started = time.monotonic()
        settings.seed = seed
        model, _ = untrained_model(settings, vocabulary, pairs.counts, seed=settings.seed)
        arguments = settings.trainer_arguments(
            EncoderTrainingArguments,
            output_dir=str(self.folder / "trainer"),
            seed=settings.seed,
            report_to=settings.report_to,
            disable_tqdm=True,
            save_strategy="no",
            **trainer_settings(settings),
        )
        trainer = TuningTrainer(
            model, arguments, pairs, vocabulary.tokenizer, evaluator=lambda encoder: self._score(encoder.encode)
        )
        trainer.train()
        scores = trainer.scores()
        best = trainer.best_scores()
        assert best is not None
        encode = SentenceEncoder(trainer.model.eval(), vocabulary.tokenizer).encode
        scored = score_with_encoder(encode, self.tests) if self.tests else ()
        self._pending = [item.similarities for item in scored]
        return {
            "data": data,
            "pairs": len(pairs),
            "dev": best[DEV_SCORE],
            "epoch": best["epoch"],
            "untrained": scores[0][DEV_SCORE],
            "curve": [entry[DEV_SCORE] for entry in scores[1:]],
            "tests": {item.key: item.pearson for item in evaluate_scored(scored).sets} if scored else {},
            "seconds": round(time.monotonic() - started, 2),
        }

    def _vocabulary(self, settings: EncoderSettings) -> EncoderVocabulary:
        key = self._vocabulary_key(settings)
        if key not in self._vocabularies:

            def sentences() -> Any:
                for folder in map(DataFolder, self.pairs.values()):
                    for name in ("sentence1", "sentence2"):
                        yield from (text or "" for text in folder.table(columns=[name]).column(name).to_pylist())

            self._vocabularies[key] = new_vocabulary(settings, sentences)
        return self._vocabularies[key]

    def _vocabulary_contents(self, settings: EncoderSettings) -> list[str]:
        """The content of the pairs from which :meth:`_vocabulary` takes words or trigrams, in their order."""
        if settings.tokenizer is not None and not encoder_kind(settings.model_type).trigrams:
            return []
        return list(self._contents.values())

    def _pool(self, data: str, settings: EncoderSettings, vocabulary: EncoderVocabulary) -> PairPool:
        from ...encoders.encoded_pairs import LABEL
        from .short_training import PairPool

        key = data, self._vocabulary_key(settings)
        if key not in self._pair_pools:
            folder = DataFolder(self.pairs[data])
            labelled = LABEL in folder.schema().names
            table = folder.table(columns=["sentence1", "sentence2", *([LABEL] if labelled else [])])
            first, second = (
                [text or "" for text in table.column(name).to_pylist()] for name in table.column_names[:2]
            )
            kept = np.array([value == 1 for value in table.column(LABEL).to_pylist()]) if labelled else None
            self._pair_pools[key] = PairPool(first, second, vocabulary.tokenizer, kept)
        return self._pair_pools[key]

    @staticmethod
    def _vocabulary_key(settings: EncoderSettings) -> str:
        return _digest({name: getattr(settings, name) for name in _OF_THE_VOCABULARY})

    def _take_over(self, key: str) -> bool:
        """Notes a run as another grid has it; returns whether one has."""
        for folder, notes in self._others.items():
            # A grid that was made before similarities were kept lacks them.
            if key in notes and (not self.tests or _similarities(folder, key).is_file()):
                self._pending = self._read_similarities(folder, key)
                self._note(notes[key])
                self.taken += 1
                return True
        return False

    def _read_similarities(self, folder: Path, key: str) -> list[np.ndarray]:
        """Reads what a run gave the pairs of each test set; what a broken copy has cut off is an input error."""
        if not self.tests:
            return []
        path = _similarities(folder, key)
        try:
            with np.load(path) as arrays:
                return [arrays[f"arr_{place}"] for place in range(len(self.tests))]
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            raise InputError(
                "the similarities of a run are damaged", path=path, remedy="copy the folder again, or train it again"
            ) from error

    def _note(self, note: dict[str, Any]) -> None:
        try:
            if self.tests:
                with (
                    written_whole(_similarities(self.folder, note["key"])) as temporary,
                    temporary.open("wb") as file,
                ):
                    # By position they are named arr_0, arr_1 and so on.
                    np.savez(file, *self._pending)
            path = self.folder / NOTES
            with path.open("ab") as file:
                # What a kill or a full disk has left of a line goes.
                file.truncate(path.read_bytes().rfind(b"\n") + 1)
                file.write(f"{json.dumps(note)}\n".encode())
        except OSError as error:
            raise OutputError(f"cannot note a finished run: {error.strerror or error}", path=self.folder) from error
        self._notes[note["key"]] = note


def noted_runs(folder: Path) -> tuple[Path, Notes]:
    """Reads what is noted of the runs of another grid.

    Returns:
        The folder that holds them, which is a hidden one beside `folder` while the grid is incomplete; and the notes.
    """
    for place in (folder, *(run / "output" for run in incomplete_runs(folder.absolute()))):
        if notes := _read_notes(place / NOTES):
            return place, notes
    raise InputError("no runs of tune are noted here", path=folder, remedy="give the output of tune")


def _read_notes(path: Path) -> Notes:
    notes: Notes = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else []:
        with suppress(ValueError, TypeError, KeyError):
            # The line that was being written when a run was killed is incomplete.
            note = json.loads(line)
            notes[note["key"]] = note
    return notes


def _similarities(folder: Path, key: str) -> Path:
    return folder / SIMILARITIES / f"{key}.npz"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:32]
