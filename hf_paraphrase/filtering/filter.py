"""The recipe of the verb `filter`: a data folder of pairs in, a data folder of the pairs that pass every step out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, check_unfinished, output_folder
from ..artefacts.inherited_cards import inherited_metadata
from ..artefacts.provenance import fingerprint, read_provenance, write_provenance
from ..artefacts.remote_paths import to_path
from ..data.folder import DataFolder, write_split
from ..data.parquet_files import BATCH_ROWS
from ..data.schema import PAIRS
from ..errors import InputError, UsageError
from ..jobs.shard_settings import ShardSettings, shard_size_setting
from ..jobs.sharded_output import ShardedOutput
from ..jobs.shards import ShardJob, cut, reports
from ..messages import log
from ..settings import Settings, flag, is_given, recipe, setting
from .filter_steps import Choice, FilterSteps, Funnel, check_steps
from .random_pairs import RandomPairs
from .row_choice import check_any_left, choose_rows, kept_batches, kept_schema, tokens_of

_SHORTFALLS = {
    "first": "only {left:,} pairs were left for --first",
    "max_tokens": "only {left:,} tokens were left for --max-tokens",
    "sample": "only {left:,} pairs were left to sample from",
}
"""What is said where a step asked for more than there was."""
_OF_ALL_PAIRS = ("one_per_reference", "first", "max_tokens", "sample", "noise", "negatives")
"""The options that no part of the pairs can tell alone."""


@dataclass(kw_only=True)
class _Folders(Settings):
    pairs: str = setting(
        "the data folder of pairs (sentence1, sentence2), or its address, e.g. s3://bucket/folder", path=True
    )
    output: str = setting("the data folder to make")


@dataclass(kw_only=True)
class FilterSettings(FilterSteps, ShardSettings, _Folders):
    """Keeps the pairs that pass every step, and prints how many each step leaves.

    The order is: identical sides, --keep, decontamination, one per reference, --first, --max-tokens, sample; then, of
    the pairs that are kept, noise and negatives are made.
    """

    noise: float = setting(
        "share of the kept pairs, 0 to 1, of which the second sentence is exchanged at random: a known part of wrong "
        "pairs among the paraphrases, marked in the column noise",
        0.0,
        at_least=0,
        at_most=1,
    )
    negatives: int | None = setting(
        "a seed: add as many random pairs as are kept, with label 0 (the others get label 1); for losses that use "
        "labels",
        None,
        at_least=0,
    )
    split: str = setting("the split to filter", "train")
    shard_size: int | None = shard_size_setting("pairs")
    resume: bool = setting(
        "with --engine ray: continue the unfinished job for this output, as runs of a --shard always do",
        False,
        only_with={"engine": "ray"},
    )

    def check(self) -> None:
        """Refuses what does not fit.

        Raises:
            UsageError: For a value out of range, and steps that look at all pairs where this run has a part of them.
        """
        super().check()
        by = "--shard" if self.computes_here else "--engine ray"
        if not self.in_shards and self.shard_size is not None:
            raise UsageError("--shard-size is for --shard or --engine ray", remedy="give one of them, or leave it out")
        for name in _OF_ALL_PAIRS if self.in_shards else ():
            if is_given(self, name):
                raise UsageError(
                    f"{flag(name)} looks at all pairs, and {by} at a part of them",
                    remedy=f"filter the output once more, without {by}",
                )

    @property
    def in_shards(self) -> bool:
        """Whether the pairs are filtered shard by shard, of which each sees its own pairs alone."""
        return self.shard is not None or not self.computes_here


@dataclass(frozen=True)
class Filtered:
    """What a filter left.

    Attributes:
        folder: The data folder of the pairs that are kept; with `shard`, while parts are missing, that of the
            unfinished work, of which the rest says nothing.
        choice: Which they are, and the count after each step; with `shard` the counts alone.
        rows: The rows of the data folder, negatives with them.
        counts: How many `pairs` and `negatives` they are, the `tokens` of the pairs, and how many are `noise`.
    """

    folder: Path
    choice: Choice
    rows: int
    counts: dict[str, int]


@recipe(FilterSettings)
def filter_pairs(settings: FilterSettings) -> Filtered:
    """Keeps the pairs of a data folder that pass every step (paper 000, section 5.4).

    Returns:
        The folder that was made, and the funnel.

    Raises:
        InputError: If the pairs are unreadable, lack a column, or nothing is left.
        OutputError: If the output is in the way.
    """
    if settings.in_shards:
        return _filter_in_shards(settings)
    target = check_output(settings.output, overwrite=settings.overwrite)
    check_unfinished(target, overwrite=settings.overwrite, resume=None)
    folder, split = DataFolder(settings.pairs), settings.split
    schema, total = folder.schema(split), folder.count(split)
    with tqdm(desc="choose", total=total, unit=" pairs", unit_scale=True) as bar:
        choice = choose_rows(folder, split, settings, bar.update)
    with output_folder(settings.output, overwrite=settings.overwrite) as staging:
        counts = {"pairs": 0, "negatives": 0, "tokens": 0}
        with tqdm(desc="write", total=total, unit=" pairs", unit_scale=True) as bar, ExitStack() as stack:
            copied = kept_batches(folder, split, choice.kept, settings, bar.update)
            batches: Iterable[pa.Table] = _counted(copied, counts)
            written = kept_schema(schema, settings)
            if settings.noise or settings.negatives is not None:
                made = RandomPairs(
                    batches,
                    written,
                    noise=settings.noise,
                    seed=settings.seed,
                    negatives=settings.negatives,
                    path=folder.path,
                    work=staging,
                )
                batches, written = stack.enter_context(made).batches(), made.schema
                counts |= {"noise": made.noisy, "negatives": made.negatives}
            rows = write_split(staging, split, batches, written)
        counts["pairs"] = rows - counts["negatives"]
        if counts["pairs"] != int(choice.kept.sum()):
            raise InputError(
                "the pairs changed while they were being filtered", path=folder.path, remedy="filter them again"
            )
        filtered = Filtered(Path(settings.output), choice, rows, counts)
        _write_records(staging, settings, filtered, written)
    _report(settings, filtered)
    return filtered


def _filter_in_shards(settings: FilterSettings) -> Filtered:
    """Takes the steps that look at one pair at a time, over all shards of the split or a part of them."""
    with ShardedOutput(settings.output, settings, resume=settings.resume) as output:
        return _filter_shards(settings, output)


def _filter_shards(settings: FilterSettings, output: ShardedOutput) -> Filtered:
    output.claim()
    folder, split = DataFolder(settings.pairs), settings.split
    check_steps(settings, folder.schema(split), str(folder.path))
    job = ShardJob(folder, {split: settings.pair_filter()}, BATCH_ROWS)
    record = {
        **{name: value for name, value in settings.record().items() if name != "output"},
        "pairs": fingerprint(folder),
        "decontaminate": [fingerprint(path) for path in settings.decontaminate],
    }
    if output.was_finished(lambda: record):
        return _filtered_before(output.target)
    output.check_free()
    shards = cut(split, folder.count(split), settings.shard_size)
    own = output.own(shards)
    with output.working(record) as staging:
        output.run(job, own, what="filter", unit=" pairs")
        choice = Choice(np.zeros(0, dtype=bool))
        if not output.is_whole(shards):
            return Filtered(output.place, choice, 0, {})
        if output.is_described:
            output.finish()
            return _filtered_before(output.target)
        for report in reports(shards, staging):
            choice.add(report)
        check_any_left(choice, split, folder)
        made = DataFolder(staging)
        sides = made.batches(split, PAIRS.names)
        tokens = sum(int(tokens_of(pa.Table.from_batches([batch])).sum()) for batch in sides)
        rows = made.count(split)
        filtered = Filtered(output.target, choice, rows, {"pairs": rows, "negatives": 0, "tokens": tokens})
        _write_records(staging, settings, filtered, made.schema(split))
        output.finish()
    _report(settings, filtered)
    return filtered


def _filtered_before(folder: Path) -> Filtered:
    """Returns what a finished run has filtered, as its record says."""
    results = read_provenance(folder)["results"]
    choice = Choice(np.zeros(0, dtype=bool), Funnel(results["funnel"]), results["contamination"])
    counts = {name: results[name] for name in ("pairs", "negatives", "tokens")}
    return Filtered(folder, choice, results["rows"], counts)


def _counted(tables: Iterable[pa.Table], counts: dict[str, int]) -> Iterator[pa.Table]:
    """Passes tables on and adds up their tokens."""
    for table in tables:
        counts["tokens"] += int(tokens_of(table).sum())
        yield table


def _write_records(staging: Path, settings: FilterSettings, filtered: Filtered, schema: pa.Schema) -> None:
    folder, choice = to_path(settings.pairs), filtered.choice
    write_provenance(
        staging,
        command="filter",
        settings=settings.record(),
        inputs=[folder, *settings.decontaminate],
        results={
            "rows": filtered.rows,
            **filtered.counts,
            "funnel": choice.funnel.counts,
            "contamination": choice.contamination,
        },
    )
    write_card(
        staging,
        "dataset_cards",
        "filtered",
        {
            **inherited_metadata(folder),
            "title": f"{folder.resolve().name}, filtered",
            "source": folder.resolve().name,
            "split": settings.split,
            "rows": filtered.rows,
            "columns": schema.names,
            "counts": filtered.counts,
            "funnel": choice.funnel.table(),
            "checked": [to_path(path).name for path in settings.decontaminate],
            "contamination": choice.contamination,
            "ngrams": settings.decontaminate_ngrams,
            "share": settings.decontaminate_share,
            "seed": settings.seed,
        },
    )


def _report(settings: FilterSettings, filtered: Filtered) -> None:
    choice, counts = filtered.choice, filtered.counts
    log(choice.funnel.table().rstrip())
    for name, count in sorted(choice.contamination.items()):
        log(f"left out for a sentence of {name}: {count:,}")
    for name, left in choice.shortfalls.items():
        what = _SHORTFALLS[name].format(left=left)
        log(f"{what}, {getattr(settings, name):,} were asked for: all are kept")
    left_out = [name for name in DataFolder(settings.pairs).splits if name != settings.split]
    if left_out:
        log(f"only the split `{settings.split}` was filtered; not in the output: {', '.join(left_out)}")
    if "noise" in counts:
        log(f"{counts['noise']:,} of the pairs made random, {counts['negatives']:,} negatives added")
    log(f"{filtered.rows:,} pairs in {settings.output}; the kept ones have {counts['tokens']:,} tokens")
