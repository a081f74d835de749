"""The recipe of the verb `filter`: a data folder of pairs in, a data folder of the pairs that pass every step out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder
from ..artefacts.inherited_cards import inherited_metadata
from ..artefacts.provenance import write_provenance
from ..data.decontamination import load_fingerprints
from ..data.parquet import count_rows, read_schema, split_names, write_split
from ..errors import InputError, UsageError
from ..messages import say
from ..settings import Settings, recipe, setting
from .one_per_reference import WAYS
from .pipeline import Choice, FilterOptions, check_options, choose_rows, kept_batches, kept_schema, tokens_of
from .random_pairs import RandomPairs
from .selections import parse_selection

_SHORTFALLS = {
    "first": "only {left:,} pairs were left for --first",
    "max_tokens": "only {left:,} tokens were left for --max-tokens",
    "sample": "only {left:,} pairs were left to sample from",
}
"""What is said where a step asked for more than there was."""


@dataclass(kw_only=True)
class FilterSettings(Settings):
    """Keeps the pairs that pass every step, and prints how many each step leaves.

    The order is: identical sides, --keep, decontamination, one per reference, --first, --max-tokens, sample; then, of
    the pairs that are kept, noise and negatives are made.
    """

    pairs: str = setting("the data folder of pairs (sentence1, sentence2)")
    output: str = setting("the data folder to make")
    keep: list[str] = setting(
        "comparisons of a column with numbers, in quotes, e.g. 'overlap_1<=0.7' '5<=length<=30' 'rank==0'; all must "
        "hold; length, length_reference, length_ratio (tokens), overlap_1..3, overlap_clipped_1..3, bleu, "
        "edit_distance, repetition_1, repetition_3, copy_rate (0 to 1) and cost (nats per token) are computed where "
        "they are not columns yet; what needs a model, such as perplexity, score adds",
        [],
    )
    drop_identical: bool = setting("leave out pairs whose sides are the same but for case and spacing", False)
    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: pairs of which either side is in them go",
        [],
    )
    decontaminate_ngrams: int = setting(
        "words in an n-gram: pairs of which a side shares most of its n-grams with an evaluation set, or contains a "
        "sentence of one, go as well; 8 is usual, 0 = whole sentences only",
        0,
        at_least=0,
        only_with="decontaminate",
    )
    decontaminate_share: float = setting(
        "least share of the n-grams of a side that must occur in one evaluation set, above 0 to 1",
        0.7,
        above=0,
        at_most=1,
    )
    one_per_reference: str | None = setting(
        "keep one translation of each reference (id): best = lowest rank, random, diverse = lowest BLEU against it",
        None,
        choices=list(WAYS),
    )
    by: str | None = setting(
        "the column by which --first and --max-tokens rank, the highest first; the pairs stay in their order "
        "[default: the order of the folder is that of their rank, as in Opusparcus and in --ranked pivot pairs]",
        None,
    )
    first: int | None = setting("take this many of the remaining pairs, the best first", None, at_least=1)
    max_tokens: int | None = setting(
        "take the remaining pairs, the best first, until they have this many tokens (words between white space), both "
        "sides together: as much training data as another set has (paper 003, section 4.3)",
        None,
        at_least=1,
    )
    sample: int | None = setting("how many of the remaining pairs to draw; all if there are fewer", None, at_least=1)
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
    seed: int = setting("seed of the draws, of the noise too", 0, at_least=0)
    split: str = setting("the split to filter", "train")
    overwrite: bool = setting("replace an existing output folder", False)

    def check(self) -> None:
        """Refuses what does not fit.

        Raises:
            UsageError: For a value out of range, a selection that cannot be read, and a rank that nothing asks for.
        """
        super().check()
        for text in self.keep:
            parse_selection(text)
        if self.by is not None and self.first is None and self.max_tokens is None:
            raise UsageError("--by ranks for --first or --max-tokens", remedy="give one of them, or leave it out")


@dataclass(frozen=True)
class Filtered:
    """What a filter left.

    Attributes:
        folder: The data folder of the pairs that are kept.
        choice: Which they are, and the count after each step.
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
    check_output(settings.output, overwrite=settings.overwrite)
    folder, split = Path(settings.pairs), settings.split
    schema = read_schema(folder, split)
    options = _options(settings)
    # Checked before the evaluation sets are read, which may take a while.
    check_options(options, schema, str(folder))
    if settings.decontaminate:
        fingerprints = load_fingerprints(
            settings.decontaminate, ngrams=settings.decontaminate_ngrams, share=settings.decontaminate_share
        )
        options = dataclasses.replace(options, fingerprints=fingerprints)
    total = count_rows(folder, split)
    with tqdm(desc="choose", total=total, unit=" pairs", unit_scale=True) as bar:
        choice = choose_rows(folder, split, options, bar.update)
    with output_folder(settings.output, overwrite=settings.overwrite) as staging:
        counts = {"pairs": 0, "negatives": 0, "tokens": 0}
        with tqdm(desc="write", total=total, unit=" pairs", unit_scale=True) as bar, ExitStack() as stack:
            batches: Iterable[pa.Table] = _counted(
                kept_batches(folder, split, choice.kept, options, bar.update), counts
            )
            written = kept_schema(schema, options)
            if settings.noise or settings.negatives is not None:
                made = RandomPairs(
                    batches,
                    written,
                    noise=settings.noise,
                    seed=settings.seed,
                    negatives=settings.negatives,
                    path=folder,
                    work=staging,
                )
                batches, written = stack.enter_context(made).batches(), made.schema
                counts |= {"noise": made.noisy, "negatives": made.negatives}
            rows = write_split(staging, split, batches, written)
        counts["pairs"] = rows - counts["negatives"]
        if counts["pairs"] != int(choice.kept.sum()):
            raise InputError(
                "the pairs changed while they were being filtered", path=folder, remedy="filter them again"
            )
        filtered = Filtered(Path(settings.output), choice, rows, counts)
        _write_records(staging, settings, filtered, written)
    _report(settings, filtered)
    return filtered


