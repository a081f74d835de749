"""The recipe of the verb `back-translate`: the foreign side of a bitext into n-best pairs (paper 000 §3)."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import errno
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.artefact import Card, check_early
from ..artefacts.files import write_text_whole
from ..artefacts.provenance import inherited_metadata, read_provenance
from ..artefacts.remote_paths import to_path
from ..data.folder import DataFolder
from ..data.schema import BACK_TRANSLATED
from ..errors import InputError, OutputError, UsageError
from ..jobs.shard_settings import ShardSettings
from ..jobs.sharded_output import ShardedOutput
from ..jobs.shards import ShardJob, cut, reports
from ..messages import log
from ..settings import recipe, setting
from ..training.run import done_by_first
from .bleu import translation_table
from .search_settings import SearchSettings

if TYPE_CHECKING:
    from .table_translator import SearchOptions

_CANDIDATES_FREQUENT, _CANDIDATES_PER_UNIT = 10_000, 25
_LISTED_SKIPPED = 1_000
"""How many sentences without a translation `provenance.json` names; `skipped.jsonl` has them all."""
_FULL = {errno.ENOSPC, errno.EDQUOT}
_PATIENCE = datetime.timedelta(days=30)
"""How long a process waits for the others: a resumed job may have left all its work to one of them."""


@dataclass(kw_only=True)
class BackTranslationSettings(SearchSettings, ShardSettings):
    """Translate the foreign side of a bitext with beam search and keep the n-best list as paraphrase pairs."""

    bitext: str = setting(
        "data folder, or its address, with the columns id, source, target, source_lang, from `prepare bitext`",
        path=True,
    )
    output: str = setting("data folder for the pairs; it appears whole at the end")
    split: str = setting("split of the bitext to translate", "train")
    num_beams: int = setting("beam width (paper 000: 50)", 50, at_least=1)
    num_return_sequences: int | None = setting(
        "hypotheses kept per sentence, at most the beam width; as many if not given", None, at_least=1
    )
    lexical_table: str | None = setting(
        "translate with a candidate vocabulary for each batch, from this table (a file from lexical-table)",
        None,
        path=True,
    )
    candidates_frequent: int | None = setting(
        "the most frequent target units that are always candidates; 10,000 with a table if not given (paper 000)",
        None,
        at_least=0,
        only_with="lexical_table",
    )
    candidates_per_unit: int | None = setting(
        "likeliest translations of each source unit that are candidates; 25 with a table if not given (paper 000)",
        None,
        at_least=0,
        only_with="lexical_table",
    )
    candidates_from_reference: bool = setting(
        "the reference's own units are candidates too (paper 000 does so; it leaks the reference)",
        False,
        only_with="lexical_table",
    )
    max_sentences: int | None = setting("translate only the first N sentences", None, at_least=1)
    max_source_tokens: int = setting("longer sources are skipped and recorded, in sub-word units", 250, at_least=1)
    shard_size: int = setting("sentences per shard, the unit of work that is never done twice", 1_000, at_least=1)
    precision: str = setting(
        "arithmetic of the search (scores are fp32): auto takes bf16 where the hardware has it; int8 multiplies in 8 "
        "bits, on processors with instructions for it",
        "auto",
        choices=["auto", "bf16", "fp32", "int8"],
    )
    resume: bool = setting("continue the incomplete job for this output", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.returned > self.num_beams:
            raise UsageError(
                f"--num-return-sequences {self.num_return_sequences} must be 1 to --num-beams {self.num_beams}"
            )
        if self.precision == "int8" and len(self.model) > 1:
            raise UsageError("--precision int8 is for one model, not for an ensemble")
        if self.precision == "int8" and (self.device or "cpu") != "cpu":
            raise UsageError(f"--precision int8 is for processors, not for --device {self.device}")

    @property
    def returned(self) -> int:
        """The hypotheses kept per sentence."""
        return self.num_beams if self.num_return_sequences is None else self.num_return_sequences

    @property
    def candidates(self) -> dict[str, int]:
        """How many candidates there are of either kind; empty without a lexical table."""
        if self.lexical_table is None:
            return {}
        frequent, per_unit = self.candidates_frequent, self.candidates_per_unit
        return {
            "candidates_frequent": _CANDIDATES_FREQUENT if frequent is None else frequent,
            "candidates_per_unit": _CANDIDATES_PER_UNIT if per_unit is None else per_unit,
        }


@recipe(BackTranslationSettings)
def back_translate(settings: BackTranslationSettings) -> DataFolder:
    """Translates the foreign side of a bitext, and keeps the n-best lists as paraphrases of its English side.

    A job that was killed is continued with `resume`, and several processes share it; the bytes are the same.

    Returns:
        The data folder of the pairs; with `shard`, while parts are missing, that of the incomplete work.
    """
    if not settings.resume and settings.shard is None:
        check_early(settings.output, overwrite=settings.overwrite)
    bitext = DataFolder(settings.bitext)
    bitext.require("id", "source", "target", "source_lang", split=settings.split)

    import torch
    from accelerate import PartialState

    from .back_translator import BackTranslator
    from .bitext import check_languages

    available = bitext.count(settings.split)
    rows = available if settings.max_sentences is None else min(available, settings.max_sentences)
    if not rows:
        raise InputError(f"split `{settings.split}` has no rows to translate", path=settings.bitext)
    shards = cut("train", rows, settings.shard_size, source=settings.split)
    state = PartialState(cpu=not torch.accelerator.is_available(), timeout=_PATIENCE)
    device = settings.device or (str(state.device) if settings.computes_here else "cpu")
    options = _options(settings, device)
    inputs = [*settings.model, settings.bitext, *([settings.lexical_table] if settings.lexical_table else [])]
    output = ShardedOutput(
        settings.output,
        settings,
        command="back-translate",
        inputs=inputs,
        resume=settings.resume,
        # `auto` leaves to the machine what decides about the result.
        job={"bf16": options.bf16, "int8": options.int8, "rows": rows},
        free=["device", "precision", "max_sentences"],
    )
    translator = BackTranslator(tuple(settings.model), options, settings.lexical_table, device)
    model = settings.here(translator).translator.model
    check_languages(settings.model, model, bitext, settings.split)
    own = output.own(shards)
    with _says_how_to_continue(), contextlib.ExitStack() as stack:

        def begin() -> Path | None:
            stack.enter_context(output)
            return None if output.finished else output.begin()

        staging = done_by_first(begin)
        if staging is None:
            return DataFolder(output.target)
        own = own[state.process_index :: state.num_processes]
        output.run(
            ShardJob(bitext, {"train": translator}, settings.shard_size),
            own,
            staging=staging,
            what="back-translate" if state.num_processes == 1 else f"back-translate, 1 of {state.num_processes}",
            unit="sentence",
            shown=state.is_main_process,
        )
        state.wait_for_everyone()
        if state.is_main_process and output.is_whole(shards):
            _finish(settings, options, device, output, reports(shards, output.place), bool(model.config.lowercase))
            log(f"back-translated pairs: {settings.output}")
            log(f"load them: load_dataset({settings.output!r}, split='train')")
    # The other processes open what the first one has moved to its place.
    state.wait_for_everyone()
    return DataFolder(staging if staging.is_dir() else output.target)


def _options(settings: BackTranslationSettings, device: str) -> SearchOptions:
    from ..training.devices import is_bf16
    from .table_translator import SearchOptions

    return SearchOptions(
        num_beams=settings.num_beams,
        num_return_sequences=settings.returned,
        length_penalty=settings.length_penalty,
        max_source_tokens=settings.max_source_tokens,
        bf16=settings.precision == "int8" or is_bf16(settings.precision, device),
        int8=settings.precision == "int8",
        constraints=settings.constraints(),
        candidates_from_reference=settings.candidates_from_reference,
        **settings.candidates,
    )


@contextlib.contextmanager
def _says_how_to_continue() -> Iterator[None]:
    """Adds a remedy to the errors of writing, which leave the finished shards where they are."""
    try:
        yield
    except OutputError as error:
        if error.remedy is None:
            number = error.__cause__.errno if isinstance(error.__cause__, OSError) else None
            error.remedy = f"{'free space' if number in _FULL else 'fix this'}, then --resume"
        raise


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _folder_name(folder: str) -> str:
    return to_path(folder).resolve().name


def _results_of(model: str) -> dict[str, Any]:
    results = read_provenance(model).get("results", {})
    return {key: value for key, value in results.items() if key != "log"}


def _finish(
    settings: BackTranslationSettings,
    options: SearchOptions,
    device: str,
    output: ShardedOutput,
    reports: Iterable[dict[str, Any]],
    lower_case: bool,
) -> None:
    """Turns the finished shards into a data folder: reports merged, provenance and card written."""
    staging = output.place
    results: dict[str, Any] = {"sentences": 0, "pairs": 0, "skipped_sentences": 0, "skipped": []}
    # The settings may leave to the machine what decides about the result.
    results["search"] = {**dataclasses.asdict(options), "device": device}
    results["lower_case"] = lower_case
    write_text_whole(staging / "skipped.jsonl", _skipped_lines(reports, results))
    results["model_results"] = _one_or_all([_results_of(folder) for folder in settings.model])
    recorded = {**settings.record(), "num_return_sequences": settings.returned}
    examples = _first_rows(staging, 5 * settings.returned)
    values = {
        "license": inherited_metadata(settings.bitext)["license"],
        "name": Path(settings.output).name,
        # A card is published: the paths of the folders are in the provenance alone.
        "settings": {
            **recorded,
            "model": " + ".join(map(_folder_name, settings.model)),
            "bitext": _folder_name(settings.bitext),
        },
        "results": results,
        "several": len(settings.model) > 1,
        "tested": [
            (_folder_name(model), table)
            for model in settings.model
            if (table := translation_table(read_provenance(model).get("evaluations", {})))
        ],
        "candidates": None
        if settings.lexical_table is None
        else {
            "frequent": settings.candidates["candidates_frequent"],
            "per_unit": settings.candidates["candidates_per_unit"],
            "from_reference": settings.candidates_from_reference,
        },
        "splits": DataFolder(staging).sizes(),
        "columns": [
            {"name": field.name, "dtype": {"double": "float64"}.get(str(field.type), str(field.type))}
            for field in BACK_TRANSLATED
        ],
        "examples": [row for row in examples if row["rank"] == 0][:5],
        "source_lang": examples[0]["source_lang"] if examples else "und",
    }
    output.finish(results=results, card=Card("back_translated", values), settings=recorded)
    if skipped := results["skipped_sentences"]:
        log(f"{skipped:,} of {results['sentences']:,} sentences have no translation; skipped.jsonl says why")


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
    for batch in DataFolder(folder).batches("train", batch_size=count):
        rows += batch.slice(0, count - len(rows)).to_pylist()
        if len(rows) == count:
            break
    return rows
