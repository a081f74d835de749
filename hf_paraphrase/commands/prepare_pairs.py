"""`prepare pairs`: a TSV, CSV, JSON lines or Parquet file of paraphrase pairs to a data folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder
from ..artefacts.provenance import write_provenance
from ..data.containment import DEFAULT_SHARE
from ..data.parquet import check_split_name, split_sizes, write_split
from ..data.skipped_lines import FILE_NAME
from ..data.sources.pair_corpus import PairCorpus, PairOptions
from ..settings import setting, settings_of
from .arguments import parse
from .prepare_reports import card_columns, check_license, check_url, report, watched


@dataclass
class Arguments:
    """Makes a paraphrase data folder from a TSV, CSV or JSON lines file or a Parquet file.

    Text is UTF-8, plain or .gz, .bz2, .xz, .zst.
    """

    output: str = setting("the data folder to make")
    tsv: str = setting("the file: tab-separated fields, no header, no quoting, one pair a line", "")
    csv: str = setting("or: a file with commas, a header, and quotes that are doubled inside quoted fields", "")
    jsonl: str = setting("or: a file with one JSON object a line", "")
    parquet: str = setting("or: a Parquet file", "")
    columns: str = setting(
        "the columns to make, separated by commas or spaces: sentence1, sentence2, score (a number), label (a whole "
        "number, 1 = paraphrase); any other name becomes a column of strings. For --tsv the fields in their order, "
        "with _ for one to leave out (at the end it may be absent); elsewhere as name=theirs where the file has "
        "another name",
        "sentence1,sentence2",
        separator=",",
    )
    split: str = setting("the name of the split", "train")
    lang: str = setting("language code of the sentences", "en", names=["--lang", "--language"])
    skip_header: bool = setting("leave the first line of --tsv out", False)
    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: pairs of which a sentence is in them go", []
    )
    decontaminate_ngrams: int = setting(
        "words in an n-gram: pairs of which a side shares most of its n-grams with an evaluation set, or contains a "
        "sentence of one, go as well; 8 is usual, 0 = whole sentences only",
        0,
    )
    decontaminate_share: float = setting(
        "least share of the n-grams of a side that must occur in one evaluation set, above 0 to 1", DEFAULT_SHARE
    )
    on_error: str = setting(
        "raise: a malformed line ends the work; skip: it is left out, counted, and listed in skipped_lines.tsv",
        "raise",
        choices=["raise", "skip"],
    )
    license: str | None = setting("the licence of the pairs for the card, as the Hub spells it, e.g. cc-by-2.0", None)
    url: str | None = setting(
        "where the raw data come from, for the card and those of what is made from them; of a data set of the Hub "
        "https://huggingface.co/datasets/NAME",
        None,
    )
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `prepare pairs`."""
    arguments = parse(Arguments, "prepare pairs", argv)
    options = PairOptions(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(PairOptions)})
    check_output(arguments.output, overwrite=arguments.overwrite)
    check_license(arguments.license)
    check_url(arguments.url)
    check_split_name(arguments.split)
    options.check()
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        with (
            tqdm(desc="read", unit=" lines", unit_scale=True) as bar,
            PairCorpus(options, work=staging, progress=bar.update, listing=staging / FILE_NAME) as corpus,
        ):
            bar.close()
            with tqdm(desc=arguments.split, total=corpus.num_rows, unit=" rows", unit_scale=True) as bar:
                write_split(staging, arguments.split, watched(corpus.batches(), bar), corpus.schema)
        results = {
            "counts": {arguments.split: corpus.counts},
            "contamination": corpus.contamination,
            "malformed": corpus.malformed,
        }
        write_provenance(
            staging,
            command="prepare pairs",
            settings=settings_of(arguments),
            inputs=[options.path, *options.decontaminate],
            results=results,
        )
        write_card(
            staging,
            "dataset_cards",
            "pairs",
            {
                "title": f"Paraphrase pairs ({options.path.name})",
                "lang": options.lang,
                "license": arguments.license,
                "url": arguments.url,
                "command": "prepare pairs",
                "files": [options.path.name],
                "columns": card_columns(corpus.schema),
                "splits": split_sizes(staging),
                "rules": corpus.counts,
                "skipped": (staging / FILE_NAME).is_file(),
                "ngrams": options.decontaminate_ngrams,
                "share": options.decontaminate_share,
                "checked": corpus.checked,
                "contamination": corpus.contamination,
            },
        )
    report(arguments.output, {arguments.split: corpus.counts}, corpus.contamination, corpus.malformed)
