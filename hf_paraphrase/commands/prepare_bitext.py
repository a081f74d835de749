"""`prepare bitext`: parallel text to a data folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..data.bitext_corpus import BitextCorpus, BitextOptions
from ..data.parquet import split_sizes, write_split
from ..data.schema import BITEXT
from ..hub.cards import write_card
from ..hub.folders import check_output, output_folder
from ..hub.provenance import write_provenance
from .arguments import argument, parse, settings_of
from .prepare_reports import check_license, report, watched


@dataclass
class Arguments:
    """Makes a bitext data folder from two line-aligned text files or a tab-separated file (UTF-8; .gz, .bz2, .xz)."""

    output: str = argument("the data folder to make")
    source_lang: str = argument("language code of the source side, e.g. fr")
    target_lang: str = argument("language code of the target side, e.g. en")
    source_file: str | None = argument("source sentences, one a line; with --target-file", None)
    target_file: str | None = argument("their translations, line by line", None)
    tsv: str | None = argument("instead of the two: a file with tab-separated fields, no header, no quoting", None)
    columns: str = argument(
        "the fields of --tsv in their order: source, target, and _ for one to leave out (at the end it may be absent)",
        "source,target",
    )
    validation_source_file: str | None = argument("a given validation part, source side", None)
    validation_target_file: str | None = argument("a given validation part, target side", None)
    test_source_file: str | None = argument("a given test part, source side", None)
    test_target_file: str | None = argument("a given test part, target side", None)
    validation_size: int = argument("rows to draw for validation; no target sentence is then in two parts", 0)
    test_size: int = argument("rows to draw for test", 0)
    seed: int = argument("seed of the draw and of --shuffle", 0)
    shuffle: bool = argument("put the training rows into random order", False)
    max_length: int = argument("greatest number of words of a side of a training row; 0 = no limit", 0)
    max_length_ratio: float = argument(
        "greatest ratio of the longer side of a training row to the shorter, in words; 0 = no limit", 0.0
    )
    drop_duplicates: str = argument(
        "training rows to leave out as repeats: of a pair, a source or a target; the first stays",
        "none",
        choices=["none", "pair", "source", "target"],
    )
    normalize_punctuation: bool = argument("bring punctuation to one form with the Moses rules (sacremoses)", False)
    decontaminate: list[str] = argument(
        "evaluation files or folders, or lists of fingerprints: training rows whose target side is in them go", []
    )
    on_error: str = argument(
        "raise: a malformed line ends the work; skip: it is left out and counted", "raise", choices=["raise", "skip"]
    )
    license: str | None = argument(
        "the licence of the sentences for the card, as the Hub spells it, e.g. cc-by-2.0", None
    )
    overwrite: bool = argument("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `prepare bitext`."""
    arguments = parse(Arguments, "prepare bitext", argv)
    options = BitextOptions(
        **{field.name: getattr(arguments, field.name) for field in dataclasses.fields(BitextOptions)}
    )
    check_output(arguments.output, overwrite=arguments.overwrite)
    check_license(arguments.license)
    options.check()
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        with (
            tqdm(desc="read", unit=" lines", unit_scale=True) as bar,
            BitextCorpus(options, work=staging, progress=bar.update) as corpus,
        ):
            bar.close()
            for split in corpus.splits:
                with tqdm(desc=split, total=corpus.num_rows(split), unit=" rows", unit_scale=True) as bar:
                    write_split(staging, split, watched(corpus.batches(split), bar), BITEXT)
        results = {
            "counts": corpus.counts,
            "contamination": corpus.contamination,
            "malformed": corpus.malformed,
        }
        write_provenance(
            staging,
            command="prepare bitext",
            settings=settings_of(arguments),
            inputs=[*options.files, *options.decontaminate],
            results=results,
        )
        write_card(staging, "dataset_cards", "bitext", _card(staging, arguments, options, corpus))
    report(arguments.output, corpus.counts, corpus.contamination, corpus.malformed)


def _card(folder: Path, arguments: Arguments, options: BitextOptions, corpus: BitextCorpus) -> dict[str, Any]:
    return {
        "title": f"Bitext {options.source_lang}-{options.target_lang} ({options.files[0].name})",
        "source_lang": options.source_lang,
        "target_lang": options.target_lang,
        "license": arguments.license,
        "files": [path.name for path in options.files],
        "columns": BITEXT.names,
        "splits": split_sizes(folder),
        "rules": {part: counts for part, counts in corpus.counts.items() if "lines" in counts},
        "drawn": [part for part, counts in corpus.counts.items() if "lines" not in counts],
        "seed": options.seed,
        "punctuation": options.normalize_punctuation,
        "checked": corpus.checked,
        "contamination": corpus.contamination,
    }
