"""`evaluate-mining`: what candidates, scores and decisions of `mine` are worth, on a task with known pairs."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, check_same_job, output_folder, write_text_whole
from ..artefacts.provenance import fingerprint, write_provenance
from ..errors import UsageError
from ..evaluation.figures import check_plots
from ..evaluation.tables import format_table
from ..messages import say
from ..settings import setting, settings_of
from ..studies.mining.margins import MARGINS
from ..studies.mining.matching import MATCHINGS
from ..studies.mining.random_pairs import PAPERS_NEGATIVES
from ..studies.mining.recall import SIZES
from .arguments import parse
from .mining_tables import counts, outcome_table, percent, random_table, recall_table

if TYPE_CHECKING:
    from ..studies.mining.embedding import EncoderFolders
    from ..studies.mining.measures import Curve
    from ..studies.mining.recall import RecallRow
    from ..studies.mining.study import ScoreBank, TaskPart

_WORK = "work"
_PLOTTED = 12


@dataclass
class Arguments:
    """Measure mining. Files that `mine` made: --pairs A B --gold FILE. A study of a whole task: --task DIR/fr-en."""

    pairs: list[str] = setting("files that `mine` made, each a row of the table", [])
    gold: str | None = setting("with --pairs: the true pairs, `source id TAB target id`", None)
    task: str | None = setting(
        "what the files of a task begin with, e.g. task/fr-en for task/fr-en.test.fr, .en and .gold", None
    )
    tuning_part: str = setting("part of the task on which thresholds are chosen", "training")
    test_part: str = setting("part of the task on which everything is measured", "test")
    encoder: str | None = setting("folder of an encoder of both languages, which finds the candidates", None)
    source_encoder: str | None = setting("with --target-encoder: folder of an encoder of the source language", None)
    target_encoder: str | None = setting("folder of an encoder of the target language, in the same space", None)
    candidates: int = setting("candidates of a source sentence that are scored", 40)
    recall_sizes: list[int] = setting("numbers of candidates of a source sentence of the table of recall", [*SIZES])
    scoring_encoder: list[str] = setting(
        "folders of other encoders that score the candidates, or SOURCE_FOLDER:TARGET_FOLDER", []
    )
    classifier: list[str] = setting("folders of classifiers of parallel sentences", [])
    margin: str = setting("kind of the margin scores", "ratio", choices=list(MARGINS))
    neighbours: int = setting("sentences in a neighbourhood of the margin scores", 4)
    one_to_one: str = setting("how the rows with a one-to-one matching match", "greedy", choices=list(MATCHINGS))
    fixed_threshold: float = setting("threshold of the rows that are the paper's set-up", 0.99)
    random_negatives: int = setting(
        "random pairs for each true one in the comparison of classifiers that is not on candidates; 0 = leave it out",
        PAPERS_NEGATIVES,
    )
    batch_size: int = setting("sentences in a padded batch; a model of type avg needs no batches", 256)
    seed: int = setting("seed of the random pairs", 0)
    output: str | None = setting(
        "report folder: tables, curves as TSV, PNG and SVG (needs matplotlib), results.json; needed with --task",
        None,
    )
    resume: bool = setting("go on with an unfinished run of the same command", False)
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `evaluate-mining`.

    Raises:
        UsageError: For arguments that do not fit together.
        InputError: For a missing or malformed file.
        OutputError: If the output exists or cannot be written.
        ModelError: If a folder is not an encoder or not a classifier.
    """
    arguments = parse(Arguments, "evaluate-mining", argv)
    if bool(arguments.pairs) == bool(arguments.task):
        raise UsageError(
            "give either --pairs with --gold, or --task", remedy="see hf-paraphrase evaluate-mining --help"
        )
    if arguments.output is not None:
        check_output(arguments.output, overwrite=arguments.overwrite)
        check_plots()
    if arguments.pairs:
        _measure_files(arguments)
    else:
        _study(arguments)


def _measure_files(arguments: Arguments) -> None:
    if arguments.gold is None:
        raise UsageError("--pairs needs --gold", remedy="name the file of true pairs")
    from ..studies.mining.mined_file import mined_curve, read_gold_ids

    gold = read_gold_ids(Path(arguments.gold))
    curves = {path: mined_curve(Path(path), gold) for path in dict.fromkeys(arguments.pairs)}
    rows = []
    for path, curve in curves.items():
        whole = curve.at(-float("inf"))
        rows.append([path, "–", *percent(whole), *counts(whole)])
        if len(curve):
            rows.append(
                [f"{path}, best F1", f"{curve.best_threshold():.6g}", *percent(curve.best()), *counts(curve.best())]
            )
    table = format_table(
        ["pairs", "threshold", "precision (%)", "recall (%)", "F1 (%)", "found", "right", "gold"], rows
    )
    sys.stdout.write(table)
    if arguments.output is None:
        return
    results = {
        path: {"all": curve.at(-float("inf")).as_dict(), "best": curve.best().as_dict()}
        for path, curve in curves.items()
    }
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        tables = {"Measures": table}
        _write_report(staging, arguments, tables, curves, {}, results, [*arguments.pairs, arguments.gold])
    say(f"report: {arguments.output}")


