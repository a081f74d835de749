"""`score`: adds measures as columns to paraphrase pairs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, check_same_job, check_unfinished, output_folder, write_text_whole
from ..artefacts.hub_models import model_folder
from ..artefacts.inherited_cards import inherited_metadata
from ..artefacts.provenance import fingerprint, write_provenance
from ..data.folder import DataFolder
from ..data.parquet import count_rows, read_schema, split_names
from ..data.text_files import PLAIN_OR_COMPRESSED, LineErrors, read_lines
from ..errors import HfParaphraseError, InputError, UsageError
from ..filtering.held_out import draw_references, held_out_texts
from ..filtering.language_model.training import train_language_model
from ..filtering.measures.registry import MEASURES, choose_measures, configure
from ..filtering.pair_batch import PairBatch
from ..filtering.pipeline import check_pairs
from ..filtering.scoring import ScoringJob, Shard, plan_shards, run_scoring
from ..messages import say
from ..settings import setting, settings_of
from .arguments import parse

_JOB = "job.json"
_ARPA = "language_model.arpa"
_MODEL_FACTS = "language_model.json"
_HELD_OUT = "held_out.txt"
_LOOKED_AT = 1_000
_ROWS_WORTH_A_PROCESS = 5_000
_MEASURE_OF = {
    "language_model": "perplexity",
    "classifier": "reference_probability",
    "encoder": "similarity",
    "translation_model": "cost",
    "language": "language",
}
"""The measure that each setting is for."""


@dataclass
class Arguments:
    """Adds measures as columns to every split of a folder of pairs; all rows and columns stay.

    Only --hold-out leaves rows out: those of the references on which it estimates the language model.
    """

    pairs: str = setting("the data folder of pairs (sentence1, sentence2)")
    output: str = setting("the data folder to make; it appears whole at the end")
    measures: list[str] = setting(
        f"which measures, separated by commas or spaces: {', '.join(MEASURES)}; by default all but clipped_overlap "
        "and language, as far as the pairs have the columns and you give the models they need",
        [],
    )
    language_model: str | None = setting("ARPA file of lower-cased tokens, for perplexity", None)
    language_model_text: str | None = setting(
        f"text, one sentence a line, {PLAIN_OR_COMPRESSED}, to estimate the language model on; it is "
        "kept in the output as language_model.arpa and, for the package kenlm, language_model.binary",
        None,
    )
    hold_out: int | None = setting(
        "take so many references, with all their pairs, out of the pairs and estimate the language model on them "
        "(paper 000: 40,000); the output keeps them as held_out.txt",
        None,
    )
    classifier: str | None = setting(
        "reference classifier folder, for reference_probability and classifier_seen", None
    )
    encoder: str | None = setting("sentence encoder folder, for similarity", None)
    translation_model: str | None = setting(
        "translation model folder, for the cost of pairs that have no log_prob and num_tokens; needs source", None
    )
    language: str | None = setting(
        "the language that sentence2 should be in, ISO 639; adds the measure language, for which it is en otherwise",
        None,
        names=["--language", "--lang"],
    )
    seed: int = setting("seed of the draw of --hold-out", 0)
    batch_size: int = setting("pairs held in memory at a time by each process", 10_000)
    shard_size: int | None = setting(
        "pairs of a shard, the unit of work that is never done twice; by default a sixteenth of the split, at least "
        "10,000 and at most 250,000",
        None,
    )
    workers: int | None = setting(
        "processes; by default as many as there are processors, fewer for few pairs",
        None,
        names=["--workers", "--num-workers"],
    )
    overwrite: bool = setting("replace an existing output folder (once the new one is complete)", False)
    resume: bool = setting("continue the unfinished job for this output", False)


def main(argv: Sequence[str]) -> None:
    """Runs `score`."""
    arguments = parse(Arguments, "score", argv)
    _check(arguments)
    target = check_output(arguments.output, overwrite=arguments.overwrite)
    check_unfinished(target, overwrite=arguments.overwrite, resume=arguments.resume)
    folder = Path(arguments.pairs)
    settings: dict[str, Any] = {
        name: getattr(arguments, name) for name in _MEASURE_OF if getattr(arguments, name) is not None
    }
    estimated = arguments.language_model_text is not None or arguments.hold_out is not None
    measures = _chosen(arguments, folder, {**settings, **({"language_model": _ARPA} if estimated else {})})
    if not estimated:
        _try_out(ScoringJob(folder, measures, settings, arguments.batch_size))
    shards = plan_shards(folder, arguments.shard_size)
    with output_folder(arguments.output, overwrite=arguments.overwrite, resume=arguments.resume) as staging:
        check_same_job(staging / _JOB, _record(arguments, measures))
        try:
            job, facts = _prepared(arguments, folder, measures, settings, staging)
            if estimated:
                _try_out(job)
            _run(job, shards, staging, arguments.workers)
        except HfParaphraseError:
            # Nothing is lost where nothing was done yet.
            if not any((staging / "data").glob("*.parquet")):
                shutil.rmtree(staging, ignore_errors=True)
            raise
        rows = {split: count_rows(staging, split) for split in split_names(folder)}
        added = list(dict.fromkeys(column for split in measures for column in _added(job, split)))
        for split in rows:
            for column in sorted(set(read_schema(folder, split).names) & set(_added(job, split))):
                say(f"{split}: the column {column} was there before and is computed anew")
        _describe(arguments, folder, staging, rows, added, measures, facts)
    (target / _JOB).unlink(missing_ok=True)
    say(f"{sum(rows.values()):,} pairs with {', '.join(added)} in {arguments.output}")


def _check(arguments: Arguments) -> None:
    for name in ("batch_size", "shard_size", "workers", "hold_out"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise UsageError(f"score: --{name.replace('_', '-')} is {value}", remedy="give 1 or more")
    if not 0 <= arguments.seed < 1 << 64:
        raise UsageError(f"score: --seed is {arguments.seed}", remedy="give 0 or more")
    models = [name for name in ("language_model", "language_model_text", "hold_out") if getattr(arguments, name)]
    if len(models) > 1:
        flags = " and ".join(f"--{name.replace('_', '-')}" for name in models)
        raise UsageError(f"score: {flags} each give a language model", remedy="give one of them")


def _chosen(arguments: Arguments, folder: Path, settings: dict[str, Any]) -> dict[str, list[str]]:
    """Checks the columns of every split and returns its measures.

    Those asked for must be possible in every split; without such a list each split gets those that it has the columns
    for.
    """
    requested = [part.strip() for word in arguments.measures for part in word.split(",") if part.strip()]
    configured = configure(settings)
    chosen: dict[str, list[str]] = {}
    for split in split_names(folder):
        schema = read_schema(folder, split)
        check_pairs(schema, str(folder))
        names = choose_measures(requested, schema.names, str(folder), configured)
        if arguments.language is not None and not requested:
            names.append("language")
        chosen[split] = names
    every = [name for name in MEASURES if any(name in names for names in chosen.values())]
    for given, name in _MEASURE_OF.items():
        if settings.get(given) is not None and name not in every:
            raise UsageError(
                f"score: --{given.replace('_', '-')} is for the measure {name}, which is not computed",
                remedy=f"add it to --measures; it reads the columns {', '.join(configured[name].requires)}",
            )
    for split, names in chosen.items():
        left_out = [name for name in every if name not in names]
        if left_out:
            say(f"split `{split}`: without {', '.join(left_out)}, whose columns it does not have")
    return chosen


def _record(arguments: Arguments, measures: dict[str, list[str]]) -> dict[str, Any]:
    """All that determines the result, for a run that is continued."""
    files = ("pairs", "language_model", "language_model_text")
    models = ("classifier", "encoder", "translation_model")
    given = {name: getattr(arguments, name) for name in (*files, *models)}
    given |= {name: model_folder(given[name]) for name in models if given[name] is not None}
    return {
        **{name: None if path is None else fingerprint(path) for name, path in given.items()},
        **{name: getattr(arguments, name) for name in ("hold_out", "seed", "language", "batch_size", "shard_size")},
        "measures": measures,
    }


def _prepared(
    arguments: Arguments, folder: Path, measures: dict[str, list[str]], settings: dict[str, Any], staging: Path
) -> tuple[ScoringJob, dict[str, Any]]:
    """Holds references out and estimates the language model where that was asked for.

    Returns:
        The job, and what there is to say about the language model.
    """
    held_out, texts = None, None
    if arguments.hold_out is not None:
        split = split_names(folder)[0]
        held_out = draw_references(folder, split, arguments.hold_out, arguments.seed)
        texts = iter([held_out_texts(folder, split, held_out)])
    elif arguments.language_model_text is not None:
        texts = _text_blocks(Path(arguments.language_model_text))
    facts: dict[str, Any] = {}
    if texts is not None:
        settings = {**settings, "language_model": str(staging / _ARPA)}
        if not (staging / _MODEL_FACTS).is_file():
            if held_out is not None:
                blocks = list(texts)
                write_text_whole(
                    staging / _HELD_OUT, "".join(" ".join(text.split()) + "\n" for block in blocks for text in block)
                )
                texts = iter(blocks)
            source = arguments.language_model_text or folder
            facts = train_language_model(texts, staging / _ARPA, source=source)
            write_text_whole(staging / _MODEL_FACTS, json.dumps(facts, indent=2) + "\n")
        facts = json.loads((staging / _MODEL_FACTS).read_text(encoding="utf-8"))
        say(f"language model: {facts['tokens']:,} tokens in {facts['sentences']:,} sentences")
        if facts["fallback_discounts"]:
            orders = ", ".join(map(str, facts["fallback_discounts"]))
            say(f"language model: too little text to estimate the discounts of order {orders}; 0.5, 1, 1.5 taken")
    return ScoringJob(folder, measures, settings, arguments.batch_size, held_out), facts


def _text_blocks(path: Path) -> Iterator[list[str]]:
    for block in read_lines(path, LineErrors()):
        yield block.to_pylist()


def _try_out(job: ScoringJob) -> None:
    """Loads what the measures need, and looks whether the language model knows the words of the pairs.

    Raises:
        HfParaphraseError: If a model or package is missing, or no word of the first pairs is known.
    """
    for split in job.measures:
        job.schema(split)
    split = next(iter(job.measures))
    table = next(DataFolder(job.folder).row_range(split, 0, _LOOKED_AT, batch_size=_LOOKED_AT), None)
    if table is None or "perplexity" not in job.measures[split]:
        return
    batch = PairBatch(table)
    rates = configure(job.settings)["perplexity"].compute(batch)["unknown_rate"]
    tokens = int(batch.lengths2.sum())
    unknown = float((rates * batch.lengths2)[batch.lengths2 > 0].sum())
    if tokens and unknown >= tokens:
        raise InputError(
            f"the language model knows none of the words of the first {table.num_rows:,} pairs",
            path=job.folder,
            remedy="give a model of lower-cased words of the language of sentence2",
        )
    if tokens and unknown > tokens / 2:
        say(f"the language model knows only {1 - unknown / tokens:.0%} of the words of the first pairs")


def _run(job: ScoringJob, shards: Sequence[Shard], staging: Path, workers: int | None) -> None:
    affinity = getattr(os, "sched_getaffinity", None)
    processors = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    total = sum(shard.stop - shard.start for shard in shards)
    processors = min(processors, max(1, total // _ROWS_WORTH_A_PROCESS))
    with tqdm(desc="score", total=total, unit=" pairs", unit_scale=True) as bar:
        for shard in run_scoring(job, shards, staging, workers or processors):
            bar.update(shard.stop - shard.start)


def _added(job: ScoringJob, split: str) -> list[str]:
    return [column for name in job.measures[split] for column in MEASURES[name].columns]


def _describe(
    arguments: Arguments,
    folder: Path,
    staging: Path,
    rows: dict[str, int],
    added: list[str],
    measures: dict[str, list[str]],
    facts: dict[str, Any],
) -> None:
    chosen = [name for name in MEASURES if any(name in names for names in measures.values())]
    settings = settings_of(arguments)
    results: dict[str, Any] = {"rows": rows, "columns": added}
    if facts:
        results["language_model"] = facts
    models = [arguments.classifier, arguments.encoder, arguments.translation_model]
    files = [arguments.language_model, arguments.language_model_text, *models]
    write_provenance(
        staging,
        command="score",
        settings={
            **{name: value for name, value in settings.items() if name not in {"resume", "overwrite", "workers"}},
            "measures": chosen,
        },
        inputs=[folder, *(path for path in files if path is not None)],
        results=results,
    )
    write_card(
        staging,
        "dataset_cards",
        "scored",
        {
            **inherited_metadata(folder),
            "title": f"{folder.resolve().name}, scored",
            "source": folder.resolve().name,
            "splits": [{"name": split, "rows": count} for split, count in rows.items()],
            "measures": [{"columns": MEASURES[name].columns, "text": _first_line(MEASURES[name])} for name in chosen],
            "language_model": facts,
            "held_out": arguments.hold_out,
        },
    )
    (staging / _MODEL_FACTS).unlink(missing_ok=True)


def _first_line(measure: object) -> str:
    return (type(measure).__doc__ or "").strip().split("\n", 1)[0]
