"""The recipe of the verb `mine`: two collections in, the pairs of sentences that translate each other out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
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
from ...data.text_blocks import COMPRESSED, PLAIN_OR_COMPRESSED
from ...errors import InputError, UsageError
from ...messages import log
from ...settings import recipe, seed_setting, setting
from .collections import LAYOUTS, MINED, Collection, check_different, read_collection, read_gold, write_gold
from .run import CandidateSettings, EncoderFolders, MiningRun, ScoreOptions, check_models
from .scoring import MARGINS, by_score
from .task import TaskPart, curve_of, kept_pairs

_PAIRS_AT_A_TIME = 1 << 18


@dataclass(kw_only=True)
class MiningSettings(CandidateSettings):
    """Find the translations between two collections of sentences, each in one language."""

    source: str = setting(f"text file of the source collection, {PLAIN_OR_COMPRESSED}", path=True)
    target: str = setting("text file of the target collection", path=True)
    output: str = setting(
        "the data folder to make: a bitext, the best pairs first, with the columns source_id, target_id and score"
    )
    source_lang: str = setting("code of the source language, for the column and the card", "")
    target_lang: str = setting("code of the target language", "")
    layout: str = setting(
        "lines: one sentence a line, whose number is its id; bucc: `id TAB sentence`, and the output also has the ids "
        "of the pairs, `source id TAB target id`, in pairs.gold",
        "lines",
        choices=LAYOUTS,
    )
    approximate: bool = setting(
        "search candidates in inverted lists instead of all targets; the share of the true nearest neighbours that "
        "they find is measured on a sample and printed",
        False,
    )
    margin: str | None = setting(
        "score a pair by its cosine against the mean cosine of the neighbourhoods of both sentences; ratio if no kind "
        "is named; absolute = the cosine",
        None,
        alone="ratio",
        choices=MARGINS,
    )
    scoring_encoder: str | None = setting(
        "folder of another encoder, or SOURCE_FOLDER:TARGET_FOLDER, for the cosine or margin of the score",
        None,
        path=True,
    )
    classifier: str | None = setting(
        "folder of a classifier of parallel sentences, whose probability is the score; with --margin or "
        "--scoring-encoder it is multiplied with that score",
        None,
        path=True,
    )
    one_to_one: bool = setting("use no sentence twice: pairs are taken by falling score", False)
    threshold: float | None = setting("least score of a pair; without it and --tune-on all pairs are given", None)
    tune_on: str | None = setting(
        "choose the threshold with the best F1 on another pair of collections: PREFIX, of which the files are "
        "PREFIX.gold and PREFIX with the endings of --source and --target",
        None,
        excludes="threshold",
        prefix=True,
    )
    gold: str | None = setting(
        "file of the true pairs, `source id TAB target id`: precision, recall and F1 are printed",
        None,
        path=True,
    )
    seed: int = seed_setting("with --approximate: seed of the lists")
    resume: bool = setting("continue an incomplete run of the same command", False)
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if len(set(self.tuning_files())) < len(self.tuning_files()):
            raise UsageError(
                f"--tune-on takes the endings of --source and --target, and both are `{_ending(self.source)}`"
                if _ending(self.source) == _ending(self.target)
                else "--tune-on cannot name its files: a side ends in .gold",
                remedy="give the files of the two languages different endings, e.g. news.fr and news.en",
            )
        self.filter_encoders()

    def score_options(self) -> ScoreOptions:
        """Returns what the score is made of."""
        scoring = EncoderFolders.parse(self.scoring_encoder) if self.scoring_encoder else None
        return ScoreOptions(scoring, self.margin, self.neighbours, self.classifier)

    def inputs(self) -> list[str]:
        """Lists the files and folders that are read, each once."""
        scoring = self.score_options().encoders
        paths = [self.source, self.target, *self.filter_encoders().folders, *(scoring.folders if scoring else [])]
        paths += [path for path in (self.classifier, self.gold) if path is not None]
        return list(dict.fromkeys([*paths, *self.tuning_files()]))

    def tuning_files(self) -> tuple[str, ...]:
        """Returns the source, target and gold file of --tune-on; none without it."""
        if self.tune_on is None:
            return ()
        return tuple(self.tune_on + ending for ending in (_ending(self.source), _ending(self.target), ".gold"))


def _ending(path: str) -> str:
    suffixes = Path(path).suffixes
    return "".join(suffixes[-2:] if suffixes and suffixes[-1] in COMPRESSED else suffixes[-1:])


@dataclass(frozen=True)
class Mined:
    """What mining gave, with the threshold and the measures by which it was chosen, and those against the gold."""

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
    encoders, options = settings.filter_encoders(), settings.score_options()
    sides = _read(Path(settings.source), Path(settings.target), settings.layout)
    gold = read_gold(Path(settings.gold), *sides) if settings.gold else None
    tuning_part = _read_tuning(settings)
    classifiers = [settings.classifier] if settings.classifier else []
    check_models([encoders, options.encoders or encoders], classifiers, settings.device)
    work = artefact.checkpoint("embeddings")
    run_of = partial(
        MiningRun,
        encoders=encoders,
        candidates=settings.candidates,
        approximate=settings.approximate,
        seed=settings.seed,
        batch_size=settings.batch_size,
        device=settings.device,
    )
    threshold, tuning = settings.threshold, None
    if tuning_part is not None:
        run = run_of((tuning_part.source, tuning_part.target), folder=work / "tuning")
        curve = curve_of(run, tuning_part.gold, run.scores(options), settings.one_to_one)
        if not curve.right.any():
            raise InputError(
                "none of the true pairs is among the candidates, so no threshold can be chosen",
                path=tuning_part.source.path,
                remedy="raise --candidates, use another encoder, or give --threshold",
            )
        threshold, tuning = curve.best_threshold(), curve.best()
        log(f"threshold {threshold:.6g}: F1 {100 * tuning['f1']:.2f} on {settings.tune_on}")
    run = run_of(sides, folder=work / "collections")
    if run.approximate_recall is not None:
        log(f"the lists find {100 * run.approximate_recall:.2f} % of the true nearest neighbours of a sample")
    scores = run.scores(options)
    rows = np.flatnonzero(kept_pairs(run, scores, settings.one_to_one))
    rows = rows if threshold is None else rows[scores[rows] >= threshold]
    rows = rows[by_score(run.pairs.source[rows], run.pairs.target[rows], scores[rows])]
    results: dict[str, Any] = {
        "candidates": len(run.pairs),
        "pairs": len(rows),
        "threshold": threshold,
        "tuning": tuning,
        "measures": None,
        "candidate_recall": None,
        "approximate_recall": run.approximate_recall,
    }
    if gold is not None:
        floor = -np.inf if threshold is None else threshold
        results["measures"] = curve_of(run, gold, scores, settings.one_to_one).at(floor)
        results["candidate_recall"] = curve_of(run, gold, scores, False).at()["recall"]
    _write(artefact.staging, settings, sides, run.pairs.source[rows], run.pairs.target[rows], scores[rows])
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


def _read(source: Path, target: Path, layout: str) -> tuple[Collection, Collection]:
    collections = read_collection(source, layout), read_collection(target, layout)
    check_different(*collections)
    for collection in collections:
        empty = f", {collection.empty:,} empty, which are left out" if collection.empty else ""
        log(f"{collection.path.name}: {len(collection):,} sentences{empty}")
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
    sides: tuple[Collection, Collection],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    left, right = sides

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
