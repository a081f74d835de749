"""The command `back-translate`: n-best translations of a bitext as paraphrases (Wieting et al. 2017, section 3)."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..artefacts.fsspec_path import to_path
from ..artefacts.hub_models import model_name
from ..artefacts.provenance import inherited_metadata, read_provenance
from ..data.batch_function import BatchFunction, Progress, Report, no_progress
from ..data.folder import DataFolder
from ..data.schema import BACK_TRANSLATED
from ..errors import InputError, UsageError
from ..jobs.sharded_output import ShardedOutput, finish_pairs, merge_reports
from ..jobs.shards import ShardJob, cut, reports
from ..messages import log
from ..settings import recipe, setting
from ..text.normalization import is_blank, normalize_text
from ..text.words import separate_letters
from .bitext import check_languages
from .bleu import translation_table
from .search_settings import BeamSearchConfig, CandidateSettings, SearchJobSettings, SearchSettings

if TYPE_CHECKING:
    from .translator import Translator

_COLUMNS = ["id", "source", "target", "source_lang"]
_COUNTS = ("sentences", "pairs", "copies", "loops")
_LOOP = re.compile(r"(?<!\S)(\S+(?: \S+){0,7})(?: \1){3,}(?!\S)")


@dataclass(kw_only=True)
class BackTranslationSettings(SearchSettings, CandidateSettings, SearchJobSettings):
    """Translate the sources of a bitext with beam search and save the n-best lists as paraphrases of the targets."""

    bitext: str = setting("data folder or its URL, with id, source, target, source_lang", path=True, dataset=True)
    output: str = setting("data folder for the pairs; it appears only when complete")
    split: str = setting("split of the bitext to translate", "train")
    num_beams: int = setting("beam width (50 in Wieting et al. 2017)", 50, at_least=1)
    num_return_sequences: int | None = setting("translations per sentence [default: the beam width]", None, at_least=1)
    reference_candidates: bool = setting(
        "add the tokens of a sentence's reference to the candidates, as in Wieting et al. (2017)",
        True,
        only_with="lexical_table",
    )
    max_sentences: int | None = setting("translate only the first N sentences", None, at_least=1)
    shard_size: int = setting("sentences per shard, the unit of work", 1_000, at_least=1)

    def check(self) -> None:
        """Check that the settings are valid."""
        super().check()
        self.num_return_sequences = self.num_return_sequences or self.num_beams
        if self.num_return_sequences > self.num_beams:
            raise UsageError("--num-return-sequences is above --num-beams", remedy=f"give at most {self.num_beams}")


@dataclass(frozen=True)
class BackTranslator(BatchFunction):
    """Translates the sources of a bitext; each translation becomes a pair with the target.

    See :func:`.loading.load_translation_model` and :class:`.translator.Translator` for the arguments. The batch size
    may change the last digits of a score.
    """

    model: str
    options: BeamSearchConfig = BeamSearchConfig()
    lexical_table: str | None = None
    device: str | None = None
    source_lang: str | None = None
    target_lang: str | None = None
    task_prefix: str | None = None
    reference_candidates: bool = True

    @cached_property
    def translator(self) -> Translator:
        """The open model."""
        from .loading import load_translation_model
        from .translator import Translator

        names = ("device", "source_lang", "target_lang", "task_prefix")
        model, tokenizer = load_translation_model(self.model, **{name: getattr(self, name) for name in names})
        return Translator(model, tokenizer, self.options, self.lexical_table)

    def process(self, table: pa.Table, progress: Progress = no_progress) -> tuple[pa.Table, Report]:
        """Return the pairs of rows with `id`, `source`, `target` and `source_lang`; see :func:`back_translated`."""
        return back_translated(self.translator, table, progress, references=self.reference_candidates)


def back_translated(
    translator: Translator, table: pa.Table, progress: Progress = no_progress, *, references: bool = False
) -> tuple[pa.Table, Report]:
    """Translate rows of a bitext with an open model; return the pairs, in the order of the rows and their ranks.

    `references` adds the tokens of a row's target to the candidates of its translations. The report counts
    `sentences`, `pairs`, and translations that are `copies` of their source or `loops`. Its `skipped` lists the `id`
    and the `reason` of every row without a pair.
    """
    rows = table.select(_COLUMNS).to_pylist()
    targets = [row["target"] or "" for row in rows]
    # A row without a reference has no pair.
    sources = ["" if is_blank(row["target"] or "") else row["source"] or "" for row in rows]
    language = rows[0]["source_lang"] if rows else None
    outcomes = translator.nbest_lists(sources, language, references=targets if references else None, progress=progress)
    # If a model writes lower case only, case must not distinguish the sentences of a pair.
    if getattr(translator.model.config, "lowercase", False):
        targets = [target.lower() for target in targets]
    pairs: list[dict[str, Any]] = []
    report: Report = {"sentences": len(rows), "pairs": 0, "copies": 0, "loops": 0, "skipped": []}
    for row, target, outcome in zip(rows, targets, outcomes, strict=True):
        if isinstance(outcome, str):
            reason = "empty reference" if is_blank(target) else outcome
            report["skipped"].append({"id": row["id"], "reason": reason})
            continue
        for rank, hypothesis in enumerate(outcome):
            text = hypothesis.text
            report["copies"] += is_copy(text, row["source"])
            report["loops"] += is_loop(text) and not is_loop(row["source"])
            scores = {"rank": rank, "log_prob": hypothesis.log_prob, "num_tokens": hypothesis.num_tokens}
            pairs.append({**row, "sentence1": target, "sentence2": text, **scores})
    report["pairs"] = len(pairs)
    return pa.Table.from_pylist(pairs, schema=BACK_TRANSLATED), report


def is_copy(translation: str, source: str) -> bool:
    """Return whether a translation equals its source except for case, white space and invisible characters."""
    return normalize_text(translation) == normalize_text(source)


def is_loop(text: str) -> bool:
    """Return whether a text repeats one to eight words four times in a row."""
    return _LOOP.search(" ".join(separate_letters(text.casefold()).split())) is not None


@recipe(BackTranslationSettings)
def back_translate(settings: BackTranslationSettings) -> DataFolder:
    """Translate the sources of a bitext, and save the n-best lists as paraphrases of its targets.

    `resume` continues a killed job with the same result.

    Returns:
        The data folder of the pairs; with `shard`, the folder of the incomplete job while shards are missing.
    """
    bitext = DataFolder(settings.bitext)
    sources = bitext.rows(settings.split)
    sources.require(*_COLUMNS)
    available = sources.count()
    rows = available if settings.max_sentences is None else min(available, settings.max_sentences)
    if not rows:
        raise InputError(f"split `{settings.split}` has no rows", path=settings.bitext, remedy="give another --split")
    shards = cut("train", rows, settings.shard_size, source=settings.split)
    device = settings.device or (None if settings.computes_here else "cpu")
    options = settings.options(device, num_return_sequences=settings.num_return_sequences, **settings.candidates)
    translator = BackTranslator(
        settings.model,
        options,
        settings.lexical_table,
        device,
        **settings.languages,
        reference_candidates=settings.reference_candidates,
    )
    output = ShardedOutput(
        settings.output,
        settings,
        command="back-translate",
        inputs=[settings.model, settings.bitext, *([settings.lexical_table] if settings.lexical_table else [])],
        # With `auto` the machine chooses a precision, which changes the result.
        job={"bf16": options.bf16, "rows": rows},
        free=["device", "precision", "max_sentences"],
    )
    model = settings.here(translator).translator.model
    check_languages(settings.model, model, sources, rows)
    with output:
        if output.finished:
            return DataFolder(output.target)
        job = ShardJob(bitext, {"train": translator}, settings.shard_size)
        output.run(job, output.own(shards), what="back-translate", unit="sentence")
        if not output.is_whole(shards):
            return DataFolder(output.current)
        record = read_provenance(settings.model)
        (first,) = sources.read(stop=1).to_pylist()
        languages = {
            side: first.get(side) or getattr(model.config, side, None) or default
            for side, default in (("source_lang", "und"), ("target_lang", "en"))
        }
        # A card is published, so it shows names and no paths.
        names_shown = {"model": model_name(settings.model), "bitext": to_path(settings.bitext).resolve().name}
        values = {
            "license": inherited_metadata(settings.bitext)["license"],
            "settings": {**settings.record(), **names_shown},
            "tested": translation_table(record.get("evaluations", {})),
            **languages,
        }
        results = merge_reports(output.current, reports(shards, output.current), _COUNTS) | {
            "lower_case": bool(getattr(model.config, "lowercase", False)),
            "search": {**dataclasses.asdict(options), "device": str(model.device)},
            "model_results": {key: value for key, value in record.get("results", {}).items() if key != "log"},
        }
        finish_pairs(output, results, "back_translated", values)
    if results["copies"] + results["loops"]:
        log(f"{results['copies']:,} translations are copies of their sources, {results['loops']:,} are loops")
    return DataFolder(output.target)
