"""`prepare bitext`: parallel text to a data folder."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder
from ..artefacts.provenance import write_provenance
from ..data.parquet import split_sizes, write_split
from ..data.schema import BITEXT
from ..data.skipped_lines import FILE_NAME
from ..data.sources.bitext_corpus import REPEATING, BitextCorpus, BitextOptions
from ..messages import say
from ..settings import setting, settings_of
from .arguments import parse
from .prepare_reports import check_license, check_url, funnel_rows, funnel_table, report, watched

_LISTED_FILES = 20


@dataclass
class Arguments:
    """Makes a bitext data folder from aligned files, TSV, TMX or gettext catalogues (plain, .gz, .bz2, .xz, .zst)."""

    output: str = setting("the data folder to make")
    source_lang: str = setting("language code of the source side, e.g. fr")
    target_lang: str = setting("language code of the target side, e.g. en")
    source_file: str | None = setting("source sentences, one a line; with --target-file", None)
    target_file: str | None = setting("their translations, line by line", None)
    tsv: str | None = setting("instead of the two: a file with tab-separated fields, no header, no quoting", None)
    columns: str = setting(
        "the fields of --tsv in their order, separated by commas or spaces: source, target, and _ for one to leave "
        "out (at the end it may be absent)",
        "source,target",
        separator=",",
    )
    tmx: str | None = setting(
        "or: a translation memory; each unit with both languages gives a pair, whatever their regions (fr-FR is fr)",
        None,
    )
    gettext: str | None = setting(
        "or: a gettext catalogue (.po, .mo) or a folder of them, of which those in the language that is not English "
        "are read; obsolete, fuzzy and untranslated messages are left out",
        None,
    )
    gettext_package: str | None = setting(
        "or: the catalogues inside an installed Python package of this name, e.g. django", None
    )
    gettext_plurals: str = setting(
        "messages with plural forms: pair the singular and the form for 5 with their translations, or skip them",
        "pair",
        choices=["pair", "skip"],
    )
    gettext_drop_placeholders: bool = setting(
        "leave out messages with placeholders (%s, {name}, $name) or mark-up", False
    )
    validation_source_file: str | None = setting("a given validation part, source side", None)
    validation_target_file: str | None = setting("a given validation part, target side", None)
    test_source_file: str | None = setting("a given test part, source side", None)
    test_target_file: str | None = setting("a given test part, target side", None)
    validation_size: int = setting("rows to draw for validation; no target sentence is then in two parts", 0)
    test_size: int = setting("rows to draw for test", 0)
    hold_out_sources: bool = setting(
        "leave out training rows whose source sentence is in validation or test, with another translation", False
    )
    seed: int = setting("seed of the draw and of --shuffle", 0)
    shuffle: bool = setting("put the training rows into random order", False)
    drop_identical: bool = setting(
        "leave out training rows whose sides are the same but for case and outer white space", False
    )
    min_length: int = setting("least length of a side of a training row, in --length-unit; 0 = no limit", 0)
    max_length: int = setting("greatest length of a side of a training row, in --length-unit; 0 = no limit", 0)
    max_length_ratio: float = setting(
        "greatest ratio of the longer side of a training row to the shorter, in --length-unit; 0 = no limit", 0.0
    )
    length_unit: str = setting(
        "what lengths count: words between white space, or characters (Chinese, Japanese, Thai, …)",
        "words",
        choices=["words", "characters"],
    )
    identify_languages: bool = setting(
        "leave out training rows of which a side is in another language than the stated one; needs py3langid, and a "
        "core does about 7,000 rows a second",
        False,
    )
    language_certainty: float = setting("least probability with which another language must be found, 0.5 to 1", 0.7)
    drop_duplicates: str = setting(
        "training rows to leave out as repeats: of a pair, a source or a target; the first stays",
        "none",
        choices=["none", "pair", "source", "target"],
    )
    normalize_punctuation: bool = setting("bring punctuation to one form with the Moses rules (sacremoses)", False)
    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: training rows whose target side is in them go", []
    )
    decontaminate_ngrams: int = setting(
        "words in an n-gram: rows whose target side shares most of its n-grams with an evaluation set, or contains a "
        "sentence of one, go as well; 8 is usual, 0 = whole sentences only",
        0,
    )
    decontaminate_share: float = setting(
        "least share of the n-grams of a side that must occur in one evaluation set, above 0 to 1", 0.7
    )
    on_error: str = setting(
        "raise: a malformed line ends the work; skip: it is left out, counted, and listed in skipped_lines.tsv",
        "raise",
        choices=["raise", "skip"],
    )
    license: str | None = setting(
        "the licence of the sentences for the card, as the Hub spells it, e.g. cc-by-2.0", None
    )
    url: str | None = setting(
        "where the raw data come from, for the card and those of what is made from them; of a data set of the Hub "
        "https://huggingface.co/datasets/NAME",
        None,
    )
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `prepare bitext`."""
    arguments = parse(Arguments, "prepare bitext", argv)
    options = BitextOptions(
        **{field.name: getattr(arguments, field.name) for field in dataclasses.fields(BitextOptions)}
    )
    check_output(arguments.output, overwrite=arguments.overwrite)
    check_license(arguments.license)
    check_url(arguments.url)
    options.check()
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        with (
            tqdm(desc="read", unit=f" {options.unit}", unit_scale=True) as bar,
            BitextCorpus(options, work=staging, progress=bar.update, listing=staging / FILE_NAME) as corpus,
        ):
            bar.close()
            for split in corpus.splits:
                with tqdm(desc=split, total=corpus.num_rows(split), unit=" rows", unit_scale=True) as bar:
                    write_split(staging, split, watched(corpus.batches(split), bar), BITEXT, repeating=REPEATING)
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
    say(funnel_table(corpus.counts["train"], options.unit))
    report(arguments.output, corpus.counts, corpus.contamination, corpus.malformed, unit=options.unit)


def _card(folder: Path, arguments: Arguments, options: BitextOptions, corpus: BitextCorpus) -> dict[str, Any]:
    return {
        "title": f"Bitext {options.source_lang}-{options.target_lang} ({options.title})",
        "source_lang": options.source_lang,
        "target_lang": options.target_lang,
        "license": arguments.license,
        "url": arguments.url,
        "files": _listed([path.name for path in options.files]),
        "unit": options.unit,
        "columns": BITEXT.names,
        "splits": split_sizes(folder),
        "rules": {part: (counts, funnel_rows(counts)) for part, counts in corpus.counts.items() if "lines" in counts},
        "drawn": [part for part, counts in corpus.counts.items() if "lines" not in counts],
        "sources_held_out": options.hold_out_sources,
        "seed": options.seed,
        "punctuation": options.normalize_punctuation,
        "skipped": (folder / FILE_NAME).is_file(),
        "ngrams": options.decontaminate_ngrams,
        "share": options.decontaminate_share,
        "checked": corpus.checked,
        "contamination": corpus.contamination,
    }


def _listed(names: list[str]) -> list[str]:
    """Shortens a long list of files for the card: provenance.json has them all."""
    different = list(dict.fromkeys(names))
    more = len(different) - _LISTED_FILES
    return different if more <= 0 else [*different[:_LISTED_FILES], f"and {more} more"]