def _study(arguments: Arguments) -> None:
    from ..studies.mining.embedding import EncoderFolders
    from ..studies.mining.study import ScoreBank, TaskPart, outcome, ways

    task = _check_study(arguments)
    encoders = EncoderFolders.of(arguments.encoder, arguments.source_encoder, arguments.target_encoder, "encoder")
    if encoders is None:
        raise UsageError(
            "candidates need an encoder", remedy="give --encoder, or --source-encoder and --target-encoder"
        )
    scorers = _named([EncoderFolders.parse(text) for text in arguments.scoring_encoder])
    classifiers = _named_folders(arguments.classifier)
    _check_models([encoders, *scorers.values()], classifiers.values())
    names = {"tuning": arguments.tuning_part, "test": arguments.test_part}
    parts = {role: TaskPart.read(task, name) for role, name in names.items()}
    inputs = [str(path) for name in names.values() for path in TaskPart.files(task, name)]
    inputs += [folder for item in (encoders, *scorers.values()) for folder in item.folders]
    inputs = list(dict.fromkeys([*inputs, *classifiers.values()]))
    assert arguments.output is not None
    with output_folder(arguments.output, overwrite=arguments.overwrite, resume=arguments.resume) as staging:
        settings = {
            name: value
            for name, value in settings_of(arguments).items()
            if name not in {"output", "overwrite", "resume"}
        }
        check_same_job(staging / "job.json", {**settings, "inputs": {path: fingerprint(path) for path in inputs}})
        banks = {
            role: ScoreBank(
                part,
                encoders,
                scorers,
                classifiers,
                margin=arguments.margin,
                neighbours=arguments.neighbours,
                filtering=_filtering(arguments),
                folder=staging / _WORK / role,
            )
            for role, part in parts.items()
        }
        recall = _recall(banks["test"], encoders, scorers, arguments.recall_sizes)
        tables = {f"Recall of the candidates of {name}": recall_table(rows) for name, rows in recall.items()}
        _print(tables)
        random_curves = _random_pairs(banks["test"], parts["test"], classifiers, arguments)
        if random_curves:
            title = f"True pairs among {arguments.random_negatives:,} random ones each"
            tables[title] = random_table(random_curves)
            _print({title: tables[title]})
        chosen = ways(
            list(scorers), list(classifiers), arguments.margin, arguments.one_to_one, arguments.fixed_threshold
        )
        outcomes = [outcome(way, banks["tuning"], banks["test"]) for way in chosen]
        title = f"True pairs among the {arguments.candidates} best candidates"
        tables[title] = outcome_table(outcomes)
        _print({title: tables[title]})
        results = {
            "parts": {
                role: {
                    "name": names[role],
                    "sources": len(part.source),
                    "targets": len(part.target),
                    "gold": len(part.gold),
                    "candidates": len(banks[role].run.pairs),
                }
                for role, part in parts.items()
            },
            "recall": {name: [row.as_dict() for row in rows] for name, rows in recall.items()},
            "random_pairs": {
                name: {"threshold": curve.best_threshold(), **curve.best().as_dict()}
                for name, curve in random_curves.items()
            },
            "candidates": [item.as_dict() for item in outcomes],
        }
        shutil.rmtree(staging / _WORK)
        (staging / "job.json").unlink()
        curves = {item.way.label: item.curve for item in outcomes}
        _write_report(staging, arguments, tables, curves, random_curves, results, inputs)
    say(f"report: {arguments.output}")


def _check_study(arguments: Arguments) -> str:
    limits = (("candidates", 1), ("neighbours", 1), ("batch_size", 1), ("random_negatives", 0))
    for name, low in limits:
        if getattr(arguments, name) < low:
            flag = f"--{name.replace('_', '-')}"
            raise UsageError(f"{flag} {getattr(arguments, name)} is below {low}", remedy=f"give {low} or more")
    sizes = arguments.recall_sizes
    if not sizes or min(sizes) < 1 or sizes != sorted(set(sizes)):
        raise UsageError("--recall-sizes must be rising numbers from 1", remedy="e.g. 1 10 40 100")
    if arguments.output is None:
        raise UsageError("--task needs --output", remedy="name a folder for the report")
    if arguments.gold is not None:
        raise UsageError("--gold is for --pairs", remedy="a task has its own file of true pairs")
    assert arguments.task is not None
    return arguments.task


