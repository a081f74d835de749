"""`prepare pivot`: pairs of sentences that share a translation, from prepared bitexts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
from tqdm import tqdm

from ..artefacts.cards import write_card
from ..artefacts.folders import check_output, output_folder
from ..artefacts.provenance import write_provenance
from ..data.containment import check_ngrams
from ..data.decontamination import drop_contaminated, load_fingerprints
from ..data.parquet import count_rows, iterate_batches, split_sizes, write_split
from ..data.schema import PAIRS
from ..data.sources.pivot import PIVOT, pivot_pairs
from ..errors import InputError, UsageError
from ..settings import setting, settings_of
from .arguments import parse
from .prepare_reports import card_columns, check_license, report


@dataclass
class Arguments:
    """Makes a paraphrase data folder of the pairs of target sentences that share a source sentence."""

    output: str = setting("the data folder to make")
    bitext: list[str] = setting("one or more folders made by `prepare bitext`, with one target language")
    split: str = setting("the split of the bitexts to take", "train")
    max_pairs_per_source: int = setting("greatest number of pairs from one source sentence; 0 = no limit", 0)
    ranked: bool = setting(
        "put the pairs that share the most source sentences (the column num_pivots) first, for `filter --first`", False
    )
    decontaminate: list[str] = setting(
        "evaluation files or folders, or lists of fingerprints: pairs of which a sentence is in them go", []
    )
    decontaminate_ngrams: int = setting(
        "words in an n-gram: pairs of which a sentence shares most of its n-grams with an evaluation set, or contains "
        "a sentence of one, go as well; 8 is usual, 0 = whole sentences only",
        0,
    )
    decontaminate_share: float = setting(
        "least share of the n-grams of a sentence that must occur in one evaluation set, above 0 to 1", 0.7
    )
    license: str | None = setting("the licence of the pairs for the card, as the Hub spells it, e.g. cc-by-2.0", None)
    overwrite: bool = setting("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `prepare pivot`."""
    arguments = parse(Arguments, "prepare pivot", argv)
    check_output(arguments.output, overwrite=arguments.overwrite)
    check_license(arguments.license)
    if arguments.max_pairs_per_source < 0:
        raise UsageError(
            f"--max-pairs-per-source {arguments.max_pairs_per_source} is negative", remedy="give 0 or more"
        )
    folders = [Path(folder) for folder in arguments.bitext]
    if len({folder.resolve() for folder in folders}) < len(folders):
        raise UsageError("--bitext names a folder twice", remedy="name each once")
    total = sum(count_rows(folder, arguments.split) for folder in folders)
    check_ngrams(arguments.decontaminate, arguments.decontaminate_ngrams, arguments.decontaminate_share)
    fingerprints = None
    if arguments.decontaminate:
        fingerprints = load_fingerprints(
            arguments.decontaminate, ngrams=arguments.decontaminate_ngrams, share=arguments.decontaminate_share
        )
    contamination: dict[str, int] = {}
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        with tqdm(desc="read", total=total, unit=" rows", unit_scale=True) as bar:
            pairs, counts = pivot_pairs(
                folders,
                split=arguments.split,
                max_pairs_per_source=arguments.max_pairs_per_source,
                ranked=arguments.ranked,
                progress=bar.update,
            )
        counts.pop("pairs")
        if fingerprints is not None:
            before = pairs.num_rows
            pairs, contamination = drop_contaminated(pairs, PAIRS.names, fingerprints)
            counts["contaminated"] = before - pairs.num_rows
        if not pairs.num_rows:
            raise InputError("no two target sentences share a source sentence", path=folders[0], remedy="add bitexts")
        rows = write_split(staging, "train", [pairs], PIVOT)
        lang = _target_language(folders[0], arguments.split)
        counts["lines"] = counts.pop("candidates")
        rules = {"lines": counts["lines"]} | {
            name: counts[name] for name in ("over_limit", "repeated", "contaminated") if name in counts
        }
        rules["rows"] = rows
        results = {
            "bitext_rows": counts["rows"],
            "shared_sources": counts["sources"],
            "counts": {"train": rules},
            "contamination": contamination,
        }
        write_provenance(
            staging,
            command="prepare pivot",
            settings=settings_of(arguments),
            inputs=[*folders, *arguments.decontaminate],
            results=results,
        )
        write_card(
            staging,
            "dataset_cards",
            "pairs",
            {
                "title": f"Pivot pairs ({', '.join(folder.resolve().name for folder in folders)})",
                "lang": lang,
                "license": arguments.license,
                "command": "prepare pivot",
                "files": [folder.resolve().name for folder in folders],
                "columns": card_columns(PIVOT),
                "splits": split_sizes(staging),
                "rules": rules,
                "checked": [] if fingerprints is None else fingerprints.names,
                "contamination": contamination,
            },
        )
    report(arguments.output, {"train": rules}, contamination, [], unit="candidate pairs")


def _target_language(folder: Path, split: str) -> str:
    batch = next(iterate_batches(folder, split, ["target_lang"]))
    return str(pc.unique(batch.column("target_lang"))[0].as_py())
