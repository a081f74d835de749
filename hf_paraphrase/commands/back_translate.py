"""`back-translate`: the foreign side of a bitext into n-best English paraphrase pairs."""

from __future__ import annotations

import dataclasses
import datetime
import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..data.parquet import count_rows, read_schema, read_table, split_sizes
from ..data.schema import BACK_TRANSLATED, require_columns
from ..errors import InputError, UsageError
from ..hub.cards import write_card
from ..hub.folders import (
    check_output,
    check_same_job,
    check_unfinished,
    move_into_place,
    staging_folder,
    staging_path,
    write_text_whole,
)
from ..hub.provenance import fingerprint, read_provenance, write_provenance
from .arguments import argument, message, parse, settings_of

_JOB = "job.json"
_PATIENCE = datetime.timedelta(days=30)
"""How long a process waits for the others: a resumed job may have left all its work to one of them."""


@dataclasses.dataclass
class Arguments:
    """Translate the foreign side of a bitext with beam search and keep the n-best list as paraphrase pairs."""

    model: str = argument("translation model folder, from train-nmt")
    bitext: str = argument("data folder with the columns id, source, target, source_lang, from `prepare bitext`")
    output: str = argument("data folder for the pairs; it appears whole at the end")
    split: str = argument("split of the bitext to translate", "train")
    num_beams: int = argument("beam width (paper 000: 50)", 50)
    num_return_sequences: int = argument("hypotheses kept per sentence, at most the beam width", 50)
    length_penalty: float = argument(
        "exponent of the length by which scores are divided to rank; 0 ranks by the sum", 1.0
    )
    max_sentences: int | None = argument("translate only the first so many sentences", None)
    max_source_tokens: int = argument("longer sources are skipped and recorded, in sub-word units", 250)
    shard_size: int = argument("sentences per shard, the unit of work that is never done twice", 1_000)
    precision: str = argument(
        "arithmetic of the search (scores are fp32): auto takes bf16 where the hardware has it",
        "auto",
        choices=["auto", "bf16", "fp32"],
    )
    overwrite: bool = argument("replace an existing output folder (once the new one is complete)", False)
    resume: bool = argument("continue the unfinished job for this output", False)


def main(argv: Sequence[str]) -> None:
    """Runs the verb; under `accelerate launch` the processes share the shards."""
    arguments = parse(Arguments, "back-translate", argv)
    _check(arguments)
    target = check_output(arguments.output, overwrite=arguments.overwrite)
    check_unfinished(target, overwrite=arguments.overwrite, resume=arguments.resume)

    import torch
    from accelerate import PartialState

    from ..translation.back_translation import (
        BackTranslator,
        SearchOptions,
        ShardFiles,
        job_description,
        number_of_shards,
        run_job,
    )
    from ..translation.loading import load_translation_model
    from ..translation.trainer import bf16_is_fast

    available = count_rows(arguments.bitext, arguments.split)
    rows = available if arguments.max_sentences is None else min(available, arguments.max_sentences)
    if not rows:
        raise InputError(f"split `{arguments.split}` has no rows to translate", path=arguments.bitext)
    options = SearchOptions(
        num_beams=arguments.num_beams,
        num_return_sequences=arguments.num_return_sequences,
        length_penalty=arguments.length_penalty,
        max_source_tokens=arguments.max_source_tokens,
        shard_size=arguments.shard_size,
        bf16=arguments.precision == "bf16" or (arguments.precision == "auto" and bf16_is_fast()),
    )
    state = PartialState(cpu=not torch.accelerator.is_available(), timeout=_PATIENCE)
    model, tokenizer = load_translation_model(arguments.model, device=str(state.device))
    job = job_description(
        options,
        split=arguments.split,
        sentences=rows,
        model=fingerprint(arguments.model),
        bitext=fingerprint(arguments.bitext),
    )
    staging = staging_path(target)
    if state.is_main_process:
        staging_folder(target, resume=arguments.resume)
        check_same_job(staging / _JOB, job)
    state.wait_for_everyone()
    files = ShardFiles(staging, number_of_shards(rows, options.shard_size))
    bar = tqdm(
        total=rows if state.num_processes == 1 else None,
        unit="sentence",
        desc="back-translate",
        disable=not state.is_main_process,
        file=sys.stderr,
    )
    if not _is_assembled(staging):
        with bar:
            run_job(
                BackTranslator(model, tokenizer, options),
                arguments.bitext,
                arguments.split,
                files,
                limit=rows,
                rank=state.process_index,
                world_size=state.num_processes,
                progress=bar,
            )
    state.wait_for_everyone()
    if state.is_main_process:
        if not _is_assembled(staging):
            _assemble(arguments, staging, files.reports())
        # Only now, and in this order: a job that is killed here loses nothing either.
        shutil.rmtree(staging / "shards", ignore_errors=True)
        move_into_place(staging, target)
        (target / _JOB).unlink(missing_ok=True)
        message(f"back-translated pairs: {arguments.output}")
        message(f"load them: load_dataset({arguments.output!r}, split='train')")


def _check(arguments: Arguments) -> None:
    require_columns(
        read_schema(arguments.bitext, arguments.split).names,
        ["id", "source", "target", "source_lang"],
        arguments.bitext,
    )
    if not 1 <= arguments.num_return_sequences <= arguments.num_beams:
        raise UsageError(
            f"--num-return-sequences {arguments.num_return_sequences} must be 1 to --num-beams {arguments.num_beams}"
        )
    for name in ("shard_size", "max_source_tokens", "max_sentences"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} must be 1 or more, not {value}")


def _is_assembled(staging: Path) -> bool:
    """Tells whether all work was done before: the card is written last, by way of a temporary file."""
    return (staging / "README.md").is_file()


def _assemble(arguments: Arguments, staging: Path, reports: list[dict[str, Any]]) -> None:
    """Turns the finished shards into a data folder: reports merged, provenance and last of all the card written."""
    skipped = [entry for report in reports for entry in report["skipped"]]
    sentences = sum(report["sentences"] for report in reports)
    results = {
        "sentences": sentences,
        "pairs": sum(report["pairs"] for report in reports),
        "skipped_sentences": len(skipped),
        "skipped": skipped[:1_000],
        "model_results": {
            key: value for key, value in read_provenance(arguments.model).get("results", {}).items() if key != "log"
        },
    }
    lines = [json.dumps(entry, ensure_ascii=False) + "\n" for entry in skipped]
    write_text_whole(staging / "skipped.jsonl", "".join(lines))
    settings = settings_of(arguments)
    write_provenance(
        staging,
        command="back-translate",
        settings={key: value for key, value in settings.items() if key not in {"resume", "overwrite"}},
        inputs=[arguments.model, arguments.bitext],
        results=results,
    )
    examples = read_table(staging, "train").slice(0, 5 * arguments.num_return_sequences).to_pylist()
    values = {
        "name": Path(arguments.output).name,
        "settings": settings,
        "results": results,
        "splits": split_sizes(staging),
        "columns": [
            {"name": field.name, "dtype": {"double": "float64"}.get(str(field.type), str(field.type))}
            for field in BACK_TRANSLATED
        ],
        "examples": [row for row in examples if row["rank"] == 0][:5],
        "source_lang": examples[0]["source_lang"] if examples else "und",
    }
    write_card(staging, "dataset_cards", "back_translated", values)
    if skipped:
        message(f"{len(skipped):,} of {sentences:,} sentences have no translation; skipped.jsonl says why")
