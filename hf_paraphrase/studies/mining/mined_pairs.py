"""The recipe of the verb `mine`: two collections in, the pairs of sentences that translate each other out."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.claims import refuse_if_claimed
from ...artefacts.folders import check_unfinished, staging_path, working_folder
from ...artefacts.provenance import FILE_NAME, fingerprint, write_provenance
from ...artefacts.unfinished import check_same_job, job_fingerprint, recorded_job
from ...artefacts.untrusted_files import read_json_object
from ...artefacts.whole_files import check_output_file
from ...errors import InputError, OutputError
from ...messages import as_given, log
from ...settings import recipe
from ...training.devices import CPU
from .collections import (
    Collection,
    check_different,
    count_repeated,
    one_line,
    read_collection,
    read_gold,
    write_gold,
)
from .embedding import EncoderFolders
from .matching import by_score, matching
from .measures import Curve, Measures, are_gold
from .mining_settings import MinedFiles, MiningSettings
from .run import FilterOptions, MiningRun, ScoreOptions, check_models

_PAIRS_AT_A_TIME = 1 << 18


@dataclass(frozen=True)
class Mined:
    """What mining gave.

    Attributes:
        files: Where it lies.
        candidates: How many pairs were candidates.
        pairs: How many pairs were kept.
        threshold: The least score that was asked for, or chosen; None without one.
        tuning: The measures with which it was chosen; None where it was not.
        measures: Precision, recall and F1 against the true pairs; None without these.
        candidate_recall: The share of the true pairs that were candidates; None without these.
        approximate_recall: The share of the true candidates that the approximate search found on a sample; None for
            the exact one.
    """

    files: MinedFiles
    candidates: int
    pairs: int
    threshold: float | None
    tuning: Measures | None
    measures: Measures | None
    candidate_recall: float | None
    approximate_recall: float | None

    def as_dict(self) -> dict[str, Any]:
        """Returns the numbers as JSON values."""
        found: dict[str, Any] = {}
        if self.tuning is not None:
            found["tuning"] = {"threshold": self.threshold, **self.tuning.as_dict()}
        if self.approximate_recall is not None:
            found["approximate_recall"] = self.approximate_recall
        if self.measures is not None:
            found |= {"candidate_recall": self.candidate_recall, "measures": self.measures.as_dict()}
        return {**found, "candidates": self.candidates, "pairs": self.pairs, "threshold": self.threshold}


@recipe(MiningSettings)
def mine(settings: MiningSettings) -> Mined:
    """Finds the translations between two collections of sentences, each in one language (paper 002).

    Returns:
        The files that were made, and what was measured.

    Raises:
        InputError: For a missing or malformed collection or gold file.
        OutputError: If the output exists or cannot be written, or the unfinished run is another one.
        ModelError: If a folder is not an encoder or not a classifier.
    """
    files = MinedFiles.of(settings)
    if _was_finished(settings, files):
        return _mined_before(files)
    _check_files(settings, files)
    encoders, scoring = settings.filter_encoders(), settings.scoring_encoders()
    collections = _read(Path(settings.source), Path(settings.target), settings.layout)
    gold = read_gold(Path(settings.gold), *collections) if settings.gold else None
    tuning_collections = _read_tuning(settings)
    filtering = FilterOptions(
        settings.candidates,
        settings.approximate,
        settings.probes,
        settings.seed,
        settings.batch_size,
        settings.device,
    )
    scores_of = ScoreOptions(scoring, settings.margin, settings.neighbours, settings.classifier, settings.combine)
    check_models(
        [encoders, *([scoring] if scoring else [])],
        [settings.classifier] if settings.classifier else [],
        settings.device,
    )
    with working_folder(files.pairs.resolve(), overwrite=settings.overwrite, resume=settings.resume) as staging:
        with _finished_blocks_kept(staging):
            # A run that has ended since the first look may have left its output.
            _check_outputs(settings, files)
            check_same_job(staging, _job(settings))
            threshold, tuning = settings.threshold, None
            if tuning_collections is not None:
                curve = _tune(
                    tuning_collections, encoders, filtering, scores_of, settings.one_to_one, staging / "tuning"
                )
                threshold, tuning = curve.best_threshold(), curve.best()
                log(f"threshold {threshold:.6g}: F1 {100 * tuning.f1:.2f} on {settings.tune_on}")
            run = MiningRun(collections, encoders, filtering, staging / "collections", show_progress_bar=True)
            if run.approximate_recall is not None:
                log(f"of the true candidates of a sample {100 * run.approximate_recall:.2f} % were found")
            scores = run.scores(scores_of)
            kept = matching(settings.one_to_one, run.pairs.source, run.pairs.target, scores)
            measures, candidate_recall = (
                (None, None) if gold is None else _measured(run, scores, kept, gold, threshold)
            )
            rows = np.flatnonzero(kept if threshold is None else kept & (scores >= threshold))
            rows = rows[by_score(run.pairs.source[rows], run.pairs.target[rows], scores[rows])]
            mined = Mined(
                files,
                len(run.pairs),
                len(rows),
                threshold,
                tuning,
                measures,
                candidate_recall,
                run.approximate_recall,
            )
            _write(staging, files, collections, run.pairs.source[rows], run.pairs.target[rows], scores[rows])
            _write_record(staging, settings, mined)
        _move(staging, files)
    log(f"{mined.pairs:,} pairs of {mined.candidates:,} candidates: {settings.output}")
    return mined


def _measured(
    run: MiningRun,
    scores: NDArray[np.float64],
    kept: NDArray[np.bool_],
    gold: NDArray[np.int64],
    threshold: float | None,
) -> tuple[Measures, float]:
    """Compares with the gold pairs: what is kept, at the threshold, and how many of them are candidates at all."""
    hits = are_gold(run.pairs.source, run.pairs.target, gold, len(run.target))
    curve = Curve.of(scores[kept], hits[kept], len(gold))
    return curve.at(-float("inf") if threshold is None else threshold), int(hits.sum()) / len(gold)


@contextmanager
def _finished_blocks_kept(staging: Path) -> Iterator[None]:
    """Leaves blocks that are done where work ends early; a folder that holds only the record of the job goes."""
    try:
        yield
    except BaseException:
        if not any(path.suffix in {".npy", ".npz"} for path in staging.rglob("*")):
            shutil.rmtree(staging, ignore_errors=True)
        raise


def _check_files(settings: MiningSettings, files: MinedFiles) -> None:
    """Refuses outputs that are in the way, before any long work."""
    check_unfinished(files.pairs.resolve(), overwrite=settings.overwrite, resume=settings.resume)
    _check_outputs(settings, files)


def _check_outputs(settings: MiningSettings, files: MinedFiles) -> None:
    # A run that was killed at its very end has moved all but the pairs.
    begun = settings.resume and not files.pairs.exists() and recorded_job(files.record) == _fingerprint(settings)
    for path in files:
        check_output_file(path, overwrite=settings.overwrite or begun)


def _was_finished(settings: MiningSettings, files: MinedFiles) -> bool:
    """Tells whether nothing is left to do, and ends what a run that was killed then has left."""
    whole = _whole_pairs(files)
    is_whole = whole.is_file() and not whole.is_symlink()
    if not settings.resume or not (is_whole or files.pairs.is_file()):
        return False
    if recorded_job(files.record) != _fingerprint(settings):
        return False
    staging = staging_path(files.pairs.resolve())
    refuse_if_claimed(staging)
    shutil.rmtree(staging, ignore_errors=True)
    if is_whole:
        try:
            whole.replace(check_output_file(files.pairs, overwrite=True))
        except OSError as error:
            raise OutputError(f"cannot write: {error.strerror}", path=files.pairs) from error
    log(f"nothing is left to do, the output is finished: {settings.output}")
    return True


def _fingerprint(settings: MiningSettings) -> str:
    return job_fingerprint(_job(settings))


def _mined_before(files: MinedFiles) -> Mined:
    """Returns what a finished run has found, as its record says."""
    results = read_json_object(files.record)["results"]
    tuning = results.get("tuning")
    return Mined(
        files,
        results["candidates"],
        results["pairs"],
        results["threshold"],
        None if tuning is None else Measures.from_dict(tuning),
        Measures.from_dict(results["measures"]) if "measures" in results else None,
        results.get("candidate_recall"),
        results.get("approximate_recall"),
    )


def _read(source: Path, target: Path, layout: str) -> tuple[Collection, Collection]:
    collections = read_collection(source, layout), read_collection(target, layout)
    check_different(*collections)
    for collection in collections:
        notes = [f"{len(collection):,} sentences"]
        if empty := collection.empty:
            notes.append(f"{empty:,} empty, which are left out")
        if repeated := count_repeated(collection):
            notes.append(f"{repeated:,} repeated, which stay")
        log(f"{collection.path.name}: {', '.join(notes)}")
    return collections


def _read_tuning(settings: MiningSettings) -> tuple[Collection, Collection, NDArray[np.int64]] | None:
    files = [Path(path) for path in settings.tuning_files()]
    if not files:
        return None
    for path in files:
        if not path.is_file():
            raise InputError("no such file", path=path, remedy="--tune-on takes what its three files begin with")
    source, target, gold = files
    collections = _read(source, target, settings.layout)
    return *collections, read_gold(gold, *collections)


def _job(settings: MiningSettings) -> dict[str, Any]:
    """Describes all that decides the result, so that another run is not taken for this one."""
    job = {name: value for name, value in settings.record().items() if name != "output"}
    if settings.device == CPU:
        del job["device"]  # unfinished runs of earlier versions know no other
    return {**job, "inputs": {as_given(path): fingerprint(path) for path in settings.inputs()}}


def _tune(
    tuning: tuple[Collection, Collection, NDArray[np.int64]],
    encoders: EncoderFolders,
    filtering: FilterOptions,
    scores_of: ScoreOptions,
    one_to_one: str | None,
    folder: Path,
) -> Curve:
    source, target, gold = tuning
    run = MiningRun((source, target), encoders, filtering, folder, show_progress_bar=True)
    scores = run.scores(scores_of)
    kept = matching(one_to_one, run.pairs.source, run.pairs.target, scores)
    hits = are_gold(run.pairs.source, run.pairs.target, gold, len(target))
    if not hits[kept].any():
        raise InputError(
            "none of the true pairs is among the candidates, so no threshold can be chosen",
            path=source.path,
            remedy="raise --candidates, use another encoder, or give --threshold",
        )
    return Curve.of(scores[kept], hits[kept], len(gold))


def _write(
    staging: Path,
    files: MinedFiles,
    collections: tuple[Collection, Collection],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    left, right = collections
    with (staging / files.pairs.name).open("w", encoding="utf-8", newline="\n") as stream:
        for start in range(0, len(scores), _PAIRS_AT_A_TIME):
            part = slice(start, start + _PAIRS_AT_A_TIME)
            for one, two, score in zip(
                source[part].tolist(), target[part].tolist(), scores[part].tolist(), strict=True
            ):
                fields = (left.names[one], right.names[two], left.sentences[one], right.sentences[two])
                stream.write("\t".join([f"{score:.9g}", *map(one_line, fields)]) + "\n")
    if files.gold is not None:
        write_gold(staging / files.gold.name, left.names, right.names, np.stack([source, target], axis=1))


def _write_record(staging: Path, settings: MiningSettings, mined: Mined) -> None:
    write_provenance(
        staging,
        command="mine",
        settings=settings.record(),
        inputs=settings.inputs(),
        results=json.loads(json.dumps(mined.as_dict())),
    )
    (staging / FILE_NAME).rename(staging / mined.files.record.name)


def _whole_pairs(files: MinedFiles) -> Path:
    """Names the file that the pairs are, whole, while the staging folder is cleared away."""
    return staging_path(files.pairs.resolve()).with_suffix(".whole")


def _move(staging: Path, files: MinedFiles) -> None:
    try:
        # The record first: by it a resumed run knows the others as its own.
        for path in (files.record, *([files.gold] if files.gold else [])):
            (staging / path.name).replace(path)
        # The pairs last: where they are, all is, and nothing is left to clear away.
        whole = _whole_pairs(files)
        (staging / files.pairs.name).replace(whole)
        shutil.rmtree(staging, ignore_errors=True)
        whole.replace(files.pairs)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=files.pairs) from error
