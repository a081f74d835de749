"""The recipe of the verb `mine`: two collections in, the pairs of sentences that translate each other out."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...artefacts.artefact import Artefact
from ...artefacts.files import read_json_object
from ...errors import InputError
from ...messages import log
from ...settings import recipe
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
        record: dict[str, Any] = {}
        if self.tuning is not None:
            record["tuning"] = {"threshold": self.threshold, **self.tuning.as_dict()}
        if self.approximate_recall is not None:
            record["approximate_recall"] = self.approximate_recall
        if self.measures is not None:
            record |= {"candidate_recall": self.candidate_recall, "measures": self.measures.as_dict()}
        return {**record, "candidates": self.candidates, "pairs": self.pairs, "threshold": self.threshold}


@recipe(MiningSettings)
def mine(settings: MiningSettings) -> Mined:
    """Finds the translations between two collections of sentences, each in one language (paper 002).

    Returns:
        The files that were made, and what was measured.
    """
    files = MinedFiles.of(settings)
    artefact = Artefact(
        files.pairs,
        command="mine",
        settings=settings,
        inputs=settings.inputs(),
        overwrite=settings.overwrite,
        resume=settings.resume,
        free=["device"],
        is_file=True,
        companions=[] if files.gold is None else [files.gold],
    )
    with artefact:
        return _mined_before(files) if artefact.finished else _mine(settings, files, artefact)


def _mine(settings: MiningSettings, files: MinedFiles, artefact: Artefact) -> Mined:
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
    work = artefact.checkpoint("embeddings")
    threshold, tuning = settings.threshold, None
    if tuning_collections is not None:
        curve = _tune(tuning_collections, encoders, filtering, scores_of, settings.one_to_one, work / "tuning")
        threshold, tuning = curve.best_threshold(), curve.best()
        log(f"threshold {threshold:.6g}: F1 {100 * tuning.f1:.2f} on {settings.tune_on}")
    run = MiningRun(collections, encoders, filtering, work / "collections", show_progress_bar=True)
    if run.approximate_recall is not None:
        log(f"of the true candidates of a sample {100 * run.approximate_recall:.2f} % were found")
    scores = run.scores(scores_of)
    kept = matching(settings.one_to_one, run.pairs.source, run.pairs.target, scores)
    measures, candidate_recall = (None, None) if gold is None else _measured(run, scores, kept, gold, threshold)
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
    _write(artefact.staging, files, collections, run.pairs.source[rows], run.pairs.target[rows], scores[rows])
    artefact.finish(results=json.loads(json.dumps(mined.as_dict())))
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


def _mined_before(files: MinedFiles) -> Mined:
    """Returns what a finished run has found, by its record."""
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