def _options(settings: FilterSettings) -> FilterOptions:
    return FilterOptions(
        drop_identical=settings.drop_identical,
        selections=tuple(dict.fromkeys(parse_selection(text) for text in settings.keep)),
        one_per_reference=settings.one_per_reference,
        by=settings.by,
        first=settings.first,
        max_tokens=settings.max_tokens,
        sample=settings.sample,
        seed=settings.seed,
    )


def _counted(tables: Iterable[pa.Table], counts: dict[str, int]) -> Iterator[pa.Table]:
    """Passes tables on and adds up their tokens."""
    for table in tables:
        counts["tokens"] += int(tokens_of(table).sum())
        yield table


def _write_records(staging: Path, settings: FilterSettings, filtered: Filtered, schema: pa.Schema) -> None:
    folder, choice = Path(settings.pairs), filtered.choice
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
            "checked": [Path(path).name for path in settings.decontaminate],
            "contamination": choice.contamination,
            "ngrams": settings.decontaminate_ngrams,
            "share": settings.decontaminate_share,
            "seed": settings.seed,
        },
    )


def _report(settings: FilterSettings, filtered: Filtered) -> None:
    choice, counts = filtered.choice, filtered.counts
    say(choice.funnel.table().rstrip())
    for name, count in sorted(choice.contamination.items()):
        say(f"left out for a sentence of {name}: {count:,}")
    for name, left in choice.shortfalls.items():
        what = _SHORTFALLS[name].format(left=left)
        say(f"{what}, {getattr(settings, name):,} were asked for: all are kept")
    left_out = [name for name in split_names(Path(settings.pairs)) if name != settings.split]
    if left_out:
        say(f"only the split `{settings.split}` was filtered; not in the output: {', '.join(left_out)}")
    if "noise" in counts:
        say(f"{counts['noise']:,} of the pairs made random, {counts['negatives']:,} negatives added")
    say(f"{filtered.rows:,} pairs in {settings.output}; the kept ones have {counts['tokens']:,} tokens")
