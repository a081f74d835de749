"""`mine`: the pairs of sentences of two collections that are translations of each other."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.folders import check_same_job, check_unfinished, staging_path, working_folder
from ..artefacts.provenance import FILE_NAME, fingerprint, write_provenance
from ..data.text_files import COMPRESSED, PLAIN_OR_COMPRESSED
from ..encoders.devices import CPU, check_device, device_setting
from ..errors import InputError, OutputError, UsageError
from ..evaluation.tables import format_table
from ..messages import say
from ..settings import setting, settings_of
from ..studies.mining.collection import (
    LAYOUTS,
    Collection,
    check_different,
    count_repeated,
    one_line,
    read_collection,
    read_gold,
)
from ..studies.mining.comparable_files import write_gold
from ..studies.mining.margins import MARGINS
from ..studies.mining.matching import MATCHINGS
from .arguments import parse

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..studies.mining.embedding import EncoderFolders
    from ..studies.mining.measures import Curve
    from ..studies.mining.run import FilterOptions, ScoreOptions

_JOB = "job.json"
_PAIRS_AT_A_TIME = 1 << 18
_NOT_OF_THE_JOB = {"output", "overwrite", "resume"}


@dataclass
class Arguments:
    """Find the translations between two collections of sentences, each in one language."""

    source: str = setting(f"text file of the source collection, {PLAIN_OR_COMPRESSED}")
    target: str = setting("text file of the target collection")
    output: str = setting(
        "the tab-separated file to make: score, source id, target id, source sentence, target sentence, the best first"
    )
    layout: str = setting(
        "lines: one sentence a line, whose number is its id; bucc: `id TAB sentence`, and the pairs are also written "
        "as `source id TAB target id` beside the output, with the suffix .gold",
        "lines",
        choices=list(LAYOUTS),
    )
    encoder: str | None = setting("folder of an encoder of both languages, which finds the candidates", None)
    source_encoder: str | None = setting("with --target-encoder: folder of an encoder of the source language", None)
    target_encoder: str | None = setting("folder of an encoder of the target language, in the same space", None)
    candidates: int = setting("target sentences of the greatest cosine that are looked at for a source sentence", 40)
    approximate: bool = setting(
        "search candidates in inverted lists instead of all targets, which needs faiss-cpu; the share of the true "
        "candidates that are found is measured on a sample and printed",
        False,
    )
    probes: int = setting("with --approximate: lists to read for a sentence; 0 = a sixteenth, at least 8", 0)
    margin: str | None = setting(
        "score a pair by its cosine against the mean cosine of the neighbourhoods of both sentences; ratio if no kind "
        "is named; absolute = the cosine",
        None,
        alone="ratio",
        choices=list(MARGINS),
    )
    neighbours: int = setting("with --margin: sentences in a neighbourhood", 4)
    scoring_encoder: str | None = setting("folder of another encoder, for the cosine or margin of the score", None)
    source_scoring_encoder: str | None = setting("the same for the source language alone", None)
    target_scoring_encoder: str | None = setting("the same for the target language alone", None)
    classifier: str | None = setting(
        "folder of a classifier of parallel sentences, whose probability is the score; with --margin or "
        "--scoring-encoder it is combined with that score",
        None,
    )
    combine: str = setting("how two scores become one", "product", choices=["product", "mean"])
    one_to_one: str | None = setting(
        "use no sentence twice: greedy takes pairs by falling score (what the bare flag means), exact those of the "
        "greatest total score",
        None,
        alone="greedy",
        choices=list(MATCHINGS),
    )
    threshold: float | None = setting("least score of a pair; without it and --tune-on all pairs are given", None)
    tune_on: str | None = setting(
        "choose the threshold with the best F1 on another pair of collections: PREFIX, of which the files are "
        "PREFIX.gold and PREFIX with the endings of --source and --target",
        None,
    )
    gold: str | None = setting(
        "file of the true pairs, `source id TAB target id`: precision, recall and F1 are printed", None
    )
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256)
    device: str = device_setting()
    seed: int = setting("with --approximate: seed of the lists", 0)
    resume: bool = setting("go on with an unfinished run of the same command", False)
    overwrite: bool = setting("replace an existing output", False)


@dataclass(frozen=True)
class _Files:
    """What appears in the end: the pairs, their record, and in the BUCC layout the ids alone."""

    pairs: Path
    record: Path
    gold: Path | None

    @classmethod
    def of(cls, arguments: Arguments) -> _Files:
        pairs = Path(arguments.output).expanduser()
        gold = pairs.with_suffix(".gold") if arguments.layout == "bucc" else None
        return cls(pairs, pairs.with_name(f"{pairs.name}.{FILE_NAME}"), gold)

    def __iter__(self) -> Iterator[Path]:
        yield from (self.pairs, self.record, *([self.gold] if self.gold else []))


def main(argv: Sequence[str]) -> None:
    """Runs `mine`.

    Raises:
        UsageError: For arguments that do not fit together.
        InputError: For a missing or malformed collection or gold file.
        OutputError: If the output exists or cannot be written, or the unfinished run is another one.
        ModelError: If a folder is not an encoder or not a classifier.
    """
    arguments = parse(Arguments, "mine", argv)
    files = _check(arguments)
    encoders, scoring = _encoders(arguments)
    collections = _read(Path(arguments.source), Path(arguments.target), arguments.layout)
    gold = read_gold(Path(arguments.gold), *collections) if arguments.gold else None
    tuning = _read_tuning(arguments)

    from ..studies.mining.matching import by_score, matching
    from ..studies.mining.measures import Curve, are_gold
    from ..studies.mining.run import FilterOptions, MiningRun, ScoreOptions

    filtering = FilterOptions(
        arguments.candidates,
        arguments.approximate,
        arguments.probes,
        arguments.seed,
        arguments.batch_size,
        arguments.device,
    )
    scores_of = ScoreOptions(scoring, arguments.margin, arguments.neighbours, arguments.classifier, arguments.combine)
    _check_models(encoders, scoring, arguments.classifier, arguments.device)
    output = files.pairs.resolve()
    with working_folder(output, overwrite=arguments.overwrite, resume=arguments.resume) as staging:
        try:
            # A run that has ended since the first look may have left its output.
            _check_outputs(files, overwrite=arguments.overwrite)
            check_same_job(staging / _JOB, _job(arguments, encoders, scoring))
            results: dict[str, Any] = {}
            threshold = arguments.threshold
            if tuning is not None:
                curve = _tune(tuning, encoders, filtering, scores_of, arguments.one_to_one, staging / "tuning")
                threshold = curve.best_threshold()
                results["tuning"] = {"threshold": threshold, **curve.best().as_dict()}
                say(f"threshold {threshold:.6g}: F1 {100 * curve.best().f1:.2f} on {arguments.tune_on}")
            run = MiningRun(collections, encoders, filtering, staging / "collections", show_progress_bar=True)
            if run.approximate_recall is not None:
                results["approximate_recall"] = run.approximate_recall
                say(f"of the true candidates of a sample {100 * run.approximate_recall:.2f} % were found")
            scores = run.scores(scores_of)
            source, target = run.pairs.source, run.pairs.target
            kept = matching(arguments.one_to_one, source, target, scores)
            if gold is not None:
                hits = are_gold(source, target, gold, len(collections[1]))
                curve = Curve.of(scores[kept], hits[kept], len(gold))
                results["candidate_recall"] = int(hits.sum()) / len(gold)
                results["measures"] = curve.at(-float("inf") if threshold is None else threshold).as_dict()
            if threshold is not None:
                kept &= scores >= threshold
            source, target, scores = source[kept], target[kept], scores[kept]
            order = by_score(source, target, scores)
            results |= {"candidates": len(run.pairs), "pairs": len(order), "threshold": threshold}
            _write(staging, files, collections, source[order], target[order], scores[order])
            _write_record(staging, files, arguments, encoders, scoring, results)
        except BaseException:
            # Blocks that are done are worth keeping; a folder that holds only the record of the job is not.
            if not any(path.suffix in {".npy", ".npz"} for path in staging.rglob("*")):
                shutil.rmtree(staging, ignore_errors=True)
            raise
        _move(staging, files)
    if "measures" in results:
        sys.stdout.write(_table(results))
    say(f"{results['pairs']:,} pairs of {results['candidates']:,} candidates: {arguments.output}")


def _check(arguments: Arguments) -> _Files:
    """Refuses what does not fit together, and outputs that are in the way, before any long work."""
    for name, low in (("candidates", 1), ("neighbours", 1), ("batch_size", 1), ("probes", 0)):
        if getattr(arguments, name) < low:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} {getattr(arguments, name)} is below {low}", remedy=f"give {low} or more")
    if arguments.threshold is not None and arguments.tune_on is not None:
        raise UsageError("give either --threshold or --tune-on", remedy="leave one out")
    check_device(arguments.device)
    if arguments.probes and not arguments.approximate:
        raise UsageError("--probes is for --approximate", remedy="leave it out")
    files = _Files.of(arguments)
    if files.gold == files.pairs:
        raise UsageError("--output cannot end in .gold", remedy="the ids alone are written beside it under that name")
    inputs = {Path(path).resolve() for path in (arguments.source, arguments.target, arguments.gold) if path}
    for path in files:
        if path.resolve() in inputs:
            raise OutputError("the output is one of the inputs", path=path, remedy="give another --output")
    _check_outputs(files, overwrite=arguments.overwrite)
    check_unfinished(files.pairs.resolve(), overwrite=arguments.overwrite, resume=arguments.resume)
    return files


def _check_outputs(files: _Files, *, overwrite: bool) -> None:
    for path in files:
        if path.is_dir():
            raise OutputError("the output is a folder, not a file", path=path, remedy="name a file")
        if path.exists() and not overwrite:
            raise OutputError("the output exists", path=path, remedy="give another --output, or --overwrite")


def _encoders(arguments: Arguments) -> tuple[EncoderFolders, EncoderFolders | None]:
    from ..studies.mining.embedding import EncoderFolders

    encoders = EncoderFolders.of(arguments.encoder, arguments.source_encoder, arguments.target_encoder, "encoder")
    if encoders is None:
        raise UsageError(
            "candidates need an encoder", remedy="give --encoder, or --source-encoder and --target-encoder"
        )
    flags = (arguments.scoring_encoder, arguments.source_scoring_encoder, arguments.target_scoring_encoder)
    return encoders, EncoderFolders.of(*flags, "scoring-encoder")


def _check_models(
    encoders: EncoderFolders, scoring: EncoderFolders | None, classifier: str | None, device: str
) -> None:
    """Opens what will be needed late once before any long work."""
    from ..encoders.sentence_encoder import SentenceEncoder

    for folder in [*encoders.folders, *(scoring.folders if scoring else [])]:
        SentenceEncoder.from_pretrained(folder, device=device)
    if classifier is not None:
        from ..studies.mining.parallel_classification import ParallelClassifier

        ParallelClassifier.from_pretrained(classifier, device=device)


def _read(source: Path, target: Path, layout: str) -> tuple[Collection, Collection]:
    collections = read_collection(source, layout), read_collection(target, layout)
    check_different(*collections)
    for collection in collections:
        notes = [f"{len(collection):,} sentences"]
        if empty := collection.empty:
            notes.append(f"{empty:,} empty, which are left out")
        if repeated := count_repeated(collection):
            notes.append(f"{repeated:,} repeated, which stay")
        say(f"{collection.path.name}: {', '.join(notes)}")
    return collections


def _read_tuning(arguments: Arguments) -> tuple[Collection, Collection, NDArray[np.int64]] | None:
    if arguments.tune_on is None:
        return None
    source, target = (Path(arguments.tune_on + _ending(path)) for path in (arguments.source, arguments.target))
    gold = Path(f"{arguments.tune_on}.gold")
    for path in (source, target, gold):
        if not path.is_file():
            raise InputError("no such file", path=path, remedy="--tune-on takes what its three files begin with")
    collections = _read(source, target, arguments.layout)
    return *collections, read_gold(gold, *collections)


def _ending(path: str) -> str:
    suffixes = Path(path).suffixes
    return "".join(suffixes[-2:] if suffixes and suffixes[-1] in COMPRESSED else suffixes[-1:])


def _job(arguments: Arguments, encoders: EncoderFolders, scoring: EncoderFolders | None) -> dict[str, Any]:
    """Describes all that decides the result, so that another run is not taken for this one."""
    inputs = _inputs(arguments, encoders, scoring)
    settings = {name: value for name, value in settings_of(arguments).items() if name not in _NOT_OF_THE_JOB}
    if arguments.device == CPU:
        del settings["device"]  # unfinished runs of earlier versions know no other
    return {**settings, "inputs": {str(path): fingerprint(path) for path in inputs}}


def _inputs(arguments: Arguments, encoders: EncoderFolders, scoring: EncoderFolders | None) -> list[str]:
    paths = [arguments.source, arguments.target, *encoders.folders, *(scoring.folders if scoring else [])]
    paths += [path for path in (arguments.classifier, arguments.gold) if path is not None]
    if arguments.tune_on is not None:
        endings = (_ending(arguments.source), _ending(arguments.target), ".gold")
        paths += [arguments.tune_on + ending for ending in endings]
    return list(dict.fromkeys(paths))


def _tune(
    tuning: tuple[Collection, Collection, NDArray[np.int64]],
    encoders: EncoderFolders,
    filtering: FilterOptions,
    scores_of: ScoreOptions,
    one_to_one: str | None,
    folder: Path,
) -> Curve:
    from ..studies.mining.matching import matching
    from ..studies.mining.measures import Curve, are_gold
    from ..studies.mining.run import MiningRun

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
    files: _Files,
    collections: tuple[Collection, Collection],
    source: NDArray[np.int64],
    target: NDArray[np.int64],
    scores: NDArray[np.float64],
) -> None:
    import numpy as np

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


def _write_record(
    staging: Path,
    files: _Files,
    arguments: Arguments,
    encoders: EncoderFolders,
    scoring: EncoderFolders | None,
    results: dict[str, Any],
) -> None:
    write_provenance(
        staging,
        command="mine",
        settings=settings_of(arguments),
        inputs=_inputs(arguments, encoders, scoring),
        results=json.loads(json.dumps(results)),
    )
    (staging / FILE_NAME).rename(staging / files.record.name)


def _move(staging: Path, files: _Files) -> None:
    try:
        # The pairs last: where they are, all is.
        for path in reversed(list(files)):
            (staging / path.name).replace(path)
    except OSError as error:
        raise OutputError(f"cannot write: {error.strerror}", path=files.pairs) from error
    shutil.rmtree(staging_path(files.pairs.resolve()), ignore_errors=True)


def _table(results: dict[str, Any]) -> str:
    measures = results["measures"]
    cells = [f"{100 * measures[name]:.2f}" for name in ("precision", "recall", "f1")]
    counts = [str(measures[name]) for name in ("found", "right", "gold")]
    threshold = "–" if results["threshold"] is None else f"{results['threshold']:.6g}"
    header = ["threshold", "precision (%)", "recall (%)", "F1 (%)", "found", "right", "gold"]
    return format_table(header, [[threshold, *cells, *counts]])
