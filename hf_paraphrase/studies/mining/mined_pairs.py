"""The recipe of the verb `mine`: two collections in, the pairs of sentences that translate each other out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ...artefacts.artefact import Artefact, Card
from ...artefacts.files import read_json_object
from ...artefacts.provenance import PROVENANCE
from ...artefacts.remote_paths import to_path
from ...data.folder import DataFolder, write_split
from ...errors import InputError
from ...messages import log
from ...settings import recipe
from .collections import MINED, Collection, check_different, count_repeated, read_collection, read_gold, write_gold
from .matching import by_score, matching
from .measures import Curve, Measures, are_gold
from .mining_settings import MiningSettings
from .run import FilterOptions, MiningRun, ScoreOptions, check_models
from .study import TaskPart, Way

_PAIRS_AT_A_TIME = 1 << 18


@dataclass(frozen=True)
class Mined:
    """What mining gave.

    Attributes:
        folder: The data folder.
        threshold: The least score that was asked for, or chosen; None without one.
        tuning: The measures with which it was chosen; None where it was not.
        measures: Precision, recall and F1 against the true pairs; None without these.
        candidate_recall: The share of the true pairs that were candidates; None without these.
        approximate_recall: The share of the true candidates that the approximate search found on a sample; None for
            the exact one.
    """

    folder: Path
    candidates: int
    pairs: int
    threshold: float | None
    tuning: dict[str, Any] | None
    measures: dict[str, Any] | None
    candidate_recall: float | None
    approximate_recall: float | None


@recipe(MiningSettings)
def mine(settings: MiningSettings) -> Mined:
    """Finds the translations between two collections of sentences, each in one language (paper 002).

    Returns:
        The folder that was made, and what was measured.
    """
    with Artefact(
        settings.output,
        command="mine",
        settings=settings,
        inputs=settings.inputs(),
        overwrite=settings.overwrite,
        resume=settings.resume,
        free=["device"],
    ) as artefact:
        if artefact.finished:
            results = read_json_object(artefact.target / PROVENANCE)["results"]
        else:
            results = _mine(settings, artefact)
    return Mined(Path(settings.output), **results)


def _mine(settings: MiningSettings, artefact: Artefact) -> dict[str, Any]:
    encoders, scoring = settings.filter_encoders(), settings.scoring_encoders()
    collections = _read(Path(settings.source), Path(settings.target), settings.layout)
    gold = read_gold(Path(settings.gold), *collections) if settings.gold else None
    tuning_part = _read_tuning(settings)
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
    if tuning_part is not None:
        sides = (tuning_part.source, tuning_part.target)
        way = Way("", scores_of, settings.one_to_one)
        curve = way.curve(tuning_part, MiningRun(sides, encoders, filtering, work / "tuning", show_progress_bar=True))
        if not curve.right.any():
            raise InputError(
                "none of the true pairs is among the candidates, so no threshold can be chosen",
                path=tuning_part.source.path,
                remedy="raise --candidates, use another encoder, or give --threshold",
            )
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
    results: dict[str, Any] = {
        "candidates": len(run.pairs),
        "pairs": len(rows),
        "threshold": threshold,
        "tuning": None if tuning is None else tuning.as_dict(),
        "measures": None if measures is None else measures.as_dict(),
        "candidate_recall": candidate_recall,
        "approximate_recall": run.approximate_recall,
    }
    _write(artefact.staging, settings, collections, run.pairs.source[rows], run.pairs.target[rows], scores[rows])
    card = {
        "languages": [item for item in (settings.source_lang, settings.target_lang) if item],
        "files": [to_path(path).name for path in (settings.source, settings.target)],
        "encoders": [to_path(path).name for path in encoders.folders],
        "classifier": to_path(settings.classifier).name if settings.classifier else None,
        "margin": settings.margin,
        "one_to_one": settings.one_to_one,
        "splits": DataFolder(artefact.staging).sizes(),
        **results,
    }
    artefact.finish(results=results, card=Card("mined_bitext", card))
    log(f"{len(rows):,} pairs of {len(run.pairs):,} candidates: {settings.output}")
    return results


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


def _read_tuning(settings: MiningSettings) -> TaskPart | None:
    files = [Path(path) for path in settings.tuning_files()]
    if not files:
        return None
    for path in files:
        if not path.is_file():
            raise InputError("no such file", path=path, remedy="--tune-on takes what its three files begin with")
    source, target = _read(files[0], files[1], settings.layout)
    return TaskPart(files, source, target, read_gold(files[2], source, target))


def _write(
    folder: Path,
    settings: MiningSettings,
    collections: tuple[Collection, Collection],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    left, right = collections

    def blocks() -> Iterator[pa.Table]:
        for start in range(0, len(scores), _PAIRS_AT_A_TIME):
            part = slice(start, start + _PAIRS_AT_A_TIME)
            sources, targets = source[part].tolist(), target[part].tolist()
            columns = {
                "id": [f"{left.names[one]}:{right.names[two]}" for one, two in zip(sources, targets, strict=True)],
                "source": [left.sentences[place] for place in sources],
                "target": [right.sentences[place] for place in targets],
                "source_lang": [settings.source_lang] * len(sources),
                "target_lang": [settings.target_lang] * len(sources),
                "source_id": [left.names[place] for place in sources],
                "target_id": [right.names[place] for place in targets],
                "score": scores[part],
            }
            yield pa.table(columns, schema=MINED)

    write_split(folder, "train", blocks(), MINED)
    if settings.layout == "bucc":
        write_gold(folder / "pairs.gold", left.names, right.names, np.stack([source, target], axis=1))
