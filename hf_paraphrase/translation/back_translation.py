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
from typing import Any

from ..artefacts.artefact import Card, check_early
from ..artefacts.files import write_text_whole
from ..artefacts.hub_models import repository_name
from ..artefacts.provenance import inherited_metadata, read_provenance
from ..artefacts.remote_paths import to_path
from ..data.batch_function import Report
from ..data.folder import DataFolder
from ..errors import InputError, OutputError, UsageError
from ..jobs.sharded_output import ShardedOutput
from ..jobs.shards import ShardJob, cut, reports
from ..messages import log
from ..settings import recipe, setting
from ..training.run import done_by_first
from .bleu import translation_table
from .search_settings import SearchJobSettings, SearchOptions, SearchSettings

_CANDIDATES_FREQUENT, _CANDIDATES_PER_UNIT = 10_000, 25
_COUNTS = ("sentences", "pairs", "copies", "loops")
_LISTED_SKIPPED = 1_000
"""How many sentences without a translation `provenance.json` names; `skipped.jsonl` has them all."""
_ODD_SHARE = 0.05
"""Share of copies or loops among translations from which on a run says so."""
_FULL = {errno.ENOSPC, errno.EDQUOT}
_PATIENCE = datetime.timedelta(days=30)
"""How long a process waits for the others: a resumed job may have left all its work to one of them."""


@dataclass(kw_only=True)
class BackTranslationSettings(SearchSettings, SearchJobSettings):
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
    shard_size: int = setting("sentences per shard, the unit of work that is never done twice", 1_000, at_least=1)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        if self.returned > self.num_beams:
            raise UsageError(
                f"--num-return-sequences {self.num_return_sequences} must be 1 to --num-beams {self.num_beams}"
            )

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
    options = settings.options(
        device,
        num_return_sequences=settings.returned,
        candidates_from_reference=settings.candidates_from_reference,
        **settings.candidates,
    )
    inputs = [settings.model, settings.bitext, *([settings.lexical_table] if settings.lexical_table else [])]
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
    translator = BackTranslator(settings.model, options, settings.lexical_table, device, **settings.languages)
    model = settings.here(translator).translator.model
    check_languages(settings.model, model, bitext, settings.split)
    own = output.own(shards)
    with how_to_continue_said(), contextlib.ExitStack() as stack:

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
            results = merged_reports(output.current, reports(shards, output.current), _COUNTS)
            results["lower_case"] = bool(getattr(model.config, "lowercase", False))
            _finish(settings, options, device, output, results)
            log(f"back-translated pairs: {settings.output}")
            log(f"load them: load_dataset({settings.output!r}, split='train')")
    # The other processes open what the first one has moved to its place.
    state.wait_for_everyone()
    return DataFolder(staging if staging.is_dir() else output.target)


@contextlib.contextmanager
def how_to_continue_said() -> Iterator[None]:
    """Adds a remedy to the errors of writing, which leave the finished shards where they are."""
    try:
        yield
    except OutputError as error:
        if error.remedy is None:
            number = error.__cause__.errno if isinstance(error.__cause__, OSError) else None
            error.remedy = f"{'free space' if number in _FULL else 'fix this'}, then --resume"
        raise


def model_name(model: str) -> str:
    """Returns what a card calls a model: its name on the Hub, or that of its folder."""
    return repository_name(model) or to_path(model).resolve().name


def merged_reports(folder: Path, found: Iterable[Report], counts: Iterable[str]) -> dict[str, Any]:
    """Adds up the reports of shards, one at a time, and writes `skipped.jsonl`; returns results to record."""
    results: dict[str, Any] = dict.fromkeys(counts, 0) | {"skipped_sentences": 0, "skipped": []}

    def lines() -> Iterator[str]:
        for report in found:
            skipped = report["skipped"]
            results.update({name: results[name] + report[name] for name in counts})
            results["skipped_sentences"] += len(skipped)
            results["skipped"] += skipped[: _LISTED_SKIPPED - len(results["skipped"])]
            for entry in skipped:
                yield json.dumps(entry, ensure_ascii=False) + "\n"

    write_text_whole(folder / "skipped.jsonl", lines())
    return results


def values_of_data(data: DataFolder) -> dict[str, Any]:
    """Returns what a card says of the files, the columns and the first pairs of a data folder."""
    schema = data.schema()
    first = next(iter(data.batches("train", batch_size=250)), None)
    rows: list[dict[str, Any]] = [] if first is None else first.to_pylist()
    return {
        "splits": data.sizes(),
        "columns": [
            {"name": field.name, "dtype": {"double": "float64"}.get(str(field.type), str(field.type))}
            for field in schema
        ],
        "examples": [row for row in rows if row["rank"] == 0][:5],
    }


def _finish(
    settings: BackTranslationSettings, options: SearchOptions, device: str, output: ShardedOutput, results: Report
) -> None:
    """Turns the finished shards into a data folder, with provenance and card."""
    # The settings may leave to the machine what decides about the result.
    results["search"] = {**dataclasses.asdict(options), "device": device}
    record = read_provenance(settings.model)
    results["model_results"] = {key: value for key, value in record.get("results", {}).items() if key != "log"}
    recorded = {**settings.record(), "num_return_sequences": settings.returned}
    described = values_of_data(DataFolder(output.current))
    candidates = {name.removeprefix("candidates_"): value for name, value in settings.candidates.items()}
    values = {
        **described,
        "license": inherited_metadata(settings.bitext)["license"],
        # A card is published: the paths of the folders are in the provenance alone.
        "settings": {
            **recorded,
            "model": model_name(settings.model),
            "bitext": to_path(settings.bitext).resolve().name,
        },
        "results": results,
        "tested": translation_table(record.get("evaluations", {})),
        "candidates": candidates and {**candidates, "from_reference": settings.candidates_from_reference},
        "source_lang": described["examples"][0]["source_lang"] if described["examples"] else "und",
    }
    output.finish(results=results, card=Card("back_translated", values), settings=recorded)
    for name, what in (("copies", "copies of their sources"), ("loops", "loops")):
        if results[name] > _ODD_SHARE * results["pairs"]:
            log(f"{results[name]:,} of {results['pairs']:,} translations are {what}: check model and languages")
    if skipped := results["skipped_sentences"]:
        log(f"{skipped:,} of {results['sentences']:,} sentences have no translation; skipped.jsonl says why")
