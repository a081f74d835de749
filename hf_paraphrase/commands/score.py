"""`score`: adds measures as columns to paraphrase pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from tqdm import tqdm

from ..data.parquet import count_rows, iterate_batches, read_schema, split_names, write_split
from ..errors import UsageError
from ..filtering.measures.registry import MEASURES, add_measures, choose_measures
from ..filtering.pipeline import check_pairs
from ..filtering.source_card import inherited_metadata
from ..hub.cards import write_card
from ..hub.folders import check_output, output_folder
from ..hub.provenance import write_provenance
from .arguments import argument, message, parse, settings_of


@dataclass
class Arguments:
    """Adds measures as columns to every split of a folder of pairs; all rows and columns stay."""

    pairs: str = argument("the data folder of pairs (sentence1, sentence2)")
    output: str = argument("the data folder to make")
    measures: list[str] = argument(
        f"which measures, separated by commas or spaces: {', '.join(MEASURES)}; by default all but clipped_overlap, "
        "as far as the pairs have the columns they need",
        [],
        action="extend",
    )
    batch_size: int = argument("pairs held in memory at a time", 10_000)
    overwrite: bool = argument("replace an existing output folder", False)


def main(argv: Sequence[str]) -> None:
    """Runs `score`."""
    arguments = parse(Arguments, "score", argv)
    check_output(arguments.output, overwrite=arguments.overwrite)
    if arguments.batch_size < 1:
        raise UsageError(f"score: --batch-size is {arguments.batch_size}", remedy="give 1 or more")
    folder = Path(arguments.pairs)
    requested = [part.strip() for word in arguments.measures for part in word.split(",") if part.strip()]
    splits = split_names(folder)
    chosen: list[str] = []
    for split in splits:
        schema = read_schema(folder, split)
        check_pairs(schema, str(folder))
        for name in choose_measures(requested, schema.names, str(folder)):
            if name not in chosen:
                chosen.append(name)
    rows: dict[str, int] = {}
    added: list[str] = []
    with output_folder(arguments.output, overwrite=arguments.overwrite) as staging:
        for split in splits:
            before = read_schema(folder, split)
            measures = choose_measures(chosen, before.names, str(folder))
            after = add_measures(before.empty_table(), measures).schema
            added = list(dict.fromkeys([*added, *(column for name in measures for column in MEASURES[name].columns)]))
            rows[split] = write_split(staging, split, _scored(folder, split, measures, arguments.batch_size), after)
            for column in sorted(set(before.names) & set(added)):
                message(f"{split}: the column {column} was there before and is computed anew")
        write_provenance(
            staging,
            command="score",
            settings={**settings_of(arguments), "measures": chosen},
            inputs=[folder],
            results={"rows": rows, "columns": added},
        )
        write_card(
            staging,
            "dataset_cards",
            "scored",
            {
                **inherited_metadata(folder),
                "title": f"{folder.resolve().name}, scored",
                "source": folder.resolve().name,
                "splits": [{"name": split, "rows": count} for split, count in rows.items()],
                "measures": [
                    {"columns": MEASURES[name].columns, "text": _first_line(MEASURES[name])} for name in chosen
                ],
            },
        )
    message(f"{sum(rows.values()):,} pairs with {', '.join(added)} in {arguments.output}")


def _scored(folder: Path, split: str, measures: list[str], batch_size: int) -> Iterator[pa.Table]:
    with tqdm(desc=f"score {split}", total=count_rows(folder, split), unit=" pairs", unit_scale=True) as bar:
        for batch in iterate_batches(folder, split, batch_size=batch_size):
            yield add_measures(pa.Table.from_batches([batch]), measures)
            bar.update(batch.num_rows)


def _first_line(measure: object) -> str:
    return (type(measure).__doc__ or "").strip().split("\n", 1)[0]
