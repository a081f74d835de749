"""The recipe of the verb `score`: a data folder of pairs in, the same pairs with measures as columns out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from ..artefacts.artefact import Card
from ..artefacts.files import write_text_whole
from ..artefacts.hub_models import model_folder
from ..artefacts.provenance import inherited_metadata, read_provenance
from ..artefacts.remote_paths import to_path
from ..data.batch_function import available_cores
from ..data.folder import DataFolder
from ..data.text_files import PLAIN_OR_COMPRESSED, LineErrors, read_lines
from ..errors import InputError, UsageError
from ..jobs.shard_settings import ShardSettings, shard_size_setting
from ..jobs.sharded_output import ShardedOutput
from ..jobs.shards import ShardJob, cut
from ..messages import log
from ..registry import BUILTIN, MEASURES, MULTILINGUAL
from ..settings import flag, is_given, recipe, seed_setting, setting, with_options
from .filter_steps import check_pairs
from .held_out import HeldOutReferences, draw_references, held_out_texts
from .kneser_ney import train_language_model
from .measuring import Measures, PairScorer, choose_measures
from .pair_batch import SIDES, sides_of

_ARPA = "language_model.arpa"
_MODEL_FACTS = "language_model.json"
_HELD_OUT = "held_out.txt"
_ROWS_WORTH_A_PROCESS = 5_000


@dataclass(kw_only=True)
class ScoreSettings(ShardSettings):
    """Adds measures as columns to every split of a folder of pairs, or of a bitext; all rows and columns stay.

    Only --hold-out leaves rows out: those of the references on which it estimates the language model.
    """

    pairs: str = setting(
        "the data folder of pairs (sentence1, sentence2) or bitext (source, target), or its address, e.g. "
        "s3://bucket/folder",
        path=True,
        dataset=True,
    )
    output: str = setting("the data folder to make; it appears whole at the end")
    measures: list[str] = setting(
        f"which measures, separated by commas or spaces: {', '.join(MEASURES)}; by default all but "
        f"{' and '.join(name for name in MEASURES if not MEASURES[name].by_default)}, as far as the pairs have the "
        "columns and you give the models they need",
        [],
    )
    language_model_text: str | None = setting(
        f"text, one sentence a line, {PLAIN_OR_COMPRESSED}, to estimate the language model on; it is kept in the "
        "output as language_model.arpa",
        None,
        excludes=("language_model", "hold_out"),
        path=True,
    )
    hold_out: int | None = setting(
        "take N references, with all their pairs, out of the pairs and estimate the language model on them "
        "(paper 000: 40,000); the output keeps them as held_out.txt",
        None,
        at_least=1,
        excludes="language_model",
    )
    seed: int = seed_setting("seed of the draw of --hold-out")
    batch_size: int = setting("pairs held in memory at a time by each process", 10_000, at_least=1)
    shard_size: int | None = shard_size_setting("pairs")
    workers: int | None = setting(
        "processes; by default as many as there are processors, fewer for few pairs",
        None,
        at_least=1,
        only_with={"engine": "local"},
        names=["--workers", "--num-workers"],
    )
    resume: bool = setting("continue the incomplete job for this output", False)

    def check(self) -> None:
        """Checks that the settings are valid."""
        super().check()
        self.measures = [part.strip() for word in self.measures for part in word.split(",") if part.strip()]
        for name in self.measures:
            _ = MEASURES[name]

    @property
    def options(self) -> dict[str, Any]:
        """The options of measures that are given."""
        names = dict.fromkeys(option for name in MEASURES for option in MEASURES[name].option_names())
        return {name: getattr(self, name) for name in names if is_given(self, name)}

    @property
    def options_here(self) -> dict[str, Any]:
        """The same for this process, where the device may be elsewhere."""
        return {name: value for name, value in self.options.items() if self.computes_here or name != "device"}


@dataclass(frozen=True)
class Scored:
    """What was scored, for each split; with `shard`, while parts are missing, the folder of the incomplete work."""

    folder: Path
    rows: dict[str, int]
    columns: list[str]
    measures: dict[str, list[str]]
    language_model: dict[str, Any] = field(default_factory=dict)


@recipe(partial(with_options, ScoreSettings, MEASURES))
def score(settings: ScoreSettings) -> Scored:
    """Adds measures as columns to every split of a folder of pairs (paper 000, sections 5.5 to 5.7).

    The options of measures that were registered later are fields as well.
    """
    folder = DataFolder(settings.pairs)
    options_given: Any = settings  # with the fields of the measures
    if options_given.encoder == BUILTIN and sides_of(folder.schema(folder.splits[0]).names) != SIDES:
        options_given.encoder = MULTILINGUAL
        log(f"the sides are in two languages: the encoder is {MULTILINGUAL}")
    estimated = settings.language_model_text is not None or settings.hold_out is not None
    options = settings.options | ({"language_model": _ARPA} if estimated else {})
    chosen = _chosen(settings, folder, Measures(**options))
    if not any(folder.count(split) for split in chosen):
        raise InputError("there are no pairs", path=folder.path, remedy="give a folder that has some")
    with ShardedOutput(
        settings.output,
        settings,
        command="score",
        inputs=_inputs(settings),
        resume=settings.resume,
        job={"measures": chosen},
        free=["workers", "device", "measures"],
    ) as output:
        if output.finished:
            past = read_provenance(settings.output)["results"]
            found = past.get("language_model", {})
            return Scored(Path(settings.output), past["rows"], past["columns"], chosen, found)
        options, held_out = settings.options, None
        facts: dict[str, Any] = {}
        if not estimated:
            _open(folder, _scorers(chosen, settings.options_here))
        shards = [shard for split in chosen for shard in cut(split, folder.count(split), settings.shard_size)]
        own = output.own(shards)
        if estimated:
            held_out, facts = _language_model(settings, folder, output)
            options["language_model"] = str(output.begin() / _ARPA)
            _open(folder, _scorers(chosen, options | settings.options_here, held_out))
        scorers = _scorers(chosen, options, held_out)
        workers = settings.workers
        if workers is None:
            workers = min(available_cores(), max(1, sum(shard.rows for shard in own) // _ROWS_WORTH_A_PROCESS))
        job = ShardJob(folder, scorers, settings.batch_size)
        output.run(job, own, what="score", unit=" pairs", workers=workers)
        columns = list(dict.fromkeys(column for scorer in scorers.values() for column in scorer.columns))
        if not output.is_whole(shards):
            return Scored(output.current, {}, columns, chosen, facts)
        rows = {split: DataFolder(output.current).count(split) for split in chosen}
        scored = Scored(Path(settings.output), rows, columns, chosen, facts)
        _finish(settings, scored, output)
    log(f"{sum(rows.values()):,} pairs with {', '.join(columns)} in {settings.output}")
    return scored


def _inputs(settings: ScoreSettings) -> list[str]:
    """Lists the pairs, and the files and models that the measures read."""
    inputs = [settings.pairs, settings.language_model_text]
    for name in MEASURES:
        measure = MEASURES[name]
        inputs += [getattr(settings, option) for option in (*measure.files, *measure.models)]
        for option in measure.models:
            if (model := getattr(settings, option)) is not None:
                model_folder(model)
    return [item for item in inputs if item is not None]


def _chosen(settings: ScoreSettings, folder: DataFolder, measures: Measures) -> dict[str, list[str]]:
    """Checks the columns of every split and returns its measures."""
    chosen: dict[str, list[str]] = {}
    for split in folder.splits:
        schema = folder.schema(split)
        sides = sides_of(schema.names)
        check_pairs(schema, str(folder.path), sides)
        if settings.hold_out is not None and sides != SIDES:
            remedy = "give --language-model-text instead"
            raise UsageError("--hold-out is for paraphrase pairs, not for bitext", remedy=remedy)
        chosen[split] = choose_measures(settings.measures, schema.names, str(folder.path), measures)
    every = [name for name in measures if any(name in names for names in chosen.values())]
    for option in measures.given:
        takers = [name for name, measure in measures.items() if option in measure.option_names()]
        if not set(takers) & set(every):
            # The language model may be one that is to be estimated.
            candidates = (option, "hold_out", "language_model_text")
            given = next(name for name in candidates if is_given(settings, name))
            raise UsageError(
                f"{flag(given)} is for the measure {' or '.join(takers)}, which is not computed",
                remedy=f"add it to --measures; it reads the columns {', '.join(measures[takers[0]].requires)}",
            )
    for split, names in chosen.items():
        if left_out := [name for name in every if name not in names]:
            log(f"split `{split}`: without {', '.join(left_out)}, whose columns it does not have")
    return chosen


def _scorers(
    chosen: dict[str, list[str]], options: dict[str, Any], held_out: HeldOutReferences | None = None
) -> dict[str, PairScorer]:
    measures = Measures(**options)
    return {split: PairScorer(tuple(names), measures, held_out) for split, names in chosen.items()}


def _language_model(
    settings: ScoreSettings, folder: DataFolder, output: ShardedOutput
) -> tuple[HeldOutReferences | None, dict[str, Any]]:
    """Estimates the language model; returns the references held out from it, and a note on it."""
    held_out = None
    split = folder.splits[0]
    if settings.hold_out is not None:
        held_out = draw_references(folder, split, settings.hold_out, settings.seed)
    staging, stored_facts = output.begin(), output.checkpoint(_MODEL_FACTS)
    if not stored_facts.is_file():
        if held_out is not None:
            texts = held_out_texts(folder, split, held_out)
            write_text_whole(staging / _HELD_OUT, "".join(" ".join(text.split()) + "\n" for text in texts))
            blocks: Iterable[list[str]] = [texts]
        else:
            blocks = (block.to_pylist() for block in read_lines(Path(str(settings.language_model_text)), LineErrors()))
        facts = train_language_model(blocks, staging / _ARPA, source=settings.language_model_text or folder.path)
        write_text_whole(stored_facts, json.dumps(facts, indent=2) + "\n")
    facts = json.loads(stored_facts.read_text(encoding="utf-8"))
    log(f"language model: {facts['tokens']:,} tokens in {facts['sentences']:,} sentences")
    return held_out, facts


def _open(folder: DataFolder, scorers: dict[str, PairScorer]) -> None:
    """Loads what the measures need, so that what is missing shows before the work begins."""
    for split, scorer in scorers.items():
        scorer(folder.schema(split).empty_table())


def _finish(settings: ScoreSettings, scored: Scored, output: ShardedOutput) -> None:
    folder, made = to_path(settings.pairs), DataFolder(output.current)
    names = [name for name in MEASURES if any(name in names for names in scored.measures.values())]
    descriptions = {name: (MEASURES[name].__doc__ or "").strip().split("\n", 1)[0] for name in names}
    values = {
        **inherited_metadata(folder),
        "title": f"{folder.resolve().name}, scored",
        "source": folder.resolve().name,
        "splits": [{"name": split, "rows": count} for split, count in scored.rows.items()],
        "bitext": sides_of(made.schema(next(iter(scored.rows))).names) != SIDES,
        "measures": [{"columns": MEASURES[name]().columns, "text": text} for name, text in descriptions.items()],
        "language_model": scored.language_model,
        "held_out": settings.hold_out,
    }
    results = {
        "rows": scored.rows,
        "columns": scored.columns,
        **({"language_model": scored.language_model} if scored.language_model else {}),
    }
    recorded = {name: value for name, value in settings.record().items() if name != "workers"}
    output.finish(results=results, card=Card("scored", values), settings={**recorded, "measures": names})
