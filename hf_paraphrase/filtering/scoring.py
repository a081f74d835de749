"""The command `score`: adds measures as columns to a data folder of pairs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artefacts.artefact import Card
from ..artefacts.files import atomic_write_text
from ..artefacts.fsspec_path import to_path
from ..artefacts.hub_models import model_folder
from ..artefacts.provenance import inherited_metadata
from ..data.folder import DataFolder
from ..data.text_blocks import refuse_records
from ..data.text_files import PLAIN_OR_COMPRESSED, LineErrors, read_lines
from ..errors import InputError, UsageError
from ..jobs.shard_settings import ShardSettings, shard_size_setting
from ..jobs.sharded_output import ShardedOutput
from ..jobs.shards import ShardJob, cut
from ..messages import log
from ..registry import BUILTIN, MEASURES, MULTILINGUAL
from ..settings import flag, is_given, recipe, seed_setting, setting
from ..threads import available_cores
from ..training.devices import CPU
from .language_model import draw_held_out, train_language_model
from .measures import SIDES, find_sides
from .measuring import Measures, PairScorer, choose_measures

_ARPA = "language_model.arpa"
_HELD_OUT = "held_out.txt"
_ROWS_WORTH_A_PROCESS = 5_000


@dataclass(kw_only=True)
class ScoreSettings(ShardSettings):
    """Add measures as columns to every split of a folder of pairs, or of a bitext; all rows and columns are kept.

    Only --hold-out removes rows: the pairs of the references that the language model is estimated on.
    """

    pairs: str = setting(
        "the data folder of pairs (sentence1, sentence2) or bitext (source, target), or its URL, e.g. "
        "s3://bucket/folder",
        path=True,
        dataset=True,
    )
    output: str = setting("output data folder; it appears only when complete")
    measures: list[str] = setting(
        "the measures to add; by default all whose columns and models are given, except "
        f"{', '.join(name for name in MEASURES if not MEASURES[name].by_default)}",
        [],
        choices=MEASURES,
    )
    language_model_text: str | None = setting(
        f"text, one sentence per line, {PLAIN_OR_COMPRESSED}, to estimate the language model on, which is saved in "
        "the output as language_model.arpa",
        None,
        excludes=("language_model", "hold_out"),
        path=True,
    )
    hold_out: int | None = setting(
        "remove N references, with all their pairs, and estimate the model on them (Wieting et al. 2017: 40,000); "
        "the output contains them as held_out.txt",
        None,
        at_least=1,
        excludes="language_model",
    )
    seed: int = seed_setting("random seed of --hold-out")
    batch_size: int = setting("pairs held in memory at a time by each process", 10_000, at_least=1)
    shard_size: int | None = shard_size_setting("pairs")
    workers: int | None = setting(
        "number of processes; by default one per processor, fewer for few pairs",
        None,
        at_least=1,
        only_with={"engine": "local"},
        names=["--workers", "--num-workers"],
    )

    @property
    def options(self) -> dict[str, Any]:
        """The options of measures that are given."""
        names = dict.fromkeys(option for name in MEASURES for option in MEASURES[name].option_names())
        return {name: getattr(self, name) for name in names if is_given(self, name)}


@recipe(ScoreSettings, MEASURES)
def score(settings: ScoreSettings) -> DataFolder:
    """Add measures as columns to every split of a folder of pairs (Wieting et al. 2017, sections 5.5 to 5.7).

    The options of user-registered measures are fields as well. Returns the output folder, or the folder of the
    incomplete job while other shards are missing.
    """
    folder = DataFolder(settings.pairs)
    options_given: Any = settings  # with the fields of the measures
    if options_given.encoder == BUILTIN and find_sides(folder.schema(folder.splits[0]).names) != SIDES:
        options_given.encoder = MULTILINGUAL
        log(f"source and target are in two languages: the encoder {MULTILINGUAL} is used")
    if settings.language_model_text is not None:
        refuse_records(Path(settings.language_model_text))
    estimated = settings.language_model_text is not None or settings.hold_out is not None
    options = settings.options | ({"language_model": _ARPA} if estimated else {})
    chosen = _choose_measures(settings, folder, Measures(**options))
    counts = {split: folder.count(split) for split in folder.splits}
    if not any(counts.values()):
        raise InputError("there are no pairs", path=folder.path, remedy="give a folder with pairs")
    for option in (option for measure in MEASURES.values() for option in measure.models):
        if (model := getattr(settings, option)) is not None:
            # A fetched model has a fingerprint. Only a classifier must be of a type of this package.
            model_folder(model, any_type=option != "classifier")
    with ShardedOutput(
        settings.output,
        settings,
        command="score",
        inputs=[path for _, path in settings.paths_read()],
        job={"measures": chosen},
        free=["workers", "device", "measures"],
    ) as output:
        if output.finished:
            return DataFolder(settings.output)
        shards = [shard for split, count in counts.items() for shard in cut(split, count, settings.shard_size)]
        own = output.own(shards)
        held_out: frozenset[str] = frozenset()
        if estimated:
            held_out = _estimate_language_model(settings, folder, output.begin())
            options["language_model"] = str(output.begin() / _ARPA)
        # What the measures need is opened before the work begins, so that what is missing shows.
        here = {name: value for name, value in options.items() if settings.computes_here or name != "device"}
        scorer = PairScorer(tuple(chosen), Measures(**here), held_out)
        scorer(folder.schema(folder.splits[0]).empty_table())
        if here != options:
            scorer = PairScorer(tuple(chosen), Measures(**options), held_out)
        workers = settings.workers
        if workers is None and settings.computes_here and options.get("device", CPU) != CPU:
            workers = 1  # every process would open the models on the device once more
        if workers is None:
            workers = min(available_cores(), max(1, sum(shard.rows for shard in own) // _ROWS_WORTH_A_PROCESS))
        job = ShardJob(folder, dict.fromkeys(folder.splits, scorer), settings.batch_size)
        output.run(job, own, what="score", unit=" pairs", workers=workers)
        if not output.is_whole(shards):
            return DataFolder(output.current)
        made = DataFolder(output.current)
        rows = {split: made.count(split) for split in folder.splits}
        results = {"rows": rows, "columns": scorer.columns}
        recorded = {name: value for name, value in settings.record().items() if name != "workers"}
        output.finish(
            results=results,
            card=_make_card(settings, made, rows, chosen, estimated),
            settings={**recorded, "measures": chosen},
        )
    log(f"{sum(rows.values()):,} pairs with {', '.join(scorer.columns)} saved to {settings.output}")
    return DataFolder(settings.output)


def _choose_measures(settings: ScoreSettings, folder: DataFolder, measures: Measures) -> list[str]:
    """Choose the measures by the columns that all splits have."""
    schemas = [folder.require(*find_sides(folder.schema(split).names), split=split) for split in folder.splits]
    columns = [name for name in schemas[0].names if all(name in schema.names for schema in schemas)]
    if settings.hold_out is not None and find_sides(columns) != SIDES:
        remedy = "give --language-model-text instead"
        raise UsageError("--hold-out is for paraphrase pairs, not for bitext", remedy=remedy)
    chosen = choose_measures(settings.measures, columns, str(folder.path), measures)
    for option in measures.given:
        takers = [name for name, measure in measures.items() if option in measure.option_names()]
        if not set(takers) & set(chosen):
            # The language model may be one that is to be estimated.
            candidates = (option, "hold_out", "language_model_text")
            given = next(name for name in candidates if is_given(settings, name))
            raise UsageError(
                f"{flag(given)} is for the measure {' or '.join(takers)}, which is not computed",
                remedy=f"add it to --measures; it reads the columns {', '.join(measures[takers[0]].requires)}",
            )
    return chosen


def _estimate_language_model(settings: ScoreSettings, folder: DataFolder, staging: Path) -> frozenset[str]:
    """Estimate the language model, unless an earlier run did; return the references held out for it."""
    split, path = folder.splits[0], staging / _ARPA
    if settings.hold_out is None:
        if not path.is_file():
            lines = (block.to_pylist() for block in read_lines(Path(str(settings.language_model_text)), LineErrors()))
            train_language_model(lines, path, source=str(settings.language_model_text))
        return frozenset()
    held_out = draw_held_out(folder, split, settings.hold_out, settings.seed)
    if not path.is_file():
        atomic_write_text(staging / _HELD_OUT, "".join(" ".join(text.split()) + "\n" for text in held_out))
        train_language_model([held_out], path, source=folder.path)
    return frozenset(held_out)


def _make_card(
    settings: ScoreSettings, made: DataFolder, rows: dict[str, int], measures: list[str], estimated: bool
) -> Card:
    folder = to_path(settings.pairs)
    descriptions = {name: (MEASURES[name].__doc__ or "").strip().split("\n", 1)[0] for name in measures}
    values = {
        **inherited_metadata(folder),
        "title": f"{folder.resolve().name}, scored",
        "source": folder.resolve().name,
        "splits": [{"name": split, "rows": count} for split, count in rows.items()],
        "bitext": find_sides(made.schema(next(iter(rows))).names) != SIDES,
        "measures": [{"columns": MEASURES[name]().columns, "text": text} for name, text in descriptions.items()],
        "language_model": estimated,
        "held_out": settings.hold_out,
    }
    return Card("scored", values)
