"""`filter`: selects paraphrase pairs by ranges over measures."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder
from ..artefacts.provenance import write_provenance
from ..data.containment import check_ngrams
from ..data.decontamination import load_fingerprints
from ..data.parquet import count_rows, read_schema, split_names, write_split
from ..errors import InputError, UsageError
from ..filtering.inherited_cards import inherited_metadata
from ..filtering.one_per_reference import WAYS
from ..filtering.pipeline import FilterOptions, check_options, choose_rows, kept_batches, kept_schema, tokens_of
from ..filtering.random_pairs import RandomPairs
from ..filtering.selections import parse_selection
from ..messages import say
from ..settings import setting, settings_of
from .arguments import parse

_NEGATIVE_FIRST = re.compile(r"-[\d.][^-]*[<>=!]")

_SHORTFALLS = {
    "first": "only {left:,} pairs were left for --first",
    "max_tokens": "only {left:,} tokens were left for --max-tokens",
    "sample": "only {left:,} pairs were left to sample from",
}
"""What is said where a step asked for more than there was."""


@dataclass
class Arguments:
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
    )
    decontaminate_share: float = setting(
        "least share of the n-grams of a side that must occur in one evaluation set, above 0 to 1", 0.7
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
    first: int | None = setting("take this many of the remaining pairs, the best first", None)
    max_tokens: int | None = setting(
        "take the remaining pairs, the best first, until they have this many tokens (words between white space), both "
        "sides together: as much training data as another set has (paper 003, section 4.3)",
        None,
    )
    sample: int | None = setting("how many of the remaining pairs to draw; all if there are fewer", None)
    noise: float = setting(
        "share of the kept pairs, 0 to 1, of which the second sentence is exchanged at random: a known part of wrong "
        "pairs among the paraphrases, marked in the column noise",
        0.0,
    )
    negatives: int | None = setting(
        "a seed: add as many random pairs as are kept, with label 0 (the others get label 1); for losses that use "
        "labels",
        None,
    )
    seed: int = setting("seed of the draws, of the noise too", 0)
    split: str = setting("the split to filter", "train")
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `filter`."""
    # A space before it keeps argparse from taking `-5<=log_prob` for a flag.
    words = [f" {word}" if _NEGATIVE_FIRST.match(word) else word for word in argv]
    arguments = parse(Arguments, "filter", words)
    selections = tuple(dict.fromkeys(parse_selection(text) for text in arguments.keep))
    if arguments.sample is not None and arguments.sample < 1:
        raise UsageError(f"filter: --sample is {arguments.sample}", remedy="give 1 or more")
    if arguments.seed < 0:
        raise UsageError(f"filter: --seed is {arguments.seed}", remedy="give 0 or more")
    _check_ranked(arguments)
    check_ngrams(arguments.decontaminate, arguments.decontaminate_ngrams, arguments.decontaminate_share)
    check_output(arguments.output, overwrite=arguments.overwrite)
    folder, split = Path(arguments.pairs), arguments.split
    schema = read_schema(folder, split)
    options = FilterOptions(
        drop_identical=arguments.drop_identical,
        selections=selections,
        one_per_reference=arguments.one_per_reference,
        by=arguments.by,
        first=arguments.first,
        max_tokens=arguments.max_tokens,
        sample=arguments.sample,
        seed=arguments.seed,
    )
    # Checked before the evaluation sets are read, which may take a while.
    check_options(options, schema, str(folder))
    if arguments.decontaminate:
        fingerprints = load_fingerprints(
            arguments.decontaminate, ngrams=arguments.decontaminate_ngrams, share=arguments.decontaminate_share
        )
        options = dataclasses.replace(options, fingerprints=fingerprints)
    total = count_rows(folder, split)
    with tqdm(desc="choose", total=total, unit=" pairs", unit_scale=True) as bar:
        choice = choose_rows(folder, split, options, bar.update)
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        counts = {"pairs": 0, "negatives": 0, "tokens": 0}
        with tqdm(desc="write", total=total, unit=" pairs", unit_scale=True) as bar, ExitStack() as stack:
            batches: Iterable[pa.Table] = _counted(
                kept_batches(folder, split, choice.kept, options, bar.update), counts
            )
            written = kept_schema(schema, options)
            if arguments.noise or arguments.negatives is not None:
                made = RandomPairs(
                    batches,
                    written,
                    noise=arguments.noise,
                    seed=arguments.seed,
                    negatives=arguments.negatives,
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
        write_provenance(
            staging,
            command="filter",
            settings=settings_of(arguments),
            inputs=[folder, *arguments.decontaminate],
            results={
                "rows": rows,
                **counts,
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
                "split": split,
                "rows": rows,
                "columns": written.names,
                "counts": counts,
                "funnel": choice.funnel.table(),
                "checked": [Path(path).name for path in arguments.decontaminate],
                "contamination": choice.contamination,
                "ngrams": arguments.decontaminate_ngrams,
                "share": arguments.decontaminate_share,
                "seed": arguments.seed,
            },
        )
    say(choice.funnel.table().rstrip())
    for name, count in sorted(choice.contamination.items()):
        say(f"left out for a sentence of {name}: {count:,}")
    for name, left in choice.shortfalls.items():
        what = _SHORTFALLS[name].format(left=left)
        say(f"{what}, {getattr(arguments, name):,} were asked for: all are kept")
    left_out = [name for name in split_names(folder) if name != split]
    if left_out:
        say(f"only the split `{split}` was filtered; not in the output: {', '.join(left_out)}")
    if "noise" in counts:
        say(f"{counts['noise']:,} of the pairs made random, {counts['negatives']:,} negatives added")
    say(f"{rows:,} pairs in {arguments.output}; the kept ones have {counts['tokens']:,} tokens")


def _check_ranked(arguments: Arguments) -> None:
    for name in ("first", "max_tokens"):
        value = getattr(arguments, name)
        if value is not None and value < 1:
            raise UsageError(f"filter: --{name.replace('_', '-')} is {value}", remedy="give 1 or more")
    if arguments.by is not None and arguments.first is None and arguments.max_tokens is None:
        raise UsageError("filter: --by ranks for --first or --max-tokens", remedy="give one of them, or leave it out")
    if not 0 <= arguments.noise <= 1:
        raise UsageError(f"filter: --noise is {arguments.noise}", remedy="give a share from 0 to 1")
    if arguments.negatives is not None and arguments.negatives < 0:
        raise UsageError("filter: --negatives is a seed, 0 or more", remedy="e.g. --negatives 1")


def _counted(tables: Iterable[pa.Table], counts: dict[str, int]) -> Iterator[pa.Table]:
    """Passes tables on and adds up their tokens."""
    for table in tables:
        counts["tokens"] += int(tokens_of(table).sum())
        yield table
