"""`back-translate`: the foreign side of a bitext into n-best English paraphrase pairs."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import errno
import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import (
    check_output,
    check_same_job,
    check_unfinished,
    move_into_place,
    staging_path,
    working_folder,
    write_parts_whole,
)
from ..artefacts.inherited_cards import inherited_metadata
from ..artefacts.provenance import fingerprint, read_provenance, write_provenance
from ..data.parquet import count_rows, iterate_batches, read_schema, split_sizes
from ..data.schema import BACK_TRANSLATED, require_columns
from ..errors import InputError, OutputError, UsageError
from ..messages import is_main_process, say
from ..settings import setting, settings_of
from ..training.threads import keep_freed_memory
from ..translation.bitext import check_languages
from .arguments import parse
from .search_flags import check_search_flags, search_constraints
from .translation_tables import translation_table

if TYPE_CHECKING:
    from ..translation.back_translation import SearchOptions
    from ..translation.lexical_table import LexicalTable

_JOB = "job.json"
_CANDIDATES_FREQUENT, _CANDIDATES_PER_UNIT = 10_000, 25
_LISTED_SKIPPED = 1_000
"""How many sentences without a translation `provenance.json` names; `skipped.jsonl` has them all."""
_FULL = {errno.ENOSPC, errno.EDQUOT}
_PATIENCE = datetime.timedelta(days=30)
"""How long a process waits for the others: a resumed job may have left all its work to one of them."""


@dataclasses.dataclass
class Arguments:
    """Translate the foreign side of a bitext with beam search and keep the n-best list as paraphrase pairs."""

    model: list[str] = setting(
        "translation model folder, from train-nmt; several with one vocabulary translate together, by their mean "
        "log-probability"
    )
    bitext: str = setting("data folder with the columns id, source, target, source_lang, from `prepare bitext`")
    output: str = setting("data folder for the pairs; it appears whole at the end")
    split: str = setting("split of the bitext to translate", "train")
    num_beams: int = setting("beam width (paper 000: 50)", 50)
    num_return_sequences: int | None = setting(
        "hypotheses kept per sentence, at most the beam width; as many if not given", None
    )
    length_penalty: float = setting(
        "exponent of the length by which scores are divided to rank; 0 ranks by the sum", 1.0
    )
    min_length_ratio: float = setting(
        "least length of a translation as a share of its source's, in units (reference: 0.5)", 0.0
    )
    max_length_ratio: float = setting(
        "greatest length of a translation as a multiple of its source's, in units (reference: 3)", 3.0
    )
    max_target_units: int = setting("greatest length of a translation whatever its source, in units", 1_000)
    forbid_unknown: bool = setting("ban the unknown unit", False)
    no_repeat_ngram_size: int = setting("no run of so many units comes twice in a translation; 0: no ban", 0)
    lexical_table: str | None = setting(
        "translate with a candidate vocabulary for each batch, from this table (a file from lexical-table)", None
    )
    candidates_frequent: int | None = setting(
        "the most frequent target units that are always candidates; 10,000 with a table if not given (paper 000)", None
    )
    candidates_per_unit: int | None = setting(
        "likeliest translations of each source unit that are candidates; 25 with a table if not given (paper 000)",
        None,
    )
    candidates_from_reference: bool = setting(
        "the reference's own units are candidates too (paper 000 does so; it leaks the reference)", False
    )
    max_sentences: int | None = setting("translate only the first so many sentences", None)
    max_source_tokens: int = setting("longer sources are skipped and recorded, in sub-word units", 250)
    shard_size: int = setting("sentences per shard, the unit of work that is never done twice", 1_000)
    precision: str = setting(
        "arithmetic of the search (scores are fp32): auto takes bf16 where the hardware has it",
        "auto",
        choices=["auto", "bf16", "fp32"],
    )
    overwrite: bool = setting("replace an existing output folder (once the new one is complete)", False)
    resume: bool = setting("continue the unfinished job for this output", False)


def main(argv: Sequence[str]) -> None:
    """Runs the verb; under `accelerate launch` the processes share the shards."""
    # Before any library has threads.
    keep_freed_memory()
    arguments = parse(Arguments, "back-translate", argv)
    _check(arguments)
    target = check_output(arguments.output, overwrite=arguments.overwrite)
    if is_main_process():
        check_unfinished(target, overwrite=arguments.overwrite, resume=arguments.resume)

    import torch
    from accelerate import PartialState

    from ..training.arguments import bf16_is_fast
    from ..translation.back_translation import BackTranslator, SearchOptions, job_description, run_job
    from ..translation.ensemble import load_translation_models
    from ..translation.lexical_table import LexicalTable
    from ..translation.loading import unit_fingerprint
    from ..translation.shard_files import ShardFiles, check_number_of_shards, number_of_shards

    available = count_rows(arguments.bitext, arguments.split)
    rows = available if arguments.max_sentences is None else min(available, arguments.max_sentences)
    if not rows:
        raise InputError(f"split `{arguments.split}` has no rows to translate", path=arguments.bitext)
    check_number_of_shards(rows, arguments.shard_size)
    options = SearchOptions(
        num_beams=arguments.num_beams,
        num_return_sequences=_returned(arguments),
        length_penalty=arguments.length_penalty,
        max_source_tokens=arguments.max_source_tokens,
        shard_size=arguments.shard_size,
        bf16=arguments.precision == "bf16" or (arguments.precision == "auto" and bf16_is_fast()),
        constraints=search_constraints(arguments),
        candidates_from_reference=arguments.candidates_from_reference,
    )
    table = None
    if arguments.lexical_table is not None:
        table = LexicalTable.load(arguments.lexical_table)
        options = dataclasses.replace(
            options,
            candidates_frequent=_or(arguments.candidates_frequent, _CANDIDATES_FREQUENT),
            candidates_per_unit=_or(arguments.candidates_per_unit, _CANDIDATES_PER_UNIT),
        )
    state = PartialState(cpu=not torch.accelerator.is_available(), timeout=_PATIENCE)
    model, tokenizer = load_translation_models(arguments.model, device=str(state.device))
    check_languages(arguments.model, model, arguments.bitext, arguments.split)
    if table is not None:
        _check_table(arguments, table, model.config, unit_fingerprint(tokenizer))
    job = job_description(
        options,
        split=arguments.split,
        sentences=rows,
        model=_one_or_all([fingerprint(folder) for folder in arguments.model]),
        lexical_table=None if arguments.lexical_table is None else fingerprint(arguments.lexical_table),
        bitext=fingerprint(arguments.bitext),
    )
    staging = staging_path(target)
    with _says_how_to_go_on(), contextlib.ExitStack() as claim:
        if state.is_main_process:
            claim.enter_context(working_folder(target, overwrite=arguments.overwrite, resume=arguments.resume))
            # A run that has ended since the first look may have left its output.
            check_output(target, overwrite=arguments.overwrite)
            check_same_job(staging / _JOB, job)
        state.wait_for_everyone()
        files = ShardFiles(staging, number_of_shards(rows, options.shard_size))
        if not _is_assembled(staging):
            processes = {"rank": state.process_index, "world_size": state.num_processes}
            share = files.share(rows, options.shard_size, **processes)
            with tqdm(
                total=share.sentences,
                initial=share.finished_sentences,
                unit="sentence",
                desc="back-translate" if state.num_processes == 1 else f"back-translate, 1 of {state.num_processes}",
                disable=not state.is_main_process,
                file=sys.stderr,
            ) as bar:
                run_job(
                    BackTranslator(model, tokenizer, options, table),
                    arguments.bitext,
                    arguments.split,
                    files,
                    limit=rows,
                    **processes,
                    finished=share.finished,
                    progress=bar,
                )
        state.wait_for_everyone()
        if state.is_main_process:
            if not _is_assembled(staging):
                _assemble(arguments, options, str(state.device), staging, files.reports())
            # Only now, and in this order: a job that is killed here loses nothing either.
            shutil.rmtree(staging / "shards", ignore_errors=True)
            move_into_place(staging, target)
            (target / _JOB).unlink(missing_ok=True)
            say(f"back-translated pairs: {arguments.output}")
            say(f"load them: load_dataset({arguments.output!r}, split='train')")


def _check_table(arguments: Arguments, table: LexicalTable, config: Any, units: str) -> None:
    assert arguments.lexical_table is not None
    remedy = "make one for this model with the verb lexical-table"
    sizes = len(table.offsets) - 1, len(table.target_counts)
    if sizes != (config.source_vocab_size, config.vocab_size):
        raise InputError(
            f"the lexical table is about {sizes[0]} source and {sizes[1]} target units, the model about "
            f"{config.source_vocab_size} and {config.vocab_size}",
            path=arguments.lexical_table,
            remedy=remedy,
        )

    from ..translation.lexical_table import recorded_units

    if recorded_units(arguments.lexical_table) not in {None, units}:
        raise InputError(
            f"the lexical table is about the units of another model than {arguments.model[0]}",
            path=arguments.lexical_table,
            remedy=remedy,
        )


@contextlib.contextmanager
def _says_how_to_go_on() -> Iterator[None]:
    """Adds a remedy to the errors of writing, which leave the finished shards where they are."""
    try:
        yield
    except OutputError as error:
        if error.remedy is None:
            number = error.__cause__.errno if isinstance(error.__cause__, OSError) else None
            error.remedy = f"{'free space' if number in _FULL else 'mend this'}, then --resume"
        raise


def _check(arguments: Arguments) -> None:
    require_columns(
        read_schema(arguments.bitext, arguments.split).names,
        ["id", "source", "target", "source_lang"],
        arguments.bitext,
    )
    if arguments.num_beams < 1:
        raise UsageError(f"--num-beams must be 1 or more, not {arguments.num_beams}")
    if not 1 <= _returned(arguments) <= arguments.num_beams:
        raise UsageError(
            f"--num-return-sequences {arguments.num_return_sequences} must be 1 to --num-beams {arguments.num_beams}"
        )
    check_search_flags(arguments)
    for name in ("candidates_frequent", "candidates_per_unit", "candidates_from_reference"):
        value = getattr(arguments, name)
        if arguments.lexical_table is None and value is not None and value is not False:
            raise UsageError(
                f"--{name.replace('_', '-')} needs a lexical table",
                remedy="make one with the verb lexical-table and give it as --lexical-table",
            )
        if value is not None and value < 0:
            raise UsageError(f"--{name.replace('_', '-')} must not be below 0, but is {value}")
    for name in ("shard_size", "max_source_tokens", "max_sentences"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be 1 or more, not {value}")


def _returned(arguments: Arguments) -> int:
    return _or(arguments.num_return_sequences, arguments.num_beams)


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _folder_name(folder: str) -> str:
    return Path(folder).resolve().name


def _is_assembled(staging: Path) -> bool:
    """Tells whether all work was done before: the card is written last, by way of a temporary file."""
    return (staging / "README.md").is_file()


def _results_of(model: str) -> dict[str, Any]:
    results = read_provenance(model).get("results", {})
    return {key: value for key, value in results.items() if key != "log"}


def _assemble(
    arguments: Arguments, options: SearchOptions, device: str, staging: Path, reports: Iterable[dict[str, Any]]
) -> None:
    """Turns the finished shards into a data folder: reports merged, provenance and last of all the card written."""
    results: dict[str, Any] = {"sentences": 0, "pairs": 0, "skipped_sentences": 0, "skipped": []}
    # The settings may leave to the machine what decides about the result.
    results["search"] = {**dataclasses.asdict(options), "device": device}
    write_parts_whole(staging / "skipped.jsonl", _skipped_lines(reports, results))
    results["model_results"] = _one_or_all([_results_of(folder) for folder in arguments.model])
    settings = {**settings_of(arguments), "num_return_sequences": _returned(arguments)}
    write_provenance(
        staging,
        command="back-translate",
        settings={key: value for key, value in settings.items() if key not in {"resume", "overwrite"}},
        inputs=[
            *arguments.model,
            arguments.bitext,
            *([] if arguments.lexical_table is None else [arguments.lexical_table]),
        ],
        results=results,
    )
    examples = _first_rows(staging, 5 * _returned(arguments))
    values = {
        "license": inherited_metadata(Path(arguments.bitext))["license"],
        "name": Path(arguments.output).name,
        # A card is published: where the folders lie is in the provenance alone.
        "settings": {
            **settings,
            "model": " + ".join(map(_folder_name, arguments.model)),
            "bitext": _folder_name(arguments.bitext),
        },
        "results": results,
        "several": len(arguments.model) > 1,
        "tested": [
            (_folder_name(model), table)
            for model in arguments.model
            if (table := translation_table(read_provenance(model).get("evaluations", {})))
        ],
        "candidates": None
        if arguments.lexical_table is None
        else {
            "frequent": _or(arguments.candidates_frequent, _CANDIDATES_FREQUENT),
            "per_unit": _or(arguments.candidates_per_unit, _CANDIDATES_PER_UNIT),
            "from_reference": arguments.candidates_from_reference,
        },
        "splits": split_sizes(staging),
        "columns": [
            {"name": field.name, "dtype": {"double": "float64"}.get(str(field.type), str(field.type))}
            for field in BACK_TRANSLATED
        ],
        "examples": [row for row in examples if row["rank"] == 0][:5],
        "source_lang": examples[0]["source_lang"] if examples else "und",
    }
    write_card(staging, "dataset_cards", "back_translated", values)
    if skipped := results["skipped_sentences"]:
        say(f"{skipped:,} of {results['sentences']:,} sentences have no translation; skipped.jsonl says why")


def _skipped_lines(reports: Iterable[dict[str, Any]], results: dict[str, Any]) -> Iterator[str]:
    """Yields the lines of `skipped.jsonl` and counts in `results` what the reports say, one shard at a time."""
    for report in reports:
        results["sentences"] += report["sentences"]
        results["pairs"] += report["pairs"]
        results["skipped_sentences"] += len(report["skipped"])
        results["skipped"] += report["skipped"][: _LISTED_SKIPPED - len(results["skipped"])]
        for entry in report["skipped"]:
            yield json.dumps(entry, ensure_ascii=False) + "\n"


def _first_rows(folder: Path, count: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for batch in iterate_batches(folder, "train", batch_size=count):
        rows += batch.slice(0, count - len(rows)).to_pylist()
        if len(rows) == count:
            break
    return rows