def _filtering(arguments: Arguments) -> Any:
    from ..studies.mining.run import FilterOptions

    return FilterOptions(arguments.candidates, batch_size=arguments.batch_size)


def _named(items: Sequence[EncoderFolders]) -> dict[str, EncoderFolders]:
    names = [item.names for item in items]
    _check_names(names, "--scoring-encoder")
    return dict(zip(names, items, strict=True))


def _named_folders(folders: Sequence[str]) -> dict[str, str]:
    names = [Path(folder).resolve().name for folder in folders]
    _check_names(names, "--classifier")
    return dict(zip(names, folders, strict=True))


def _check_names(names: Sequence[str], flag: str) -> None:
    repeated = [name for name in dict.fromkeys(names) if names.count(name) > 1 or name == "filter"]
    if repeated:
        raise UsageError(
            f"{flag}: two folders are called `{repeated[0]}`, which would be one row", remedy="rename one of them"
        )


def _check_models(encoders: Iterable[EncoderFolders], classifiers: Iterable[str]) -> None:
    """Opens everything once before any long work."""
    from ..encoders.sentence_encoder import SentenceEncoder

    for item in encoders:
        for folder in item.folders:
            SentenceEncoder.from_pretrained(folder)
    for folder in classifiers:
        from ..studies.mining.parallel_classification import ParallelClassifier

        ParallelClassifier.from_pretrained(folder)


def _recall(
    bank: ScoreBank, encoders: EncoderFolders, scorers: dict[str, EncoderFolders], sizes: Sequence[int]
) -> dict[str, list[RecallRow]]:
    from ..studies.mining.recall import gold_ranks
    from ..studies.mining.recall import recall_table as rows_of

    tables = {}
    for name, item in {f"the filter ({encoders.names})": encoders, **scorers}.items():
        sides = bank.run.sides(item)
        ranks = gold_ranks(sides.source, sides.target, bank.part.gold, sizes[-1])
        tables[name] = rows_of(ranks, len(bank.part.source), len(bank.part.target), sizes)
    return tables


def _random_pairs(
    bank: ScoreBank, part: TaskPart, classifiers: dict[str, str], arguments: Arguments
) -> dict[str, Curve]:
    from ..studies.mining.random_pairs import random_pair_curve

    if not arguments.random_negatives:
        return {}
    sizes = (len(part.source), len(part.target), arguments.random_negatives, arguments.seed)
    return {
        name: random_pair_curve(bank.run.classified(folder), part.gold, *sizes) for name, folder in classifiers.items()
    }


def _print(tables: dict[str, str]) -> None:
    for title, table in tables.items():
        sys.stdout.write(f"{title}\n\n{table}\n")
    sys.stdout.flush()


def _write_report(
    staging: Path,
    arguments: Arguments,
    tables: dict[str, str],
    curves: dict[str, Curve],
    random_curves: dict[str, Curve],
    results: dict[str, Any],
    inputs: Sequence[str],
) -> None:
    from ..studies.mining.curve_files import file_stem, plot_curves, write_curve

    plots = []
    for title, group in (("candidates", curves), ("random_pairs", random_curves)):
        for name, curve in group.items():
            if len(curve):
                write_curve(staging / "curves" / title / f"{file_stem(name)}.tsv", curve)
        best = sorted((name for name, curve in group.items() if len(curve)), key=lambda name: -group[name].best().f1)
        if best:
            shown = set(best[:_PLOTTED])
            plot_curves(
                {name: curve for name, curve in group.items() if name in shown}, staging / "plots" / f"{title}.png"
            )
            plots.append(title)
    text = json.dumps(results, indent=2, ensure_ascii=False, allow_nan=False)
    write_text_whole(staging / "results.json", text + "\n")
    write_provenance(
        staging,
        command="evaluate-mining",
        settings=settings_of(arguments),
        inputs=inputs,
        results={"tables": list(tables)},
    )
    write_card(
        staging,
        "dataset_cards",
        "mining_report",
        {
            "title": ", ".join(Path(path).name for path in ([arguments.task] if arguments.task else arguments.pairs)),
            "task": arguments.task is not None,
            "parts": results.get("parts") if arguments.task else None,
            "tables": tables,
            "plots": plots,
            "fixed_threshold": arguments.fixed_threshold,
            "one_to_one": arguments.one_to_one,
            "neighbours": arguments.neighbours,
        },
    )
