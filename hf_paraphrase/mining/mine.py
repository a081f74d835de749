"""The command `mine`: reads two collections and writes the pairs of sentences that are translations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..artefacts.artefact import Artefact, Card
from ..artefacts.files import read_json_object
from ..artefacts.fsspec_path import to_path
from ..artefacts.provenance import PROVENANCE
from ..classification.parallel_classifier import ParallelClassifier
from ..data.folder import DataFolder, write_split
from ..data.schema import BITEXT
from ..data.text_blocks import COMPRESSED, PLAIN_OR_COMPRESSED
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import recipe, setting
from .candidates import FILTER, CandidateSettings, MiningRun, open_pair
from .collections import LAYOUTS, SIDES, TaskPart, read_bitext_part, read_collection, read_gold, write_gold
from .scores import MARGINS, THRESHOLDS, order_by_score

_CLASSIFIER = "classifier"
CLASSIFIER_THRESHOLD = 0.99
"""As in Grégoire and Langlais (2017)."""
MINED = pa.schema([*BITEXT, ("source_id", pa.string()), ("target_id", pa.string()), ("score", pa.float64())])
"""Mined pairs: a bitext with the ids that the sentences have in their collections."""


@dataclass(kw_only=True)
class MiningSettings(CandidateSettings):
    """Find the translations between two collections of sentences, each in one language."""

    source: str = setting(f"text file of the source collection, {PLAIN_OR_COMPRESSED}", path=True)
    target: str = setting("text file of the target collection", path=True)
    output: str = setting(
        "output data folder: a bitext, the best pairs first, with the columns source_id, target_id and score"
    )
    source_lang: str = setting("code of the source language, for the column and the card", "")
    target_lang: str = setting("code of the target language", "")
    layout: str = setting(
        "lines: one sentence per line, whose number is its id; bucc: `id TAB sentence`, and the output also has the "
        "ids of the pairs, `source id TAB target id`, in pairs.gold",
        "lines",
        choices=LAYOUTS,
    )
    margin: str | None = setting(
        "score a pair by its cosine relative to the mean cosine of the nearest neighbours of both texts: ratio, "
        "distance, or absolute for the cosine itself [default: ratio; with --classifier none]",
        None,
        alone="ratio",
        choices=MARGINS,
    )
    classifier: str | None = setting(
        "folder of a classifier of parallel sentences, whose probability is the score; with --margin, the score is "
        "the product of both",
        None,
        path=True,
    )
    one_to_one: bool = setting("use no sentence twice: the best pairs are taken first", True)
    threshold: float | None = setting(
        f"minimum score of a pair [default: {', '.join(f'{value} for {name}' for name, value in THRESHOLDS.items())}, "
        f"{CLASSIFIER_THRESHOLD} for a probability]",
        None,
    )
    tune_on: str | None = setting(
        "choose the threshold with the best F1 on another pair of collections: PREFIX, with the files PREFIX.gold "
        "and PREFIX with the endings of --source and --target",
        None,
        excludes="threshold",
        prefix=True,
    )
    dev_bitext: str | None = setting(
        "choose the threshold with the best F1 on a bitext, its split `validation` if it has one: a third of its "
        "pairs is hidden among the sentences of its remaining pairs",
        None,
        excludes=("threshold", "tune_on"),
        path=True,
        dataset=True,
    )
    gold: str | None = setting(
        "file of the true pairs, `source id TAB target id`: precision, recall and F1 are printed",
        None,
        path=True,
    )
    resume: bool = setting("continue an incomplete run of the same command", False)
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        if Path(self.source).resolve() == Path(self.target).resolve():
            raise UsageError("--source and --target are the same file", path=self.source, remedy="give both sides")
        if len(set(self.tuning_files())) < len(self.tuning_files()):
            raise UsageError(
                f"--tune-on takes the endings of --source and --target, and both are `{_get_ending(self.source)}`"
                if _get_ending(self.source) == _get_ending(self.target)
                else "--tune-on cannot name its files: a file ends in .gold",
                remedy="give the two files different endings, e.g. news.fr and news.en",
            )

    @property
    def used_margin(self) -> str | None:
        """The kind of margin in the score; None if the score is a probability alone."""
        return self.margin or ("ratio" if self.classifier is None else None)

    @property
    def default_threshold(self) -> float:
        """The minimum score if no threshold is given or learned."""
        return THRESHOLDS[self.used_margin] if self.used_margin else CLASSIFIER_THRESHOLD

    def inputs(self) -> list[str]:
        """List the files and folders that are read, each once."""
        paths = [self.source, self.target, *self.encoder_names(), self.classifier, self.gold, self.dev_bitext]
        return list(dict.fromkeys([*filter(None, paths), *self.tuning_files()]))

    def tuning_files(self) -> tuple[str, ...]:
        """Return the source, target and gold file of --tune-on; none without it."""
        if self.tune_on is None:
            return ()
        return tuple(self.tune_on + ending for ending in (_get_ending(self.source), _get_ending(self.target), ".gold"))


def _get_ending(path: str) -> str:
    suffixes = Path(path).suffixes
    return "".join(suffixes[-2:] if suffixes and suffixes[-1] in COMPRESSED else suffixes[-1:])


@recipe(MiningSettings)
def mine(settings: MiningSettings) -> dict[str, Any]:
    """Find the translations between two collections of sentences, each in one language.

    Returns:
        The numbers of `candidates` and `pairs`, the `threshold`, the measures on the tuning collections (`tuning`),
        and the measures against the gold pairs (`measures` and `candidate_recall`). Values not measured are None.
    """
    with Artefact(
        settings.output,
        command="mine",
        settings=settings,
        inputs=settings.inputs(),
        free=["device"],
    ) as artefact:
        if artefact.finished:
            return dict(read_json_object(artefact.target / PROVENANCE)["results"])
        source, target = (read_collection(Path(path), settings.layout) for path in (settings.source, settings.target))
        gold = read_gold(Path(settings.gold), source, target) if settings.gold else None
        tuning_files = [Path(path) for path in settings.tuning_files()]
        tuning_part = TaskPart.of_files(tuning_files, settings.layout) if tuning_files else None
        if settings.dev_bitext is not None:
            tuning_part = read_bitext_part(settings.dev_bitext)
        log(f"{len(source):,} source and {len(target):,} target sentences")
        encoders = {FILTER: open_pair(settings.encoder_names(), settings.device)}
        classifiers = {}
        if settings.classifier is not None:
            classifiers[_CLASSIFIER] = ParallelClassifier.from_pretrained(settings.classifier, device=settings.device)
        work = artefact.checkpoint("embeddings")
        threshold = settings.default_threshold if settings.threshold is None else settings.threshold
        tuning = None
        if tuning_part is not None:
            sides = tuning_part.source, tuning_part.target
            run = MiningRun(*sides, encoders, work / "tuning", settings, classifiers, both_directions=True)
            curve = run.curve(tuning_part.gold, _score_candidates(settings, run), settings.one_to_one)
            if not curve.right.any():
                raise InputError(
                    "cannot choose a threshold: the candidates contain no true pair",
                    path=tuning_part.source.path,
                    remedy="raise --candidates, use another encoder, or give --threshold",
                )
            threshold, tuning = curve.best_threshold(), curve.best()
            log(f"threshold {threshold:.6g}: F1 {100 * tuning['f1']:.2f} on {settings.tune_on or settings.dev_bitext}")
        sides = source, target
        run = MiningRun(*sides, encoders, work / "collections", settings, classifiers, both_directions=True)
        scores = _score_candidates(settings, run)
        rows = np.flatnonzero(run.kept(scores, settings.one_to_one))
        rows = rows[scores[rows] >= threshold]
        rows = rows[order_by_score(run.source_rows[rows], run.target_rows[rows], scores[rows])]
        results: dict[str, Any] = {
            "candidates": len(run.source_rows),
            "pairs": len(rows),
            "threshold": threshold,
            "tuning": tuning,
            "measures": None,
            "candidate_recall": None,
        }
        if gold is not None:
            results["measures"] = run.curve(gold, scores, settings.one_to_one).at(threshold)
            results["candidate_recall"] = run.curve(gold, scores).at()["recall"]
        _write(artefact.staging, settings, run, rows, scores[rows])
        card = {
            "languages": list(dict.fromkeys(filter(None, (settings.source_lang, settings.target_lang)))),
            "kind": "paraphrases" if settings.source_lang == settings.target_lang != "" else "translations",
            "files": [to_path(path).name for path in (settings.source, settings.target)],
            "encoders": [to_path(path).name for path in dict.fromkeys(settings.encoder_names())],
            "classifier": to_path(settings.classifier).name if settings.classifier else None,
            "margin": settings.used_margin,
            "one_to_one": settings.one_to_one,
            "splits": DataFolder(artefact.staging).sizes(),
            **results,
        }
        artefact.finish(results=results, card=Card("mined_bitext", card))
        log(f"{len(rows):,} pairs of {len(run.source_rows):,} candidates: {settings.output}")
        return results


def _score_candidates(settings: MiningSettings, run: MiningRun) -> NDArray[np.float64]:
    """Compute the scores of the candidates (pairs,)."""
    margin = settings.used_margin
    if settings.classifier is None:
        return run.margins(str(margin))
    probabilities = run.probabilities(_CLASSIFIER)
    return np.maximum(run.margins(margin), 0) * probabilities if margin else probabilities


def _write(
    folder: Path, settings: MiningSettings, run: MiningRun, rows: NDArray[np.int64], scores: NDArray[np.float64]
) -> None:
    pairs = np.stack([run.source_rows[rows], run.target_rows[rows]], axis=1)
    columns: dict[str, Any] = {"score": scores}
    for name, side, side_rows in zip(SIDES, (run.source, run.target), pairs.T, strict=True):
        columns[name] = [side.sentences[row] for row in side_rows]
        columns[f"{name}_id"] = [side.names[row] for row in side_rows]
        columns[f"{name}_lang"] = [getattr(settings, f"{name}_lang")] * len(rows)
    columns["id"] = [":".join(ids) for ids in zip(columns["source_id"], columns["target_id"], strict=True)]
    write_split(folder, "train", [pa.table(columns, schema=MINED)], MINED)
    if settings.layout == "bucc":
        write_gold(folder / "pairs.gold", run.source.names, run.target.names, pairs)
